package mutants

import (
	"maps"
	"slices"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

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

// correct is what a fault falls back on.
var correct = orchestrator.Correct

// fault makes the seams of one bus. What it remembers it makes anew at each call. It needs no lock: see Seams.
type fault func() seams

// runtime is a fault of each session; put is called once per session.
func runtime(put func(o *options)) fault {
	return func() seams { return seams{Runtime: put} }
}

// deciding is a fault in the decisions of a session; make is called once per session.
func deciding(make func() rules) fault {
	return runtime(func(o *options) { o.Policy = make() })
}

// ruling is one that remembers nothing.
func ruling(r rules) fault { return deciding(func() rules { return r }) }

// receiving is a fault in how messages are taken; make is called once per session.
func receiving(make func() inbound) fault {
	return runtime(func(o *options) { o.Inbound = make() })
}

// taking is one that remembers nothing.
func taking(f inbound) fault { return receiving(func() inbound { return f }) }

// reading changes messages that fit as they come in.
func reading(fits func(v view, msg message) bool, f func(v view, msg message) message) fault {
	return taking(func(v view, msg message) []message {
		if fits(v, msg) {
			msg = f(v, msg)
		}
		return []message{msg}
	})
}

// deaf does not hear what fits.
func deaf(fits func(v view, msg message) bool) fault {
	return taking(func(v view, msg message) []message {
		if fits(v, msg) {
			return nil
		}
		return []message{msg}
	})
}

// deafTo does not hear messages of some kinds.
func deafTo(kinds ...string) fault { return deaf(of(kinds...)) }

// of matches messages of some kinds, but for what comes from the machine itself.
func of(kinds ...string) func(v view, msg message) bool {
	return func(_ view, msg message) bool {
		return msg.Sender != proto.FromSession && slices.Contains(kinds, kindOf(msg))
	}
}

// telling is a fault in how messages are published; make is called once per session.
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

// silent publishes no message of a kind.
func silent(kind string) fault {
	return telling(func() outbound {
		return func(_ view, msg message, send sender) {
			if kindOf(msg) != kind {
				send(msg)
			}
		}
	})
}

// twice publishes the messages of a kind once more, under an id of their own.
func twice(kind string) fault {
	return telling(func() outbound {
		return func(_ view, msg message, send sender) {
			send(msg)
			if kindOf(msg) == kind {
				msg.ID += "-again"
				send(msg)
			}
		}
	})
}

// elsewhere publishes the messages of a kind to another target.
func elsewhere(kind, target string) fault {
	return rewriting(kind, func(_ view, msg message) message {
		msg.Target, msg.TargetID = target, ""
		return msg
	})
}

// renamed publishes the messages of a kind under another subtype.
func renamed(kind, subtype string) fault {
	return rewriting(kind, func(_ view, msg message) message {
		msg.Subtype = subtype
		if payload := maps.Clone(payloadOf(msg)); payload["code"] != nil {
			payload["code"] = subtype
			msg.Payload = payload
		}
		return msg
	})
}

// as publishes the messages of a kind as another event.
func as(event, kind string) fault {
	return rewriting(kind, func(_ view, msg message) message {
		msg.Event = event
		return msg
	})
}

// delayed publishes the messages of a kind right behind the next one that fits, whatever that is about.
func delayed(kind string, behind func(msg message) bool) fault {
	return telling(func() outbound {
		var held []message
		return func(_ view, msg message, send sender) {
			if kindOf(msg) == kind {
				held = append(held, msg)
				return
			}
			send(msg)
			if behind(msg) {
				for _, msg := range held {
					send(msg)
				}
				held = nil
			}
		}
	})
}

// outputs has an AGENT_OUTPUT that fits lead to another program.
func outputs(fits func(v view, t turn, msg message) bool, program ...step) fault {
	return ruling(rules{Output: func(v view, t turn, msg message) []step {
		if fits(v, t, msg) {
			return program
		}
		return correct.Output(v, t, msg)
	}})
}

// skipping leaves a step out of the program of an AGENT_OUTPUT that fits.
func skipping(some step, fits func(t turn, msg message) bool) fault {
	return ruling(rules{Output: func(v view, t turn, msg message) []step {
		if program := correct.Output(v, t, msg); fits(t, msg) {
			return without(program, some)
		}
		return correct.Output(v, t, msg)
	}})
}

// unmentioning sees no mention in an input that fits.
func unmentioning(fits func(msg message) bool) fault {
	return ruling(rules{Mention: func(v view, msg message) (string, bool) {
		if fits(msg) {
			return "", false
		}
		return correct.Mention(v, msg)
	}})
}

// plainTo has a plain input go to an agent of the session, where there is one.
func plainTo(agent func(v view) string) func(v view, msg message, mentioned string) string {
	return func(v view, msg message, mentioned string) string {
		if id := agent(v); mentioned == "" && v.Has(id) {
			return id
		}
		return correct.Target(v, msg, mentioned)
	}
}

// turned has another program for a turn.
func turned(program ...step) func(view, turn) []step {
	return func(view, turn) []step { return program }
}

// beginning does something before a transaction of a kind begins.
func beginning(kind string, do func(v view, tx transaction)) fault {
	return ruling(rules{Begin: func(v view, tx transaction) []step {
		if tx.Kind == kind {
			do(v, tx)
		}
		return correct.Begin(v, tx)
	}})
}

// begins has transactions of a kind begin with another program.
func begins(kind string, program ...step) fault {
	return ruling(rules{Begin: func(v view, tx transaction) []step {
		if tx.Kind == kind {
			return program
		}
		return correct.Begin(v, tx)
	}})
}

// upon has an answer of a subtype followed by another program.
func upon(subtype string, program ...step) fault {
	return ruling(rules{Answered: func(v view, tx transaction, msg message) []step {
		if kindOf(msg) == subtype {
			return program
		}
		return correct.Answered(v, tx, msg)
	}})
}

// kindOf tells what a message is: the subtype, but for inputs and outputs, whose event says it.
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

// payloadOf is the payload of a message; nil if that is no object.
func payloadOf(msg message) object {
	payload, _ := msg.Payload.(object)
	return payload
}

// text is a member of the metadata, else of the payload; "" if it is no string.
func text(msg message, name string) string {
	if s, _ := msg.Metadata[name].(string); s != "" {
		return s
	}
	s, _ := payloadOf(msg)[name].(string)
	return s
}

// named gives a member of metadata and payload, where it is there, another value.
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

// unnamed takes a member out of metadata and payload.
func unnamed(msg message, name string) message {
	if payload := maps.Clone(payloadOf(msg)); payload[name] != nil {
		delete(payload, name)
		msg.Payload = payload
	}
	msg.Metadata = maps.Clone(msg.Metadata)
	delete(msg.Metadata, name)
	return msg
}

// set gives a member another value.
func set(name string, v any) func(o object) { return func(o object) { o[name] = v } }

// lose takes a member out.
func lose(name string) func(o object) { return func(o object) { delete(o, name) } }

// rename gives a member another name.
func rename(name, other string) func(o object) {
	return func(o object) {
		o[other] = o[name]
		delete(o, name)
	}
}

// without takes steps out of a program.
func without(program []step, some ...step) []step {
	return slices.DeleteFunc(slices.Clone(program), func(s step) bool { return slices.Contains(some, s) })
}

// idsOf are the ids of a turn.
func idsOf(t turn) ids { return ids{Trace: t.TraceID, Turn: t.ID} }

// cancelOf is a CANCEL to the agent of a turn.
func cancelOf(v view, t turn) message {
	return v.New(proto.Control, proto.Cancel, proto.ToAgent, t.Agent,
		object{"turn_id": t.ID, "agent_id": t.Agent, "reason": "stop"}, idsOf(t))
}

// speakers are the turns that speak, the last one spoke last.
func speakers(v view) (all []turn) {
	for _, id := range v.Speaking() {
		if t, ok := v.Turn(id); ok {
			all = append(all, t)
		}
	}
	return all
}
