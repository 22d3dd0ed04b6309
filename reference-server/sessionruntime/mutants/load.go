package mutants

import (
	_ "embed"
	"fmt"
	"sync"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/catalogue"
)

//go:embed load.yaml
var loadYAML []byte

var loadRows = catalogue.Reader(loadYAML)

// Load returns the catalogue of the faults that only a load shows, in its order.
func Load() []catalogue.Mutant { return loadRows() }

// loadFaults show only while more buses are open than a table has places. Each call makes the state that the buses of
// one server share.
var loadFaults = map[string]func() fault{
	"load-mailboxes-shared": loadMailboxes,
	"load-queue-drops":      loadQueueDrops,
	"load-one-lock":         loadOneLock,
	"load-order-lost":       loadOrderLost,
	"load-turn-ids-wrap":    loadTurnIDs,
	"load-sessions-mixed":   loadSessionsMixed,
}

// sharedBuses gives buses their places. Its lock guards what the buses of a server share.
type sharedBuses struct {
	catalogue.Crowd
	sync.Mutex
	buses int
}

// crowded makes a fault of the buses whose place another one has taken; f changes the options of a runtime, and over
// returns the newest bus in the place, "" if that is the bus itself.
func crowded(f func(c *sharedBuses, bus string, over func() string, o *options)) func() fault {
	return func() fault {
		c := &sharedBuses{}
		return func() seams {
			c.Lock()
			c.buses++
			bus := fmt.Sprint(c.buses)
			c.Unlock()
			c.Over(bus)
			return seams{Runtime: func(o *options) { f(c, bus, func() string { return c.Over(bus) }, o) }}
		}
	}
}

// loadMailboxes leaves output of such a bus to the newest one, which publishes it with its own.
func loadMailboxes() fault {
	mail := map[string][]message{}
	return crowded(func(c *sharedBuses, bus string, over func() string, o *options) {
		o.Outbound = func(_ view, msg message, send sender) {
			c.Lock()
			defer c.Unlock()
			if by := over(); by != "" && msg.Event == proto.AgentOutput {
				mail[by] = append(mail[by], msg)
				return
			}
			send(msg)
			for _, more := range mail[bus] {
				send(more)
			}
			delete(mail, bus)
		}
	})()
}

// loadQueueDrops drops every third output.
func loadQueueDrops() fault {
	n := 0
	return crowded(func(c *sharedBuses, _ string, over func() string, o *options) {
		o.Outbound = func(_ view, msg message, send sender) {
			c.Lock()
			defer c.Unlock()
			if over() != "" && msg.Event == proto.AgentOutput {
				if n++; n%3 == 0 {
					return
				}
			}
			send(msg)
		}
	})()
}

// loadWrite is the time for which a message of such a bus holds the lock.
const loadWrite = 250 * time.Millisecond

// loadOneLock publishes all messages of such buses under one lock.
func loadOneLock() fault {
	return crowded(func(c *sharedBuses, _ string, over func() string, o *options) {
		o.Outbound = func(_ view, msg message, send sender) {
			if over() != "" {
				c.Lock()
				time.Sleep(loadWrite)
				c.Unlock()
			}
			send(msg)
		}
	})()
}

// loadOrderLost has a second writer overtake the first one.
func loadOrderLost() fault {
	return crowded(func(_ *sharedBuses, _ string, over func() string, o *options) {
		var held []message
		o.Outbound = func(_ view, msg message, send sender) {
			output := msg.Event == proto.AgentOutput
			if output && len(held) == 0 && over() != "" {
				held = append(held, msg)
				return
			}
			if output {
				send(msg)
			}
			for _, first := range held {
				send(first)
			}
			held = nil
			if !output {
				send(msg)
			}
		}
	})()
}

// loadTurnIDs counts turns in a table; of a bus whose place is taken the count stays at what the newest has found
// there.
func loadTurnIDs() fault {
	return crowded(func(_ *sharedBuses, _ string, over func() string, o *options) {
		n := 0
		o.Policy.IDs = func(v view, msg message) (trace, turn string) {
			trace, turn = correct.IDs(v, msg)
			if turn != "" {
				return trace, turn
			}
			if n++; over() != "" {
				n = 1
			}
			return trace, fmt.Sprintf("turn-%s-%d", v.SessionID(), n)
		}
	})()
}

// loadSessionsMixed takes the session_id of a message from the newest bus.
func loadSessionsMixed() fault {
	of := map[string]string{}
	return crowded(func(c *sharedBuses, bus string, over func() string, o *options) {
		c.Lock()
		of[bus] = o.SessionID
		c.Unlock()
		o.Outbound = func(_ view, msg message, send sender) {
			c.Lock()
			if by := over(); by != "" && of[by] != "" {
				msg.SessionID = of[by]
			}
			c.Unlock()
			send(msg)
		}
	})()
}
