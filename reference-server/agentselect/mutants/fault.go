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

// correct is what a fault falls back on.
var correct = agentselect.Correct

// fault puts itself into the options of a server. What it remembers it makes anew at each call: it is that of one
// server.
type fault func(o *options)

// options are those of the server, and what is wrapped around its handler; nil: nothing.
type options struct {
	agentselect.Options
	wrap func(http.Handler) http.Handler
}

// both is two halves of one fault.
func both(a, b fault) fault { return func(o *options) { a(o); b(o) } }

// deciding is a fault in decisions that remember nothing.
func deciding(r rules) fault { return func(o *options) { o.Policy = r } }

// receiving is a fault in how messages are taken: f may change one, and reports whether it is handled.
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

// dropping does not handle messages of a type, where they are such.
func dropping(kind string, where func(m manager, from connInfo, msg message) bool) fault {
	return receiving(func(m manager, from connInfo, msg message) bool {
		return msg["type"] != kind || !where(m, from, msg)
	})
}

// which is a choice of events.
type which func(ev event) bool

// of are the events of some types.
func of(kinds ...string) which {
	return func(ev event) bool { return slices.Contains(kinds, ev.Type) }
}

var (
	greets   = of(proto.ConnectedEvent)
	lists    = of(proto.AgentListEvent)
	confirms = of(proto.AgentSwitchedEvent)
	atOnce   = of(proto.ConnectedEvent, proto.AgentListEvent, proto.SessionCreatedEvent, proto.SessionLoadedEvent)
)

// refuses are the refusals of switches by some codes, by all without one. Other errors have no code.
func refuses(codes ...string) which {
	return func(ev event) bool {
		code, coded := ev.Data["errorCode"]
		text, _ := code.(string)
		return ev.Type == proto.ErrorEvent && coded && (len(codes) == 0 || slices.Contains(codes, text))
	}
}

// telling is a fault in how events are told.
func telling(f outbound) fault { return func(o *options) { o.Outbound = f } }

// changed changes some events, or the connection that they go to.
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

// with replaces a field by what the data have for it.
func with(what which, key string, value func(d eventData) any) fault {
	return rewriting(what, func(d eventData) eventData { return d.With(key, value(d)) })
}

// fixed is a value that does not depend on the data.
func fixed(v any) func(eventData) any { return func(eventData) any { return v } }

// copied is what another field has.
func copied(key string) func(eventData) any { return func(d eventData) any { return d[key] } }

// without leaves a field out.
func without(what which, key string) fault {
	return rewriting(what, func(d eventData) eventData { return d.Without(key) })
}

// moved calls a field otherwise.
func moved(what which, key, to string) fault {
	return rewriting(what, func(d eventData) eventData { return d.With(to, d[key]).Without(key) })
}

// renamed calls events otherwise.
func renamed(what which, kind string) fault {
	return telling(changed(what, func(_ manager, _ *connInfo, ev *event) { ev.Type = kind }))
}

// silent keeps events to itself.
func silent(what which) fault {
	return telling(func(_ manager, to connInfo, ev event, send sender) {
		if !what(ev) {
			send(to.ID, ev)
		}
	})
}

// before tells something else before some events.
func before(what which, more func(m manager, to connInfo) event) fault {
	return telling(func(m manager, to connInfo, ev event, send sender) {
		if what(ev) {
			send(to.ID, more(m, to))
		}
		send(to.ID, ev)
	})
}

// elsewhere tells some events on another connection.
func elsewhere(what which, on func(m manager, to connInfo) connInfo) fault {
	return telling(changed(what, func(m manager, to *connInfo, _ *event) { *to = on(m, *to) }))
}
