package mutants

import (
	"slices"
	"sync"
	"time"

	proto "parley/protocol/externalagent"
)

// orderFaults repeat messages, or let them overtake each other.
var orderFaults = map[string]fault{
	"agents-heard-twice":       twice(isAgent),
	"hosts-heard-twice":        twice(isHost),
	"states-twice":             twice(isHost, proto.StateUpdated),
	"words-twice":              twice(isHost, proto.UserMessage),
	"results-twice":            twice(isHost, proto.ToolResult),
	"a-task-per-agent-message": overtaking,
	"a-task-per-host-message":  everySecondBehind,
	"answers-overtake-states":  behindTheNext(func(data []byte) bool { return typeOf(data) == proto.StateUpdated }),
	"states-overtake-answers":  behindTheNext(func(data []byte) bool { return typeOf(data) == proto.ToolResult }),
}

// twice sends some messages of a side twice.
func twice(of func(p party) bool, types ...string) fault {
	return routing(func(_ view, from party, e *envelope, to []party) []party {
		if !of(from) || !ofType(e, types...) {
			return to
		}
		return slices.Concat(to, to)
	})
}

// overtaking handles each message of an agent in a task of its own, of which every second one is slow: messages that
// are sent together come in another order.
func overtaking(o *options) {
	const lag = 100 * time.Millisecond
	n := 0
	o.Outbound = func(_ view, from, to party, data []byte, send sender) {
		if isAgent(from) {
			if n++; n%2 == 0 {
				time.AfterFunc(lag, func() { send(to.Conn, data) })
				return
			}
		}
		send(to.Conn, data)
	}
}

// everySecondBehind lets every second message of a host wait.
func everySecondBehind(o *options) {
	n := 0
	behindTheNext(func([]byte) bool { n++; return n%2 == 0 })(o)
}

// behindTheNext keeps some messages of hosts in a queue of their own, until another message has been sent.
func behindTheNext(which func(data []byte) bool) fault {
	const atMost = 500 * time.Millisecond
	return func(o *options) {
		var mu sync.Mutex
		waiting := map[int][][]byte{}
		flush := func(conn int, send sender) {
			for _, data := range waiting[conn] {
				send(conn, data)
			}
			delete(waiting, conn)
		}
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
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
}
