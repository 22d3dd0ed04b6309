package relays

import (
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// envelopeFaults get the form of what is sent wrong: of the relay's own messages, or of the frames.
var envelopeFaults = map[string]fault{
	"joined-without-v":         joinedAs(func(msg message, _ proto.Join) message { return msg.Without("v") }),
	"joined-v-a-number":        joinedAs(func(msg message, _ proto.Join) message { return msg.With("v", 0.2) }),
	"joined-v-of-the-relay":    joinedAs(func(msg message, _ proto.Join) message { return msg.With("v", "relay-1.0") }),
	"joined-type-missing":      joinedAs(func(msg message, _ proto.Join) message { return msg.Without("type") }),
	"joined-id-a-number":       joinedAs(func(msg message, _ proto.Join) message { return msg.With("id", 1) }),
	"joined-reply-to-a-list":   joinedAs(func(msg message, _ proto.Join) message { return msg.With("replyTo", []any{msg["replyTo"]}) }),
	"joined-payload-a-list":    joinedAs(func(msg message, _ proto.Join) message { return msg.With("payload", []any{msg["payload"]}) }),
	"joined-payload-as-text":   joinedAs(func(msg message, _ proto.Join) message { return msg.With("payload", string(encoded(msg["payload"]))) }),
	"joined-in-a-list":         wrapping(own(proto.RelayJoined), func(data []byte) []byte { return []byte("[" + string(data) + "]") }),
	"joined-members-twice":     wrapping(own(proto.RelayJoined), func(data []byte) []byte { return []byte(`{"v":"mvp-0.2",` + string(data[1:])) }),
	"joined-and-a-list":        wrapping(own(proto.RelayJoined), func(data []byte) []byte { return append(data, `{"v":"mvp-0.2","type":"relay.peers","payload":{}}`...) }),
	"errors-without-v":         failingAs(func(msg message) message { return msg.Without("v") }),
	"errors-v-a-number":        failingAs(func(msg message) message { return msg.With("v", 0.2) }),
	"errors-type-missing":      failingAs(func(msg message) message { return msg.Without("type") }),
	"errors-type-a-number":     failingAs(func(msg message) message { return msg.With("type", 400) }),
	"errors-id-a-number":       failingAs(func(msg message) message { return msg.With("id", 17) }),
	"errors-without-payload":   failingAs(func(msg message) message { return msg.Without("payload").With("code", proto.InvalidMessage) }),
	"errors-payload-a-text":    failingAs(func(msg message) message { return msg.With("payload", msg["payload"].(object)["message"]) }),
	"errors-reply-to-made-up":  failingAs(replyMadeUp),
	"errors-in-plain-text":     wrapping(own(proto.ErrorMessage), func([]byte) []byte { return []byte("Error: invalid message") }),
	"greets-in-plain-text":     saying(own(proto.RelayJoined), "connected"),
	"keeps-alive-by-nothing":   saying(own(proto.RelayJoined), ""),
	"keeps-alive-by-null":      saying(own(proto.RelayJoined), "null"),
	"states-in-a-list":         wrapping(passed(proto.StateUpdated), func(data []byte) []byte { return []byte("[" + string(data) + "]") }),
	"a-line-feed-between-two":  telling(twoInAFrame),
	"single-quotes-for-double": wrapping(own(proto.RelayJoined), func(data []byte) []byte { return []byte(strings.ReplaceAll(string(data), `"`, `'`)) }),
	"length-before-the-json":   wrapping(passed(proto.SnapshotState), func(data []byte) []byte { return append([]byte("42["), append(data, ']')...) }),
}

// own matches what the relay itself says, of a type.
func own(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool {
		return from.Conn == 0 && relay.Read(frame{Data: data}).Type() == kind
	}
}

// passed matches what it passes on, of a type.
func passed(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool {
		return from.Conn > 0 && relay.Read(frame{Data: data}).Type() == kind
	}
}

// wrapping changes some frames.
func wrapping(which func(from party, data []byte) bool, f func(data []byte) []byte) fault {
	return telling(func() relay.Outbound {
		return func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				data = f(append([]byte{}, data...))
			}
			send(to.Conn, data)
		}
	})
}

// saying says something before some frames.
func saying(which func(from party, data []byte) bool, text string) fault {
	return telling(func() relay.Outbound {
		return func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				send(to.Conn, []byte(text))
			}
			send(to.Conn, data)
		}
	})
}

// failingAs changes the errors of the relay's own.
func failingAs(f func(msg message) message) fault {
	return deciding(func() rules {
		return rules{failure: func(_ request, _ refusal, msg message) message { return f(msg) }}
	})
}

// replyMadeUp names a request where none can be named.
func replyMadeUp(msg message) message {
	if _, named := msg["replyTo"]; named {
		return msg
	}
	return msg.With("replyTo", "unknown")
}

// twoInAFrame sends a result and the state behind it in one frame, a line each.
func twoInAFrame() relay.Outbound {
	held := map[int][]byte{}
	return func(_ view, from, to party, data []byte, send sender) {
		before, kind := held[to.Conn], relay.Read(frame{Data: data}).Type()
		delete(held, to.Conn)
		switch {
		case before != nil && kind == proto.StateUpdated:
			send(to.Conn, append(append(append([]byte{}, before...), '\n'), data...))
			return
		case before != nil:
			send(to.Conn, before)
		}
		if from.Conn > 0 && kind == proto.ToolResult {
			held[to.Conn] = data
			return
		}
		send(to.Conn, data)
	}
}
