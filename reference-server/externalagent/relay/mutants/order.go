package mutants

import (
	"slices"
	"sync"
	"time"

	proto "parley/protocol/externalagent"
)

// orderFaults repeat messages or reorder them.
var orderFaults = map[string]fault{
	"agents-heard-twice":       twice(isAgent),
	"hosts-heard-twice":        twice(isHost),
	"states-twice":             twice(isHost, proto.StateUpdated),
	"words-twice":              twice(isHost, proto.UserMessage),
	"results-twice":            twice(isHost, proto.ToolResult),
	"a-task-per-agent-message": overtaking,
	"a-task-per-host-message":  everySecondDelayed,
	"answers-overtake-states":  afterTheNext(func(data []byte) bool { return typeOf(data) == proto.StateUpdated }),
	"states-overtake-answers":  afterTheNext(func(data []byte) bool { return typeOf(data) == proto.ToolResult }),
}

// twice sends some messages of one side twice.
func twice(of func(p party) bool, types ...string) fault {
	return routing(func(_ view, from party, e *envelope, to []party) []party {
		if !of(from) || !ofType(e, types...) {
			return to
		}
		return slices.Concat(to, to)
	})
}

// overtaking handles each message of an agent in its own task, and every second task is slow, so that messages sent
// together arrive reordered.
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

// everySecondDelayed delays every second message of a host.
func everySecondDelayed(o *options) {
	n := 0
	afterTheNext(func([]byte) bool { n++; return n%2 == 0 })(o)
}

// afterTheNext holds some messages of hosts back until another message has been sent.
func afterTheNext(which func(data []byte) bool) fault {
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
