package mutants

import (
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// bindingFaults bind sessions and connections wrongly.
var bindingFaults = map[string]fault{
	"create-does-not-bind":   binding(agentselect.OnCreate, agentselect.Binding{Owner: true}),
	"create-takes-no-events": binding(agentselect.OnCreate, agentselect.Binding{Default: true}),
	"load-does-not-bind":     binding(agentselect.OnLoad, agentselect.Binding{}),
	"load-binds-events-only": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Release: true}),
	"load-keeps-old-default": binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}),
	"load-keeps-old-owner":   binding(agentselect.OnLoad, agentselect.Binding{Default: true, Release: true}),
	"load-keeps-old-events":  loadKeepsEvents,
	"load-keeps-old-default-and-answers-owner": both(
		binding(agentselect.OnLoad, agentselect.Binding{Owner: true, Default: true}), telling(answersOwner)),
	"bindings-dry-up":       deciding(bindingsDryUp),
	"binding-is-used-up":    bindingUsedUp,
	"first-session-stays":   deciding(firstStays),
	"load-does-not-replace": deciding(loadDoesNotReplace),
	"binds-at-connect":      telling(bindsAtConnect),
	"shares-one-session":    telling(sharesSession),
}

func binding(when agentselect.Occasion, b agentselect.Binding) fault {
	return deciding(func(options) rules {
		return rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
			if how == when {
				return b
			}
			return correct.Bind(m, how, c, session)
		}}
	})
}

// loadKeepsEvents goes on telling the former connection of a session what happens in it.
func loadKeepsEvents(o *options) middleware {
	former := map[string]string{}
	o.Policy = rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if owner := m.Owner(session); how == agentselect.OnLoad && owner != c.ID {
			former[session] = owner
		}
		return correct.Bind(m, how, c, session)
	}}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		switch ev.Type {
		case proto.ConnectedEvent, proto.AgentListEvent, proto.SessionCreatedEvent, proto.SessionLoadedEvent:
		default:
			if old := former[m.DefaultSession(to.ID)]; old != "" {
				send(old, ev)
			}
		}
		send(to.ID, ev)
	}
	return nil
}

// answersOwner tells every answer to a switch where the session of the asker lives.
func answersOwner(m manager, to connInfo, ev event, send sender) {
	if owner := m.Owner(m.DefaultSession(to.ID)); owner != "" && isRefusal(ev) {
		to.ID = owner
	}
	send(to.ID, ev)
}

// firstStays keeps the first session of a connection as its default.
func firstStays(options) rules {
	return rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		b := correct.Bind(m, how, c, session)
		b.Default = how == agentselect.OnLoad || m.DefaultSession(c.ID) == ""
		return b
	}}
}

func loadDoesNotReplace(options) rules {
	return rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		b := correct.Bind(m, how, c, session)
		b.Default = how == agentselect.OnCreate || m.DefaultSession(c.ID) == ""
		return b
	}}
}

// bindsAtConnect makes a session for every connection.
func bindsAtConnect(m manager, to connInfo, ev event, send sender) {
	if ev.Type == proto.ConnectedEvent {
		m.SetDefault(to.ID, m.NewSession(to))
	}
	send(to.ID, ev)
}

// sharesSession binds every connection to the session that was created last.
func sharesSession(m manager, to connInfo, ev event, send sender) {
	if all := m.Sessions(); ev.Type == proto.ConnectedEvent && len(all) > 0 {
		m.SetDefault(to.ID, all[len(all)-1])
	}
	send(to.ID, ev)
}

// bindingsDryUp has room for a few bindings, and none is ever given back.
func bindingsDryUp(options) rules {
	left := 4
	return rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
		if left--; left < 0 {
			return agentselect.Binding{Owner: true}
		}
		return correct.Bind(m, how, c, session)
	}}
}

// bindingUsedUp forgets the default session of a connection once a switch has used it.
func bindingUsedUp(o *options) middleware {
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentSwitchedEvent {
			m.SetDefault(to.ID, "")
		}
		send(to.ID, ev)
	}
	return nil
}
