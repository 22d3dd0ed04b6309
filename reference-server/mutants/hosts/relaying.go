package hosts

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

type relayJoin = proto.Join

// correctRelay is what a fault of the relay falls back on.
var correctRelay relay.Correct

// relaying is a fault in the decisions of the relay; make is called once per server.
func relaying(make func() relayRules) fault {
	return func(o *options) { o.Relay.Policy = make() }
}

// relayRuling is one that remembers nothing.
func relayRuling(r relayRules) fault { return relaying(func() relayRules { return r }) }

// trusting lets the host of this process send what it likes: the relay checks only what comes from outside.
var trusting = relayRuling(relayRules{checks: func(from party) []relay.Check {
	if from.Attached {
		return nil
	}
	return relay.Checks()
}})

// ofHost changes every message of the host, which the relay would stop otherwise.
func ofHost(f func(msg message) message) fault {
	return both(trusting, telling(func() host.Outbound {
		return func(_ view, msg message, send sender) { send(f(msg)) }
	}))
}

// ofHostTyped changes those of a type.
func ofHostTyped(kind string, f func(msg message) message) fault {
	return ofHost(func(msg message) message {
		if msg.Type() != kind {
			return msg
		}
		return f(msg)
	})
}

// ofRelay changes the relay's own answers to a join.
func ofRelay(f func(msg relay.Message) relay.Message) fault {
	return relayRuling(relayRules{joined: func(e *envelope, j relayJoin) relay.Message {
		return f(correctRelay.Joined(nil, party{}, e, j))
	}})
}

// framing changes the frames that a host sends to agents.
func framing(f func(data []byte) []byte) fault {
	return func(o *options) {
		o.Relay.Outbound = func(_ relayState, from, to party, data []byte, send func(int, []byte)) {
			if from.Role == proto.HostRole {
				data = f(data)
			}
			send(to.Conn, data)
		}
	}
}

// reframing changes the frames of agents before anybody looks at them; no frames drop one. make is called once per server.
func reframing(make func() func(from party, data []byte) [][]byte) fault {
	return func(o *options) {
		f := make()
		o.Relay.Inbound = func(_ relayState, from party, in frame) []frame {
			if from.Attached || in.Binary {
				return []frame{in}
			}
			var out []frame
			for _, data := range f(from, in.Data) {
				out = append(out, frame{Data: data})
			}
			return out
		}
	}
}

// mending makes another object of what an agent sends, where it is one; nil drops it.
func mending(f func(msg object) object) fault {
	return reframing(func() func(party, []byte) [][]byte {
		return func(_ party, data []byte) [][]byte {
			msg := read(data)
			if msg == nil {
				return [][]byte{data}
			}
			if msg = f(msg); msg == nil {
				return nil
			}
			return [][]byte{encode(msg)}
		}
	})
}

// ofType mends envelopes of one type.
func ofType(kind string, f func(msg object) object) fault {
	return mending(func(msg object) object {
		if msg["type"] != kind {
			return msg
		}
		return f(msg)
	})
}

// failing changes what the relay tells of a refusal; nil tells nothing.
func failing(f func(about relay.Request, why relay.Refusal) relay.Message) fault {
	return relayRuling(relayRules{failure: f})
}

// fails is an error of the relay as it should be.
func fails(about relay.Request, why relay.Refusal) relay.Message {
	return correctRelay.Error(nil, party{}, about, why)
}
