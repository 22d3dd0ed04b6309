package relay

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
)

// pair is a host and two agents of session "s" and an agent of "t", with probes of how a relay treats them.
type pair struct {
	b               *bench
	host, a1, a2, t *party
}

// first returns the next frame's type, or "closed".
func first(p *party) string {
	data, err := p.Read(p.t.Context())
	var msg object
	if err != nil || json.Unmarshal(data, &msg) != nil {
		return "closed"
	}
	kind, _ := msg["type"].(string)
	return kind
}

// idOf returns a member of the next frame.
func idOf(p *party, name string) any { return p.nextObject()[name] }

// passes reports whether the host receives a1's text before a valid request.
func (w pair) passes(text string) bool {
	w.a1.send(text)
	w.a1.send(agentRequest("after"))
	return w.host.next() != agentRequest("after")
}

// hears reports whether a party receives a push before the relay answers it.
func (w pair) hears(p *party) bool {
	w.host.send(hostMessage("x"))
	w.host.send("x")
	_ = first(w.host)
	p.send("x")
	return first(p) == "user.message"
}

var faults = []struct {
	name  string
	spoil func(o *Options)
	shows func(w pair) bool
}{
	{"v not checked", deciding(Policy{Check: func(name string, _ Party, _ *Envelope, why *Refusal) *Refusal {
		if name == CheckV {
			return nil
		}
		return why
	}}), func(w pair) bool { return w.passes(`{"v":"mvp-0.1","type":"tool.call","payload":{}}`) }},
	{"repeated names accepted", deciding(Policy{Check: func(_ string, _ Party, e *Envelope, why *Refusal) *Refusal {
		if e.Fault == Duplicates {
			return nil
		}
		return why
	}}), func(w pair) bool { return w.passes(`{"v":"mvp-0.2","v":"mvp-0.2","type":"tool.call","payload":{}}`) }},
	{"join without id accepted", deciding(Policy{Join: func(_ Relay, _ Party, e *Envelope, _ proto.Join,
		_ *Refusal) (proto.Join, *Refusal) {
		role, _ := e.Payload().Text("role")
		session, _ := e.Payload().Text("sessionId")
		return proto.Join{Role: role, SessionID: session}, nil
	}}), func(w pair) bool {
		p := w.b.dial()
		p.send(`{"v":"mvp-0.2","type":"relay.join","payload":{"role":"agent","sessionId":"s"}}`)
		return first(p) == "relay.joined"
	}},
	{"sessions differ only by their first letter", deciding(Policy{Key: func(sessionID string) string {
		return sessionID[:1]
	}}),
		func(w pair) bool { return w.hears(w.b.join("agent", "s2")) }},
	{"joined without replyTo", deciding(Policy{Joined: func(_ Relay, _ Party, _ proto.Join, msg Message) Message {
		return msg.Without("replyTo")
	}}), func(w pair) bool {
		w.a1.send(joining("j", "agent", "s"))
		return idOf(w.a1, "replyTo") == nil
	}},
	{"relay.joined not sent", deciding(Policy{Joined: func(Relay, Party, proto.Join, Message) Message {
		return nil
	}}), func(w pair) bool {
		w.a1.send(joining("j", "agent", "s"))
		w.a1.send("x")
		return first(w.a1) == "error"
	}},
	{"silent before the join", deciding(Policy{Unjoined: func(Relay, Party, *Envelope, *Refusal) *Refusal {
		return nil
	}}), func(w pair) bool {
		p := w.b.dial()
		p.send(agentRequest("i"))
		p.send("x")
		return idOf(p, "replyTo") == nil
	}},
	{"hosts heard by the first agent only", deciding(Policy{Recipients: func(_ Relay, _ Party, _ *Envelope,
		to []Party) []Party {
		return to[:min(1, len(to))]
	}}), func(w pair) bool { return !w.hears(w.a2) }},
	{"hosts heard in other sessions", deciding(Policy{Recipients: func(r Relay, from Party, _ *Envelope,
		to []Party) []Party {
		for _, p := range r.Parties() {
			if p.Role == proto.AgentRole && p.Session != from.Session {
				to = append(to, p)
			}
		}
		return to
	}}), func(w pair) bool { return w.hears(w.t) }},
	{"bytes changed", deciding(Policy{Pass: func(_, _ Party, _ *Envelope, data []byte) []byte {
		return append([]byte(" "), data...)
	}}), func(w pair) bool {
		w.a1.send(agentRequest("i"))
		return w.host.next() != agentRequest("i")
	}},
	{"silent without a host", deciding(Policy{HostAbsent: func(Relay, Party, *Envelope, *Refusal) *Refusal {
		return nil
	}}), func(w pair) bool {
		w.t.send(agentRequest("i"))
		w.t.send("x")
		return idOf(w.t, "replyTo") == nil
	}},
	{"error without code", deciding(Policy{Error: func(_ Party, _ Request, _ Refusal, msg Message) Message {
		return msg.With("payload", object{})
	}}), func(w pair) bool {
		w.a1.send("x")
		return len(idOf(w.a1, "payload").(object)) == 0
	}},
	{"a bad envelope closes", deciding(Policy{Ends: func(Party, *Envelope, *websocket.CloseError) *websocket.CloseError {
		return &websocket.CloseError{Code: websocket.StatusInvalidFramePayloadData}
	}}), func(w pair) bool {
		w.a1.send("x")
		if first(w.a1) != "error" {
			return false
		}
		_ = w.a1.Write(w.b.t.Context(), []byte("x"))
		return first(w.a1) == "closed"
	}},

	{"user.message dropped on its way in", func(o *Options) {
		o.Inbound = func(_ Relay, _ Party, f Frame) []Frame {
			if strings.Contains(string(f.Data), "user.message") {
				return nil
			}
			return []Frame{f}
		}
	}, func(w pair) bool { return !w.hears(w.a1) }},
	{"order swapped on the way in", func(o *Options) {
		var held []Frame
		o.Inbound = func(_ Relay, from Party, f Frame) []Frame {
			if from.Role == proto.AgentRole && held == nil {
				held = []Frame{f}
				return nil
			}
			out := append([]Frame{f}, held...)
			held = nil
			return out
		}
	}, func(w pair) bool {
		w.a1.send(agentRequest("1"))
		w.a1.send(agentRequest("2"))
		return w.host.next() == agentRequest("2") && w.host.next() == agentRequest("1")
	}},
	{"sent twice", func(o *Options) {
		o.Outbound = func(_ Relay, _, to Party, frame []byte, send func(int, []byte)) {
			send(to.Conn, frame)
			send(to.Conn, frame)
		}
	}, func(w pair) bool {
		w.a1.send(agentRequest("i"))
		w.a1.send(agentRequest("j"))
		one := w.host.next()
		return w.host.next() == one
	}},
	{"sent to another of the host's agents, later", func(o *Options) {
		later := make(chan func(), 1)
		o.Outbound = func(r Relay, from, to Party, frame []byte, send func(int, []byte)) {
			if from.Role != proto.HostRole {
				send(to.Conn, frame)
				return
			}
			agents := r.Agents(to.Session)
			later <- func() { send(agents[len(agents)-1].Conn, frame) }
			go func() { (<-later)() }()
		}
	}, func(w pair) bool {
		w.a1.send(agentRequest("i"))
		_ = w.host.next()
		w.host.send(hostReply("i", "x"))
		w.host.wantNothing()
		w.a1.send(agentRequest("j"))
		_ = w.host.next()
		w.a1.send("x")
		if first(w.a1) != "error" {
			return false
		}
		return w.a2.next() == hostReply("i", "x")
	}},
	{"sends unasked, and ends", func(o *Options) {
		o.Inbound = func(r Relay, from Party, f Frame) []Frame {
			if host, ok := r.Host(from.Session); ok && from.Role == proto.AgentRole {
				r.Send(from.Conn, []byte(hostMessage("greeting")))
				r.End(host.Conn, websocket.CloseError{Code: websocket.StatusNormalClosure})
			}
			return []Frame{f}
		}
	}, func(w pair) bool {
		w.a1.send("x")
		if first(w.a1) != "user.message" {
			return false
		}
		_ = w.host.Write(w.b.t.Context(), []byte("x"))
		return first(w.host) == "closed"
	}},
}

func deciding(p Policy) func(*Options) { return func(o *Options) { o.Policy = p } }

// A realistic fault is a small wrapper around the correct relay.
func TestSeams(t *testing.T) {
	for _, f := range faults {
		for _, faulty := range []bool{false, true} {
			t.Run(f.name+map[bool]string{true: "/faulty", false: "/correct"}[faulty], func(t *testing.T) {
				var o Options
				if faulty {
					f.spoil(&o)
				}
				b := startServer(t, o)
				w := pair{b, b.attach("host", "s"), b.attach("agent", "s"), b.attach("agent", "s"), b.attach("agent", "t")}
				if f.shows(w) != faulty {
					t.Errorf("the fault shows: %v", !faulty)
				}
			})
		}
	}
}

// The hooks get the correct sender and recipient.
func TestParties(t *testing.T) {
	type hop struct{ from, to Party }
	hops, comes := make(chan hop, 100), make(chan Party, 100)
	b := startServer(t, Options{
		Inbound: func(r Relay, from Party, f Frame) []Frame {
			comes <- from
			return []Frame{f}
		},
		Outbound: func(_ Relay, from, to Party, frame []byte, send func(int, []byte)) {
			hops <- hop{from, to}
			send(to.Conn, frame)
		},
	})
	host := Party{Conn: 1, Role: proto.HostRole, Session: "s", Attached: true}
	agent := Party{Conn: 2, Role: proto.AgentRole, Session: "s"}
	h, a := b.attach("frontend", "s"), b.join("agent", "s")
	a.send(agentRequest("q"))
	h.wantMessage(agentRequest("q"))
	h.send(hostReply("q", "x"))
	a.wantMessage(hostReply("q", "x"))
	for _, want := range []Party{{Conn: 2}, agent, host} {
		if got := <-comes; got != want {
			t.Errorf("in from %+v, want %+v", got, want)
		}
	}
	for _, want := range []hop{{Party{}, agent}, {agent, host}, {host, agent}} {
		if got := <-hops; got != want {
			t.Errorf("out %+v, want %+v", got, want)
		}
	}
}
