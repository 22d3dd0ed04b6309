package mutants

import (
	"net/http"
	"slices"

	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

// Short names for what every fault handles.
type (
	manager   = agentselect.Manager
	connInfo  = agentselect.ConnInfo
	message   = agentselect.Message
	event     = agentselect.Event
	eventData = agentselect.EventData
	agent     = agentselect.Agent
	refusal   = agentselect.Refusal
	rules     = agentselect.Policy
	outbound  = agentselect.Outbound
	sender    = func(connID string, ev event)
)

// correct is the policy that faults fall back on.
var correct = agentselect.Correct

// fault sets itself up in the options of a server. Each call makes new state, so that it belongs to one server.
type fault func(o *options)

// options are the server's options and an optional wrapper around its handler.
type options struct {
	agentselect.Options
	wrap func(http.Handler) http.Handler
}

// both combines two parts of one fault.
func both(a, b fault) fault { return func(o *options) { a(o); b(o) } }

// deciding is a stateless fault in the decisions.
func deciding(r rules) fault { return func(o *options) { o.Policy = r } }

// receiving is a fault in incoming messages: f may change one, and reports whether to handle it.
func receiving(f agentselect.Inbound) fault { return func(o *options) { o.Inbound = f } }

// misreading changes messages of a type.
func misreading(kind string, f func(msg message)) fault {
	return receiving(func(_ manager, _ connInfo, msg message) bool {
		if msg["type"] == kind {
			f(msg)
		}
		return true
	})
}

// dropping ignores some messages of a type.
func dropping(kind string, where func(m manager, from connInfo, msg message) bool) fault {
	return receiving(func(m manager, from connInfo, msg message) bool {
		return msg["type"] != kind || !where(m, from, msg)
	})
}

// which selects events.
type which func(ev event) bool

// of selects events of some types.
func of(kinds ...string) which {
	return func(ev event) bool { return slices.Contains(kinds, ev.Type) }
}

var (
	greets   = of(proto.ConnectedEvent)
	lists    = of(proto.AgentListEvent)
	confirms = of(proto.AgentSwitchedEvent)
	atOnce   = of(proto.ConnectedEvent, proto.AgentListEvent, proto.SessionCreatedEvent, proto.SessionLoadedEvent)
)

// refuses selects refusals of switches with some codes; without arguments, all refusals. Other errors have no code.
func refuses(codes ...string) which {
	return func(ev event) bool {
		code, coded := ev.Data["errorCode"]
		text, _ := code.(string)
		return ev.Type == proto.ErrorEvent && coded && (len(codes) == 0 || slices.Contains(codes, text))
	}
}

// telling is a fault in outgoing events.
func telling(f outbound) fault { return func(o *options) { o.Outbound = f } }

// changed changes some events, or their recipient.
func changed(what which, f func(m manager, to *connInfo, ev *event)) outbound {
	return func(m manager, to connInfo, ev event, send sender) {
		if what(ev) {
			f(m, &to, &ev)
		}
		send(to.ID, ev)
	}
}

// rewriting changes the data of some events.
func rewriting(what which, f func(d eventData) eventData) fault {
	return telling(changed(what, func(_ manager, _ *connInfo, ev *event) { ev.Data = f(ev.Data) }))
}

// with sets a field to a value derived from the data.
func with(what which, key string, value func(d eventData) any) fault {
	return rewriting(what, func(d eventData) eventData { return d.With(key, value(d)) })
}

// fixed returns a constant value.
func fixed(v any) func(eventData) any { return func(eventData) any { return v } }

// copied returns the value of another field.
func copied(key string) func(eventData) any { return func(d eventData) any { return d[key] } }

// without removes a field.
func without(what which, key string) fault {
	return rewriting(what, func(d eventData) eventData { return d.Without(key) })
}

// moved renames a field.
func moved(what which, key, to string) fault {
	return rewriting(what, func(d eventData) eventData { return d.With(to, d[key]).Without(key) })
}

// renamed changes the type of events.
func renamed(what which, kind string) fault {
	return telling(changed(what, func(_ manager, _ *connInfo, ev *event) { ev.Type = kind }))
}

// silent suppresses events.
func silent(what which) fault {
	return telling(func(_ manager, to connInfo, ev event, send sender) {
		if !what(ev) {
			send(to.ID, ev)
		}
	})
}

// before sends another event before some events.
func before(what which, more func(m manager, to connInfo) event) fault {
	return telling(func(m manager, to connInfo, ev event, send sender) {
		if what(ev) {
			send(to.ID, more(m, to))
		}
		send(to.ID, ev)
	})
}

// elsewhere sends some events on another connection.
func elsewhere(what which, on func(m manager, to connInfo) connInfo) fault {
	return telling(changed(what, func(m manager, to *connInfo, _ *event) { *to = on(m, *to) }))
}
