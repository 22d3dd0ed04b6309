package mutants

import (
	"strconv"
	"strings"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// Short names for what every fault handles.
type (
	manager  = sessionchat.Manager
	connInfo = sessionchat.ConnInfo
	message  = sessionchat.Message
	refusal  = sessionchat.Refusal
	options  = sessionchat.Options
	store    = sessionchat.Store
	record   = sessionchat.Record
	turn     = sessionchat.Turn
	turnView = sessionchat.TurnView
	saved    = sessionchat.Saving
	rules    = sessionchat.Policy
	sender   = func(connID string, msg message)
	object   = map[string]any
)

// correct is what a fault falls back on.
var correct = sessionchat.Correct

// fault puts itself into the options of a server, which have a store and a backend. What it remembers it makes anew at
// each call: it is that of one server. Policy, Inbound and Outbound need no lock of their own, as the server has one.
type fault func(o *options)

// deciding is a fault in decisions that remember nothing.
func deciding(r rules) fault { return func(o *options) { o.Policy = r } }

// accepting judges messages by a function that may change its copy of one before the correct server judges it.
type accepting = func(m manager, c connInfo, msg message) *refusal

// refusing refuses some messages that a correct server may take.
func refusing(code, text string, which func(m manager, c connInfo, msg message) bool) accepting {
	return func(m manager, c connInfo, msg message) *refusal {
		if which(m, c, msg) {
			return &refusal{Code: code, Text: text}
		}
		return correct.Accept(m, c, msg)
	}
}

// inbound is what a server does about a client message: the messages to handle in its place.
type inbound = sessionchat.Inbound

// receiving is a fault in how messages are taken that remembers nothing.
func receiving(f inbound) fault { return func(o *options) { o.Inbound = f } }

// taking has f handle the client messages of a type.
func taking(kind string, f inbound) inbound {
	return func(m manager, from connInfo, msg message) []message {
		if msg["type"] == kind {
			return f(m, from, msg)
		}
		return []message{msg}
	}
}

// noting has f see the client messages before they are judged; it may change them.
func noting(f func(m manager, from connInfo, msg message)) inbound {
	return func(m manager, from connInfo, msg message) []message {
		f(m, from, msg)
		return []message{msg}
	}
}

// misreading changes client messages of a type before they are judged.
func misreading(kind string, f func(msg message)) fault {
	return receiving(taking(kind, noting(func(_ manager, _ connInfo, msg message) { f(msg) })))
}

// outbound is what a server does about a message on its way to a client.
type outbound = sessionchat.Outbound

// telling is a fault in how messages are sent that remembers nothing.
func telling(f outbound) fault { return func(o *options) { o.Outbound = f } }

// meant is a choice of server messages.
type meant func(msg message) bool

// rewriting changes some server messages.
func rewriting(some meant, f func(msg message) message) fault {
	return telling(func(_ manager, to connInfo, msg message, send sender) {
		if some(msg) {
			msg = f(msg)
		}
		send(to.ID, msg)
	})
}

// silent does not send some server messages.
func silent(some meant) fault {
	return telling(func(_ manager, to connInfo, msg message, send sender) {
		if !some(msg) {
			send(to.ID, msg)
		}
	})
}

// twice sends some server messages once more.
func twice(some meant) fault {
	return telling(func(_ manager, to connInfo, msg message, send sender) {
		send(to.ID, msg)
		if some(msg) {
			send(to.ID, msg)
		}
	})
}

// hearing has f see some server messages before they are sent.
func hearing(some meant, f func(msg message)) outbound {
	return func(_ manager, to connInfo, msg message, send sender) {
		if some(msg) {
			f(msg)
		}
		send(to.ID, msg)
	}
}

// asked is the agent_id of a chat that a correct server takes; "" for any other message.
func asked(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	content, _ := msg["content"].(string)
	if msg["type"] != proto.ChatType || content == "" {
		return ""
	}
	return agentID
}

// ofTurn reports whether a server message is one of a turn.
func ofTurn(msg message) bool {
	switch msg.Type() {
	case proto.SystemMessage, proto.StreamMessage, proto.AssistantMessage, proto.ResultMessage:
		return true
	}
	return false
}

// ofModel reports whether a server message has words of the model. The others, which the server makes itself, end the
// turn for a client that waits, so a fault that spoils these alone is found at once.
func ofModel(msg message) bool {
	return msg.Type() == proto.StreamMessage || msg.Type() == proto.AssistantMessage
}

// typed reports whether a server message is of a type.
func typed(kind string) meant {
	return func(msg message) bool { return msg.Type() == kind }
}

// ended reports whether a server message is the result of a turn that has ended in one way; in any way, without it.
func ended(how ...string) meant {
	return func(msg message) bool {
		return msg.Type() == proto.ResultMessage && (len(how) == 0 || msg.Body()["subtype"] == how[0])
	}
}

// agentOf is the agent_id of a server message; "" if it has none.
func agentOf(msg message) string {
	agentID, _ := msg["agent_id"].(string)
	return agentID
}

// announcement is a message about a session outside of any turn.
func announcement(agentID, sessionID string) message {
	return message{"message_type": proto.SystemMessage, "agent_id": agentID, "session_id": sessionID,
		"message": object{"subtype": "init"}, "timestamp": "2026-01-01T00:00:00.000Z"}
}

// lives counts how often the session of each agent_id has been lost: from then on its key is another, and so is what
// the server and its store know of it.
type lives map[string]int

const nextLife = "\x00life "

// losing has a server that can lose sessions.
func losing(o *options) lives {
	l := lives{}
	o.Policy.Key = func(_ connInfo, agentID string, _ sessionchat.Place) string {
		if n := l[agentID]; n > 0 {
			return agentID + nextLife + strconv.Itoa(n)
		}
		return agentID
	}
	return l
}

// lose ends the sessions of agent_ids, or of keys.
func (l lives) lose(keys ...string) {
	for _, key := range keys {
		agentID, _, _ := strings.Cut(key, nextLife)
		l[agentID]++
	}
}

// used keeps which agent_ids each connection has asked, oldest first.
type used map[string][]string

// noted has a server that notes the chats as they come in.
func noted(o *options) used {
	u := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) { u.note(from, msg) })
	return u
}

func (u used) note(from connInfo, msg message) {
	if id := asked(msg); id != "" {
		u[from.ID] = append(u[from.ID], id)
	}
}

// last is the agent_id that a connection asked last; "" if none.
func (u used) last(connID string) string {
	if ids := u[connID]; len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

// left is the agent_id that a connection asked last, if a message is a chat of another one; else "".
func (u used) left(from connInfo, msg message) string {
	if id, last := asked(msg), u.last(from.ID); id != "" && id != last {
		return last
	}
	return ""
}
