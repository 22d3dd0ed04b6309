// Package mutants is the catalogue of faulty agent-select servers: each is the bundled one with one named fault that
// a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject.
// A fault replaces a decision of agentselect.Policy, rewrites messages on their way in or events on their way out, or
// wraps the handler; the correct server contains none. A leak is sent before the answer, so that it is on record when
// the answer arrives.
//
// Delayed is not a mutant: it answers each message with the answer to the previous one, which shows whether a harness
// attributes an answer to the wrong question.
package mutants

import (
	"context"
	_ "embed"
	"maps"
	"net/http"
	"slices"

	"parley/internal/faultrule"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/catalogue"
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
	object    = map[string]any
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

// Mutant is a row of the catalogue.
type Mutant = catalogue.Mutant

//go:embed catalogue.yaml
var catalogueYAML []byte

var set = catalogue.New(catalogueYAML,
	idFaults, refusalFaults, availableFaults, listFaults, greetingFaults, configFaults, switchedFaults, messageFaults,
	sessionFaults, bindingFaults, defaultFaults, busyFaults, turnFaults, raceFaults, webFaults, cutFaults, leftoverFaults,
	endingFaults).Messages(passing)

// All returns the catalogue, in its order.
func All() []Mutant { return set.All() }

// passing puts in what a row does to messages.
func passing(o *options, f catalogue.Faults) {
	x := catalogue.Inside(f, catalogue.Form[object, agentselect.Number]("/type"))
	o.Inbound = func(_ manager, from connInfo, msg message) bool {
		for _, now := range x.Pass(from.ID, faultrule.Client, object(msg)) {
			now = maps.Clone(now)
			clear(msg)
			maps.Copy(msg, now)
			return true
		}
		return false
	}
	o.Outbound = func(_ manager, to connInfo, ev event, send sender) {
		msg := object{"type": ev.Type, "data": object(ev.Data), "requestId": ev.RequestID}
		for _, now := range x.Pass(to.ID, faultrule.Server, msg) {
			kind, _ := now["type"].(string)
			data, _ := now["data"].(object)
			id, _ := now["requestId"].(string)
			send(to.ID, event{Type: kind, Data: data, RequestID: id})
		}
	}
}

//go:embed load.yaml
var loadYAML []byte

var underLoad = catalogue.New(loadYAML, loadFaults)

// Load returns the catalogue of the faults that only a load shows, in its order.
func Load() []Mutant { return underLoad.All() }

// Server is a faulty server.
type Server interface {
	http.Handler
	Close(ctx context.Context) error // as for agentselect.Server
}

// Handler returns the mutant with that id. It replaces Policy, Inbound and Outbound of the options.
func Handler(id string, o agentselect.Options) (Server, error) {
	put := set.Put
	if loadFaults[id] != nil {
		put = underLoad.Put
	}
	return build(func(own *options) error { return put(id, own) }, o)
}

func build(put func(own *options) error, o agentselect.Options) (Server, error) {
	o.Policy, o.Inbound, o.Outbound = rules{}, nil, nil
	own := options{Options: o}
	if err := put(&own); err != nil {
		return nil, err
	}
	server, err := agentselect.New(own.Options)
	if err != nil {
		return nil, err
	}
	if own.wrap == nil {
		return server, nil
	}
	return &wrapped{Server: server, handler: own.wrap(server)}, nil
}

// wrapped is a server behind a faulty handler.
type wrapped struct {
	*agentselect.Server
	handler http.Handler
}

func (w *wrapped) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) }

// messageFaults misread client messages.
var messageFaults = map[string]fault{
	"agent-id-in-any-case": misreading(proto.SwitchAgentType, anyCase),
	"strict-about-fields":  dropping(proto.SwitchAgentType, hasUnknownField),
	"deaf-to-old-clients":  deafToOldClients,
}

// anyCase reads the field as encoding/json does: ignoring case, the last one wins.
func anyCase(msg message) {
	for _, key := range []string{"AgentId", "agentid", "AGENTID", "AgentID"} {
		if v, present := msg[key]; present {
			msg["agentId"] = v
		}
	}
}

// hasUnknownField reports whether a switch has fields that the source does not name.
func hasUnknownField(_ manager, _ connInfo, msg message) bool {
	for key := range msg {
		if !slices.Contains([]string{"type", "agentId", "sessionId", "connectionId"}, key) {
			return true
		}
	}
	return false
}

// deafToOldClients handles chats only from clients that have chosen an agent.
func deafToOldClients(o *options) {
	chosen := map[string]bool{}
	o.Inbound = func(_ manager, from connInfo, msg message) bool {
		chosen[from.ID] = chosen[from.ID] || msg["type"] == proto.SwitchAgentType
		return msg["type"] != proto.ChatType || chosen[from.ID]
	}
}
