package relays

import (
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// orderFaults repeat messages, or let them overtake each other.
var orderFaults = map[string]fault{
	"agents-heard-twice":        twice(isAgent),
	"hosts-heard-twice":         twice(isHost),
	"states-twice":              twice(isHost, proto.StateUpdated),
	"words-twice":               twice(isHost, proto.UserMessage),
	"results-twice":             twice(isHost, proto.ToolResult),
	"a-task-per-agent-message":  telling(func() relay.Outbound { return overtaking(isAgent) }),
	"a-task-per-host-message":   telling(func() relay.Outbound { return overtaking(isHost) }),
	"answers-overtake-states":   telling(func() relay.Outbound { return late(proto.StateUpdated) }),
	"states-overtake-answers":   telling(func() relay.Outbound { return late(proto.ToolResult) }),
	"long-messages-fall-behind": telling(longLate),
}

// twice sends some messages of a side twice.
func twice(of func(p party) bool, types ...string) fault {
	return deciding(func() rules {
		return rules{recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			if !of(from) || !ofType(e, types...) {
				return to
			}
			return append(append([]party{}, to...), to...)
		}}
	})
}

// lag is for how long a message falls behind.
const lag = 30 * time.Millisecond

// overtaking handles each message of a side by a task of its own, of which every second one is slow.
func overtaking(of func(p party) bool) relay.Outbound {
	n := 0
	return func(_ view, from, to party, data []byte, send sender) {
		if n++; of(from) && n%2 == 0 {
			time.AfterFunc(lag, func() { send(to.Conn, data) })
			return
		}
		send(to.Conn, data)
	}
}

// late has the messages of a type wait in a queue of their own, which is slower.
func late(kind string) relay.Outbound {
	return func(_ view, _, to party, data []byte, send sender) {
		if relay.Read(frame{Data: data}).Type() == kind {
			time.AfterFunc(lag, func() { send(to.Conn, data) })
			return
		}
		send(to.Conn, data)
	}
}

// longLate takes longer over a long message, as it is compressed.
func longLate() relay.Outbound {
	const long = 700
	return func(_ view, from, to party, data []byte, send sender) {
		if from.Conn > 0 && len(data) > long {
			time.AfterFunc(lag, func() { send(to.Conn, data) })
			return
		}
		send(to.Conn, data)
	}
}
