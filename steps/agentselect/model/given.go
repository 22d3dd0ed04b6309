package model

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/target"
	"parley/transport/transcript"
)

// streams judges the answer to the request of an event stream.
func (m *Model) streams(r transcript.Record) {
	if r.Status == 0 || r.Status == http.StatusSwitchingProtocols {
		return // a socket
	}
	media, _, err := mime.ParseMediaType(r.Type)
	m.judge(r, r.Status == http.StatusOK && err == nil && media == "text/event-stream",
		"HTTP 200 with Content-Type text/event-stream", "AS-029")
}

// seeking is the latest session request of a connection, and what is known of its answer.
type seeking struct {
	r     transcript.Record
	load  bool
	known bool   // the session to load exists
	id    string // that was given
	no    transcript.Record
}

// GivenTo names the session that the request in a record asks for.
func GivenTo(record int) string { return fmt.Sprint("the session of record ", record) }

// clauses are those that the request of a session tests. Over HTTP later messages show what it is bound to.
func (s *seeking) clauses() []string {
	all := []string{"AS-098", "AS-100"}
	if s.load {
		all = []string{"AS-099", "AS-101"}
	}
	if s.r.Kind == transcript.Request {
		return all[:1]
	}
	return all
}

func (s *seeking) expected() string {
	switch id := text(s.r, vocab.SessionID); {
	case !s.load:
		return "a new session with its id"
	case s.known:
		return "the session " + id + " loaded"
	default:
		return "loading the unknown session " + id + " refused"
	}
}

// gives judges that a session was created, or loaded.
func (m *Model) gives(c *conn, r transcript.Record, id string) {
	s := c.seeking
	if !m.ours() || s == nil || !s.load && id == "" {
		return
	}
	s.id = cmp.Or(text(s.r, vocab.SessionID), id)
	m.judge(r, !s.load || s.known, s.expected(), s.clauses()...)
}

// Given returns the id of the session that a client was given on its latest request; "" for none.
func (m *Model) Given(client string) string {
	if c := m.conns[client]; c != nil && c.seeking != nil {
		return c.seeking.id
	}
	return ""
}

// refuses judges that a session was not created, or not loaded. A server may need a moment before it loads one that was
// that of another connection, so the step that waits for it says in a remark when it must have been.
func (m *Model) refuses(c *conn, r transcript.Record) {
	if s := c.seeking; m.ours() && s != nil && s.load && !s.known {
		m.kept(r, s.clauses()...)
	} else if s != nil {
		s.no = r
	}
}

// ungiven judges a session request whose answer was waited for in vain.
func (m *Model) ungiven(s *seeking, why string) {
	if s.no.N > 0 {
		m.broken(s.no, s.expected(), s.clauses()...)
		return
	}
	m.vain(s.r.N, s.expected(), why, s.clauses()...)
}

// change is a change of the configuration by a hook.
type change struct {
	n     int // the record; 0: there was none
	kind  string
	agent vocab.AgentInfo
	list  transcript.Record // the latest list of a connection that was opened since
	shown int               // the first of them that has the change; 0: none has
}

// Changed names the change of the configuration by the latest hook in the lists of new connections.
const Changed = "a list with the change"

// hooked takes a remark on a hook.
func hooked(r transcript.Record) change {
	words := strings.SplitN(strings.TrimPrefix(r.Label, "hook "), " ", 3)
	words = append(words, "", "")
	return change{n: r.N, kind: strings.Trim(words[0], ":"),
		agent: vocab.AgentInfo{ID: words[1], Name: strings.Trim(words[2], `"`)}}
}

func (h *change) expected() string {
	if h.kind == target.HookRemoveAgent {
		return "a list without " + h.agent.ID + " on a connection opened since"
	}
	return fmt.Sprintf("a list with %s, named %q, on a connection opened since", h.agent.ID, h.agent.Name)
}

// shows judges that a connection which was opened after a change of the configuration is told of it (AS-027). The
// server may need a moment for it.
func (m *Model) shows(c *conn, r transcript.Record, names map[string]any) {
	h := &m.change
	if h.n == 0 || c.opened < h.n {
		return
	}
	name, has := names[h.agent.ID]
	same := has == (h.kind != target.HookRemoveAgent) && (h.kind != target.HookChangeAgent || name == any(h.agent.Name))
	if h.list = r; same && h.shown == 0 {
		h.shown = r.N
	}
	if same || h.shown > 0 && c.opened > h.shown {
		m.judge(r, same, h.expected(), "AS-027")
	}
}

// addressed judges that the address of a connection does not choose its agent (AS-021, AS-022): it is told no other one
// than a connection whose address names none. That it has chosen none only the first switch shows (starts).
func (m *Model) addressed(c *conn, r transcript.Record) {
	current, _ := member(r, vocab.CurrentAgentID)
	if c.chooses() == "" {
		m.usual = current
		return
	}
	if chosen := c.chooses(); current == any(chosen) && current != m.usual && chosen != m.Default {
		m.broken(r, "currentAgentId not that of the address: null, or "+m.Default, "AS-021", "AS-022")
	}
}

// chooses returns the built-in agent that the address of a connection names; "" if it names none.
func (c *conn) chooses() string {
	for _, id := range vocab.BuiltinIDs {
		if strings.Contains(c.address, "="+id) {
			return id
		}
	}
	return ""
}
