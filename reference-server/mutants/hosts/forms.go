package hosts

import (
	"bytes"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// formFaults get the envelope of what is sent wrong.
var formFaults = map[string]fault{
	"states-in-batches":  framingType(proto.StateUpdated, func(data []byte) []byte { return []byte("[" + string(data) + "]") }),
	"two-states-a-frame": framingType(proto.StateUpdated, func(data []byte) []byte { return []byte(string(data) + "\n" + string(data)) }),
	"not-a-number": framingType(proto.StateUpdated, func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"source"`), []byte(`"elapsed":NaN,"source"`), 1)
	}),
	"members-told-twice":  framing(func(data []byte) []byte { return append([]byte(`{"v":"mvp-0.2",`), data[1:]...) }),
	"greets-in-words":     greetsInWords,
	"heartbeats-in-words": heartbeats,

	"v-missing":                  ofHost(func(msg message) message { return msg.Without("v") }),
	"v-older":                    ofHost(func(msg message) message { return msg.With("v", "mvp-0.1") }),
	"v-without-prefix":           ofHost(func(msg message) message { return msg.With("v", "0.2") }),
	"v-is-number":                ofHost(func(msg message) message { return msg.With("v", 0.2) }),
	"v-named-version":            ofHost(func(msg message) message { return msg.Without("v").With("version", proto.Version) }),
	"v-missing-in-joined":        ofRelay(func(msg relay.Message) relay.Message { return msg.Without("v") }),
	"v-missing-in-errors":        ofHostTyped(proto.ErrorMessage, func(msg message) message { return msg.Without("v") }),
	"v-missing-in-states":        ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.Without("v") }),
	"v-missing-in-ended":         ofHostTyped(proto.SessionEnded, func(msg message) message { return msg.Without("v") }),
	"v-missing-in-user-messages": ofHostTyped(proto.UserMessage, func(msg message) message { return msg.Without("v") }),

	"type-is-number":  ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("type", 4) }),
	"type-is-empty":   ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("type", "") }),
	"type-named-kind": ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.Without("type").With("kind", proto.StateUpdated) }),

	"id-is-number": numbering(func(msg message) bool { return msg.Type() == proto.StateUpdated }),
	"id-is-number-in-answers": numbering(func(msg message) bool {
		_, isAnswer := msg["replyTo"]
		return isAnswer
	}),

	"reply-to-is-number": ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("replyTo", 0) }),
	"reply-to-is-empty":  ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("replyTo", "") }),
	"reply-to-shouted":   replying(strings.ToUpper),
	"reply-to-quoted":    replying(func(id string) string { return `"` + id + `"` }),

	"payload-in-a-list":   ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("payload", []any{msg["payload"]}) }),
	"payload-as-text":     ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.With("payload", jsonText(msg["payload"])) }),
	"payload-flattened":   ofHostTyped(proto.StateUpdated, flattened),
	"payload-is-error":    ofHostTyped(proto.ErrorMessage, func(msg message) message { return msg.With("payload", msg.Payload()["message"]) }),
	"payload-named-data":  ofHostTyped(proto.StateUpdated, func(msg message) message { return msg.Without("payload").With("data", msg["payload"]) }),
	"payload-null-in-end": ofHostTyped(proto.SessionEnded, func(msg message) message { return msg.With("payload", nil) }),
}

// framingType changes the frames of the host that have messages of a type.
func framingType(kind string, f func(data []byte) []byte) fault {
	return framing(func(data []byte) []byte {
		if read(data)["type"] != kind {
			return data
		}
		return f(data)
	})
}

// greetsInWords welcomes who joins.
func greetsInWords(o *options) {
	o.Relay.Outbound = func(_ relayState, from, to party, data []byte, send func(int, []byte)) {
		if from.Conn == 0 && read(data)["type"] == proto.RelayJoined {
			send(to.Conn, []byte("welcome"))
		}
		send(to.Conn, data)
	}
}

// heartbeats says ping before each snapshot.
func heartbeats(o *options) {
	o.Relay.Outbound = func(_ relayState, _, to party, data []byte, send func(int, []byte)) {
		if read(data)["type"] == proto.SnapshotState {
			send(to.Conn, []byte("ping"))
		}
		send(to.Conn, data)
	}
}

// numbering counts messages in their id.
func numbering(which func(msg message) bool) fault {
	return both(trusting, telling(func() host.Outbound {
		n := 0
		return func(_ view, msg message, send sender) {
			if n++; which(msg) {
				msg = msg.With("id", n)
			}
			send(msg)
		}
	}))
}

// replying names requests otherwise than they were.
func replying(f func(id string) string) fault {
	return ofHost(func(msg message) message {
		if id, isAnswer := msg["replyTo"].(string); isAnswer {
			return msg.With("replyTo", f(id))
		}
		return msg
	})
}

// flattened has the members of the payload beside those of the envelope.
func flattened(msg message) message {
	flat := msg.Without("payload")
	for name, v := range msg.Payload() {
		flat[name] = v
	}
	return flat
}
