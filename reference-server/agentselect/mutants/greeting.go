package mutants

import (
	"sync"
	"time"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// greetingFaults mishandle the beginning of a connection, or send agent_list at other times.
var greetingFaults = map[string]fault{
	"list-on-request-only":   both(silent(lists), answersQueries),
	"list-after-session":     both(silent(lists), listWithBinding(agentselect.OnCreate)),
	"list-waits-for-client":  listLate(0),
	"list-late":              listLate(time.Second),
	"lists-dry-up":           dryUp(lists, 4),
	"greets-before":          before(greets, welcome),
	"greets-between":         before(lists, welcome),
	"list-again-with-switch": before(confirms, agentList),
	"list-again-with-create": listWithBinding(agentselect.OnCreate),
	"list-again-with-load":   listWithBinding(agentselect.OnLoad),
	"list-again-with-chat":   before(of(proto.CompleteEvent), agentList),
	"answers-queries":        answersQueries,
}

// dryUp suppresses events after the first few.
func dryUp(what which, after int) fault {
	return func(o *options) {
		left := after
		silent(func(ev event) bool {
			if what(ev) {
				left--
			}
			return what(ev) && left < 0
		})(o)
	}
}

// agentList returns a current agent_list for a connection.
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

// listLate holds the list back until the first reply has been sent, or for a while.
func listLate(after time.Duration) fault {
	return func(o *options) {
		held := map[string]func(){}
		o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
			if lists(ev) {
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
	}
}

func welcome(manager, connInfo) event {
	return event{Type: proto.MessageEvent, Data: eventData{"role": "assistant", "content": "Welcome!"}}
}

// sending returns the last send function: there is no other way to send an event at other times.
func sending(o *options) *sender {
	last, told := new(sender), o.Outbound
	o.Outbound = func(m manager, to connInfo, ev event, send sender) {
		*last = send
		if told != nil {
			told(m, to, ev, send)
			return
		}
		send(to.ID, ev)
	}
	return last
}

// answersQueries answers any message that asks for the list, whatever its type.
func answersQueries(o *options) {
	send := sending(o)
	o.Inbound = func(m manager, from connInfo, msg message) bool {
		switch msg["type"] {
		case proto.SwitchAgentType, proto.ChatType, proto.AbortType, proto.ConfirmationResponse, proto.QuestionResponse:
			return true
		}
		(*send)(from.ID, agentList(m, from))
		return false
	}
}

// listWithBinding sends the list again when a session has been created or loaded.
func listWithBinding(when agentselect.Occasion) fault {
	return func(o *options) {
		send := sending(o)
		o.Policy.Bind = func(m manager, how agentselect.Occasion, c connInfo, session string) agentselect.Binding {
			if how == when && *send != nil {
				(*send)(c.ID, agentList(m, c))
			}
			return correct.Bind(m, how, c, session)
		}
	}
}
