package mutants

import (
	"bytes"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/spoil"
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

	"v-missing":        ofHost(spoil.Without("v")),
	"v-older":          ofHost(spoil.With("v", "mvp-0.1")),
	"v-without-prefix": ofHost(spoil.With("v", "0.2")),
	"v-is-number":      ofHost(spoil.With("v", 0.2)),
	"v-named-version": ofHost(func(msg message) message {
		return msg.Without("v").With("version", proto.Version)
	}),
	"v-missing-in-joined":        likeRelay("joined-without-v"),
	"v-missing-in-errors":        ofType(proto.ErrorMessage, spoil.Without("v")),
	"v-missing-in-states":        ofType(proto.StateUpdated, spoil.Without("v")),
	"v-missing-in-ended":         ofType(proto.SessionEnded, spoil.Without("v")),
	"v-missing-in-user-messages": ofType(proto.UserMessage, spoil.Without("v")),

	"type-is-number": ofType(proto.StateUpdated, spoil.With("type", 4)),
	"type-is-empty":  ofType(proto.StateUpdated, spoil.With("type", "")),
	"type-named-kind": ofType(proto.StateUpdated, func(msg message) message {
		return msg.Without("type").With("kind", proto.StateUpdated)
	}),

	"id-is-number":            ofType(proto.StateUpdated, spoil.With("id", 17)),
	"id-is-number-in-answers": ofAnswers(spoil.With("id", 17)),

	"reply-to-is-number": ofType(proto.StateUpdated, spoil.With("replyTo", 0)),
	"reply-to-is-empty":  ofType(proto.StateUpdated, spoil.With("replyTo", "")),
	"reply-to-shouted": ofAnswers(func(msg message) message {
		return msg.With("replyTo", strings.ToUpper(msg.ReplyTo()))
	}),
	"reply-to-quoted": ofAnswers(func(msg message) message { return msg.With("replyTo", `"`+msg.ReplyTo()+`"`) }),

	"payload-in-a-list": ofType(proto.StateUpdated, spoil.Member("payload", spoil.InList)),
	"payload-as-text":   ofType(proto.StateUpdated, spoil.Member("payload", spoil.JSON)),
	"payload-flattened": ofType(proto.StateUpdated, flattened),
	"payload-is-error": ofType(proto.ErrorMessage, func(msg message) message {
		return msg.With("payload", msg.Payload()["message"])
	}),
	"payload-named-data": ofType(proto.StateUpdated, func(msg message) message {
		return msg.Without("payload").With("data", msg["payload"])
	}),
	"payload-null-in-end": ofType(proto.SessionEnded, spoil.With("payload", nil)),
}

// ofHost changes every message of the host, and makes the relay accept them.
func ofHost(f func(msg message) message) fault {
	return both(trusting, telling(func(_ view, msg message, send sender) { send(f(msg)) }))
}

// where changes some messages of the host.
func where(which func(msg message) bool, f func(msg message) message) fault {
	return ofHost(func(msg message) message {
		if which(msg) {
			return f(msg)
		}
		return msg
	})
}

func ofType(kind string, f func(msg message) message) fault {
	return where(func(msg message) bool { return msg.Type() == kind }, f)
}

func ofAnswers(f func(msg message) message) fault { return where(isAnswer, f) }

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

// flattened moves the members of the payload up into the envelope.
func flattened(msg message) message {
	flat := msg.Without("payload")
	for name, v := range msg.Payload() {
		flat[name] = v
	}
	return flat
}
