package externalagent

import (
	"fmt"
	"time"

	"parley/monitor"
	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/transcript"
	wjson "parley/wire/json"
)

// joinsFirst judges that an agent waits until it has joined (EA-026), on each of its connections.
func joinsFirst(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	asked, joined := map[string]bool{}, map[string]bool{}
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		switch {
		case r.Dir == transcript.Sent && r.Event.Type == vocab.RelayJoined:
			joined[r.Conn] = true
		case !target(&r):
		case r.Event.Type == vocab.RelayJoin:
			asked[r.Conn] = true
		case joined[r.Conn]:
			out = append(out, finding(&r, true, "EA-026", "", ""))
		case asked[r.Conn]:
			out = append(out, finding(&r, false, "EA-026", "nothing before relay.joined has answered relay.join", "the agent has not joined yet"))
		default:
			out = append(out, finding(&r, false, "EA-026", "relay.join before anything else", "the agent has not joined"))
		}
	}
	return out
}

// agentIDs judges that ids differ (EA-022b). An agent that comes anew, and begins with a session of its own, may count anew.
func agentIDs(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	seen, conn, anew := map[string]int{}, "", beginnings(t)
	for _, r := range t {
		if !target(&r) || r.Event == nil {
			continue
		}
		if r.Conn != conn && anew[r.Conn] {
			clear(seen)
		}
		conn = r.Conn
		id, ok := r.Event.RequestID.(string)
		if !ok {
			continue
		}
		if len(seen) > 0 {
			out = append(out, finding(&r, seen[id] == 0, "EA-022b", "an id that no other request has", fmt.Sprintf("id %q is that of record %d", id, seen[id])))
		}
		seen[id] = r.N
	}
	return out
}

// beginnings are the connections whose first request behind relay.join is session.start.
func beginnings(t []transcript.Record) map[string]bool {
	out := map[string]bool{}
	for _, r := range t {
		if _, known := out[r.Conn]; !known && target(&r) && r.Event != nil && r.Event.Type != vocab.RelayJoin {
			out[r.Conn] = r.Event.Type == vocab.SessionStart
		}
	}
	return out
}

// repliesAsText judges that replyTo is a string, where it is there (EA-023a): what an agent may answer, no clause says.
func repliesAsText(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	for _, r := range t {
		if !target(&r) || r.Event == nil {
			continue
		}
		env, _ := r.Event.Envelope.(object)
		to := env["replyTo"]
		out = append(out, finding(&r, to == nil || text(to, true), "EA-023a", "replyTo is a string, where it is there", "replyTo is "+wjson.Compact(to)))
	}
	return out
}

// announced is what the harness has announced to an agent.
type announced struct {
	tools toolschema.Tools
	at    time.Duration
	asked bool // the agent was waiting for it
	n     int
}

// crossing is how long a state that an agent has not asked for may cross what the agent sends meanwhile.
const crossing = 250 * time.Millisecond

// asking is what an agent waits for on its connection. A state is one that it waits for where one request was under way, no
// other was, and that has not brought it a state yet.
type asking struct {
	conn     string
	open     map[string]bool // requests that are not answered
	latest   string          // the request that a state may follow; "" where none is waited for
	answered bool
	several  bool // when it was sent, or since, others were under way
}

// says takes what the agent sends.
func (a *asking) says(r *transcript.Record) {
	if r.Conn != a.conn {
		*a = asking{conn: r.Conn, open: map[string]bool{}}
	}
	a.latest, a.answered, a.several = "", false, len(a.open) > 0
	switch r.Event.Type {
	case vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart:
		a.latest = fmt.Sprint(r.Event.RequestID)
		a.open[a.latest] = true
	}
}

// hears takes what the agent is sent, and tells whether that is a state for which it has waited.
func (a *asking) hears(r *transcript.Record, state bool) bool {
	env, _ := r.Event.Envelope.(object)
	if to, ok := env["replyTo"].(string); ok {
		delete(a.open, to)
		a.answered = a.answered || to == a.latest
	}
	asked := state && a.latest != "" && !a.several
	if state && a.answered {
		a.latest = ""
	}
	return asked
}

// agentCalls judges every call by what was announced last (EA-096a, EA-081a). A state that comes unasked may cross a call:
// for a moment what was announced before counts too.
func agentCalls(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	var states []announced
	waits := asking{open: map[string]bool{}}
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		body, _ := r.Event.Data.(object)
		switch {
		case r.Dir == transcript.Sent:
			state := r.Event.Type == vocab.StateUpdated || r.Event.Type == vocab.SnapshotState
			asked := waits.hears(&r, state)
			if !state {
				continue
			}
			list, _ := body["toolSchema"].([]any)
			if tools, err := toolschema.Parse(list); err == nil {
				states = append(states, announced{tools: tools, at: r.At, n: r.N, asked: asked})
			}
		case target(&r):
			if r.Event.Type == vocab.ToolCall {
				out = append(out, judgeCall(&r, body, states)...)
			}
			waits.says(&r)
		}
	}
	return out
}

func judgeCall(r *transcript.Record, body object, states []announced) []monitor.Finding {
	if len(states) == 0 {
		return []monitor.Finding{finding(r, false, "EA-096a", "a call of a tool that was announced", "nothing has been announced yet")}
	}
	name, _ := body["toolName"].(string)
	last := states[len(states)-1]
	may := []announced{last}
	for i := len(states) - 1; i > 0 && !states[i].asked && r.At-states[i].at < crossing; i-- {
		may = append(may, states[i-1])
	}
	var tool *toolschema.Tool
	var why error
	for _, st := range may {
		found := st.tools.Find(name)
		if found == nil {
			continue
		}
		tool = found
		if why = found.Accepts(body["params"]); why == nil {
			break
		}
	}
	known := finding(r, tool != nil, "EA-096a", fmt.Sprintf("a call of a tool that record %d announces", last.n), fmt.Sprintf("%q is not announced", name))
	if tool == nil {
		return []monitor.Finding{known}
	}
	observed := ""
	if why != nil {
		observed = fmt.Sprintf("params %s: %v", wjson.Compact(body["params"]), why)
	}
	return []monitor.Finding{known, finding(r, why == nil, "EA-081a", fmt.Sprintf("params that keep to the schema of %s in record %d", name, last.n), observed)}
}

// resynchronises judges that an agent which has come back asks for a snapshot, and has it, before it calls a tool (EA-076).
// One that starts another session instead is told its state anyway.
func resynchronises(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
	type course struct{ asked, told, started, judged bool }
	conns, active := map[string]*course{}, false
	first := ""
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		c := conns[r.Conn]
		if c == nil {
			c = &course{}
			conns[r.Conn] = c
		}
		switch kind := r.Event.Type; {
		case r.Dir == transcript.Sent && kind == vocab.SessionStarted:
			if first == "" {
				first = r.Conn
			}
			active, c.started = true, true
		case r.Dir == transcript.Sent && kind == vocab.SnapshotState:
			c.told = c.told || c.asked
		case r.Dir == transcript.Sent && kind == vocab.SessionEnded:
			active = false
		case !target(&r):
		case kind == vocab.SnapshotGet:
			c.asked = true
		case kind == vocab.ToolCall && active && first != "" && r.Conn != first && !c.started && !c.judged:
			c.judged = true
			out = append(out, finding(&r, c.told, "EA-076", "snapshot.get, and snapshot.state, between coming back and the next tool.call", "the agent has no snapshot on this connection"))
		}
	}
	return out
}

// oneConnection judges that an agent speaks on one connection at a time (EA-016, EA-106), and comes back to the relay session
// in which it was (EA-103). That a connection ends may be told behind the beginning of the next one, and so may what was
// still on its way: only who goes on to talk on the older one has two.
func oneConnection(t []transcript.Record) []monitor.Finding {
	var out []monitor.Finding
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
			out = append(out, monitor.Finding{Clauses: []string{"EA-016", "EA-106"}, OK: true, At: r.N})
		case older[r.Conn] != nil && r.Kind == transcript.Frame:
			if older[r.Conn].goesOn(&r) {
				out = append(out, monitor.Finding{Clauses: []string{"EA-016", "EA-106"}, At: r.N, Expected: "one WebSocket connection of the agent at a time",
					Observed: fmt.Sprintf("it talks on %s, and has opened %s: %s", r.Conn, latest, monitor.Describe(r))})
			}
		}
		if target(&r) && r.Event != nil && r.Event.Type == vocab.RelayJoin {
			p, _ := r.Event.Data.(object)
			if session != nil {
				out = append(out, finding(&r, wjson.Equal(session, p["sessionId"]), "EA-103", "the relay session in which the agent was: "+wjson.Compact(session),
					"payload.sessionId is "+wjson.Compact(p["sessionId"])))
			}
			session = p["sessionId"]
		}
	}
	return out
}

// talk is what passes on a connection once another has been opened.
type talk struct {
	told  bool // the harness has said something since the agent last did
	turns int  // how often the agent has said something behind that
}

// goesOn tells, once, whether it is more than what was still on its way.
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
