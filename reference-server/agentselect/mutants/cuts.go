package mutants

import (
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// cutFaults show only if a connection ends at a certain point of a session, and the client then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-refusal-unbinds":        endAfterRefusalUnbinds,
	"end-in-a-turn-stays-busy":           endInTurnStaysBusy,
	"end-after-two-switches-freezes":     endAfterSwitchesFreezes,
	"end-after-an-abort-unbinds-another": endAfterAbortTakesOthers,
}

// endAfterRefusalUnbinds never again binds a session whose connection ended after a refused switch.
func endAfterRefusalUnbinds(o *options) {
	refused, lost := map[string]bool{}, map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		correct.Commit(sw, set)
		refused[sw.Conn] = sw.Refusal != nil && sw.Refusal.Code == proto.AgentNotFound
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); refused[c.ID] && id != "" {
			lost[id] = true
		}
	}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, id string) agentselect.Binding {
		b := correct.Bind(m, how, c, id)
		b.Default = b.Default && !lost[id]
		return b
	}
}

// endInTurnStaysBusy treats a session whose connection ended during a turn as busy forever.
func endInTurnStaysBusy(o *options) {
	stuck := map[string]bool{}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); id != "" && m.Running(id) {
			stuck[id] = true
		}
	}
	o.Policy.Busy = func(m manager, session string) bool { return stuck[session] || correct.Busy(m, session) }
}

// endAfterSwitchesFreezes announces the switches of a session but does not make them, if its connection ended after the
// second switch.
func endAfterSwitchesFreezes(o *options) {
	made, frozen := map[string]int{}, map[string]bool{}
	o.Policy.Commit = func(sw agentselect.Switch, set func(string)) {
		if frozen[sw.Session] {
			return
		}
		correct.Commit(sw, set)
		if sw.Refusal == nil {
			made[sw.Session]++
		}
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if id := m.DefaultSession(c.ID); id != "" && made[id] == 2 {
			frozen[id] = true
		}
	}
}

// endAfterAbortTakesOthers unbinds the newest other connection when one ends whose last message was an abort.
func endAfterAbortTakesOthers(o *options) {
	last := map[string]any{}
	o.Inbound = func(_ manager, from connInfo, msg message) bool {
		last[from.ID] = msg["type"]
		return true
	}
	o.Policy.OnDisconnect = func(m manager, c connInfo) {
		if last[c.ID] != proto.AbortType {
			return
		}
		for _, other := range slices.Backward(m.Connections()) {
			if other.ID != c.ID && m.DefaultSession(other.ID) != "" {
				m.SetDefault(other.ID, "")
				return
			}
		}
	}
}
