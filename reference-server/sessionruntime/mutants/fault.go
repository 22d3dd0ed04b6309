// Package mutants is the catalogue of faulty orchestrators of session-runtime: each is the bundled one with one named
// fault that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject.
// A fault replaces a decision of orchestrator.Policy or a program of steps, rewrites messages on their way in or out,
// or mixes up the sessions of a bus; the correct code contains none. A leak is sent before the answer, so that it is
// on record when the answer arrives.
//
// A mutant's state belongs to one session, or to one bus, and is dropped when the connection ends.
package mutants

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"parley/internal/faultrule"
	proto "parley/protocol/sessionruntime"
	"parley/reference-server/catalogue"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

var rows = catalogue.Reader(catalogueYAML)

// All returns the catalogue, in its order.
func All() []catalogue.Mutant { return rows() }

// Options returns o with the fault of the mutant put into it, replacing o's Seams. It fails for an unknown id.
func Options(id string, o sessionruntime.Options) (sessionruntime.Options, error) {
	make, ok := faults()[id]
	if lasting, cut := cutFaults[id]; cut {
		make, ok = lasting(), true
	}
	if shared, load := loadFaults[id]; load {
		make, ok = shared(), true
	}
	if !ok {
		return o, fmt.Errorf("no mutant %q", id)
	}
	o.Seams = make
	return o, nil
}

// registered returns the implementations by subject.
func registered() []map[string]fault {
	return []map[string]fault{
		inputFaults, payloadFaults, idFaults, acceptedFaults, ackFaults, timeoutFaults, mentionFaults, absentFaults,
		switchFaults,
		announceFaults, cancelFaults, canceledFaults, removeFaults, removedFaults, fallbackFaults, inviteFaults, addedFaults,
		handoverFaults, promptFaults, contextFaults, outputFaults, checkFaults, speechFaults, errorFaults, sessionFaults,
		broadcastFaults, mixedFaults,
	}
}

// faults returns all implementations by id.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, some := range registered() {
		maps.Copy(all, some)
	}
	for _, m := range All() {
		if m.Fault != "" {
			all[m.ID] = runtime(passing(m.Fault))
		}
	}
	return all
}

// passing puts in what a row does to messages, for each session by itself.
func passing(f catalogue.Faults) func(o *options) {
	as := faultrule.Form[message]{
		TypeOf: faultrule.TypeAt("/subtype", "/metadata/subtype", "/event"),
		Write:  func(msg message) faultrule.Content { return faultrule.Content{Body: catalogue.Encode(msg)} },
		Read: func(_ message, c faultrule.Content) (msg message) {
			catalogue.Decode[number](c.Body, &msg)
			return msg
		},
	}
	return func(o *options) {
		x := catalogue.Inside(f, as)
		o.Inbound = func(_ view, msg message) []message { return x.Pass(o.SessionID, faultrule.Client, msg) }
		o.Outbound = func(_ view, msg message, send sender) {
			for _, msg := range x.Pass(o.SessionID, faultrule.Server, msg) {
				send(msg)
			}
		}
	}
}

// Short names for what every fault handles.
type (
	seams       = sessionruntime.Seams
	number      = sessionruntime.Number
	options     = orchestrator.Options
	rules       = orchestrator.Policy
	view        = orchestrator.View
	turn        = orchestrator.Turn
	transaction = orchestrator.Transaction
	step        = orchestrator.Step
	role        = orchestrator.Role
	refusal     = orchestrator.Refusal
	ids         = orchestrator.IDs
	inbound     = orchestrator.Inbound
	outbound    = orchestrator.Outbound
	message     = proto.Message
	sender      = func(message)
	object      = map[string]any
)

// correct is the policy that faults fall back on.
var correct = orchestrator.Correct

// fault makes the seams of one bus, with new state at each call. That state needs no lock: see Seams.
type fault func() seams

// runtime is a fault of each session; put is called once per session.
func runtime(put func(o *options)) fault {
	return func() seams { return seams{Runtime: put} }
}

// deciding is a fault in the decisions of a session; make is called once per session.
func deciding(make func() rules) fault {
	return runtime(func(o *options) { o.Policy = make() })
}

// ruling is a stateless fault in the decisions.
func ruling(r rules) fault { return deciding(func() rules { return r }) }

// receiving is a fault in incoming messages; make is called once per session.
func receiving(make func() inbound) fault {
	return runtime(func(o *options) { o.Inbound = make() })
}

// taking is a stateless fault in incoming messages.
func taking(f inbound) fault { return receiving(func() inbound { return f }) }

// reading changes matching incoming messages.
func reading(fits func(v view, msg message) bool, f func(v view, msg message) message) fault {
	return taking(func(v view, msg message) []message {
		if fits(v, msg) {
			msg = f(v, msg)
		}
		return []message{msg}
	})
}

// deaf ignores matching messages.
func deaf(fits func(v view, msg message) bool) fault {
	return taking(func(v view, msg message) []message {
		if fits(v, msg) {
			return nil
		}
		return []message{msg}
	})
}

// of matches messages of some kinds, except those of the machine itself.
func of(kinds ...string) func(v view, msg message) bool {
	return func(_ view, msg message) bool {
		return msg.Sender != proto.FromSession && slices.Contains(kinds, kindOf(msg))
	}
}

// telling is a fault in outgoing messages; make is called once per session.
func telling(make func() outbound) fault {
	return runtime(func(o *options) { o.Outbound = make() })
}

// rewriting changes the messages of a kind before they are published.
func rewriting(kind string, f func(v view, msg message) message) fault {
	return telling(func() outbound {
		return func(v view, msg message, send sender) {
			if kindOf(msg) == kind {
				msg = f(v, msg)
			}
			send(msg)
		}
	})
}

// spoiling changes the payloads of a kind.
func spoiling(kind string, f func(payload object)) fault {
	return rewriting(kind, func(_ view, msg message) message {
		payload := maps.Clone(payloadOf(msg))
		if payload != nil {
			f(payload)
			msg.Payload = payload
		}
		return msg
	})
}

// marking changes the metadata of a kind.
func marking(kind string, f func(metadata object)) fault {
	return rewriting(kind, func(_ view, msg message) message {
		f(msg.Metadata)
		return msg
	})
}

// outputs gives matching AGENT_OUTPUTs another program.
func outputs(fits func(v view, t turn, msg message) bool, program ...step) fault {
	return ruling(rules{Output: func(v view, t turn, msg message) []step {
		if fits(v, t, msg) {
			return program
		}
		return correct.Output(v, t, msg)
	}})
}

// skipping removes a step from the program of matching AGENT_OUTPUTs.
func skipping(some step, fits func(t turn, msg message) bool) fault {
	return ruling(rules{Output: func(v view, t turn, msg message) []step {
		if program := correct.Output(v, t, msg); fits(t, msg) {
			return without(program, some)
		}
		return correct.Output(v, t, msg)
	}})
}

// unmentioning ignores the mention in matching inputs.
func unmentioning(fits func(msg message) bool) fault {
	return ruling(rules{Mention: func(v view, msg message) (string, bool) {
		if fits(msg) {
			return "", false
		}
		return correct.Mention(v, msg)
	}})
}

// plainTo sends a plain input to the given agent if it is in the session.
func plainTo(agent func(v view) string) func(v view, msg message, mentioned string) string {
	return func(v view, msg message, mentioned string) string {
		if id := agent(v); mentioned == "" && v.Has(id) {
			return id
		}
		return correct.Target(v, msg, mentioned)
	}
}

// turned returns another program for a turn.
func turned(program ...step) func(view, turn) []step {
	return func(view, turn) []step { return program }
}

// beginning calls do before a transaction of a kind begins.
func beginning(kind string, do func(v view, tx transaction)) fault {
	return ruling(rules{Begin: func(v view, tx transaction) []step {
		if tx.Kind == kind {
			do(v, tx)
		}
		return correct.Begin(v, tx)
	}})
}

// begins gives transactions of a kind another program.
func begins(kind string, program ...step) fault {
	return ruling(rules{Begin: func(v view, tx transaction) []step {
		if tx.Kind == kind {
			return program
		}
		return correct.Begin(v, tx)
	}})
}

// upon gives answers of a subtype another program.
func upon(subtype string, program ...step) fault {
	return ruling(rules{Answered: func(v view, tx transaction, msg message) []step {
		if kindOf(msg) == subtype {
			return program
		}
		return correct.Answered(v, tx, msg)
	}})
}

// kindOf returns the kind of a message: its event for inputs and outputs, else its subtype.
func kindOf(msg message) string {
	if s := orchestrator.Subtype(msg); s != "" && msg.Event != proto.UserInput && msg.Event != proto.AgentOutput {
		return s
	}
	return msg.Event
}

// is matches a kind.
func is(kind string) func(msg message) bool {
	return func(msg message) bool { return kindOf(msg) == kind }
}

// payloadOf returns the payload of a message; nil if it is not an object.
func payloadOf(msg message) object {
	payload, _ := msg.Payload.(object)
	return payload
}

// text returns a member of the metadata, else of the payload; "" if it is not a string.
func text(msg message, name string) string {
	if s, _ := msg.Metadata[name].(string); s != "" {
		return s
	}
	s, _ := payloadOf(msg)[name].(string)
	return s
}

// named sets a member of metadata and payload, where present.
func named(msg message, name, value string) message {
	if payload := maps.Clone(payloadOf(msg)); payload[name] != nil {
		payload[name] = value
		msg.Payload = payload
	}
	if msg.Metadata[name] != nil {
		msg.Metadata = maps.Clone(msg.Metadata)
		msg.Metadata[name] = value
	}
	return msg
}

// unnamed removes a member from metadata and payload.
func unnamed(msg message, name string) message {
	if payload := maps.Clone(payloadOf(msg)); payload[name] != nil {
		delete(payload, name)
		msg.Payload = payload
	}
	msg.Metadata = maps.Clone(msg.Metadata)
	delete(msg.Metadata, name)
	return msg
}

// set sets a member.
func set(name string, v any) func(o object) { return func(o object) { o[name] = v } }

// without removes steps from a program.
func without(program []step, some ...step) []step {
	return slices.DeleteFunc(slices.Clone(program), func(s step) bool { return slices.Contains(some, s) })
}

// idsOf returns the ids of a turn.
func idsOf(t turn) ids { return ids{Trace: t.TraceID, Turn: t.ID} }

// cancelOf returns a CANCEL to the agent of a turn.
func cancelOf(v view, t turn) message {
	return v.New(proto.Control, proto.Cancel, proto.ToAgent, t.Agent,
		object{"turn_id": t.ID, "agent_id": t.Agent, "reason": "stop"}, idsOf(t))
}

// speakers returns the speaking turns; the last one spoke last.
func speakers(v view) (all []turn) {
	for _, id := range v.Speaking() {
		if t, ok := v.Turn(id); ok {
			all = append(all, t)
		}
	}
	return all
}
