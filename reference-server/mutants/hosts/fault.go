package hosts

import (
	"github.com/go-json-experiment/json"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// Short names for what every fault handles.
type (
	options     = externalagent.Options
	hostOptions = host.Options
	view        = host.View
	message     = host.Message
	refusal     = host.Refusal
	state       = host.State
	call        = host.Call
	keep        = host.Keep
	entry       = host.Entry
	tool        = proto.Tool
	sender      = func(message)
	part        = host.Part
	party       = relay.Party
	envelope    = relay.Envelope
	frame       = relay.Frame
	relayState  = relay.Relay
	object      = map[string]any
)

// correct is what a fault of the host falls back on.
var correct host.Correct

// fault puts itself into the options of a server. What it remembers it makes anew at each call: it is that of one server.
// Policies and hooks need no lock of their own, as host and relay have one.
type fault func(o *options)

// both is one fault that shows in two places.
func both(some ...fault) fault {
	return func(o *options) {
		for _, f := range some {
			f(o)
		}
	}
}

// hosting is a fault of each host; put is called once per host.
func hosting(put func(h *hostOptions)) fault {
	return func(o *options) {
		before := o.Host
		o.Host = func(session string, h hostOptions) hostOptions {
			if before != nil {
				h = before(session, h)
			}
			put(&h)
			return h
		}
	}
}

// deciding is a fault in the decisions of a host; make is called once per host.
func deciding(make func() rules) fault {
	return hosting(func(h *hostOptions) { h.Policy = make() })
}

// ruling is a fault in the decisions of a host that remembers nothing.
func ruling(r rules) fault { return deciding(func() rules { return r }) }

// receiving is a fault in how a host takes messages; make is called once per host.
func receiving(make func() host.Inbound) fault {
	return hosting(func(h *hostOptions) { h.Inbound = make() })
}

// taking is one that remembers nothing.
func taking(f host.Inbound) fault { return receiving(func() host.Inbound { return f }) }

// telling is a fault in how a host tells messages; make is called once per host.
func telling(make func() host.Outbound) fault {
	return hosting(func(h *hostOptions) { h.Outbound = make() })
}

// rewriting changes the messages of a type before they are sent.
func rewriting(kind string, f func(v view, msg message) message) fault {
	return telling(func() host.Outbound {
		return func(v view, msg message, send sender) {
			if msg.Type() == kind {
				msg = f(v, msg)
			}
			send(msg)
		}
	})
}

// spoiling changes the payloads of a type in place.
func spoiling(kind string, f func(payload object)) fault {
	return rewriting(kind, func(_ view, msg message) message {
		f(msg.Payload())
		return msg
	})
}

// silent sends no message of a type.
func silent(kind string) fault {
	return telling(func() host.Outbound {
		return func(_ view, msg message, send sender) {
			if msg.Type() != kind {
				send(msg)
			}
		}
	})
}

// unnamed sends the messages of a type without replyTo.
func unnamed(kind string) fault {
	return rewriting(kind, func(_ view, msg message) message { return msg.Without("replyTo") })
}

// set gives a member of a payload another value.
func set(name string, v any) func(payload object) {
	return func(payload object) { payload[name] = v }
}

// lose takes a member out of a payload.
func lose(name string) func(payload object) {
	return func(payload object) { delete(payload, name) }
}

// rename gives a member of a payload another name.
func rename(name, other string) func(payload object) {
	return func(payload object) {
		payload[other] = payload[name]
		delete(payload, name)
	}
}

// change makes something else of a member of a payload.
func change(name string, f func(v any) any) func(payload object) {
	return func(payload object) { payload[name] = f(payload[name]) }
}

// toolOf is the name of the tool that a request calls; "" if it is no call.
func toolOf(msg message) string {
	if msg.Type() != proto.ToolCall {
		return ""
	}
	name, _ := msg.Payload()["toolName"].(string)
	return name
}

// stateOf is a state as the payload of a state.updated.
func stateOf(s state) object {
	return object{"source": proto.SourceHost, "uiSpec": s.UISpec, "messageHistory": s.MessageHistory, "toolSchema": s.ToolSchema}
}

// jsonText is a value as a text that has its JSON.
func jsonText(v any) any { return string(encode(v)) }

// encode writes a value that has come from a decoder, or was made by a host.
func encode(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // it is made of plain values
	}
	return data
}

// read reads a frame as an object; nil if it is none.
func read(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o
}
