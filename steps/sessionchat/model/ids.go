package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// prompt is the longest pause before a chat after which no server can have unloaded the session: "long inactivity" is
// longer.
const prompt = 100 * time.Millisecond

// ids is what is known of session_ids.
type ids struct {
	memory  memory
	known   map[life]*known
	owner   map[key]string             // session_id → the agent_id that had it first; of foreign clients on a connection
	last    map[string]known           // agent_id → the latest session_id, of whichever life
	agents  map[string]map[string]bool // session_id → the agent_ids with it in messages of sessions
	sentAs  map[key]bool               // agent_ids that a connection has sent
	told    map[string]bool            // session_ids that the server has sent
	unknown map[string]message         // agent_id → the first message of a turn without a session_id
	clients holders
}

// life is a session while it stays in the server's memory, or that of a connection of foreign clients.
type life struct {
	key
	n int
}

// known is a session_id.
type known struct {
	id    string
	at    time.Duration // of the latest message of the session, sent or received
	fresh bool          // it may have been unloaded since the latest message of the server
	turn  int           // turns of the session that had ended when it was first known
	wrong bool          // it has changed although no chat was sent, and shows nothing of the session any more
}

func newIDs() ids {
	return ids{memory: memory{known: map[string]*activity{}, rests: map[string][]int{}}, known: map[life]*known{},
		owner: map[key]string{}, last: map[string]known{}, agents: map[string]map[string]bool{},
		sentAs: map[key]bool{}, unknown: map[string]message{}, told: map[string]bool{}, clients: newHolders()}
}

// forget drops the sessions of foreign clients: a restarted server may generate the same ids again.
func (s *ids) forget(conn string, ours bool) {
	s.clients.forget(conn)
	if !ours {
		clear(s.known)
		clear(s.owner)
	}
}

// sent notes a message of a client.
func (s *ids) sent(m *Model, l *line, msg message) {
	if msg.agent == "" {
		return
	}
	if !s.told[msg.agent] && (m.ours() || l.opened) { // else the client may have adopted it
		s.sentAs[key{msg.r.Conn, msg.agent}] = true
	}
	if was := s.known[s.life(m, msg)]; was != nil && !m.ours() {
		was.fresh = was.fresh || msg.r.At-was.at > prompt
		was.at = msg.r.At
	}
}

func (s *ids) life(m *Model, msg message) life {
	if m.ours() {
		return life{key{of: msg.agent}, s.memory.life(msg.agent, msg.r.N)}
	}
	return life{key: key{msg.r.Conn, msg.agent}}
}

// received judges the session_id of a message: the backend has assigned it to one agent_id, and it does not change.
func (s *ids) received(m *Model, l *line, t *talk, msg message) {
	if msg.id != "" {
		if s.sentAs[key{msg.r.Conn, msg.id}] {
			m.fail(msg, fmt.Sprintf("a session_id that the backend has assigned, and not the agent_id %q that the client has "+
				"sent", msg.id), "SC-042")
		} else {
			s.told[msg.id] = true
		}
	}
	if m.ours() {
		if _, unknown := s.unknown[msg.agent]; t != nil && ofTurn[msg.kind] && msg.id == "" && !unknown {
			s.unknown[msg.agent] = msg
		}
		s.ofAnother(m, msg)
		if _, named := msg.data[vocab.AgentID].(string); !named || !m.ofSession(msg) {
			return
		}
	} else {
		s.clients.received(m, l, t, msg)
		if t == nil || !ofTurn[msg.kind] {
			return
		}
	}
	if msg.id != "" {
		if s.agents[msg.id] == nil {
			s.agents[msg.id] = map[string]bool{}
		}
		s.agents[msg.id][msg.agent] = true
		if m.ours() || msg.id != msg.agent { // a client may use a session_id as an agent_id
			s.owned(m, t, msg)
		}
	}
	at := s.life(m, msg)
	was := s.known[at]
	turns := 0
	if t != nil {
		turns = t.turns
	}
	switch {
	case was == nil && msg.id == "":
		return
	case was == nil: // the first one proves nothing, unless the session was resumed
		was = &known{turn: turns}
		s.known[at] = was
		s.resumed(m, msg)
	default:
		was.stays(m, t, turns > was.turn || turns > 0 && !m.ours(), msg)
	}
	if was.at = msg.r.At; msg.id != "" {
		was.id, was.fresh = msg.id, false
		s.last[msg.agent] = *was
	}
}

// resumed judges the first session_id of a session that may have been resumed (SC-016a).
func (s *ids) resumed(m *Model, msg message) {
	last, known := s.last[msg.agent]
	if !known || !m.ours() {
		return
	}
	f := verdict.Finding{Clauses: []string{"SC-016a"}, OK: last.id == msg.id}
	if !f.OK {
		f.Expected, f.Observed = fmt.Sprintf("session_id %q, as before", last.id), fmt.Sprintf("session_id %q in %s", msg.id,
			msg.told())
	}
	m.about(msg, msg.agent, IDs, f)
}

// named judges that the session_id is known by the end of the first turn of our clients. Members that are missing or
// malformed are judged by formed.
func (s *ids) named(m *Model, t *talk, msg message) {
	id, there := msg.data[vocab.SessionID]
	if m.ours() && t.turns == 1 && t.id == "" && there && (id == nil || id == "") &&
		msg.text(vocab.Subtype) == vocab.Success {
		m.about(msg, msg.agent, IDs, verdict.Finding{Clauses: []string{"SC-042"}, Observed: "none",
			Expected: "a session_id, a string, in the messages of " + msg.agent + " by the end of its first turn"})
	}
}

// The clauses that are about a session that continues, one that is new, and two that differ.
var (
	continuing = []string{"SC-002", "SC-003", "SC-005", "SC-006", "SC-050", "SC-057"}
	beginning  = []string{"SC-001", "SC-002", "SC-003", "SC-017", "SC-046", "SC-047", "SC-055"}
	differing  = []string{"SC-004", "SC-057", "SC-060"}
)

// stays judges a session_id against the previous one: it does not change while the session stays in memory (SC-042),
// and does not become unknown again (SC-056).
//
// What it shows in a later turn depends on what came meanwhile: another session's chat, a ping, an incomplete chat.
func (was *known) stays(m *Model, t *talk, later bool, msg message) {
	var clauses []string
	asked := t != nil && len(t.chats) > 0 && t.chats[len(t.chats)-1].legal()
	switch {
	case was.wrong || !later:
	case m.ours():
		clauses = slices.Sorted(maps.Keys(t.meanwhile))
		if asked {
			clauses = append(clauses, continuing...)
		}
	case t.meanwhile["SC-028"]:
		clauses = []string{"SC-006", "SC-050", "SC-028"}
	default:
		clauses = []string{"SC-006", "SC-050"}
	}
	clauses = append(clauses, "SC-042")
	f := verdict.Finding{Clauses: clauses, OK: msg.id == was.id}
	switch {
	case f.OK:
	case was.fresh: // it may have been resumed
		return
	case msg.id == "":
		m.about(msg, msg.agent, IDs, verdict.Finding{Clauses: []string{"SC-056"},
			Expected: fmt.Sprintf("session_id %q, which is known", was.id),
			Observed: fmt.Sprintf("session_id is %s in %s", wjson.Compact(msg.data[vocab.SessionID]), msg.told())})
		return
	default:
		f.Expected = fmt.Sprintf("session_id %q for agent_id %q, as before", was.id, msg.agent)
		f.Observed = fmt.Sprintf("session_id %q in %s", msg.id, msg.told())
		was.wrong = was.wrong || m.ours() && !(later && asked)
	}
	m.about(msg, msg.agent, IDs, f)
	m.about(msg, msg.agent, IDs, kept("SC-056"))
}

// owned judges that every agent_id has its own session (SC-027), which is new (SC-009).
func (s *ids) owned(m *Model, t *talk, msg message) {
	conn, clauses := msg.r.Conn, []string{"SC-009", "SC-027"}
	if m.ours() {
		conn, clauses = "", append(clauses, differing...)
	}
	k := key{conn, msg.id}
	was, taken := s.owner[k]
	if !taken {
		s.owner[k] = msg.agent
	}
	if taken && was != msg.agent {
		if m.ours() && t != nil && t.turns == 0 {
			clauses = append(clauses, beginning...)
		}
		m.about(msg, msg.agent, IDs, verdict.Finding{Clauses: clauses,
			Expected: fmt.Sprintf("a session_id for agent_id %q that no other agent_id has", msg.agent),
			Observed: fmt.Sprintf("session_id %q, which agent_id %q has, in %s", msg.id, was, msg.told())})
		return
	}
	for other, by := range s.owner {
		if other.conn == conn && by != msg.agent { // a single session can't be compared
			m.about(msg, msg.agent, IDs, kept(clauses...))
			return
		}
	}
}

// AlwaysKnown returns what is found of the strict reading of SC-056: every message of a session of our own has its
// session_id, the first ones too.
func (m *Model) AlwaysKnown(agent string) verdict.Finding {
	if msg, unknown := m.ids.unknown[agent]; unknown {
		return failed(msg, "a session_id in every message of the session, from the first one", "SC-056")
	}
	return kept("SC-056")
}

// ofAnother finds errors and other messages outside of turns that name an agent_id of the client with the session_id of
// another one. Those of turns are judged by owned.
func (s *ids) ofAnother(m *Model, msg message) {
	if ofTurn[msg.kind] || msg.kind == "" || msg.agent == "" {
		return
	}
	if having := s.agents[msg.id]; len(having) > 0 && !having[msg.agent] {
		m.about(msg, msg.agent, IDs, verdict.Finding{Clauses: []string{"SC-042"},
			Expected: fmt.Sprintf("no session_id of another agent_id beside agent_id %q", msg.agent),
			Observed: fmt.Sprintf("session_id %q, which agent_id %q has, in %s", msg.id,
				slices.Sorted(maps.Keys(having))[0], msg.told())})
	}
}

// holder is the latest message of a session that has a session_id.
type holder struct {
	n     int // its record
	agent string
}

// holders are the sessions of the open connections of foreign clients by their session_id.
type holders struct {
	byID    map[string]map[string]holder // session_id → connection
	ids     map[string][]string          // connection → session_ids
	heard   map[string]int               // connection → the latest record received
	waiting map[string]func()            // by the connection that has not shown yet that it is still there
}

func newHolders() holders {
	return holders{byID: map[string]map[string]holder{}, ids: map[string][]string{}, heard: map[string]int{},
		waiting: map[string]func(){}}
}

// received judges that the sessions of different connections have different session_ids. A server may number its
// sessions, and begin anew when it restarts; so the connection that had the id first must show that it has outlived the
// beginning of the other one.
func (a holders) received(m *Model, l *line, t *talk, msg message) {
	conn := msg.r.Conn
	a.heard[conn] = msg.r.N
	if judge := a.waiting[conn]; judge != nil {
		judge()
		delete(a.waiting, conn)
	}
	if msg.id == "" || msg.id == msg.agent || !l.opened || t == nil {
		return
	}
	for other, h := range a.byID[msg.id] {
		if other == conn || h.agent == msg.agent || h.agent == msg.id || len(m.shared[h.agent]) > 1 {
			continue
		}
		judge := func() {
			m.fail(msg, fmt.Sprintf("a session_id that is not that of agent_id %q of connection %s, record %d", h.agent, other,
				h.n), "SC-009", "SC-027")
		}
		if a.heard[other] > l.began {
			judge()
		} else if a.waiting[other] == nil {
			a.waiting[other] = judge
		}
	}
	if a.byID[msg.id] == nil {
		a.byID[msg.id] = map[string]holder{}
	}
	if _, known := a.byID[msg.id][conn]; !known {
		a.ids[conn] = append(a.ids[conn], msg.id)
	}
	a.byID[msg.id][conn] = holder{msg.r.N, msg.agent}
}

func (a holders) forget(conn string) {
	for _, id := range a.ids[conn] {
		if delete(a.byID[id], conn); len(a.byID[id]) == 0 {
			delete(a.byID, id)
		}
	}
	delete(a.ids, conn)
	delete(a.heard, conn)
	delete(a.waiting, conn)
}

// Resumes begins a scenario's remark that sessions may have left the target's memory through a restart or idling.
// SC-042 does not cover their session_id after that (see SC-016a).
const Resumes = "sessions may be resumed"

// Idle begins a scenario's remark on how long the target keeps idle sessions.
const Idle = "the target keeps idle sessions for "

// memory says when sessions may have left the target's memory: by a restart or a rest that the scenario remarks on, by
// the end of a connection (SC-054, SC-059), or by idling for as long as the target keeps idle sessions (SC-053). The
// target may count from the last chat or from the last message, and looks for the session between a chat and its first
// answer.
type memory struct {
	idle  time.Duration
	ends  []int            // records, for all sessions
	rests map[string][]int // records, by agent_id
	known map[string]*activity
}

func (m *memory) take(r transcript.Record) {
	switch {
	case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, Idle):
		m.idle, _ = time.ParseDuration(strings.TrimPrefix(r.Label, Idle))
	case r.Kind == transcript.Remark && strings.HasPrefix(r.Label, Resumes), r.Kind == transcript.Closed:
		m.ends = append(m.ends, r.N)
	case r.Event != nil:
		msg := read(r)
		_, named := msg.data[vocab.AgentID].(string)
		if !named || msg.sent() && msg.text(vocab.Content) == "" || msg.received() && !ofTurn[msg.kind] {
			return // a message that starts no turn is not activity of a session
		}
		a := m.known[msg.agent]
		if a == nil {
			a = &activity{last: r.At, chat: r.At, before: r.At}
			m.known[msg.agent] = a
		}
		if since := a.note(r); m.idle > 0 && since >= m.idle*3/4 {
			m.rests[msg.agent] = append(m.rests[msg.agent], r.N)
		}
	}
}

// life counts how often, up to a record, the session of an agent_id may have left the target's memory.
func (m *memory) life(agent string, n int) int {
	i, _ := slices.BinarySearch(m.ends, n)
	j, _ := slices.BinarySearch(m.rests[agent], n+1)
	return i + j
}

// activity is when a session was active.
type activity struct {
	last, chat, before time.Duration // the latest message, the latest chat and the one before
	asked              string        // the connection of the latest chat, which has no answer; "" if it has one
}

// note takes the next message of a session, and returns how long the session may have been idle just before.
func (a *activity) note(r transcript.Record) time.Duration {
	since := r.At - a.last
	switch {
	case r.Dir == transcript.Sent:
		since = r.At - a.chat
		a.before, a.chat, a.asked = a.chat, r.At, r.Conn
	case a.asked == r.Conn: // another connection may still get what ended the turn before
		since, a.asked = r.At-a.before, ""
	}
	a.last = r.At
	return since
}
