package relays

import (
	"sync"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// orderFaults repeat messages, or let them overtake each other.
var orderFaults = map[string]fault{
	"agents-heard-twice":       twice(isAgent),
	"hosts-heard-twice":        twice(isHost),
	"states-twice":             twice(isHost, proto.StateUpdated),
	"words-twice":              twice(isHost, proto.UserMessage),
	"results-twice":            twice(isHost, proto.ToolResult),
	"a-task-per-agent-message": telling(func() relay.Outbound { return overtaking(isAgent) }),
	"a-task-per-host-message":  telling(func() relay.Outbound { return behindTheNext(everySecond()) }),
	"answers-overtake-states":  telling(func() relay.Outbound { return behindTheNext(typed(proto.StateUpdated)) }),
	"states-overtake-answers":  telling(func() relay.Outbound { return behindTheNext(typed(proto.ToolResult)) }),
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
const lag = 100 * time.Millisecond

// overtaking handles each message of a side by a task of its own, of which every second one is slow: what is said at once
// comes in another order.
func overtaking(of func(p party) bool) relay.Outbound {
	n := 0
	return func(_ view, from, to party, data []byte, send sender) {
		if of(from) {
			if n++; n%2 == 0 {
				time.AfterFunc(lag, func() { send(to.Conn, data) })
				return
			}
		}
		send(to.Conn, data)
	}
}

func typed(kind string) func(data []byte) bool {
	return func(data []byte) bool { return relay.Read(frame{Data: data}).Type() == kind }
}

// everySecond matches every second frame.
func everySecond() func(data []byte) bool {
	n := 0
	return func([]byte) bool {
		n++
		return n%2 == 0
	}
}

// behindTheNext has some of what hosts say wait in a queue of their own, until something else has been sent.
func behindTheNext(which func(data []byte) bool) relay.Outbound {
	const atMost = 500 * time.Millisecond
	var mu sync.Mutex
	waiting := map[int][][]byte{}
	flush := func(conn int, send sender) {
		for _, data := range waiting[conn] {
			send(conn, data)
		}
		delete(waiting, conn)
	}
	return func(_ view, from, to party, data []byte, send sender) {
		mu.Lock()
		defer mu.Unlock()
		if isHost(from) && which(data) {
			waiting[to.Conn] = append(waiting[to.Conn], data)
			time.AfterFunc(atMost, func() {
				mu.Lock()
				defer mu.Unlock()
				flush(to.Conn, send)
			})
			return
		}
		send(to.Conn, data)
		flush(to.Conn, send)
	}
}
