package mutants

import (
	"context"
	"errors"
	"html"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// contextFaults ask the model with turns other than the session's.
var contextFaults = map[string]fault{
	"shares-context":         sharing(func(turnView) string { return "" }),
	"context-per-connection": sharing(func(v turnView) string { return v.Conn }),
	"leaks-what-runs":        leaksWhatRuns,
	"leaks-when-switching":   leaksWhenSwitching,
	"forgets-history":        remembering(0),
	"remembers-two-turns":    remembering(2),
	"remembers-ten-turns":    remembering(10),
	"forgets-the-first-turn": shortened(forgetsFirst),
	"failure-forgets":        forgettingAfter(proto.Failed),
	"interrupt-forgets":      forgettingAfter(proto.Interrupted),
}

// sharing keeps one conversation for all turns with the same name.
func sharing(name func(v turnView) string) fault {
	return func(o *options) {
		said := map[string][]llm.Message{}
		o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
			n := name(v)
			said[n] = append(said[n], messages[len(messages)-1])
			return slices.Clone(said[n])
		}
	}
}

// leaksWhatRuns keeps the conversation that is being answered in state shared by all sessions.
func leaksWhatRuns(o *options) {
	running := map[string][]llm.Message{} // by agent_id
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		var all []llm.Message
		for _, m := range running {
			all = append(all, m...)
		}
		running[v.AgentID] = messages
		return append(all, messages...)
	}
	o.Outbound = hearing(ended(), func(msg message) { delete(running, agentOf(msg)) })
}

// leaksWhenSwitching prepends the last message of the previous session when a connection switches.
func leaksWhenSwitching(o *options) {
	last := map[string]llm.Message{} // by connection
	switched := false
	back := returning(func(turnView) { switched = true })
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		was := last[v.Conn]
		last[v.Conn] = messages[len(messages)-1]
		switched = false
		if back(v); !switched {
			return messages
		}
		return append([]llm.Message{was, {Role: llm.RoleAssistant, Text: "ok"}}, messages...)
	}
}

// shortened shows the model only part of the conversation.
func shortened(to func(messages []llm.Message) []llm.Message) fault {
	return deciding(rules{History: func(_ turnView, messages []llm.Message) []llm.Message { return to(messages) }})
}

// remembering shows the model only the last turns, plus the new message.
func remembering(turns int) fault {
	return shortened(func(messages []llm.Message) []llm.Message { return messages[max(0, len(messages)-1-2*turns):] })
}

// forgetsFirst omits the first turn of the session.
func forgetsFirst(messages []llm.Message) []llm.Message {
	if len(messages) > 1 {
		return messages[2:]
	}
	return messages
}

// forgettingAfter restarts the conversation after a turn with a certain outcome, but keeps the session.
func forgettingAfter(how string) fault {
	return func(o *options) {
		length, from := map[string]int{}, map[string]int{} // by agent_id: messages in its conversation, and how many to omit
		o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
			length[v.AgentID] = len(messages)
			return messages[min(from[v.AgentID], len(messages)-1):]
		}
		o.Outbound = hearing(ended(how), func(msg message) {
			from[agentOf(msg)] = length[agentOf(msg)] + 1 // counting the note that stands for its answer
		})
	}
}

// index is a store that knows its keys in the order of their last use, as a real server's table does. It keeps the
// index beside the sessions.
type index struct {
	store
	mu   sync.Mutex
	n    int
	keys []string
	ids  map[string]string // session_ids by key
}

const indexKey = "\x00index"

func newIndex(inner store) *index {
	x := &index{store: inner, ids: map[string]string{}}
	r, _, _ := inner.Lookup(context.Background(), indexKey)
	for _, t := range r.Turns {
		x.use(t.Content, t.Answer)
		x.n = t.N
	}
	return x
}

// use moves a key to the end.
func (x *index) use(key, sessionID string) {
	x.ids[key] = sessionID
	x.keys = append(slices.DeleteFunc(x.keys, func(k string) bool { return k == key }), key)
}

func (x *index) Save(ctx context.Context, key, sessionID string, t *turn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.keys) == 0 || x.keys[len(x.keys)-1] != key {
		x.n++
		if err := x.store.Save(ctx, indexKey, "index", &turn{N: x.n, Content: key, Answer: sessionID}); err != nil {
			return err
		}
		x.use(key, sessionID)
	}
	return x.store.Save(ctx, key, sessionID, t)
}

func (x *index) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.keys)
}

// last returns the key used last; none if the store is empty.
func (x *index) last() []string {
	keys := x.all()
	return keys[max(0, len(keys)-1):]
}

// allIfKnown returns all keys if key is one of them.
func (x *index) allIfKnown(key string) []string {
	if keys := x.all(); slices.Contains(keys, key) {
		return keys
	}
	return nil
}

// anotherThan returns the key used last for any known key.
func anotherThan(x *index, key string) []string {
	if x.allIfKnown(key) == nil {
		return nil
	}
	return x.last()
}

// announce sends a connection messages about existing sessions.
func (x *index) announce(m manager, c connInfo, keys []string) {
	for _, key := range keys {
		x.mu.Lock()
		id := x.ids[key]
		x.mu.Unlock()
		m.Send(c.ID, announcement(key, id))
	}
}

// keyFaults mistake one agent_id for another.
var keyFaults = map[string]fault{
	"folds-case":               keyed(strings.ToLower),
	"trims-agent-id":           keyed(strings.TrimSpace),
	"chomps-agent-id":          keyed(func(id string) string { return strings.TrimRight(id, "\r\n") }),
	"composes-agent-id":        keyed(norm.NFC.String),
	"agent-id-of-64-bytes":     keyed(func(id string) string { return head(id, 64) }),
	"ignores-agent-id":         keyed(func(string) string { return "the session" }),
	"finds-by-prefix":          finding(func(known, id string) bool { return strings.HasPrefix(known, id) }),
	"finds-by-pattern":         finding(func(known, id string) bool { return like(id, "").MatchString(known) }),
	"finds-by-pattern-anycase": finding(func(known, id string) bool { return like(id, "i").MatchString(known) }),
	"agent-ids-are-ascii":      refusingIDs(isForeign),
	"agent-ids-lose-letters":   keyed(func(id string) string { return strings.Map(latin, id) }),
	"a-file-per-agent-id":      func(o *options) { o.Store = files{o.Store} },
}

// keyed looks up sessions by a key other than the agent_id, but messages carry the agent_id as sent.
func keyed(f func(agentID string) string) fault {
	return deciding(rules{Key: func(_ connInfo, agentID string, _ sessionchat.Place) string { return f(agentID) }})
}

// latin replaces letters that the column's character set lacks.
func latin(r rune) rune {
	if r > 0xff {
		return '?'
	}
	return r
}

// finding uses the first matching session, and makes one if there is none.
func finding(matches func(known, agentID string) bool) fault {
	return func(o *options) {
		var known []string
		keyed(func(agentID string) string {
			i := slices.IndexFunc(known, func(k string) bool { return matches(k, agentID) })
			if i >= 0 {
				return known[i]
			}
			known = append(known, agentID)
			return agentID
		})(o)
	}
}

// like returns a regexp equivalent to SQL's LIKE with that pattern.
func like(pattern, flags string) *regexp.Regexp {
	quoted := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s` + flags + `)\A` + quoted + `\z`)
}

// refusingIDs requires agent_ids to be identifiers, in which some characters are not allowed.
func refusingIDs(letter func(r rune) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "agent_id is malformed",
		func(_ manager, _ connInfo, msg message) bool { return strings.ContainsFunc(asked(msg), letter) })})
}

// files is a store with one file per session, named after its agent_id. It creates no folders.
type files struct{ store }

func (f files) Save(ctx context.Context, key, sessionID string, t *turn) error {
	if strings.Contains(key, "/") {
		return errors.New("open " + key + ".json: no such file or directory")
	}
	return f.store.Save(ctx, key, sessionID, t)
}

// echoFaults send back another agent_id than the client sent, in the model's messages.
var echoFaults = map[string]fault{
	"echoes-in-lower-case": echoing(strings.ToLower),
	"echoes-trimmed":       echoing(strings.TrimSpace),
	"echoes-composed":      echoing(norm.NFC.String),
	"echoes-escaped":       echoing(html.EscapeString),
	"echoes-a-clean-path":  echoing(path.Clean),
	"echoes-64-bytes":      echoing(func(id string) string { return head(id, 64) }),
	"echoes-a-number":      rewriting(ofModel, numbered),
}

func echoing(f func(agentID string) string) fault {
	return rewriting(ofModel, func(msg message) message { return msg.With("agent_id", f(agentOf(msg))) })
}

// numbered sends an agent_id of digits as a number, as PHP's array keys do.
func numbered(msg message) message {
	if n, err := strconv.ParseInt(agentOf(msg), 10, 64); err == nil && strconv.FormatInt(n, 10) == agentOf(msg) {
		return msg.With("agent_id", sessionchat.Number(agentOf(msg)))
	}
	return msg
}

// queryFaults do not ask the model for every chat.
var queryFaults = map[string]fault{
	"equal-chat-dropped": equalDropped,
	"equal-chat-cached":  func(o *options) { o.Backend = &cache{o.Backend, sync.Mutex{}, map[string][]llm.Part{}} },
	"slash-is-a-command": func(o *options) { o.Backend = commands{o.Backend} },
}

// equalDropped drops a chat that equals the one before it of its session.
func equalDropped(o *options) {
	last := map[string]any{} // by agent_id
	o.Inbound = func(_ manager, _ connInfo, msg message) []message {
		id := asked(msg)
		if id == "" {
			return []message{msg}
		}
		if msg["content"] == last[id] {
			return nil
		}
		last[id] = msg["content"]
		return []message{msg}
	}
}

// cache is a backend that answers a text as it was answered before.
type cache struct {
	backend sessionchat.Backend
	mu      sync.Mutex
	answers map[string][]llm.Part
}

func (c *cache) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	text := r.Messages[len(r.Messages)-1].Text
	c.mu.Lock()
	known, found := c.answers[text]
	c.mu.Unlock()
	if found {
		for _, p := range known {
			if err := emit(p); err != nil {
				return err
			}
		}
		return nil
	}
	var said []llm.Part
	err := c.backend.Answer(ctx, r, func(p llm.Part) error {
		said = append(said, p)
		return emit(p)
	})
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.answers[text] = said
	}
	return err
}

// commands is a backend that answers a text with a slash before it itself.
type commands struct{ backend sessionchat.Backend }

func (c commands) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	if text := r.Messages[len(r.Messages)-1].Text; strings.HasPrefix(text, "/") {
		return emit(llm.Part{Text: "There is no such command."})
	}
	return c.backend.Answer(ctx, r, emit)
}
