package chat

import (
	"crypto/rand"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// heartbeatFaults get pings wrong.
var heartbeatFaults = map[string]fault{
	"ping-unanswered":     onPing(func() pinged { return func(manager, connInfo, message) []message { return nil } }),
	"ping-answered-once":  onPing(answeredOnce),
	"ping-refused":        deciding(pingRefused),
	"ping-needs-agent-id": deciding(pingNeedsAgentID),
	"ping-closes":         onPing(pingCloses),
	"ping-creates":        onPing(pingCreates),
	"ping-ends-turns":     onPing(pingEnds),
	"ping-ends-sessions":  pingForgets,
}

// pinged is what a server does about a ping: the messages to handle in its place.
type pinged func(m manager, from connInfo, msg message) []message

func onPing(make func() pinged) fault {
	return receiving(func() sessionchat.Inbound {
		f := make()
		return func(m manager, from connInfo, msg message) []message {
			if msg["type"] == proto.PingType {
				return f(m, from, msg)
			}
			return []message{msg}
		}
	})
}

func answeredOnce() pinged {
	answered := map[string]bool{}
	return func(_ manager, from connInfo, msg message) []message {
		if answered[from.ID] {
			return nil
		}
		answered[from.ID] = true
		return []message{msg}
	}
}

// pingRefused knows no such type.
func pingRefused() rules {
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if msg["type"] == proto.PingType {
			return &refusal{Code: proto.UnknownType, Text: "unknown type ping"}
		}
		return correct.Accept(m, c, msg)
	}}
}

// pingNeedsAgentID wants of every message what it wants of a chat.
func pingNeedsAgentID() rules {
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if msg["type"] == proto.PingType && agentOf(msg) == "" {
			return &refusal{Code: proto.MissingField, Text: "agent_id is required"}
		}
		return correct.Accept(m, c, msg)
	}}
}

// pingCloses looks up an agent_id that is not there, and the exception ends the connection.
func pingCloses() pinged {
	return func(m manager, from connInfo, _ message) []message {
		m.End(from.ID, websocket.StatusInternalError, "")
		return nil
	}
}

// pingCreates obtains a session for every message, and tells so.
func pingCreates() pinged {
	return func(m manager, from connInfo, msg message) []message {
		m.Send(from.ID, announcement("default", rand.Text()))
		return []message{msg}
	}
}

// pingEnds has one receiver, and whatever it receives ends what is being sent.
func pingEnds() pinged {
	return func(m manager, _ connInfo, msg message) []message {
		var all []message
		for _, key := range m.Sessions() {
			if m.Running(key) {
				all = append(all, message{"type": proto.InterruptType, "agent_id": key})
			}
		}
		return append(all, msg)
	}
}

// pingForgets takes a ping for the sign of a new client, and clears the sessions of the connection.
func pingForgets(o *options) {
	lost, ids := lives{}, used{}
	o.Policy = rules{key: lost.key}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		ids.note(from, msg)
		if msg["type"] == proto.PingType {
			for _, id := range ids[from.ID] {
				lost.lose(id)
			}
		}
		return []message{msg}
	}
}
