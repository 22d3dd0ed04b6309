package sessionruntime

import (
	"fmt"
	"time"

	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Acts of a session under load, beside those that every protocol has.
const (
	loadTurn      = "turn"
	loadMention   = "mention"
	loadInterrupt = "interrupt"
	loadMember    = "invite-or-remove"
)

const loadChunks = 3 // of an agent's output under load, with the final

// strayClauses are those that a session under load judges: what came belongs to it. The rest is judged by the monitors.
var strayClauses = []string{"RT-014", "RT-015"}

// Load implements steps.Loadable. The sessions need a bus of their own each, so that stdio has none.
func (Protocol) Load(env *steps.Env, base string) steps.Load {
	if env.Driver.Name() == target.Stdio {
		return steps.Load{}
	}
	b := newCodec(env.Profile)
	return steps.Load{Acts: []string{loadTurn, loadMention, loadInterrupt, loadMember, steps.LoadReconnect},
		Decode: b.decode,
		Judges: monitor.Monitor{Name: "load-sessions", Clauses: strayClauses, Passive: true,
			Text: "what a session under load receives is its own"},
		New: func(mark steps.Mark, _ *steps.Claims) steps.LoadSession {
			l := &loaded{b: b, env: env, mark: mark, url: base + b.wire.WS.Path, id: mark.Prefix() + "s"}
			for i := range l.agents {
				l.agents[i] = mark.Prefix() + string(rune('a'+i))
				if own := binding.Of(env.Profile).Agents; i < len(own) {
					l.agents[i] = own[i]
				}
			}
			return l
		}}
}

// loaded is a session with all parties on its bus. It implements steps.LoadSession.
type loaded struct {
	b    *codec
	env  *steps.Env
	mark steps.Mark
	url  string
	id   string

	agents [3]string // the last one comes and goes
	active string
	joined bool
	serial int

	act    string // in progress; "" for none
	nonce  string // of the act
	turn   judge.Message
	passed int  // outputs that were forwarded
	cancel bool // the user has cancelled
}

// Dial implements steps.LoadSession: a new bus knows no session, and has no turns.
func (l *loaded) Dial() driver.OpenOptions {
	l.act, l.active, l.joined = steps.LoadConnect, l.agents[0], false
	return driver.OpenOptions{URL: l.url, Header: l.env.Profile.Header()}
}

// Act implements steps.LoadSession.
func (l *loaded) Act(name string) []driver.Message {
	l.act, l.passed, l.cancel, l.turn = name, 0, false, judge.Message{}
	l.serial++
	l.nonce = l.mark.Nonce(l.serial)
	f := frame{event: vocab.UserInput, from: judge.Frontend, payload: "what about " + l.nonce + "?"}
	switch name {
	case loadMention:
		other := l.agents[0]
		if l.active == other {
			other = l.agents[1]
		}
		f.payload = map[string]any{"text": "what about " + l.nonce + "?", "mentioned_agent_id": other}
	case loadMember:
		f = l.member()
	}
	return l.send(f)
}

// member invites the last agent, or removes it.
func (l *loaded) member() frame {
	id := l.agents[2]
	f := frame{event: vocab.Control, subtype: vocab.InviteAgent, from: judge.Frontend,
		payload: map[string]any{"agent_spec": map[string]any{"agent_id": id, "id": id, "name": "An agent"}}}
	if l.joined {
		f.subtype, f.payload, f.fields = vocab.RemoveAgent, map[string]any{}, []field{l.names(id)}
	}
	return f
}

func (l *loaded) names(agent string) field {
	return field{places: l.b.wire.Fields.AgentID, value: agent}
}

// send encodes frames for the session.
func (l *loaded) send(all ...frame) (out []driver.Message) {
	for _, f := range all {
		l.serial++
		f.id, f.session, f.now = l.mark.Nonce(l.serial), l.id, time.Now()
		m, err := l.b.encode(f)
		if err != nil { // the profile names places that exclude each other, which any run reports
			return nil
		}
		out = append(out, m)
	}
	return out
}

// fromAgent is a message of the agent in the current turn.
func (l *loaded) fromAgent(event, subtype string, payload any) frame {
	return frame{event: event, subtype: subtype, from: l.turn.TargetID, trace: l.turn.Trace, turn: l.turn.Turn,
		payload: payload}
}

// output is a piece of the agent's output, by its number.
func (l *loaded) output(n int) frame {
	f := l.fromAgent(vocab.AgentOutput, "", l.b.output(l.piece(n)))
	f.stream = &stream{chunk: true, seq: n, final: n == loadChunks-1}
	return f
}

func (l *loaded) piece(n int) string { return fmt.Sprintf("piece %d of %s.", n, l.nonce) }

// setUp is the set-up frame of the session.
func (l *loaded) setUp() []driver.Message {
	body, err := wjson.Encode(map[string]any{"parley": vocab.Setup, "session_id": l.id,
		"agents": []any{l.agents[0], l.agents[1]}, "active_agent_id": l.agents[0],
		"limits": map[string]any{"input_ack_ms": 60_000, "cancel_ack_ms": 60_000}})
	if err != nil {
		return nil
	}
	return []driver.Message{{Label: judge.SetupFrame, Body: body}}
}

// HandleRecord implements steps.LoadSession.
func (l *loaded) HandleRecord(r *transcript.Record) (out steps.LoadStep) {
	if r.Dir != transcript.Received {
		return out
	}
	if alien := l.mark.Foreign(string(r.Bytes)); alien != "" {
		l.strays(&out, r, "nothing of another session, as "+alien+" is")
		return out
	}
	switch {
	case r.Kind == transcript.Open:
		out.Send = l.setUp()
		return out
	case r.Event == nil:
		return out
	case r.Event.Type == judge.ReadyFrame:
		if l.act == steps.LoadConnect {
			l.ends(&out)
		}
		return out
	case r.Event.Type == "parley "+vocab.Problem:
		out.Failed = "the orchestrator reports a problem"
		return out
	}
	if m, ok := judge.Read(*r); ok {
		l.published(r, m, &out)
	}
	return out
}

func (l *loaded) ends(out *steps.LoadStep) { l.act, out.Done = "", true }

// strays finds a message that belongs to another session.
func (l *loaded) strays(out *steps.LoadStep, r *transcript.Record, expected string) {
	out.Findings = append(out.Findings, steps.CheckOf(*r, false, expected, strayClauses...))
}

// published does what a message of the orchestrator calls for.
func (l *loaded) published(r *transcript.Record, m judge.Message, out *steps.LoadStep) {
	if m.Session != "" && m.Session != l.id {
		l.strays(out, r, "a message of session "+l.id)
		return
	}
	switch m.Kind() {
	case judge.Route:
		l.routed(r, m, out)
	case judge.Output:
		l.forwarded(m, out)
	case judge.CancelSent:
		if l.act == loadInterrupt && l.cancel && m.TargetID == l.turn.TargetID {
			f := l.fromAgent(vocab.Control, vocab.CancelAck, map[string]any{})
			f.tx = m.Tx
			out.Send = l.send(f)
		}
	case judge.Canceled:
		if l.act == loadInterrupt {
			l.ends(out)
		}
	case judge.RequestAdd, judge.RequestRemove:
		l.receipt(m, out)
	case judge.Added, judge.Removed:
		if l.act == loadMember {
			l.joined = m.Kind() == judge.Added
			l.ends(out)
		}
	case judge.Failure, judge.RouteTimeout, judge.RemoveFailed:
		out.Failed = "ERROR " + m.Subtype
	}
}

// routed answers an input in the name of its agent.
func (l *loaded) routed(r *transcript.Record, m judge.Message, out *steps.LoadStep) {
	if l.act == "" || l.turn.N > 0 || l.act == loadMember || !judge.Mentions(m, l.nonce+"?") {
		return
	}
	out.Findings = append(out.Findings, steps.CheckOf(*r, true, "", strayClauses...))
	l.turn, l.active = m, m.TargetID
	all := []frame{l.fromAgent(vocab.Control, vocab.InputAck, map[string]any{}), l.output(0)}
	if l.act != loadInterrupt {
		all = append(all, l.output(1), l.output(2))
	}
	out.Send = l.send(all...)
}

// forwarded follows output on its way to the frontend.
func (l *loaded) forwarded(m judge.Message, out *steps.LoadStep) {
	if l.act == "" || l.turn.N == 0 || l.passed >= loadChunks {
		return
	}
	l.passed++
	switch {
	case l.act == loadInterrupt && !l.cancel:
		l.cancel = true
		out.Send = l.send(frame{event: vocab.Control, subtype: vocab.Cancel, from: judge.Frontend,
			payload: map[string]any{}})
	case l.act != loadInterrupt && (m.Final || l.passed == loadChunks):
		l.ends(out)
	}
}

// receipt answers a request in the name of SessionManager.
func (l *loaded) receipt(m judge.Message, out *steps.LoadStep) {
	f := frame{event: vocab.Control, subtype: vocab.AddAgentDone, from: judge.Manager, trace: m.Trace, turn: m.Turn,
		tx: m.Tx, payload: map[string]any{"session_id": l.id}, fields: []field{l.names(l.agents[2])}}
	if m.Kind() == judge.RequestRemove {
		f.subtype = vocab.RemoveAgentDone
	}
	out.Send = l.send(f)
}

var (
	_ steps.Loadable    = Protocol{}
	_ steps.LoadSession = (*loaded)(nil)
)
