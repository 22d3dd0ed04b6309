package mutants

import (
	"bytes"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

// formFaults send wrong envelopes.
var formFaults = map[string]fault{
	"states-in-batches": framingType(proto.StateUpdated, func(data []byte) []byte {
		return []byte("[" + string(data) + "]")
	}),
	"two-states-a-frame": framingType(proto.StateUpdated, func(data []byte) []byte {
		return []byte(string(data) + "\n" + string(data))
	}),
	"not-a-number": framingType(proto.StateUpdated, func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"source"`), []byte(`"elapsed":NaN,"source"`), 1)
	}),
	"members-told-twice":  framing(func(data []byte) []byte { return append([]byte(`{"v":"mvp-0.2",`), data[1:]...) }),
	"greets-in-words":     likeRelay("greets-in-plain-text"),
	"heartbeats-in-words": inRelay(heartbeats),

	"v-missing-in-joined": likeRelay("joined-without-v"),

	"reply-to-shouted": ofHost(shouted),

	"payload-flattened": ofHost(flattened),
}

// ofHost changes every message of the host, and makes the relay accept them.
func ofHost(f func(msg message) message) fault {
	return both(trusting, telling(func(_ view, msg message, send sender) { send(f(msg)) }))
}

// framingType changes the host's frames with messages of a type.
func framingType(kind string, f func(data []byte) []byte) fault {
	return framing(func(data []byte) []byte {
		if wire.Read(data)["type"] != kind {
			return data
		}
		return f(data)
	})
}

// heartbeats sends the text "ping" before each snapshot.
func heartbeats(o *relay.Options) {
	o.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
		if wire.Read(data)["type"] == proto.SnapshotState {
			send(to.Conn, []byte("ping"))
		}
		send(to.Conn, data)
	}
}

// shouted names requests in capitals.
func shouted(msg message) message {
	if !isAnswer(msg) {
		return msg
	}
	return msg.With("replyTo", strings.ToUpper(msg.ReplyTo()))
}

// flattened moves the members of the payload of an update up into the envelope.
func flattened(msg message) message {
	if msg.Type() != proto.StateUpdated {
		return msg
	}
	flat := msg.Without("payload")
	for name, v := range msg.Payload() {
		flat[name] = v
	}
	return flat
}
