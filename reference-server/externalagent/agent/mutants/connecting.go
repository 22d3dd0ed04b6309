package mutants

import (
	"context"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
	"parley/reference-server/externalagent/wire"
)

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
