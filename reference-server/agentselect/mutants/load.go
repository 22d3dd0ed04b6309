package mutants

import (
	"time"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/catalogue"
)

// loadFaults show only while more connections are open than a table has places.
var loadFaults = map[string]fault{
	"load-slots-wrap":      loadSlotsWrap,
	"load-queue-drops":     loadQueueDrops,
	"load-one-writer":      loadOneWriter,
	"load-order-lost":      loadOrderLost,
	"load-agents-shared":   loadAgentsShared,
	"load-sessions-shared": loadSessionsShared,
}

// crowded handles the pieces of answers to connections whose place another one has taken.
func crowded(f func(by string, to connInfo, ev event, send sender)) fault {
	return func(o *options) {
		crowd := &catalogue.Crowd{}
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			by := crowd.Over(to.ID)
			if by == "" || ev.Type != proto.MessageEvent || ev.Data["streaming"] != true {
				by = ""
			}
			if by == "" {
				send(to.ID, ev)
				return
			}
			f(by, to, ev, send)
		}
	}
}

// loadSlotsWrap sends what belongs to a connection to the newest one in its place.
func loadSlotsWrap(o *options) {
	crowded(func(by string, _ connInfo, ev event, send sender) { send(by, ev) })(o)
}

// loadQueueDrops drops every third piece.
func loadQueueDrops(o *options) {
	n := 0
	crowded(func(_ string, to connInfo, ev event, send sender) {
		if n++; n%3 != 0 {
			send(to.ID, ev)
		}
	})(o)
}

// loadWrite is the time that the shared writer takes for each event.
const loadWrite = 250 * time.Millisecond

// loadOneWriter has all events of such connections written by one writer, one after the other.
func loadOneWriter(o *options) {
	crowd := &catalogue.Crowd{}
	var free time.Time
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if crowd.Over(to.ID) == "" {
			send(to.ID, ev)
			return
		}
		free = later(free, time.Now()).Add(loadWrite)
		time.AfterFunc(time.Until(free), func() { send(to.ID, ev) })
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// loadOrderLost has a second writer overtake the first one.
func loadOrderLost(o *options) {
	held := map[string]event{}
	crowd := &catalogue.Crowd{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		first, waits := held[to.ID]
		piece := ev.Type == proto.MessageEvent && ev.Data["streaming"] == true
		switch {
		case waits && piece:
			send(to.ID, ev)
			send(to.ID, first)
			delete(held, to.ID)
		case piece && crowd.Over(to.ID) != "":
			held[to.ID] = ev
		default:
			if waits {
				send(to.ID, first)
				delete(held, to.ID)
			}
			crowd.Over(to.ID)
			send(to.ID, ev)
		}
	}
}

// loadAgentsShared keeps the agent of a session in the place of the newest session.
func loadAgentsShared(o *options) {
	crowd := &catalogue.Crowd{}
	o.Policy.AgentKey = func(session, _ string) string {
		if by := crowd.Over(session); by != "" {
			return by
		}
		return session
	}
}

// loadSessionsShared binds a connection to the newest session in the place of the one that it loads.
func loadSessionsShared(o *options) {
	crowd := &catalogue.Crowd{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, id string) agentselect.Binding {
		if by := crowd.Over(id); how == agentselect.OnLoad && by != "" && m.Exists(by) {
			m.SetDefault(c.ID, by)
			return agentselect.Binding{Owner: true, Release: true}
		}
		return correct.Bind(m, how, c, id)
	}
}
