// Package mutants is the catalogue of faulty hosts of external-agent: each is the bundled relay and host with one named
// fault that a real implementation might have, and breaks few clauses. They prove that the suite finds faults.
//
// The rows are in catalogue.yaml, with what they do to messages; the other faults are in the other files, by subject.
// A fault changes a decision by host.Policy or relay.Policy, rewrites messages on their way in or out, or wraps the
// store of the logs. A leak is sent before the reply to a request, so that it is on record when the reply arrives.
package mutants

import (
	_ "embed"

	"parley/internal/faultrule"
	proto "parley/protocol/externalagent"
	"parley/reference-server/catalogue"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

//go:embed catalogue.yaml
var rows []byte

// Catalogue has the mutants. The state of a fault belongs to the options it is set up in, which make one server.
var Catalogue = catalogue.New[options](rows,
	joinFaults, sessionFaults, formFaults, versionFaults, junkFaults, typeFaults, payloadFaults, startFaults,
	snapshotFaults,
	resultFaults, effectFaults, updateFaults, speechFaults, endFaults, resetFaults, errorFaults, gateFaults, toolFaults,
	paramFaults, failureFaults, answerFaults, handoverFaults, returnFaults, drawingFaults, backendFaults, logFaults,
	lineFaults, indexFaults,
	storeFaults, cutFaults).Messages(passing)

// passing puts in what a row does to a host's messages, and makes the relay accept them.
func passing(o *options, f catalogue.Faults) {
	both(trusting, hosting(func(h *hostOptions) {
		x := catalogue.Inside(f, catalogue.Form[message, host.Number]("/type"))
		h.Inbound = func(_ view, msg message) []message { return x.Pass("", faultrule.Client, msg) }
		h.Outbound = func(_ view, msg message, send sender) {
			for _, msg := range x.Pass("", faultrule.Server, msg) {
				send(msg)
			}
		}
	}))(o)
}

// Short names for what every fault handles.
type (
	options     = externalagent.Options
	hostOptions = host.Options
	policy      = host.Policy
	view        = host.View
	message     = host.Message
	refusal     = host.Refusal
	state       = host.State
	part        = host.Part
	call        = host.Call
	keep        = host.Keep
	entry       = host.Entry
	tool        = proto.Tool
	sender      = func(message)
	party       = relay.Party
	envelope    = relay.Envelope
	frame       = relay.Frame
	relayView   = relay.Relay
	object      = wire.Object
)

// fault sets itself up in the options of one server. Its state needs no lock where the host or relay holds one.
type fault func(o *options)

// both combines parts of one fault.
func both(some ...fault) fault {
	return func(o *options) {
		for _, f := range some {
			f(o)
		}
	}
}

// likeRelay reuses the fault of a relay mutant.
func likeRelay(id string) fault {
	return func(o *options) {
		if err := relaymutants.Catalogue.Put(id, &o.Relay); err != nil {
			panic(err)
		}
	}
}

// inRelay is a fault of the relay.
func inRelay(f func(o *relay.Options)) fault { return func(o *options) { f(&o.Relay) } }

// inSession is a fault of each host and knows the name of its relay session; put is called once per host.
func inSession(put func(h *hostOptions, session string)) fault {
	return func(o *options) {
		before := o.Host
		o.Host = func(session string, h hostOptions) hostOptions {
			if before != nil {
				h = before(session, h)
			}
			put(&h, session)
			return h
		}
	}
}

// hosting is a fault of each host; put is called once per host.
func hosting(put func(h *hostOptions)) fault {
	return inSession(func(h *hostOptions, _ string) { put(h) })
}

// deciding is a stateless fault in a host's decisions.
func deciding(p policy) fault { return hosting(func(h *hostOptions) { h.Policy = p }) }

// hearing is a stateless fault in a host's incoming messages.
func hearing(f func(v view, msg message) []message) fault {
	return hosting(func(h *hostOptions) { h.Inbound = f })
}

// ignoring drops some incoming messages.
func ignoring(which func(v view, msg message) bool) fault {
	return hearing(func(v view, msg message) []message {
		if which(v, msg) {
			return nil
		}
		return []message{msg}
	})
}

// telling is a stateless fault in a host's outgoing messages.
func telling(f func(v view, msg message, send sender)) fault {
	return hosting(func(h *hostOptions) { h.Outbound = f })
}

// omitting does not send some messages.
func omitting(which func(msg message) bool) fault {
	return telling(func(_ view, msg message, send sender) {
		if !which(msg) {
			send(msg)
		}
	})
}

// rewriting changes the messages of a type before they are sent.
func rewriting(kind string, f func(msg message) message) fault {
	return telling(rewriter(kind, func(_ view, msg message) message { return f(msg) }))
}

func rewriter(kind string, f func(v view, msg message) message) host.Outbound {
	return func(v view, msg message, send sender) {
		if msg.Type() == kind {
			msg = f(v, msg)
		}
		send(msg)
	}
}

// answered replaces replies of one type by replies of another.
func answered(kind, other string, payload func(v view, msg message) object) fault {
	return telling(rewriter(kind, func(v view, msg message) message {
		return wire.Reply(request(msg), other, payload(v, msg))
	}))
}

// request returns the request that a message answers.
func request(msg message) message { return message{"id": msg["replyTo"]} }

// spoiling changes the payloads of a type in place.
func spoiling(kind string, f func(payload object)) fault {
	return rewriting(kind, func(msg message) message {
		f(msg.Payload())
		return msg
	})
}

// showing changes the state in messages.
func showing(f func(v view, in part, s *state)) fault {
	return deciding(policy{State: func(v view, in part, s state) state {
		f(v, in, &s)
		return s
	}})
}

// toolOf returns the name of the tool that a request calls; "" if it is not a call.
func toolOf(msg message) string {
	if msg.Type() != proto.ToolCall {
		return ""
	}
	return msg.PayloadText("toolName")
}

// isAnswer reports whether a message has replyTo.
func isAnswer(msg message) bool { _, named := msg["replyTo"]; return named }

// stateOf returns a state as the payload of a state.updated.
func stateOf(s state) object {
	return object{"source": proto.SourceHost, "uiSpec": s.UISpec, "messageHistory": s.MessageHistory,
		"toolSchema": s.ToolSchema}
}

// updateOf returns the current state as the payload of a state.updated.
func updateOf(v view, _ message) object { return stateOf(v.State()) }

// trusting makes the relay accept anything from the host in its process.
var trusting = inRelay(func(o *relay.Options) {
	o.Policy.Check = func(_ string, from party, _ *envelope, why *relay.Refusal) *relay.Refusal {
		if from.Attached {
			return nil
		}
		return why
	}
})

// framing changes the frames that a host sends to agents.
func framing(f func(data []byte) []byte) fault {
	return func(o *options) {
		o.Relay.Outbound = func(_ relayView, from, to party, data []byte, send func(int, []byte)) {
			if from.Role == proto.HostRole {
				data = f(data)
			}
			send(to.Conn, data)
		}
	}
}

// mending rewrites what an agent sends; nil drops it.
func mending(f func(msg object) object) fault {
	return func(o *options) {
		o.Relay.Inbound = func(_ relayView, from party, in frame) []frame {
			msg := wire.Read(in.Data)
			if from.Attached || in.Binary || msg == nil {
				return []frame{in}
			}
			if msg = f(msg); msg == nil {
				return nil
			}
			return []frame{{Data: wire.Encode(msg)}}
		}
	}
}

// cutFaults show only if the connection of an agent ends at a certain point, and the agent then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-message-loses-snapshots": likeRelay("end-after-a-message-loses-snapshots"),
	"end-after-the-start-loses-snapshots": likeRelay("end-after-the-start-loses-snapshots"),
	"end-after-a-call-loses-snapshots":    likeRelay("end-after-a-call-loses-snapshots"),
}

// backendFaults reveal the cinema's private data.
var backendFaults = map[string]fault{
	"backend-data-in-snapshot":  inAttributesWhere(func(_ view, in part) bool { return in == host.InSnapshot }),
	"backend-data-in-updates":   inAttributesWhere(func(_ view, in part) bool { return in == host.InUpdate }),
	"backend-data-in-results":   resultingIn(func(v view, _ call, ui object) { inAttributes(v, ui) }),
	"backend-data-of-form":      showing(onForm),
	"backend-data-at-seats":     inAttributesWhere(func(v view, _ part) bool { return v.Shown() == proto.SeatStage }),
	"backend-data-in-tools":     showing(func(v view, _ part, s *state) { reveal(v, s.ToolSchema, "context") }),
	"backend-data-in-history":   showing(func(v view, _ part, s *state) { reveal(v, s.MessageHistory, "meta") }),
	"backend-data-beside-state": telling(besideState),
	"backend-data-null": showing(func(_ view, _ part, s *state) {
		each(itemsOf(s.UISpec), spoil.Set(proto.BackendData, nil))
	}),
	"backend-data-in-errors":        revealing(proto.ErrorMessage),
	"backend-data-in-ended":         revealing(proto.SessionEnded),
	"backend-data-in-started":       revealing(proto.SessionStarted),
	"backend-data-in-user-messages": revealing(proto.UserMessage),
}

// data returns the backend data of the current stage, wrapped in an object.
func data(v view) object { return object{proto.BackendData: wire.Plain(v.Backend(v.Stage()))} }

func itemsOf(ui any) []any {
	form, _ := ui.(object)
	items, _ := form["items"].([]any)
	return items
}

func each(all []any, f func(o object)) {
	for _, v := range all {
		f(v.(object))
	}
}

// reveal puts the data into a member of each object.
func reveal(v view, all []any, name string) { each(all, func(o object) { o[name] = data(v) }) }

// inAttributes puts the data deep into the items of a form.
func inAttributes(v view, ui any) {
	each(itemsOf(ui), func(item object) {
		attributes, _ := item["attributes"].(object)
		if attributes == nil {
			attributes = object{}
			item["attributes"] = attributes
		}
		attributes["source"] = []any{data(v)}
	})
}

func inAttributesWhere(which func(v view, in part) bool) fault {
	return showing(func(v view, in part, s *state) {
		if which(v, in) {
			inAttributes(v, s.UISpec)
		}
	})
}

func onForm(v view, _ part, s *state) {
	if ui, shown := s.UISpec.(object); shown {
		ui[proto.BackendData] = data(v)[proto.BackendData]
	}
}

// revealing puts the data into the payloads of a type.
func revealing(kind string) fault {
	return telling(rewriter(kind, func(v view, msg message) message {
		msg.Payload()["debug"] = data(v)
		return msg
	}))
}

// besideState puts the data next to the state.
func besideState(v view, msg message, send sender) {
	if msg.Type() == proto.StateUpdated || msg.Type() == proto.SnapshotState {
		msg.Payload()[proto.BackendData] = data(v)[proto.BackendData]
	}
	send(msg)
}
