package mutants

import (
	"sync"
	"time"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// greetingFaults spoil the beginning of a connection, or tell agent_list at other times.
var greetingFaults = map[string]fault{
	"no-list":                telling(withoutList),
	"list-named-agents":      telling(renamed(proto.AgentListEvent, "agents")),
	"list-in-camel-case":     telling(renamed(proto.AgentListEvent, "agentList")),
	"list-on-request-only":   listOnRequest,
	"list-after-session":     listAfterSession,
	"list-waits-for-client":  listLate(0),
	"list-late":              listLate(time.Second),
	"lists-dry-up":           dryUp(proto.AgentListEvent, 4),
	"list-before-connected":  swappedGreeting,
	"greets-before":          telling(greetingAround(proto.ConnectedEvent)),
	"greets-between":         telling(greetingAround(proto.AgentListEvent)),
	"no-connected":           telling(withoutConnected),
	"no-connection-id":       rewriting(proto.ConnectedEvent, func(d eventData) eventData { return d.Without("connectionId") }),
	"connection-id-renamed":  rewriting(proto.ConnectedEvent, func(d eventData) eventData { return eventData{"id": d["connectionId"]} }),
	"numeric-connection-id":  rewriting(proto.ConnectedEvent, func(d eventData) eventData { return d.With("connectionId", 1) }),
	"null-connection-id":     rewriting(proto.ConnectedEvent, func(d eventData) eventData { return d.With("connectionId", nil) }),
	"list-again-with-switch": telling(listWithSwitch),
	"list-again-with-create": listWithBinding(agentselect.OnCreate),
	"list-again-with-load":   listWithBinding(agentselect.OnLoad),
	"list-again-with-chat":   telling(listWithChat),
	"answers-queries":        answersQueries,
}

// dryUp loses events of a type once there have been some.
func dryUp(kind string, after int) fault {
	return func(o *options) middleware {
		left := after
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			if ev.Type == kind {
				left--
			}
			if ev.Type != kind || left >= 0 {
				send(to.ID, ev)
			}
		}
		return nil
	}
}

func withoutList(_ manager, to connInfo, ev event, send sender) {
	if ev.Type != proto.AgentListEvent {
		send(to.ID, ev)
	}
}

func withoutConnected(_ manager, to connInfo, ev event, send sender) {
	if ev.Type != proto.ConnectedEvent {
		send(to.ID, ev)
	}
}

func renamed(from, to string) func(manager, connInfo, event, sender) {
	return func(_ manager, c connInfo, ev event, send sender) {
		if ev.Type == from {
			ev.Type = to
		}
		send(c.ID, ev)
	}
}

// agentList is an agent_list for a connection as it is now.
func agentList(m manager, c connInfo) event {
	agents := m.Agents()
	infos := make([]proto.AgentInfo, len(agents))
	for i, a := range agents {
		infos[i] = a.Info()
	}
	current := proto.General
	if session := m.DefaultSession(c.ID); session != "" {
		current = m.AgentOf(session)
	}
	return event{Type: proto.AgentListEvent, Data: eventData{"agents": infos, currentKey: current}}
}

// listOnRequest has the list ready for whoever asks.
func listOnRequest(o *options) middleware {
	var send sender
	o.Outbound = func(_ manager, to connInfo, ev event, s sender) {
		send = s
		if ev.Type != proto.AgentListEvent {
			s(to.ID, ev)
		}
	}
	o.Inbound = answering(func() sender { return send })
	return nil
}

// listAfterSession sends the list once there is a session to tell the agent of.
func listAfterSession(o *options) middleware {
	wrap := listWithBinding(agentselect.OnCreate)(o)
	sendOn := o.Outbound
	greeted := map[string]bool{}
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.AgentListEvent && !greeted[to.ID] {
			greeted[to.ID] = true
			return
		}
		sendOn(m, to, ev, send)
	}
	return wrap
}

// listLate holds the list back until the first answer has gone out, or for a while.
func listLate(after time.Duration) fault {
	return func(o *options) middleware {
		held := map[string]func(){}
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			if ev.Type == proto.AgentListEvent {
				release := sync.OnceFunc(func() { send(to.ID, ev) })
				held[to.ID] = release
				if after > 0 {
					time.AfterFunc(after, release)
				}
				return
			}
			send(to.ID, ev)
			if release := held[to.ID]; release != nil && ev.Type != proto.SessionCreatedEvent {
				delete(held, to.ID)
				release()
			}
		}
		return nil
	}
}

func swappedGreeting(o *options) middleware {
	held := map[string]event{}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == proto.ConnectedEvent {
			held[to.ID] = ev
			return
		}
		send(to.ID, ev)
		if connected, waiting := held[to.ID]; waiting {
			delete(held, to.ID)
			send(to.ID, connected)
		}
	}
	return nil
}

// greetingAround says hello before events of a type.
func greetingAround(kind string) func(manager, connInfo, event, sender) {
	return func(_ manager, to connInfo, ev event, send sender) {
		if ev.Type == kind {
			send(to.ID, event{Type: proto.MessageEvent, Data: eventData{"role": "assistant", "content": "Welcome!"}})
		}
		send(to.ID, ev)
	}
}

func listWithSwitch(m manager, to connInfo, ev event, send sender) {
	if ev.Type == proto.AgentSwitchedEvent {
		send(to.ID, agentList(m, to))
	}
	send(to.ID, ev)
}

// listWithChat tells the list again at the end of every turn.
func listWithChat(m manager, to connInfo, ev event, send sender) {
	if ev.Type == proto.CompleteEvent {
		send(to.ID, agentList(m, to))
	}
	send(to.ID, ev)
}

// answersQueries knows a message that asks for the list, whatever it is called.
func answersQueries(o *options) middleware {
	var send sender
	o.Outbound = func(_ manager, to connInfo, ev event, s sender) {
		send = s
		s(to.ID, ev)
	}
	o.Inbound = answering(func() sender { return send })
	return nil
}

func answering(send func() sender) func(manager, connInfo, message) []message {
	return func(m manager, from connInfo, msg message) []message {
		switch msg["type"] {
		case proto.SwitchAgentType, proto.ChatType, proto.AbortType, proto.ConfirmationResponse, proto.QuestionResponse:
			return []message{msg}
		}
		send()(from.ID, agentList(m, from))
		return nil
	}
}

// listWithBinding sends the list again when a session has been created, or loaded.
func listWithBinding(when agentselect.Occasion) fault {
	return func(o *options) middleware {
		var send sender
		o.Outbound = func(_ manager, to connInfo, ev event, s sender) {
			send = s
			s(to.ID, ev)
		}
		o.Policy = rules{bind: func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
			if how == when && send != nil {
				send(c.ID, agentList(m, c))
			}
			return correct.Bind(m, how, c, session)
		}}
		return nil
	}
}
