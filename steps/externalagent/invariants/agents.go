package invariants

import (
	"cmp"
	"fmt"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/externalagent/toolschema"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// joinsFirst judges that an agent waits for relay.joined (EA-026) on each of its connections.
func joinsFirst(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	asked, joined := map[string]bool{}, map[string]bool{}
	for m := range messages(t) {
		switch {
		case m.sent(vocab.RelayJoined):
			joined[m.Conn] = true
		case !target(m.Record):
		case m.kind == vocab.RelayJoin:
			asked[m.Conn] = true
		case joined[m.Conn] || asked[m.Conn]:
			out = append(out, m.finding(joined[m.Conn], "EA-026", "nothing before relay.joined has answered relay.join",
				"the agent has not joined yet"))
		default:
			out = append(out, m.finding(false, "EA-026", "relay.join before anything else", "the agent has not joined"))
		}
	}
	return out
}

// agentIDs judges that request ids are unique (EA-022b). An agent that reconnects and begins with a new session may
// restart its numbering, and so may another agent.
func agentIDs(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	seen, conn, anew := map[string]int{}, "", beginnings(t)
	others := remarks(t, AnotherAgent)
	for m := range received(t) {
		if m.Conn != conn && anew[m.Conn] {
			clear(seen)
		}
		for ; len(others) > 0 && others[0] < m.N; others = others[1:] {
			clear(seen)
		}
		conn = m.Conn
		id, ok := m.Event.RequestID.(string)
		if !ok {
			continue
		}
		if len(seen) > 0 {
			out = append(out, m.finding(seen[id] == 0, "EA-022b", "an id that no other request has",
				fmt.Sprintf("id %q is that of record %d", id, seen[id])))
		}
		seen[id] = m.N
	}
	return out
}

// remarks returns the numbers of the remarks with a label.
func remarks(t []transcript.Record, label string) []int {
	var out []int
	for _, r := range t {
		if r.Kind == transcript.Remark && r.Label == label {
			out = append(out, r.N)
		}
	}
	return out
}

// beginnings returns the connections whose first request after relay.join is session.start.
func beginnings(t []transcript.Record) map[string]bool {
	out := map[string]bool{}
	for m := range received(t) {
		if _, known := out[m.Conn]; !known && m.kind != vocab.RelayJoin {
			out[m.Conn] = m.kind == vocab.SessionStart
		}
	}
	return out
}

// repliesAsText judges that replyTo, if present, is a string (EA-023a). No clause says what an agent may answer.
func repliesAsText(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	for m := range received(t) {
		to := m.env[vocab.ReplyTo]
		out = append(out, m.finding(to == nil || text(to, true), "EA-023a", "replyTo is a string, if present",
			"replyTo is "+wjson.Compact(to)))
	}
	return out
}

// announced is a state that the harness has announced to an agent.
type announced struct {
	tools toolschema.Tools
	at    time.Duration
	asked bool // the agent was waiting for it
	n     int
}

// crossing is the time in which an unrequested state may cross the agent's messages.
const crossing = 250 * time.Millisecond

// asking is what an agent waits for on its connection. It waits for a state if exactly one request is pending that
// has not brought a state yet.
type asking struct {
	conn     string
	open     map[string]bool // unanswered requests
	latest   string          // the request that a state may follow; "" if no state is expected
	answered bool
	several  bool // other requests were pending when it was sent
}

// says handles a message from the agent.
func (a *asking) says(m message) {
	if m.Conn != a.conn {
		*a = asking{conn: m.Conn, open: map[string]bool{}}
	}
	a.latest, a.answered, a.several = "", false, len(a.open) > 0
	switch m.kind {
	case vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart:
		a.latest = fmt.Sprint(m.Event.RequestID)
		a.open[a.latest] = true
	}
}

// hears handles a message to the agent, and reports whether it is a state that the agent waited for.
func (a *asking) hears(m message) bool {
	if to, ok := m.env[vocab.ReplyTo].(string); ok {
		delete(a.open, to)
		a.answered = a.answered || to == a.latest
	}
	asked := m.isState() && a.latest != "" && !a.several
	if m.isState() && a.answered {
		a.latest = ""
	}
	return asked
}

// agentCalls judges every call by the latest announcement (EA-096a, EA-081a). An unrequested state may cross a call,
// so for a moment the previous announcement counts too.
func agentCalls(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	var states []announced
	waits := asking{open: map[string]bool{}}
	for m := range messages(t) {
		switch {
		case m.Dir == transcript.Sent:
			asked := waits.hears(m)
			list, _ := m.body[vocab.ToolSchema].([]any)
			if tools, err := toolschema.Parse(list); err == nil && m.isState() {
				states = append(states, announced{tools: tools, at: m.At, n: m.N, asked: asked})
			}
		case target(m.Record):
			if m.kind == vocab.ToolCall {
				out = append(out, judgeCall(m, states)...)
			}
			waits.says(m)
		}
	}
	return out
}

func judgeCall(m message, states []announced) []verdict.Finding {
	if len(states) == 0 {
		return []verdict.Finding{m.finding(false, "EA-096a", "a call of a tool that was announced",
			"no tool has been announced yet")}
	}
	name, _ := m.body[vocab.ToolName].(string)
	last := states[len(states)-1]
	may := []announced{last}
	for i := len(states) - 1; i > 0 && !states[i].asked && m.At-states[i].at < crossing; i-- {
		may = append(may, states[i-1])
	}
	known, why := false, error(nil)
	for _, st := range may {
		if tool := st.tools.Find(name); tool != nil {
			known = true
			if why = tool.Accepts(m.body[vocab.Params]); why == nil {
				break
			}
		}
	}
	out := []verdict.Finding{m.finding(known, "EA-096a", fmt.Sprintf("a call of a tool that record %d announces", last.n),
		fmt.Sprintf("%q is not announced", name))}
	if !known {
		return out
	}
	observed := ""
	if why != nil {
		observed = fmt.Sprintf("params %s: %v", wjson.Compact(m.body[vocab.Params]), why)
	}
	return append(out, m.finding(why == nil, "EA-081a",
		fmt.Sprintf("params that match the schema of %s in record %d", name, last.n), observed))
}

// resynchronises judges that an agent that has reconnected requests a snapshot and gets it before it calls a tool
// (EA-076). An agent that starts another session instead receives its state anyway.
func resynchronises(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	type course struct{ asked, told, started, judged bool }
	conns, active, first := map[string]*course{}, false, ""
	for m := range messages(t) {
		c := conns[m.Conn]
		if c == nil {
			c = &course{}
			conns[m.Conn] = c
		}
		switch {
		case m.sent(vocab.SessionStarted):
			first = cmp.Or(first, m.Conn)
			active, c.started = true, true
		case m.sent(vocab.SnapshotState):
			c.told = c.told || c.asked
		case m.sent(vocab.SessionEnded):
			active = false
		case !target(m.Record):
		case m.kind == vocab.SnapshotGet:
			c.asked = true
		case m.kind == vocab.ToolCall && active && first != "" && m.Conn != first && !c.started && !c.judged:
			c.judged = true
			out = append(out, m.finding(c.told, "EA-076",
				"snapshot.get and snapshot.state between the reconnection and the next tool.call",
				"the agent has no snapshot on this connection"))
		}
	}
	return out
}

// oneConnection judges that an agent uses one connection at a time (EA-016, EA-106) and returns to its relay session
// (EA-103). The end of a connection and messages in transit may be recorded after the next connection has begun, so
// only an agent that keeps talking on the older one is at fault.
func oneConnection(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	session := any(nil)
	latest := ""
	older := map[string]*talk{}
	for _, r := range t {
		switch {
		case r.Kind == transcript.Open && r.Dir == transcript.Received:
			if latest != "" {
				older[latest] = &talk{}
			}
			latest = r.Conn
			out = append(out, verdict.Finding{Clauses: []string{"EA-016", "EA-106"}, OK: true, At: r.N})
		case older[r.Conn] != nil && r.Kind == transcript.Frame:
			if older[r.Conn].goesOn(&r) {
				out = append(out, verdict.Finding{Clauses: []string{"EA-016", "EA-106"}, At: r.N,
					Expected: "one WebSocket connection of the agent at a time",
					Observed: fmt.Sprintf("it uses %s but has opened %s: %s", r.Conn, latest, monitor.Describe(r))})
			}
		}
		if target(&r) && r.Event != nil && r.Event.Type == vocab.RelayJoin {
			p, _ := r.Event.Data.(object)
			if session != nil {
				out = append(out, finding(&r, wjson.Equal(session, p[vocab.SessionID]), "EA-103",
					"the relay session in which the agent was: "+wjson.Compact(session),
					"payload.sessionId is "+wjson.Compact(p[vocab.SessionID])))
			}
			session = p[vocab.SessionID]
		}
	}
	return out
}

// talk is the traffic on a connection after another was opened.
type talk struct {
	told  bool // the harness has sent something since the agent's last message
	turns int  // how often the agent has sent something after that
}

// goesOn reports, once, that the agent sends more than what was in transit.
func (k *talk) goesOn(r *transcript.Record) bool {
	if r.Dir == transcript.Sent {
		k.told = true
		return false
	}
	if !k.told {
		return false
	}
	k.told = false
	k.turns++
	return k.turns == 2
}
