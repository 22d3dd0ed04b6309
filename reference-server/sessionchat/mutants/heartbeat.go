package mutants

import (
	"crypto/rand"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
)

// heartbeatFaults handle pings incorrectly.
var heartbeatFaults = map[string]fault{
	"ping-unanswered":    receiving(taking(proto.PingType, func(manager, connInfo, message) []message { return nil })),
	"ping-answered-once": answeredOnce,

	// It does not know the type, or applies the requirements of a chat to every message.
	"ping-refused": pingRefused(proto.UnknownType, "unknown type ping", func(message) bool { return true }),
	"ping-needs-agent-id": pingRefused(proto.MissingField, "agent_id is required",
		func(msg message) bool { return agentOf(msg) == "" }),

	// It looks up a missing agent_id, and the exception ends the connection.
	"ping-closes": receiving(taking(proto.PingType, closeWith(websocket.StatusInternalError))),

	// It obtains a session for every message, and announces it.
	"ping-creates": receiving(taking(proto.PingType, noting(func(m manager, from connInfo, _ message) {
		m.Send(from.ID, announcement("default", rand.Text()))
	}))),
	"ping-ends-turns":    receiving(taking(proto.PingType, pingEnds)),
	"ping-ends-sessions": pingForgets,
}

func answeredOnce(o *options) {
	answered := map[string]bool{}
	o.Inbound = taking(proto.PingType, func(_ manager, from connInfo, msg message) []message {
		if answered[from.ID] {
			return nil
		}
		answered[from.ID] = true
		return []message{msg}
	})
}

func pingRefused(code, text string, which func(msg message) bool) fault {
	return deciding(rules{Accept: refusing(code, text, func(_ manager, _ connInfo, msg message) bool {
		return msg["type"] == proto.PingType && which(msg)
	})})
}

// pingEnds has a single receiver, where anything received ends what is being sent.
func pingEnds(m manager, _ connInfo, msg message) []message {
	var all []message
	for _, key := range m.Sessions() {
		if m.Running(key) {
			all = append(all, interruptOf(key))
		}
	}
	return append(all, msg)
}

// pingForgets treats a ping as the sign of a new client, and clears the sessions of the connection.
func pingForgets(o *options) {
	lost, ids := losing(o), used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		ids.note(from, msg)
		if msg["type"] == proto.PingType {
			lost.lose(ids[from.ID]...)
		}
	})
}
