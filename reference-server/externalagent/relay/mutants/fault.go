package mutants

import (
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

// Short names for what every fault handles.
type (
	view     = relay.Relay
	party    = relay.Party
	envelope = relay.Envelope
	frame    = relay.Frame
	message  = relay.Message
	request  = relay.Request
	refusal  = relay.Refusal
	options  = relay.Options
	sender   = func(conn int, frame []byte)
	object   = wire.Object
)

// fault sets itself up in the options of one relay. Its state needs no lock, because the relay holds one.
type fault func(o *options)

// Faults in one decision of a stateless policy.

func checking(f func(name string, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.Check = f }
}

func joining(f func(v view, from party, e *envelope, j proto.Join, why *refusal) (proto.Join, *refusal)) fault {
	return func(o *options) { o.Policy.Join = f }
}

func routing(f func(v view, from party, e *envelope, to []party) []party) fault {
	return func(o *options) { o.Policy.Recipients = f }
}

func unjoined(f func(v view, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.Unjoined = f }
}

func hostless(f func(v view, from party, e *envelope, why *refusal) *refusal) fault {
	return func(o *options) { o.Policy.HostAbsent = f }
}

// joinedAs changes relay.joined.
func joinedAs(f func(msg message) message) fault {
	return func(o *options) {
		o.Policy.Joined = func(_ view, _ party, _ proto.Join, msg message) message { return f(msg) }
	}
}

// failingAs changes the relay's errors.
func failingAs(f func(msg message) message) fault {
	return func(o *options) {
		o.Policy.Error = func(_ party, _ request, _ refusal, msg message) message { return f(msg) }
	}
}

// hearing replaces each incoming frame by others; f also gets the frame as an envelope.
func hearing(f func(v view, from party, f frame, e *envelope) []frame) fault {
	return func(o *options) {
		o.Inbound = func(v view, from party, in frame) []frame { return f(v, from, in, relay.Read(in)) }
	}
}

// dropping ignores some frames.
func dropping(which func(e *envelope) bool) fault {
	return hearing(func(_ view, _ party, f frame, e *envelope) []frame {
		if which(e) {
			return nil
		}
		return []frame{f}
	})
}

// members are the members of a JSON object, with their values as written.
type members = map[string]jsontext.Value

// edited returns an object with edited members; any other text is unchanged.
func edited(raw []byte, f func(m members)) []byte {
	var m members
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return raw
	}
	f(m)
	return wire.Encode(m)
}

// inPayload edits the members of an envelope's payload.
func inPayload(f func(p members)) func(m members) {
	return func(m members) { m["payload"] = edited(m["payload"], f) }
}

// passing changes passed-on envelopes of some types, or of all types if none is named.
func passing(f func(m members), types ...string) fault {
	return func(o *options) {
		o.Policy.Pass = func(_, _ party, e *envelope, data []byte) []byte {
			if !ofType(e, types...) {
				return data
			}
			return edited(data, f)
		}
	}
}

// leaving removes a member from the payloads of a type.
func leaving(name, kind string) fault {
	return passing(inPayload(func(p members) { delete(p, name) }), kind)
}

// ofType reports whether an envelope has one of the types; it does if no types are given.
func ofType(e *envelope, types ...string) bool {
	for _, t := range types {
		if e.Type() == t {
			return true
		}
	}
	return len(types) == 0
}

// is matches the envelopes of a type.
func is(kind string) func(from party, e *envelope) bool {
	return func(_ party, e *envelope) bool { return e.Type() == kind }
}

func typeOf(data []byte) string { return relay.Read(frame{Data: data}).Type() }

func isAgent(p party) bool { return p.Role == proto.AgentRole }
func isHost(p party) bool  { return p.Role == proto.HostRole }

// isJoin reports whether an envelope is a relay.join, whatever else is wrong with it.
func isJoin(e *envelope) bool { return e.Fault == "" && e.Type() == proto.RelayJoin }

// isAnswer reports whether an envelope comes from a host and has replyTo.
func isAnswer(from party, e *envelope) bool {
	_, answers := e.ReplyTo()
	return isHost(from) && answers
}

var goodbye = websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "bye"}
