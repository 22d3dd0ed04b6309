package mutants

import (
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// envelopeFaults send malformed relay messages or frames.
var envelopeFaults = map[string]fault{
	"joined-without-v":       joinedAs(spoil.Without("v")),
	"joined-v-a-number":      joinedAs(spoil.With("v", 0.2)),
	"joined-v-of-the-relay":  joinedAs(spoil.With("v", "relay-1.0")),
	"joined-type-missing":    joinedAs(spoil.Without("type")),
	"joined-id-a-number":     joinedAs(spoil.With("id", 1)),
	"joined-reply-to-a-list": joinedAs(spoil.Member("replyTo", spoil.InList)),
	"joined-payload-a-list":  joinedAs(spoil.Member("payload", spoil.InList)),
	"joined-payload-as-text": joinedAs(func(msg message) message {
		return msg.With("payload", string(wire.Encode(msg["payload"])))
	}),
	"joined-in-a-list": wrapping(own(proto.RelayJoined), func(data string) string { return "[" + data + "]" }),
	"joined-members-twice": wrapping(own(proto.RelayJoined), func(data string) string {
		return `{"v":"mvp-0.2",` + data[1:]
	}),
	"joined-and-a-list": wrapping(own(proto.RelayJoined), func(data string) string {
		return data + `{"v":"mvp-0.2","type":"relay.peers","payload":{}}`
	}),
	"errors-without-v":     failingAs(spoil.Without("v")),
	"errors-v-a-number":    failingAs(spoil.With("v", 0.2)),
	"errors-type-missing":  failingAs(spoil.Without("type")),
	"errors-type-a-number": failingAs(spoil.With("type", 400)),
	"errors-id-a-number":   failingAs(spoil.With("id", 17)),
	"errors-without-payload": failingAs(func(msg message) message {
		return msg.Without("payload").With("code", proto.InvalidMessage)
	}),
	"errors-payload-a-text": failingAs(func(msg message) message {
		return msg.With("payload", msg.PayloadText("message"))
	}),
	"errors-reply-to-made-up": failingAs(replyMadeUp),
	"errors-in-plain-text":    wrapping(own(proto.ErrorMessage), func(string) string { return "Error: invalid message" }),
	"greets-in-plain-text":    saying(own(proto.RelayJoined), "connected"),
	"keeps-alive-by-nothing":  saying(own(proto.RelayJoined), ""),
	"keeps-alive-by-null":     saying(own(proto.RelayJoined), "null"),
	"states-in-a-list":        wrapping(passed(proto.StateUpdated), func(data string) string { return "[" + data + "]" }),
	"a-line-feed-between-two": twoInAFrame,
	"single-quotes-for-double": wrapping(own(proto.RelayJoined), func(data string) string {
		return strings.ReplaceAll(data, `"`, `'`)
	}),
	"length-before-the-json": wrapping(passed(proto.SnapshotState), func(data string) string {
		return "42[" + data + "]"
	}),
}

// own matches relay messages of a type.
func own(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool { return from.Conn == 0 && typeOf(data) == kind }
}

// passed matches passed-on messages of a type.
func passed(kind string) func(from party, data []byte) bool {
	return func(from party, data []byte) bool { return from.Conn > 0 && typeOf(data) == kind }
}

// wrapping changes some frames.
func wrapping(which func(from party, data []byte) bool, f func(data string) string) fault {
	return func(o *options) {
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				data = []byte(f(string(data)))
			}
			send(to.Conn, data)
		}
	}
}

// saying sends a text before some frames.
func saying(which func(from party, data []byte) bool, text string) fault {
	return func(o *options) {
		o.Outbound = func(_ view, from, to party, data []byte, send sender) {
			if which(from, data) {
				send(to.Conn, []byte(text))
			}
			send(to.Conn, data)
		}
	}
}

// replyMadeUp names a made-up request where there is none.
func replyMadeUp(msg message) message {
	if _, named := msg["replyTo"]; named {
		return msg
	}
	return msg.With("replyTo", "unknown")
}

// twoInAFrame sends a result and the following state in one frame, one per line.
func twoInAFrame(o *options) {
	held := map[int][]byte{}
	o.Outbound = func(_ view, from, to party, data []byte, send sender) {
		before, kind := held[to.Conn], typeOf(data)
		delete(held, to.Conn)
		switch {
		case from.Conn > 0 && kind == proto.ToolResult:
			held[to.Conn] = data
			data = nil
		case before != nil && kind == proto.StateUpdated:
			before, data = nil, []byte(string(before)+"\n"+string(data))
		}
		for _, data := range [][]byte{before, data} {
			if data != nil {
				send(to.Conn, data)
			}
		}
	}
}
