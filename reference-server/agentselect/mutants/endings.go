package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// endingFaults show when a session is loaded, or a connection ends, while something else goes on.
var endingFaults = map[string]fault{
	"load-forgets-busy":          forgetsTurns(onLoad),
	"close-forgets-busy":         forgetsTurns(onClose),
	"busy-after-a-second-abort":  busyAfterSecondAbort,
	"close-unbinds-next-owner":   closing(func(m manager, session string) { m.SetDefault(m.Owner(session), "") }),
	"close-resets-next-owner":    closing(func(m manager, session string) { m.SetAgentOf(session, proto.General) }),
	"close-unbinds-another":      closeUnbindsAnother,
	"close-aborts-the-next-turn": closeAbortsNext,
}

// forgetsTurns forgets that a session's turn runs, as soon as something happens to the session, until its next turn.
func forgetsTurns(when func(o *options, happened func(session string))) fault {
	return func(o *options) {
		forgotten := map[string]bool{}
		when(o, func(session string) { forgotten[session] = true })
		o.Policy.Configure = func(t agentselect.TurnView) config {
			if t.Call == 1 {
				delete(forgotten, t.Session)
			}
			return correct.Configure(t)
		}
		o.Policy.Busy = func(m manager, session string) bool { return !forgotten[session] && correct.Busy(m, session) }
	}
}

func onLoad(o *options, happened func(session string)) {
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if how == agentselect.OnLoad {
			happened(session)
		}
		return correct.Bind(m, how, c, session)
	}
}

// onClose calls happened for each session that a connection had when it ended, or had before another one loaded it.
func onClose(o *options, happened func(session string)) {
	had := map[string][]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		had[c.ID] = append(had[c.ID], session)
		return correct.Bind(m, how, c, session)
	}
	o.Policy.OnDisconnect = func(_ manager, c connInfo) {
		for _, session := range had[c.ID] {
			happened(session)
		}
	}
}

// busyAfterSecondAbort removes the controller of the first aborted turn of a session only.
func busyAfterSecondAbort(o *options) {
	aborts, stuck := map[string]int{}, map[string]bool{}
	o.Outbound = changed(of(proto.CompleteEvent), func(_ manager, _ *connInfo, ev *event) {
		if session, _ := ev.Data["sessionId"].(string); ev.Data["cancelled"] == true {
			aborts[session]++
			stuck[session] = aborts[session] > 1
		}
	})
	o.Policy.Busy = orBusy(stuck)
}

// closing does something to the sessions that a connection has had, when it ends and another one has loaded them.
func closing(f func(m manager, session string)) fault {
	return func(o *options) {
		var left []string
		onClose(o, func(session string) { left = append(left, session) })
		note := o.Policy.OnDisconnect
		o.Policy.OnDisconnect = func(m manager, c connInfo) {
			left = nil
			note(m, c)
			for _, session := range left {
				if owner := m.Owner(session); owner != "" && owner != c.ID {
					f(m, session)
				}
			}
		}
	}
}

// closeUnbindsAnother unbinds the connection behind the one that has ended.
func closeUnbindsAnother(o *options) {
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		found := false
		for _, other := range m.Connections() {
			if found && m.DefaultSession(other.ID) != "" {
				m.SetDefault(other.ID, "")
				return
			}
			found = found || other.ID == c.ID
		}
	}
}

// closeAbortsNext aborts a turn whose connection has ended only when the session speaks again, and so the turn that
// runs by then.
func closeAbortsNext(o *options) {
	running, due, aborted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	onClose(o, func(session string) { due[session] = running[session] })
	o.Policy.Configure = func(t agentselect.TurnView) config {
		if t.Call == 1 {
			running[t.Session] = true
			delete(aborted, t.Session)
		}
		return correct.Configure(t)
	}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		session := m.DefaultSession(to.ID)
		switch {
		case ev.Type == proto.CompleteEvent:
			delete(running, session)
			if aborted[session] {
				return
			}
		case ev.Type == proto.MessageEvent && aborted[session]:
			return
		case ev.Type == proto.MessageEvent && due[session]:
			delete(due, session)
			aborted[session] = true
			ev = event{Type: proto.CompleteEvent, Data: eventData{"sessionId": session, "cancelled": true}}
		}
		send(to.ID, ev)
	}
	o.Policy.Busy = func(m manager, session string) bool { return !aborted[session] && correct.Busy(m, session) }
}
