package mutants

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/catalogue"
)

//go:embed load.yaml
var loadYAML []byte

var underLoad = catalogue.New(loadYAML, loadFaults)

// Load returns the catalogue of the faults that only a load shows, in its order.
func Load() []catalogue.Mutant { return underLoad.All() }

// loadFaults show only while more connections are open, or sessions alive, than a table has places.
var loadFaults = map[string]fault{
	"load-slots-wrap":   loadSlotsWrap,
	"load-queue-drops":  loadQueueDrops,
	"load-one-writer":   loadOneWriter,
	"load-order-lost":   loadOrderLost,
	"load-ids-wrap":     loadIDsWrap,
	"load-history-read": loadHistoryRead,
}

// crowded handles the pieces of answers to connections whose place another one has taken. Connections get their places
// when they open.
func crowded(o *options, f func(by string, to connInfo, msg message, send sender)) {
	crowd := &catalogue.Crowd{}
	o.Policy.OnConnect = func(_ manager, c connInfo) []message {
		crowd.Over(c.ID)
		return nil
	}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if by := crowd.Over(to.ID); by != "" && msg.Type() == proto.StreamMessage {
			f(by, to, msg, send)
			return
		}
		send(to.ID, msg)
	}
}

// loadSlotsWrap sends what belongs to a connection to the newest one in its place.
func loadSlotsWrap(o *options) {
	crowded(o, func(by string, _ connInfo, msg message, send sender) { send(by, msg) })
}

// loadQueueDrops drops every third piece.
func loadQueueDrops(o *options) {
	n := 0
	crowded(o, func(_ string, to connInfo, msg message, send sender) {
		if n++; n%3 != 0 {
			send(to.ID, msg)
		}
	})
}

// loadWrite is the time that the shared writer takes for each message.
const loadWrite = 250 * time.Millisecond

// loadOneWriter has all messages of such connections written by one writer, one after the other.
func loadOneWriter(o *options) {
	crowd := &catalogue.Crowd{}
	var free time.Time
	o.Policy.OnConnect = func(_ manager, c connInfo) []message {
		crowd.Over(c.ID)
		return nil
	}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if crowd.Over(to.ID) == "" {
			send(to.ID, msg)
			return
		}
		if now := time.Now(); free.Before(now) {
			free = now
		}
		free = free.Add(loadWrite)
		time.AfterFunc(time.Until(free), func() { send(to.ID, msg) })
	}
}

// loadOrderLost has a second writer overtake the first one.
func loadOrderLost(o *options) {
	held := map[string]message{}
	crowd := &catalogue.Crowd{}
	o.Policy.OnConnect = func(_ manager, c connInfo) []message {
		crowd.Over(c.ID)
		return nil
	}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		first, waits := held[to.ID]
		piece := msg.Type() == proto.StreamMessage
		if piece && !waits && crowd.Over(to.ID) != "" {
			held[to.ID] = msg
			return
		}
		delete(held, to.ID)
		if waits && !piece {
			send(to.ID, first)
		}
		send(to.ID, msg)
		if waits && piece {
			send(to.ID, first)
		}
	}
}

// loadIDsWrap numbers the sessions of a process in a counter that begins again.
func loadIDsWrap(o *options) {
	n, process := 0, rand.Uint32()
	o.Policy.SessionID = func(v turnView) string {
		if v.SessionID != "" {
			return v.SessionID
		}
		n++
		return fmt.Sprintf("%08x-0000-4000-8000-%012d", process, n%catalogue.Places)
	}
}

// loadHistoryRead reads the history of such a connection's sessions from the buffer that another one has filled.
func loadHistoryRead(o *options) {
	crowd := &catalogue.Crowd{}
	o.Policy.OnConnect = func(_ manager, c connInfo) []message {
		crowd.Over(c.ID)
		return nil
	}
	var buffer []llm.Message
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		if crowd.Over(v.Conn) == "" {
			buffer = slices.Clone(messages)
			return messages
		}
		if len(buffer) == 0 {
			return messages
		}
		// the answer of the other one is not known yet
		return append(append(slices.Clone(buffer), llm.Message{Role: llm.RoleAssistant, Text: "ok"}),
			messages[len(messages)-1])
	}
}
