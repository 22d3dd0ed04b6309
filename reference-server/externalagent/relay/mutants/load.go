package mutants

import (
	_ "embed"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/catalogue"
)

//go:embed load.yaml
var loadRows []byte

// UnderLoad has the faults that only a load shows.
var UnderLoad = catalogue.New[options](loadRows, loadFaults)

// Put puts the fault with that id into the options, whether a scenario or only a load shows it; "" puts none.
func Put(id string, o *options) error {
	if UnderLoad.Put(id, o) == nil {
		return nil
	}
	return Catalogue.Put(id, o)
}

// loadFaults show only while more relay sessions are in use than a table has places.
var loadFaults = map[string]fault{
	"load-mailboxes-shared": loadMailboxes,
	"load-queue-drops":      loadQueueDrops,
	"load-one-writer":       loadOneWriter,
	"load-order-lost":       loadOrderLost,
	"load-sent-again":       loadSentAgain,
	"load-hosts-wrap":       loadHostsWrap,
}

// crowded handles what a host sends to the agents of a relay session whose place another one has taken: by is that one.
// Relay sessions get their places when an agent joins.
func crowded(o *options, f func(v view, by string, to party, data []byte, send sender)) {
	crowd := &catalogue.Crowd{}
	o.Outbound = func(v view, from, to party, data []byte, send sender) {
		if !isAgent(to) {
			send(to.Conn, data)
			return
		}
		if by := crowd.Over(to.Session); by != "" && isHost(from) {
			f(v, by, to, data, send)
			return
		}
		send(to.Conn, data)
	}
}

// loadMailboxes leaves states for the agents of such a session to those of the newest one.
func loadMailboxes(o *options) {
	crowded(o, func(v view, by string, to party, data []byte, send sender) {
		if agents := v.Agents(by); len(agents) > 0 && typeOf(data) == proto.StateUpdated {
			to = agents[0]
		}
		send(to.Conn, data)
	})
}

// loadQueueDrops drops every third message.
func loadQueueDrops(o *options) {
	n := 0
	crowded(o, func(_ view, _ string, to party, data []byte, send sender) {
		if n++; n%3 != 0 {
			send(to.Conn, data)
		}
	})
}

// loadWrite is the time that the shared writer takes for each message.
const loadWrite = 250 * time.Millisecond

// loadOneWriter has all messages to such agents written by one writer, one after the other.
func loadOneWriter(o *options) {
	var free time.Time
	crowded(o, func(_ view, _ string, to party, data []byte, send sender) {
		if now := time.Now(); free.Before(now) {
			free = now
		}
		free = free.Add(loadWrite)
		time.AfterFunc(time.Until(free), func() { send(to.Conn, data) })
	})
}

// loadOrderLost has a second writer overtake the first one with what follows a result.
func loadOrderLost(o *options) {
	held := map[int][]byte{}
	crowded(o, func(_ view, _ string, to party, data []byte, send sender) {
		first, waits := held[to.Conn]
		if !waits && typeOf(data) == proto.ToolResult {
			held[to.Conn] = data
			return
		}
		delete(held, to.Conn)
		send(to.Conn, data)
		if waits {
			send(to.Conn, first)
		}
	})
}

// loadSentAgain sends results again whose delivery it has forgotten.
func loadSentAgain(o *options) {
	crowded(o, func(_ view, _ string, to party, data []byte, send sender) {
		send(to.Conn, data)
		if typeOf(data) == proto.ToolResult {
			send(to.Conn, data)
		}
	})
}

// loadHostsWrap passes what an agent of such a session says to the host of the newest one, and the answer back to the
// agents of that one.
func loadHostsWrap(o *options) {
	crowd := &catalogue.Crowd{}
	routing(func(v view, from party, e *envelope, to []party) []party {
		if !isAgent(from) || e.Type() != proto.AgentMessage {
			return to
		}
		if host, there := v.Host(crowd.Over(from.Session)); there {
			return []party{host}
		}
		return to
	})(o)
	before := o.Policy.Joined
	o.Policy.Joined = func(v view, to party, j proto.Join, msg message) message {
		if to.Role == proto.AgentRole {
			crowd.Over(to.Session)
		}
		if before != nil {
			return before(v, to, j, msg)
		}
		return msg
	}
}
