package agents

import (
	"context"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// connectingFaults connect elsewhere, more than once, or not again.
var connectingFaults = map[string]fault{
	"endpoint-elsewhere":         elsewhere("/ws"),
	"endpoint-with-a-slash":      elsewhere(proto.Path + "/"),
	"two-connections":            dialling(twoConnections),
	"two-connections-after-loss": dialling(twoAfterLoss),
	"a-connection-to-speak":      dialling(toSpeak),
	"a-connection-per-request":   perRequest,
	"does-not-come-back":         deciding(func() rules { return rules{reconnect: func(view) bool { return false }} }),
	"never-connects":             dialling(neverConnects),
}

// elsewhere connects to another path.
func elsewhere(path string) fault {
	return dialling(func() agent.Dialer {
		return func(ctx context.Context, url string) (agent.Socket, error) {
			return agent.DialWebSocket(ctx, strings.TrimSuffix(url, proto.Path)+path)
		}
	})
}

// neverConnects waits for a connection to be made to it.
func neverConnects() agent.Dialer {
	return func(ctx context.Context, _ string) (agent.Socket, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// pair is a connection and a second one beside it, which ends with it.
type pair struct {
	agent.Socket
	second agent.Socket
}

func (p pair) CloseNow() error {
	_ = p.second.CloseNow()
	return p.Socket.CloseNow()
}

// dialTwo opens a second connection beside a connection.
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

// twoConnections connects twice, as what connects is mounted twice.
func twoConnections() agent.Dialer { return dialTwo }

// twoAfterLoss connects twice once a connection has been lost: two handlers notice it.
func twoAfterLoss() agent.Dialer {
	dialled := false
	return func(ctx context.Context, url string) (agent.Socket, error) {
		if dialled {
			return dialTwo(ctx, url)
		}
		dialled = true
		return agent.DialWebSocket(ctx, url)
	}
}

// toSpeak says agent.message over a connection of its own.
func toSpeak() agent.Dialer {
	return func(ctx context.Context, url string) (agent.Socket, error) {
		s, err := agent.DialWebSocket(ctx, url)
		if err != nil {
			return nil, err
		}
		return wire{s, func(ctx context.Context, data []byte, put func(data []byte) error) error {
			if strings.Contains(string(data), `"`+proto.AgentMessage+`"`) {
				if second, err := agent.DialWebSocket(ctx, url); err == nil {
					_ = second.CloseNow()
				}
			}
			return put(data)
		}}, nil
	}
}

// leaveNow is what an agent tells itself when it is to leave its connection.
const leaveNow = "leave.now"

// perRequest has a connection for each call, which it leaves once it knows what has come of that.
func perRequest(o *options) {
	o.Policy = rules{strange: func(_ view, odd agent.Oddity) agent.Reaction {
		if odd.Kind == agent.UnknownType && odd.Why == leaveNow {
			return agent.Redial
		}
		return agent.Ignore
	}}
	o.Inbound = func(v view, msg message) []message {
		if msg.Type() == proto.StateUpdated && v.Call != nil && v.Call.Answered {
			return []message{msg, {"v": proto.Version, "type": leaveNow, "payload": object{}}}
		}
		return []message{msg}
	}
}
