package agentclient

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// sight is an expected look of the page: why describes what is wrong in a snapshot, "" if nothing is.
type sight struct {
	expected string
	clauses  []string
	why      func(*snapshot.Page) string
}

// Judge judges what the page shows, or what the user cannot do on it, unless the model has judged it.
func (s *suite) Judge(all ...verdict.Finding) error { return s.World.Judge(byPage(all)...) }

// Need is Judge for a finding without which the scenario ends.
func (s *suite) Need(f verdict.Finding) error { return s.World.Need(byPage([]verdict.Finding{f})[0]) }

func byPage(all []verdict.Finding) []verdict.Finding {
	for i := range all {
		all[i].Judge = cmp.Or(all[i].Judge, verdict.ByPage)
	}
	return all
}

// way is sees or keeps.
type way func(context.Context, sight) error

// way returns keeps for a step that says "still", and sees for any other.
func (s *suite) way(still string) way {
	if still != "" {
		return s.keeps
	}
	return s.sees
}

// snapshotOf returns the snapshot in a record of the current page; nil if there is none.
func (s *suite) snapshotOf(r *transcript.Record) *snapshot.Page {
	if r.Conn != s.now.name || r.Kind != transcript.Snapshot || r.Event == nil {
		return nil
	}
	l, _ := r.Event.Data.(*snapshot.Page)
	return l
}

// looking matches snapshots of the current page for which is returns true.
func (s *suite) looking(is func(*snapshot.Page) bool) func(*transcript.Record) bool {
	return func(r *transcript.Record) bool {
		l := s.snapshotOf(r)
		return l != nil && is(l)
	}
}

// latest returns the latest snapshot of the page and the number of its record; nil if there is none yet.
func (s *suite) latest() (*snapshot.Page, int) { return s.before(s.T.Len()) }

// before returns the latest snapshot of the page up to a record.
func (s *suite) before(mark int) (*snapshot.Page, int) {
	all := s.T.All()
	for i := len(all) - 1; i >= 0; i-- {
		if l := s.snapshotOf(&all[i]); l != nil && all[i].N <= mark {
			return l, all[i].N
		}
	}
	return nil, 0
}

// remember keeps the current snapshot, so that a later step can tell what is new.
func (s *suite) remember() {
	s.now.unfenced = nil
	if l, _ := s.latest(); l != nil {
		s.now.idle = l
	}
}

// sees waits until the page looks as expected. The latest snapshot counts too.
func (s *suite) sees(ctx context.Context, want sight) error {
	_, err := s.saw(ctx, want, nil)
	return err
}

// instead returns the clauses that are broken if something other than the awaited sight is missing, and describes it;
// it returns no clauses if nothing is.
type instead func() (clauses []string, what string)

// saw is sees for a sight that may be missing for another reason, and reports whether it was seen.
func (s *suite) saw(ctx context.Context, want sight, other instead) (bool, error) {
	mark := max(s.now.act, s.now.word)
	if l, _ := s.before(mark); l != nil && want.why(l) == "" { // it must stay so until everything is handled
		if err := s.fence(ctx); err != nil {
			return false, err
		}
		if l, n := s.latest(); want.why(l) == "" {
			return true, s.Judge(verdict.Finding{Clauses: want.clauses, OK: true, Expected: want.expected, At: n})
		}
	}
	last, n := "no look at the page was recorded", 0
	if l, at := s.latest(); l != nil {
		last, n = want.why(l), at
	}
	_, miss := s.awaitSight(ctx, mark, func(r *transcript.Record) bool {
		l := s.snapshotOf(r)
		if l == nil {
			return false
		}
		last, n = want.why(l), r.N
		return last == ""
	})
	if miss != nil && miss.At > 0 {
		last, n = miss.Reason, miss.At
	}
	c := verdict.Finding{Clauses: want.clauses, OK: miss == nil, Expected: want.expected, Observed: last, At: n,
		Miss: miss}
	if miss == nil {
		return true, s.Judge(c)
	}
	if other != nil && miss.At == 0 {
		if others, what := other(); others != nil {
			c.Clauses, c.Observed = others, what+"; "+last
		}
	}
	return false, s.Need(c)
}

// keeps judges that the page keeps looking as expected until it has handled everything sent to it: from before the
// latest act or event on, or, if it looked different then, from the first match on.
func (s *suite) keeps(ctx context.Context, want sight) error {
	after := max(s.now.word, s.now.act)
	if l, _ := s.before(after); l != nil && want.why(l) != "" { // the expected look may still be on its way to the page
		right := s.looking(func(l *snapshot.Page) bool { return want.why(l) == "" })
		if r, miss := s.awaitSight(ctx, after, right); miss == nil {
			after = r.N - 1
		}
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	c := verdict.Finding{Clauses: want.clauses, Expected: want.expected}
	for _, r := range s.T.After(after) {
		if l := s.snapshotOf(&r); l != nil {
			if c.Observed = want.why(l); c.Observed != "" {
				c.At = r.N
				return s.Need(c)
			}
		}
	}
	l, n := s.latest()
	if l == nil {
		return steps.NotTestedf("no look at the page was recorded")
	}
	c.Observed, c.At = want.why(l), n
	c.OK = c.Observed == ""
	return s.Need(c)
}

// shows is the key in Env.Learnt for whether the target shows chat messages, which serve as fences, with or without a
// session.
type shows struct{ session bool }

// lateness is how long an idle page may take to show something; the limits of awaitSight and comesBack derive from it.
const lateness = time.Second

// awaitSight waits until the page shows something. Once the page shows a message that was sent later, it has handled
// everything before, and gets little more time, because later changes do not depend on what was sent. Without a fence
// the event limit applies.
func (s *suite) awaitSight(
	ctx context.Context, after int, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	w := steps.Wait{Conn: s.now.name, After: after, Greeting: after <= 0, Match: match}
	within := s.Env.Event()
	if within <= 3*lateness {
		return s.Await(ctx, w)
	}
	defer s.Idles()()
	try := s.Try(ctx, within, 3*lateness)
	w.Within = try.Within / 3
	if rec, miss := s.Await(ctx, w); miss == nil || miss.At > 0 {
		try.Over(miss == nil)
		return rec, miss
	}
	w.Within = within
	if s.now.server.stream() == nil {
		return s.Await(ctx, w)
	}
	s.now.unfenced, _ = s.latest()
	if err := s.fence(ctx); err != nil {
		w.Within = lateness
		return s.Await(ctx, w)
	}
	fenced, _ := s.learnt(shows{s.now.session != ""})
	if fenced {
		w.Within = try.Within - try.Within/3
	}
	rec, miss := s.Await(ctx, w)
	if fenced && (miss == nil || miss.At == 0) {
		try.Over(miss == nil)
	}
	if miss != nil { // the page works, but shows something else
		miss.Late = false
	}
	return rec, miss
}

// learnt returns what this run has learned about the target under a key, and whether it has learned it.
func (s *suite) learnt(key any) (yes, learnt bool) {
	v, learnt := s.Env.Learnt.Load(key)
	yes, _ = v.(bool)
	return yes, learnt
}

// fencing labels the messages of fences.
const fencing = "message (a fence)"

// fence waits until the page has handled everything that the server has sent: until a chat message sent now is
// visible. If the page shows no chat messages, it waits for the quiet window instead.
func (s *suite) fence(ctx context.Context) error {
	p := s.now
	s.settle(ctx)
	st := p.server.stream()
	key := shows{p.session != ""}
	yes, learnt := s.learnt(key)
	if st == nil || learnt && !yes || p.returning || s.IsSevered() {
		return s.quiet(ctx)
	}
	text := fmt.Sprintf("fence-%d-%s", s.Serial(), s.Nonce)
	data := fields{vocab.Role: "assistant", vocab.Content: text}
	if p.session != "" {
		data[vocab.SessionID] = p.session
	}
	n, err := p.server.send(ctx, st, fencing, p.server.event(vocab.MessageEvent, data, stamp(time.Now())))
	if err != nil {
		return s.quiet(ctx)
	}
	within := s.Env.Event()
	if !learnt {
		within = min(within, max(4*s.Env.Profile.Limits.Quiet.Duration, within/2))
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: n, Within: within, Kind: "the message of a fence", Proof: true,
		Match: s.looking(func(l *snapshot.Page) bool { return strings.Contains(l.Text, text) })})
	if miss == nil {
		s.Env.Learnt.Store(key, true)
		s.settle(ctx)
		return nil
	}
	if yes, _ := s.learnt(key); yes {
		return steps.NotTestedf("fence: a message did not appear in the chat, so absence cannot be proved: %s", miss.Reason)
	}
	s.Env.Learnt.Store(key, false)
	return nil
}

// quiet replaces a fence.
func (s *suite) quiet(ctx context.Context) error {
	_, miss := s.Await(ctx, steps.Wait{Conn: s.now.name, After: s.T.Len(), Within: s.Env.Profile.Limits.Quiet.Duration,
		Match: func(*transcript.Record) bool { return false }})
	if miss != nil && miss.At > 0 {
		return steps.NotTestedf("the page has ended: %s", miss.Reason)
	}
	s.settle(ctx)
	return nil
}
