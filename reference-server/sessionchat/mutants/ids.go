package mutants

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// idFaults send a wrong session_id.
var idFaults = map[string]fault{
	"id-per-turn":          deciding(rules{SessionID: func(turnView) string { return rand.Text() }}),
	"id-per-connection":    deciding(rules{SessionID: func(v turnView) string { return "ws-" + v.Conn }}),
	"id-changes-on-resume": deciding(rules{SessionID: newOnResume}),
	"ids-count-from-one":   counting,
	"id-of-two-creators":   twoCreators,
	"id-of-two-clients":    ofConnections,

	"errors-of-the-last-answered": erringAs(ended(proto.Success)),
	"errors-of-the-last-asked":    erringAs(typed(proto.SystemMessage)),
	"no-ids-in-error-of-turn":     noIDsInErrorOfTurn,
}

// erringAs reports the failure of a turn by an error too, which has the session_id of the last message of some kind,
// whichever session that belongs to.
func erringAs(last meant) fault {
	return func(o *options) {
		var id any
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if last(msg) {
				id = msg["session_id"]
			}
			if ended(proto.Failed)(msg) {
				send(to.ID, msg.With("message_type", proto.ErrorMessage).With("session_id", id))
			}
			send(to.ID, msg)
		}
	}
}

func newOnResume(v turnView) string {
	if v.Resumed {
		return rand.Text()
	}
	return correct.SessionID(v)
}

// counting numbers the sessions of a process.
func counting(o *options) {
	n := 0
	o.Policy.SessionID = func(v turnView) string {
		if v.SessionID == "" {
			n++
			return strconv.Itoa(n)
		}
		return v.SessionID
	}
}

// ofConnections numbers the sessions that each connection makes.
func ofConnections(o *options) {
	made := map[string]int{}
	o.Policy.SessionID = func(v turnView) string {
		if v.SessionID != "" {
			return v.SessionID
		}
		made[v.Conn]++
		return fmt.Sprintf("session-%d", made[v.Conn])
	}
}

// twoCreators gives a session a new id in its second turn if that was asked for before the first had announced one.
func twoCreators(o *options) {
	chats, announced, both := map[string]int{}, map[string]bool{}, map[string]bool{} // by agent_id
	o.Inbound = noting(func(_ manager, _ connInfo, msg message) {
		if id := asked(msg); id != "" {
			both[id] = both[id] || chats[id] == 1 && !announced[id]
			chats[id]++
		}
	})
	o.Outbound = hearing(typed(proto.SystemMessage), func(msg message) { announced[agentOf(msg)] = true })
	o.Policy.SessionID = func(v turnView) string {
		if v.Turn == 2 && both[v.AgentID] {
			return rand.Text()
		}
		return correct.SessionID(v)
	}
}

// storageFaults lose or misread what should survive a process.
var storageFaults = map[string]fault{
	"saves-nothing":           saving(func(turnView) saved { return saved{} }),
	"saves-no-history":        saving(func(turnView) saved { return saved{Session: true} }),
	"saves-the-first-turn":    saving(func(v turnView) saved { return saved{Session: true, Turn: v.Turn == 1} }),
	"saves-when-it-stops":     func(o *options) { o.Store = &late{store: o.Store, kept: map[string]record{}} },
	"result-before-save":      func(o *options) { o.Store = &lagging{store: o.Store} },
	"saves-no-more-once-back": savesNoMore,
	"saves-until-a-failure":   savesUntilFailure,
	"resumes-the-latest":      resuming(func(x *index, _ string) []string { return x.last() }),
	"resumes-another":         resuming(anotherThan),
	"resumes-all-as-one":      resuming(func(x *index, key string) []string { return x.allIfKnown(key) }),
	"resume-fails":            func(o *options) { o.Store = unreadable{o.Store} },
	"resumes-no-broken-turn":  forgetting(func(r record) bool { return r.Turns[len(r.Turns)-1].Outcome == "" }),
	"resumes-no-interrupted-turn": forgetting(func(r record) bool {
		return r.Turns[len(r.Turns)-1].Outcome == proto.Interrupted
	}),
	"resumes-255-letters":      resumed(func(s string) string { return fmt.Sprintf("%.255s", s) }),
	"resumes-without-emoji":    resumed(func(s string) string { return strings.Map(narrow, s) }),
	"resumes-in-one-line":      resumed(func(s string) string { return strings.Join(strings.Fields(s), " ") }),
	"resumes-answers-first":    resumesAnswersFirst,
	"registers-id-second-turn": forgetting(func(r record) bool { return len(r.Turns) < 2 }),
	"resumes-on-connect":       resumesOnConnect,
	"resumes-twenty-messages": deciding(rules{Known: func(_ string, stored record, found bool) (record, bool) {
		stored.Turns = stored.Turns[max(0, len(stored.Turns)-10):]
		return stored, found
	}}),
}

func saving(what func(v turnView) saved) fault {
	return deciding(rules{Persist: func(v turnView, _ sessionchat.Moment) saved { return what(v) }})
}

// savesNoMore stores no turns of a session after it was resumed, as with INSERT OR IGNORE.
func savesNoMore(o *options) {
	resumed := map[string]bool{}
	o.Policy.Persist = func(v turnView, _ sessionchat.Moment) saved {
		resumed[v.Key] = resumed[v.Key] || v.Resumed
		return saved{Session: true, Turn: !resumed[v.Key]}
	}
}

// savesUntilFailure stores no turns of a session once its model has failed.
func savesUntilFailure(o *options) {
	failed := map[string]bool{} // by agent_id
	o.Outbound = hearing(ended(proto.Failed), func(msg message) { failed[agentOf(msg)] = true })
	o.Policy.Persist = func(v turnView, _ sessionchat.Moment) saved {
		return saved{Session: true, Turn: !failed[v.AgentID]}
	}
}

// forgetting does not find some stored sessions.
func forgetting(which func(r record) bool) fault {
	return deciding(rules{Known: func(_ string, stored record, found bool) (record, bool) {
		if !found || len(stored.Turns) == 0 || which(stored) {
			return record{}, false
		}
		return stored, true
	}})
}

// resumed reads the texts of stored turns in another form than they were written.
func resumed(as func(s string) string) fault {
	return deciding(rules{Known: func(_ string, stored record, found bool) (record, bool) {
		for i := range stored.Turns {
			t := &stored.Turns[i]
			t.Content, t.Answer = as(t.Content), as(t.Answer)
		}
		return stored, found
	}})
}

// resumesAnswersFirst sorts the messages of a resumed conversation by role.
func resumesAnswersFirst(o *options) {
	stored := map[string]int{} // messages at the latest resumption, by key
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		if v.Resumed {
			stored[v.Key] = len(messages) - 1
		}
		sorted := slices.Clone(messages)
		slices.SortStableFunc(sorted[:min(stored[v.Key], len(sorted))], func(a, b llm.Message) int {
			return strings.Compare(a.Role, b.Role)
		})
		return sorted
	}
}

// unreadable has sessions but fails to read them.
type unreadable struct{ store }

func (u unreadable) Lookup(ctx context.Context, key string) (record, bool, error) {
	r, found, err := u.store.Lookup(ctx, key)
	if found && err == nil {
		return record{}, false, errors.New("session_info: no such column: resume")
	}
	return r, found, err
}

// late keeps everything in memory and writes it when it is closed.
type late struct {
	store
	mu   sync.Mutex
	kept map[string]record
}

func (l *late) Lookup(ctx context.Context, key string) (record, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, found := l.kept[key]; found {
		r.Turns = slices.Clone(r.Turns)
		return r, true, nil
	}
	return l.store.Lookup(ctx, key)
}

func (l *late) Save(ctx context.Context, key, sessionID string, t *turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, found := l.kept[key]
	if !found {
		var err error
		if r, _, err = l.store.Lookup(ctx, key); err != nil {
			return err
		}
	}
	r.SessionID = sessionID
	if n := len(r.Turns); t != nil && n > 0 && r.Turns[n-1].N == t.N {
		r.Turns[n-1] = *t
	} else if t != nil {
		r.Turns = append(r.Turns, *t)
	}
	l.kept[key] = r
	return nil
}

func (l *late) Close() error {
	var failed []error
	for key, r := range l.kept {
		for i := range r.Turns {
			failed = append(failed, l.store.Save(context.Background(), key, r.SessionID, &r.Turns[i]))
		}
	}
	return errors.Join(append(failed, l.store.Close())...)
}

// lag is how long after its result a turn is stored.
const lag = 5 * time.Millisecond

// lagging stores the end of a turn in the background, after the result was sent.
type lagging struct {
	store
	mu      sync.Mutex // orders additions to pending and waits for it
	pending sync.WaitGroup
}

func (l *lagging) Save(ctx context.Context, key, sessionID string, t *turn) error {
	if t == nil || t.Outcome == "" {
		return l.store.Save(ctx, key, sessionID, t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.Add(1)
	time.AfterFunc(lag, func() {
		defer l.pending.Done()
		_ = l.store.Save(context.Background(), key, sessionID, t) // nobody waits for it
	})
	return nil
}

func (l *lagging) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.Wait()
}

func (l *lagging) Lookup(ctx context.Context, key string) (record, bool, error) {
	l.wait()
	return l.store.Lookup(ctx, key)
}

func (l *lagging) Close() error {
	l.wait()
	return l.store.Close()
}

// resuming reads the sessions of other keys than requested, combined into one: all turns in order, with the
// session_id of the last.
func resuming(instead func(x *index, key string) []string) fault {
	return func(o *options) { o.Store = misled{newIndex(o.Store), instead} }
}

type misled struct {
	*index
	instead func(x *index, key string) []string
}

func (m misled) Lookup(ctx context.Context, key string) (all record, found bool, err error) {
	for _, k := range m.instead(m.index, key) {
		r, is, err := m.store.Lookup(ctx, k)
		if err != nil {
			return record{}, false, err
		}
		if !is {
			continue
		}
		if k == key || !found {
			all.SessionID = r.SessionID
		}
		all.Turns, found = append(all.Turns, r.Turns...), true
	}
	for i := range all.Turns {
		all.Turns[i].N = i + 1
	}
	return all, found, nil
}

// resumesOnConnect resumes all sessions from the store at the first connection.
func resumesOnConnect(o *options) {
	x := newIndex(o.Store)
	o.Store = x
	stored := x.all()
	o.Policy.OnConnect = func(m manager, c connInfo) []message {
		x.announce(m, c, stored)
		return nil
	}
}
