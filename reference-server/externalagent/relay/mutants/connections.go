package mutants

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// connectionFaults refuse connections, or end them.
var connectionFaults = map[string]fault{
	"endpoint-elsewhere":         func(o *options) { o.Path = "/ws" },
	"one-connection-for-all":     func(o *options) { o.Limits.Connections = 1 },
	"latest-connection-counts":   endingAtJoin(func(p, from party, _ string) bool { return p.Conn != from.Conn }),
	"closes-behind-a-result":     ClosingAfter(proto.ToolResult),
	"closes-behind-a-snapshot":   ClosingAfter(proto.SnapshotState),
	"places-never-given-back":    PlacesKept(5, func(proto.Join) bool { return true }),
	"a-connection-of-8-messages": eightMessages,
}

// endingAtJoin ends the connections of some other parties when a party joins a session.
func endingAtJoin(which func(p, from party, session string) bool) fault {
	return hearing(func(v view, from party, f frame, e *envelope) []frame {
		if isJoin(e) {
			session, _ := e.Payload().Text("sessionId")
			for _, p := range v.Parties() {
				if which(p, from, session) {
					v.End(p.Conn, goodbye)
				}
			}
		}
		return []frame{f}
	})
}

// ClosingAfter ends a connection after each message of a type that it receives from another party.
func ClosingAfter(kind string) fault {
	return func(o *options) {
		o.Outbound = func(v view, from, to party, data []byte, send sender) {
			send(to.Conn, data)
			if from.Conn > 0 && typeOf(data) == kind {
				v.End(to.Conn, goodbye)
			}
		}
	}
}

// PlacesKept has room for n joins of a kind and never frees a place.
func PlacesKept(n int, which func(j proto.Join) bool) fault {
	return func(o *options) {
		free := n
		o.Policy.Join = func(_ view, _ party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
			if why != nil || !which(j) {
				return j, why
			}
			if free == 0 {
				return j, &refusal{Code: proto.SessionNotActive, Text: "no room"}
			}
			free--
			return j, nil
		}
	}
}

// eightMessages ends a connection after a maximum number of messages.
func eightMessages(o *options) {
	seen := map[int]int{}
	hearing(func(v view, from party, f frame, _ *envelope) []frame {
		if seen[from.Conn]++; seen[from.Conn] > 8 && isAgent(from) {
			v.End(from.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "rate limit"})
			return nil
		}
		return []frame{f}
	})(o)
}
