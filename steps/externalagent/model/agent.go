package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/steps/toolschema"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// agent is the course of an agent under test. If it is foreign, each connection may be that of another agent, unless
// all were seen, one after the other.
type agent struct {
	notes
	ours   bool
	book   book
	lines  map[string]*talk // connections
	latest string           // the one that was opened last
	spoke  string           // the one on which the agent has sent something last
	ids    map[string]int   // of requests, with the record
	doubts []message        // with ids that may begin anew, as the first after relay.join shows
	waits  asking
	single bool // there is one agent, with one connection at a time
	active bool // a session is
	over   bool // the latest session has ended, so that the next connection begins anew
	first  string
	memory toolschema.Memory
	relay  any // the relay session of the latest join; nil: none
	told   told
}

// talk is a connection of an agent.
type talk struct {
	opened, closed  bool
	used            bool           // a message was seen
	asked, joined   bool           // relay.join was sent, and answered
	begun           bool           // something else was sent
	due             *owed          // what the agent has to do first
	got, told       bool           // snapshot.get was sent, and answered
	started, judged bool           // session.start was answered; the first call was judged
	older           bool           // another connection was opened later
	heard           bool           // on an older one: something was sent to the agent since its last message
	turns           int            // how often it has sent something after that
	relayed         bool           // it has joined the relay session of the connection before
	ids             map[string]int // of a foreign agent's requests, with the record
	states          []announced    // that were announced to a foreign agent
	partial         bool           // some of them are unknown
}

func newAgent(o obligation.Observer, owes book) *agent {
	a := &agent{book: owes, ours: o == obligation.Ours, lines: map[string]*talk{}, ids: map[string]int{}, single: true,
		waits: asking{open: map[string]bool{}}, told: told{open: map[string]message{}}}
	a.once = !a.ours
	return a
}

func (a *agent) found() ([]verdict.Finding, []*book) { return a.out, []*book{&a.book} }

func (a *agent) owing() []obligation.Entry { return a.book.Owing() }

func (a *agent) end() { a.settleIDs(false) }

func (a *agent) take(m message) {
	if a.ours {
		a.told.record(m)
	}
	if m.Dir == transcript.Noted {
		if m.Kind == transcript.Remark && m.Label == AnotherAgent {
			a.settleIDs(false)
			clear(a.ids)
			a.told = told{open: map[string]message{}}
		}
		return
	}
	l := a.line(m)
	switch {
	case m.Kind == transcript.Closed || m.Kind == transcript.Failure:
		l.closed = true
		l.withdraw()
	case m.Kind != transcript.Frame:
	default:
		l.used = true
		a.older(l, m)
		if m.Event == nil || !a.ours && unread(&m.Record) {
			return
		}
		if m.Dir == transcript.Sent {
			a.hears(l, m)
		} else {
			a.says(l, m)
		}
	}
}

// line returns the connection of a record.
func (a *agent) line(m message) *talk {
	l := a.lines[m.Conn]
	opens := m.Kind == transcript.Open && (m.Dir == transcript.Received || !a.ours)
	if l != nil && (!opens || !l.used && !l.closed) { // a request to open it, and its answer
		return l
	}
	for _, other := range a.lines {
		a.single = a.single && other.closed
	}
	l = &talk{opened: m.Kind == transcript.Open, ids: map[string]int{}}
	a.single = a.single && l.opened
	a.lines[m.Conn] = l
	if opens {
		a.told.hears(m)
		if old := a.lines[a.latest]; old != nil && a.latest != m.Conn {
			old.older = true
		}
		a.latest = m.Conn
		if a.ours {
			a.kept(m, "EA-016", "EA-106", "EA-017")
		}
		l.join(a, m)
	}
	return l
}

// join enters that the agent has to join first.
func (l *talk) join(a *agent, m message) {
	l.due = a.book.Owe(&owed{What: "relay.join before anything else", About: vocab.RelayJoin, Cause: entry{m},
		Clauses: []string{"EA-026"}, Unfenced: true,
		Match: func(p entry) bool { return p.Conn == m.Conn && p.kind == vocab.RelayJoin }})
}

// settle notes that the agent has done what it had to do first.
func (a *agent) settle(l *talk, m message) {
	if l.due != nil && !l.due.Done {
		a.book.Settle(entry{m})
	}
	l.due = nil
}

func (l *talk) withdraw() {
	if l.due != nil {
		l.due.Done, l.due = true, nil
	}
}

// older judges, in a run, that an agent uses one connection at a time. The end of a connection and messages in transit
// may be recorded after the next connection has begun, so only an agent that keeps talking on the older one is at
// fault.
func (a *agent) older(l *talk, m message) {
	switch {
	case !l.older || !a.ours:
	case m.Dir == transcript.Sent:
		l.heard = true
	case l.heard:
		l.heard = false
		if l.turns++; l.turns == 2 {
			a.out = append(a.out, verdict.Finding{Clauses: []string{"EA-016", "EA-106"}, At: m.N,
				Expected: "one WebSocket connection of the agent at a time",
				Observed: fmt.Sprintf("it uses %s but has opened %s: %s", m.Conn, a.latest, m.told())})
		}
	}
}

// hears handles a message to the agent.
func (a *agent) hears(l *talk, m message) {
	asked := a.waits.hears(m)
	a.told.hears(m)
	switch m.kind {
	case vocab.RelayJoined:
		l.joined = true
	case vocab.SessionStarted:
		a.first = cmp.Or(a.first, m.Conn)
		a.active, a.over, l.started = true, false, true
		l.withdraw()
	case vocab.SnapshotState:
		l.told = l.told || l.got
		if l.told {
			l.withdraw()
		}
	case vocab.SessionEnded:
		a.active, a.over = false, true
	}
	if m.isState() {
		a.announce(l, m, asked)
	}
}

// announce notes a state that the agent receives.
func (a *agent) announce(l *talk, m message, asked bool) {
	st := announced{raw: m.body[vocab.ToolSchema], at: m.At, n: m.N, asked: asked}
	list, ok := st.raw.([]any)
	if a.ours {
		if tools, err := a.memory.Parse(list); err == nil {
			st.tools = tools
			a.told.announces(m, st)
		}
		return
	}
	if n := len(l.states); n > 0 {
		l.states[n-1].until = m.At
	}
	l.states = slices.DeleteFunc(l.states, func(o announced) bool {
		same := wjson.Equal(o.raw, st.raw)
		if same {
			st.tools = o.tools
		}
		return same || m.At-o.until >= patience
	})
	var err error
	if st.tools == nil {
		st.tools, err = a.memory.Parse(list)
	}
	if !ok || err != nil || len(l.states) >= mostStates {
		l.partial = true
		return
	}
	l.states = append(l.states, st)
}

// says handles a message of the agent.
func (a *agent) says(l *talk, m message) {
	a.joinsFirst(l, m)
	if l.opened || a.ours {
		a.id(l, m)
	}
	switch m.kind {
	case vocab.RelayJoin:
		a.rejoins(l, m)
	case vocab.SnapshotGet:
		if l.got = true; a.back(l, m) {
			a.settle(l, m)
			a.told.kept(m, "EA-076", "EA-077")
		}
	case vocab.ToolCall:
		a.resynchronises(l, m)
		if l.opened || a.ours {
			a.calls(l, m)
		}
	}
	a.waits.says(m)
	a.told.says(m)
	if l.joined && m.kind != vocab.RelayJoin && m.kind != vocab.SessionEnd {
		a.told.kept(m, "EA-103")
	}
}

// joinsFirst judges that an agent waits for relay.joined on each of its connections.
func (a *agent) joinsFirst(l *talk, m message) {
	switch {
	case m.kind == vocab.RelayJoin:
		l.asked = true
		a.settle(l, m)
	case !a.ours && !l.opened:
	case l.joined:
		a.kept(m, "EA-026")
	case l.asked:
		a.broken(m, "nothing before relay.joined has answered relay.join", "the agent has not joined yet", "EA-026")
	default:
		a.broken(m, "relay.join before anything else", "the agent has not joined", "EA-026")
	}
}

// id judges that request ids are unique, over all connections, or over each of a foreign one. An agent that reconnects
// after the end of its session, or begins with a new one, may restart its numbering, and so may another agent.
func (a *agent) id(l *talk, m message) {
	if !a.ours {
		a.unique(l.ids, m)
		return
	}
	if a.spoke != m.Conn {
		a.settleIDs(false)
		if a.over {
			a.over = false
			clear(a.ids)
		}
	}
	a.spoke = m.Conn
	if !l.begun && m.kind != vocab.RelayJoin {
		l.begun = true
		a.settleIDs(m.kind == vocab.SessionStart)
	}
	if !l.begun {
		a.doubts = append(a.doubts, m)
		return
	}
	a.unique(a.ids, m)
}

// settleIDs judges the ids of the first messages of a connection, once it is known whether they begin anew.
func (a *agent) settleIDs(anew bool) {
	if anew {
		clear(a.ids)
	}
	for _, m := range a.doubts {
		a.unique(a.ids, m)
	}
	a.doubts = nil
}

func (a *agent) unique(ids map[string]int, m message) {
	id, ok := m.id()
	if !ok {
		return
	}
	if len(ids) > 0 {
		a.check(ids[id] == 0, m, "an id that no other request has", fmt.Sprintf("id %q is that of record %d", id, ids[id]),
			"EA-022b")
	}
	if a.ours || len(ids) < mostIDs {
		ids[id] = m.N
	}
}

// rejoins judges that an agent returns to its relay session, and enters that it has to resynchronise.
func (a *agent) rejoins(l *talk, m message) {
	to := m.body[vocab.SessionID]
	same := a.relay != nil && wjson.Equal(a.relay, to)
	if a.relay != nil && a.ours {
		a.check(same, m, "the relay session in which the agent was: "+wjson.Compact(a.relay),
			"payload.sessionId is "+wjson.Compact(to), "EA-103")
	}
	l.relayed = same
	if a.relay = to; a.back(l, m) {
		l.due = a.book.Owe(&owed{What: "snapshot.get before the next tool.call", About: vocab.SnapshotGet, Cause: entry{m},
			Clauses: []string{"EA-076"}, Unfenced: true,
			Match: func(p entry) bool { return p.Conn == m.Conn && p.kind == vocab.SnapshotGet }})
	}
}

// back reports whether an agent goes on with its session on another connection.
func (a *agent) back(l *talk, m message) bool {
	return a.active && a.first != "" && m.Conn != a.first && !l.started && (a.ours || a.single && l.relayed)
}

// resynchronises judges that an agent that has reconnected requests a snapshot and gets it before it calls a tool. An
// agent that starts another session instead receives its state anyway.
func (a *agent) resynchronises(l *talk, m message) {
	if !a.back(l, m) || l.judged {
		return
	}
	l.judged = true
	l.withdraw()
	a.check(l.told, m, "snapshot.get before the next tool.call, and its answer, as the agent has reconnected",
		"the agent has no snapshot on this connection", "EA-076", "EA-077")
}

// announced is a state that was announced to an agent.
type announced struct {
	tools     toolschema.Tools
	raw       any           // the toolSchema
	at, until time.Duration // until: when the next one was announced, of a foreign agent
	asked     bool          // the agent was waiting for it
	n         int
}

// Crossing is the time in which an unrequested message of the harness may cross the agent's messages.
const Crossing = 250 * time.Millisecond

// inForce returns the states that may justify a call, the latest one first; known reports whether there can be no
// others. A state of the harness that was not requested may cross the call, so for a moment the previous announcement
// counts too. Of a foreign agent, every state of the connection does that may still have been under way.
func (a *agent) inForce(l *talk, m message) (may []announced, known bool) {
	if a.ours {
		for _, st := range slices.Backward(a.told.states) {
			if may = append(may, st); st.asked || m.At-st.at >= Crossing {
				break
			}
		}
		return may, true
	}
	for i, st := range slices.Backward(l.states) {
		if i == len(l.states)-1 || m.At-st.until < patience {
			may = append(may, st)
		}
	}
	return may, !l.partial && (len(may) > 0 || len(a.lines) == 1)
}

// calls judges a call by the states that may be in force.
func (a *agent) calls(l *talk, m message) {
	may, sure := a.inForce(l, m)
	name := m.word(vocab.ToolName)
	switch {
	case !sure || !a.ours && name == "":
		return
	case len(may) == 0:
		a.broken(m, "a call of a tool that was announced", "no tool has been announced yet", "EA-096a")
		return
	}
	var tools []toolschema.Tools
	for _, st := range may {
		tools = append(tools, st.tools)
	}
	known, fits := accept(tools, m)
	a.check(known, m, fmt.Sprintf("a call of a tool that record %d announces", may[0].n),
		fmt.Sprintf("%q is not announced", name), "EA-096a")
	switch {
	case fits:
		a.kept(m, "EA-081a")
	case known:
		a.broken(m, fmt.Sprintf("params that match the schema of %s in record %d", name, may[0].n), misfit(tools, m),
			"EA-081a")
	}
}

// accept reports whether one of several announcements has the tool of a call, and whether its params match a schema of
// it.
func accept(all []toolschema.Tools, call message) (known, fits bool) {
	name := call.word(vocab.ToolName)
	for _, tools := range all {
		if tool := tools.Find(name); tool != nil {
			known = true
			fits = fits || tool.Accepts(call.body[vocab.Params]) == nil
		}
	}
	return known, fits
}

// misfit says why the params of a call do not match the last of several announcements that has its tool.
func misfit(all []toolschema.Tools, call message) string {
	for _, tools := range slices.Backward(all) {
		if tool := tools.Find(call.word(vocab.ToolName)); tool != nil {
			return fmt.Sprintf("params %s: %v", wjson.Compact(call.body[vocab.Params]), tool.Accepts(call.body[vocab.Params]))
		}
	}
	return ""
}
