package mutants

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

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

// silent sends no message of a type.
func silent(kind string) fault {
	return omitting(func(msg message) bool { return msg.Type() == kind })
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

// unnamed sends the messages of a type without replyTo.
func unnamed(kind string) fault {
	return rewriting(kind, spoil.Without("replyTo"))
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
