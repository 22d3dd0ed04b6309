package mutants

import (
	"context"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/wire"
)

// talkative does not wait for relay.joined.
var talkative = deciding(policy{MayTalk: func(view) bool { return true }})

// joiningFaults join wrongly, late, or elsewhere.
var joiningFaults = map[string]fault{
	"does-not-join":             both(talkative, telling(joinless)),
	"says-nothing":              telling(joinless),
	"talks-before-joined":       talkative,
	"talks-before-joined-again": deciding(policy{MayTalk: func(v view) bool { return v.Joined || v.Connection > 1 }}),
	"talks-by-its-own-clock":    both(talkative, pausing(2, 2)),
	"greets-before-the-join":    telling(greetsFirst),
	"joins-behind-the-session":  both(talkative, joinsSecond),
	"join-session-default":      with(proto.RelayJoin, func(p object) { p["sessionId"] = proto.DefaultSession }),
	"join-session-of-its-own":   with(proto.RelayJoin, func(p object) { p["sessionId"] = "booking-agent" }),
	"joins-again-elsewhere":     rejoining(func(view) string { return proto.DefaultSession }),
	"joins-again-the-study":     rejoining(func(v view) string { return v.Session }),
	"joins-the-study-session":   joinsStudy,
	"session-ids-must-be-equal": equalIDs,
}

// joinless sends no relay.join.
func joinless(_ view, msg message, send sender) {
	if msg.Type() != proto.RelayJoin {
		send(msg)
	}
}

// pausing delays the messages numbered from through to of each connection, counted from 1. The pause is long enough
// for the reply to arrive in every test.
func pausing(from, to int) fault {
	return writing(func() func(data string, put put) error {
		written := 0
		return func(data string, put put) error {
			if written++; from <= written && written <= to {
				time.Sleep(400 * time.Millisecond)
			}
			return put(data)
		}
	})
}

// greetsFirst introduces itself before joining.
func greetsFirst(_ view, msg message, send sender) {
	if msg.Type() == proto.RelayJoin {
		send(wire.New(proto.AgentMessage, object{"text": "Hello."}).With("id", "hello-"+msg.ID()))
	}
	send(msg)
}

// joinsSecond sends relay.join after the first message to the host.
func joinsSecond(o *options) {
	var join message
	o.Outbound = func(_ view, msg message, send sender) {
		if msg.Type() == proto.RelayJoin {
			join = msg
			return
		}
		send(msg)
		if join != nil {
			send(join)
			join = nil
		}
	}
}

// rejoining joins another relay session after losing its connection.
func rejoining(session func(v view) string) fault {
	return spoiling(proto.RelayJoin, func(v view, p object) {
		if v.Connection > 1 {
			p["sessionId"] = session(v)
		}
	})
}

// joinsStudy joins the session named in session.started.
func joinsStudy(o *options) {
	joined := ""
	o.Outbound = func(v view, msg message, send sender) {
		if v.Session != "" && v.Session != joined {
			joined = v.Session
			send(wire.New(proto.RelayJoin, object{"role": proto.AgentRole, "sessionId": joined}).With("id", "join-"+joined))
		}
		send(msg)
	}
}

// equalIDs ignores messages that name a session other than the joined one.
func equalIDs(o *options) {
	joined := ""
	deafTo(func(_ view, msg message) bool {
		id := msg.PayloadText("sessionId")
		if msg.Type() == proto.RelayJoined {
			joined = id
		}
		return id != "" && id != joined
	})(o)
}

// connectingFaults connect elsewhere, more than once, or do not reconnect.
var connectingFaults = map[string]fault{
	"endpoint-elsewhere":         elsewhere("/ws"),
	"endpoint-with-a-slash":      elsewhere(proto.Path + "/"),
	"two-connections":            dialling(dialTwo),
	"two-connections-after-loss": twoAfterLoss,
	"a-connection-to-speak":      dialling(toSpeak),
	"a-connection-per-request":   perRequest,
	"does-not-come-back":         deciding(policy{Reconnect: func(view) bool { return false }}),
	"never-connects":             dialling(neverConnects),
}

// elsewhere connects to another path.
func elsewhere(path string) fault {
	return dialling(func(ctx context.Context, url string) (agent.Socket, error) {
		return agent.DialWebSocket(ctx, strings.TrimSuffix(url, proto.Path)+path)
	})
}

// neverConnects waits for a connection from the host.
func neverConnects(ctx context.Context, _ string) (agent.Socket, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// pair is a connection with a second one that closes with it.
type pair struct {
	agent.Socket
	second agent.Socket
}

func (p pair) CloseNow() error {
	_ = p.second.CloseNow()
	return p.Socket.CloseNow()
}

// dialTwo opens two connections.
func dialTwo(ctx context.Context, url string) (agent.Socket, error) {
	s, err := agent.DialWebSocket(ctx, url)
	if err != nil {
		return nil, err
	}
	second, err := agent.DialWebSocket(ctx, url)
	if err != nil {
		_ = s.CloseNow()
		return nil, err
	}
	return pair{s, second}, nil
}

// twoAfterLoss connects twice after losing a connection.
func twoAfterLoss(o *options) {
	dialled := false
	o.Dial = func(ctx context.Context, url string) (agent.Socket, error) {
		if dialled {
			return dialTwo(ctx, url)
		}
		dialled = true
		return agent.DialWebSocket(ctx, url)
	}
}

// toSpeak opens a separate connection for each agent.message.
func toSpeak(ctx context.Context, url string) (agent.Socket, error) {
	s, err := agent.DialWebSocket(ctx, url)
	if err != nil {
		return nil, err
	}
	return wired{s, func(data string, put put) error {
		if strings.Contains(data, `"`+proto.AgentMessage+`"`) {
			if second, err := agent.DialWebSocket(context.WithoutCancel(ctx), url); err == nil {
				_ = second.CloseNow()
			}
		}
		return put(data)
	}}, nil
}

// perRequest reconnects after the state of each call.
func perRequest(o *options) {
	const leave = "leave.now" // an internal message of the agent to itself
	o.Policy.Strange = func(_ view, odd agent.Oddity, right agent.Reaction) agent.Reaction {
		if odd.Kind == agent.UnknownType && odd.Why == leave {
			return agent.Redial
		}
		return right
	}
	o.Inbound = func(v view, msg message) []message {
		if msg.Type() == proto.StateUpdated && v.Call != nil && v.Call.Answered {
			return []message{msg, wire.New(leave, object{})}
		}
		return []message{msg}
	}
}
