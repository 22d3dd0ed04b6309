package chat

import (
	"crypto/rand"
	"slices"

	"github.com/coder/websocket"

	"parley/model"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// switchingFaults fail where one connection goes from session to session.
var switchingFaults = map[string]fault{
	"one-session-per-connection": deciding(oneSession),
	"switch-needs-a-message":     deciding(needsSwitch),
	"create-needs-a-message":     deciding(needsCreate),
	"switch-closes":              receiving(switchCloses),
	"switch-forgets":             switchForgets,
	"switch-cancels":             receiving(switchCancels),
	"return-forgets":             deciding(returnForgets),
	"return-refused":             deciding(returnRefused),
	"return-renames":             deciding(returnRenames),
	"answers-under-last-asked":   underAsked(func(ids []string) string { return ids[len(ids)-1] }),
	"answers-under-first-asked":  underAsked(func(ids []string) string { return ids[0] }),
}

// oneSession serves the agent_id that a connection began with.
func oneSession() rules {
	ids := used{}
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if id := asked(msg); id != "" && ids.last(c.ID) != "" && ids.last(c.ID) != id {
			return &refusal{Code: proto.InvalidMessage, Text: "this connection belongs to another session: open one more"}
		}
		ids.note(c, msg)
		return correct.Accept(m, c, msg)
	}}
}

// needsSwitch wants to be told of a switch before it.
func needsSwitch() rules {
	current := map[string]string{} // connection → agent_id
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if id, named := msg["agent_id"].(string); named && msg["type"] == "switch" {
			current[c.ID] = id
			return nil
		}
		id := asked(msg)
		if now, begun := current[c.ID]; id != "" && begun && now != id {
			return &refusal{Code: proto.InvalidMessage, Text: `another session is active: send {"type":"switch"} first`}
		}
		if id != "" {
			current[c.ID] = id
		}
		return correct.Accept(m, c, msg)
	}}
}

// needsCreate wants sessions to be made before they are used.
func needsCreate() rules {
	made := map[string]bool{}
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if id, named := msg["agent_id"].(string); named && msg["type"] == "create" {
			made[id] = true
			return nil
		}
		if id := asked(msg); id != "" && !made[id] {
			return &refusal{Code: "session_not_found", Text: `no such session: send {"type":"create"} first`}
		}
		return correct.Accept(m, c, msg)
	}}
}

// switchCloses has clients connect anew for another session.
func switchCloses() sessionchat.Inbound {
	ids := used{}
	return func(m manager, from connInfo, msg message) []message {
		if id := asked(msg); id != "" && ids.last(from.ID) != "" && ids.last(from.ID) != id {
			m.End(from.ID, websocket.StatusPolicyViolation, "connect again for another session")
			return nil
		}
		ids.note(from, msg)
		return []message{msg}
	}
}

// switchForgets removes the session that is left, from the store too.
func switchForgets(o *options) {
	lost, ids := lives{}, used{}
	o.Policy = rules{key: lost.key}
	o.Inbound = func(_ manager, from connInfo, msg message) []message {
		if id, left := asked(msg), ids.last(from.ID); id != "" && left != "" && left != id {
			lost.lose(left)
		}
		ids.note(from, msg)
		return []message{msg}
	}
}

// switchCancels interrupts the session that is left.
func switchCancels() sessionchat.Inbound {
	ids := used{}
	return func(m manager, from connInfo, msg message) []message {
		defer ids.note(from, msg)
		if id, left := asked(msg), ids.last(from.ID); id != "" && left != id && m.Running(left) {
			return []message{{"type": proto.InterruptType, "agent_id": left}, msg}
		}
		return []message{msg}
	}
}

// returnForgets begins a conversation anew whenever its connection comes back to it.
func returnForgets() rules {
	last, from := map[string]string{}, map[string]int{} // by connection: its agent_id; by agent_id: what is left out
	return rules{history: func(v turnView, messages []model.Message) []model.Message {
		if was := last[v.Conn]; was != "" && was != v.AgentID {
			from[v.AgentID] = len(messages) - 1
		}
		last[v.Conn] = v.AgentID
		return messages[min(from[v.AgentID], len(messages)-1):]
	}}
}

// returnRefused has closed the session that a connection has left.
func returnRefused() rules {
	ids := used{}
	return rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if id := asked(msg); id != "" && id != ids.last(c.ID) && slices.Contains(ids[c.ID], id) {
			return &refusal{Code: "session_closed", Text: "this session has been closed"}
		}
		ids.note(c, msg)
		return correct.Accept(m, c, msg)
	}}
}

// returnRenames forks the session that a connection comes back to.
func returnRenames() rules {
	last := map[string]string{} // by connection
	return rules{sessionID: func(v turnView) string {
		was := last[v.Conn]
		last[v.Conn] = v.AgentID
		if v.SessionID != "" && was != "" && was != v.AgentID {
			return rand.Text()
		}
		return correct.SessionID(v)
	}}
}

// underAsked passes the model's words on under one of the agent_ids that the connection has asked so far, whichever turn
// speaks.
func underAsked(which func(ids []string) string) fault {
	return func(o *options) {
		ids := used{}
		o.Inbound = func(_ manager, from connInfo, msg message) []message {
			ids.note(from, msg)
			return []message{msg}
		}
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if mine := ids[to.ID]; len(mine) > 0 && ofModel(msg) {
				msg = msg.With("agent_id", which(mine))
			}
			send(to.ID, msg)
		}
	}
}
