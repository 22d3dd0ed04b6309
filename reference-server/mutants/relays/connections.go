package relays

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// connectionFaults refuse connections, or end them.
var connectionFaults = map[string]fault{
	"refuses-everybody":          func(o *options) { o.Limits.Connections = -1 },
	"one-connection-for-all":     func(o *options) { o.Limits.Connections = 1 },
	"latest-connection-counts":   hearing(latestCounts),
	"closes-behind-a-result":     telling(func() relay.Outbound { return closingBehind(proto.ToolResult) }),
	"closes-behind-a-snapshot":   telling(func() relay.Outbound { return closingBehind(proto.SnapshotState) }),
	"places-never-given-back":    deciding(placesKept),
	"a-connection-of-8-messages": hearing(eightMessages),
}

var goodbye = websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "bye"}

// latestCounts has one connection: who joins ends those of all others.
func latestCounts() relay.Inbound {
	return func(v view, from party, f frame) []frame {
		if isJoin(relay.Read(f)) {
			for _, p := range v.Parties() {
				if p.Conn != from.Conn {
					v.End(p.Conn, goodbye)
				}
			}
		}
		return []frame{f}
	}
}

// closingBehind has a connection per call.
func closingBehind(kind string) relay.Outbound {
	return func(v view, from, to party, data []byte, send sender) {
		send(to.Conn, data)
		if from.Conn > 0 && relay.Read(frame{Data: data}).Type() == kind {
			v.End(to.Conn, goodbye)
		}
	}
}

// placesKept has room for five parties, and never gives it back.
func placesKept() rules {
	free := 5
	return rules{join: func(v view, from party, e *envelope) (proto.Join, *refusal) {
		j, why := correct.Join(v, from, e)
		if why != nil {
			return j, why
		}
		if free == 0 {
			return j, &refusal{Code: proto.SessionNotActive, Text: "no room"}
		}
		free--
		return j, nil
	}}
}

// eightMessages ends a connection that has sent as much as it may.
func eightMessages() relay.Inbound {
	seen := map[int]int{}
	return func(v view, from party, f frame) []frame {
		if seen[from.Conn]++; seen[from.Conn] > 8 && isAgent(from) {
			v.End(from.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "rate limit"})
			return nil
		}
		return []frame{f}
	}
}
