package mutants

import (
	"parley/reference-server/agentselect"
)

// bindingFaults bind sessions and connections incorrectly.
var bindingFaults = map[string]fault{
	"create-does-not-bind":   binding(agentselect.OnCreate, agentselect.Binding{Owner: true}),
	"create-takes-no-events": binding(agentselect.OnCreate, agentselect.Binding{Default: true}),
	"load-does-not-bind":     binding(agentselect.OnLoad, agentselect.Binding{}),
	"load-binds-events-only": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Release: true}),
	"load-keeps-old-default": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}),
	"load-keeps-old-owner":   binding(agentselect.OnLoad, agentselect.Binding{Default: true, Release: true}),
	"load-keeps-old-events":  loadKeepsEvents,
	"load-keeps-old-default-and-answers-owner": both(
		binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}), elsewhere(refuses(), owner)),
	"bindings-dry-up": bindingsDryUp,
	"binding-is-used-up": telling(
		changed(confirms, func(m manager, to *connInfo, _ *event) { m.SetDefault(to.ID, "") })),
	"first-session-stays":   deciding(rules{Bind: keepsFirst(agentselect.OnCreate)}),
	"load-does-not-replace": deciding(rules{Bind: keepsFirst(agentselect.OnLoad)}),
	"binds-at-connect":      telling(changed(greets, bindsAtConnect)),
	"shares-one-session":    telling(changed(greets, sharesSession)),
}

func binding(when agentselect.Occasion, b agentselect.Binding) fault {
	return deciding(rules{Bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if how == when {
			return b
		}
		return correct.Bind(m, how, c, session)
	}})
}

// loadKeepsEvents also keeps sending a session's events to its former connection.
func loadKeepsEvents(o *options) {
	former := map[string]string{}
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if owner := m.Owner(session); how == agentselect.OnLoad && owner != c.ID {
			former[session] = owner
		}
		return correct.Bind(m, how, c, session)
	}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if old := former[m.DefaultSession(to.ID)]; old != "" && !atOnce(ev) {
			send(old, ev)
		}
		send(to.ID, ev)
	}
}

// owner returns the connection that owns the asker's session.
func owner(m manager, asker connInfo) connInfo {
	if id := m.Owner(m.DefaultSession(asker.ID)); id != "" {
		asker.ID = id
	}
	return asker
}

// keepsFirst keeps an existing default session of a connection, on one occasion.
func keepsFirst(when agentselect.Occasion) func(manager, agentselect.Occasion, connInfo, string) agentselect.Binding {
	return func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		b := correct.Bind(m, how, c, session)
		b.Default = how != when || m.DefaultSession(c.ID) == ""
		return b
	}
}

// bindsAtConnect makes a session for every connection.
func bindsAtConnect(m manager, to *connInfo, _ *event) { m.SetDefault(to.ID, m.NewSession(*to)) }

// sharesSession binds every connection to the session created last.
func sharesSession(m manager, to *connInfo, _ *event) {
	if all := m.Sessions(); len(all) > 0 {
		m.SetDefault(to.ID, all[len(all)-1])
	}
}

// bindingsDryUp has room for a few bindings and never frees any.
func bindingsDryUp(o *options) {
	left := 4
	o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if left--; left < 0 {
			return agentselect.Binding{Owner: true}
		}
		return correct.Bind(m, how, c, session)
	}
}
