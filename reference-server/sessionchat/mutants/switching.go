package mutants

import (
	"crypto/rand"
	"slices"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// switchingFaults fail when one connection switches between sessions.
var switchingFaults = map[string]fault{
	"one-session-per-connection": oneSession,
	"switch-needs-a-message":     needsSwitch,
	"create-needs-a-message":     needsCreate,
	"switch-closes":              switchCloses,
	"switch-forgets":             switchForgets,
	"switch-cancels":             switchCancels,
	"return-forgets":             returnForgets,
	"return-refused":             returnRefused,
	"return-renames":             returnRenames,
	"answers-under-last-asked":   underAsked(func(ids []string) string { return ids[len(ids)-1] }),
	"answers-under-first-asked":  underAsked(func(ids []string) string { return ids[0] }),
}

// oneSession serves only the first agent_id of a connection.
func oneSession(o *options) {
	ids := used{}
	o.Policy.Accept = refusing(proto.InvalidMessage, "this connection belongs to another session: open one more",
		func(_ manager, c connInfo, msg message) bool {
			if ids.left(c, msg) != "" {
				return true
			}
			ids.note(c, msg)
			return false
		})
}

// needsSwitch requires a message before a connection switches to another session.
func needsSwitch(o *options) {
	current := map[string]string{} // connection → agent_id
	o.Policy.Accept = func(m manager, c connInfo, msg message) *refusal {
		id := asked(msg)
		if to, named := msg["agent_id"].(string); named && msg["type"] == "switch" {
			current[c.ID] = to
			return nil
		}
		if now, begun := current[c.ID]; id != "" && begun && now != id {
			return &refusal{Code: proto.InvalidMessage, Text: `another session is active: send {"type":"switch"} first`}
		}
		if id != "" {
			current[c.ID] = id
		}
		return correct.Accept(m, c, msg)
	}
}

// needsCreate requires a message that creates a session before it is used.
func needsCreate(o *options) {
	made := map[string]bool{}
	o.Policy.Accept = func(m manager, c connInfo, msg message) *refusal {
		if id, named := msg["agent_id"].(string); named && msg["type"] == "create" {
			made[id] = true
			return nil
		}
		if id := asked(msg); id != "" && !made[id] {
			return &refusal{Code: "session_not_found", Text: `no such session: send {"type":"create"} first`}
		}
		return correct.Accept(m, c, msg)
	}
}

// switchCloses makes clients reconnect for another session.
func switchCloses(o *options) {
	ids := used{}
	o.Inbound = func(m manager, from connInfo, msg message) []message {
		if ids.left(from, msg) != "" {
			m.End(from.ID, websocket.StatusPolicyViolation, "connect again for another session")
			return nil
		}
		ids.note(from, msg)
		return []message{msg}
	}
}

// switchForgets removes the previous session on a switch, from the store too.
func switchForgets(o *options) {
	lost, ids := losing(o), used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if left := ids.left(from, msg); left != "" {
			lost.lose(left)
		}
		ids.note(from, msg)
	})
}

// switchCancels interrupts the previous session on a switch.
func switchCancels(o *options) {
	ids := used{}
	o.Inbound = func(m manager, from connInfo, msg message) []message {
		defer ids.note(from, msg)
		if left := ids.left(from, msg); left != "" && m.Running(left) {
			return []message{interruptOf(left), msg}
		}
		return []message{msg}
	}
}

// returning calls f for each turn whose connection used another session before.
func returning(f func(v turnView)) func(v turnView) {
	last := map[string]string{} // connection → agent_id
	return func(v turnView) {
		if was := last[v.Conn]; was != "" && was != v.AgentID {
			f(v)
		}
		last[v.Conn] = v.AgentID
	}
}

// returnForgets restarts a conversation whenever its connection returns to it.
func returnForgets(o *options) {
	from, length := map[string]int{}, 0 // messages to omit, by agent_id
	back := returning(func(v turnView) { from[v.AgentID] = length - 1 })
	o.Policy.History = func(v turnView, messages []llm.Message) []llm.Message {
		length = len(messages)
		back(v)
		return messages[min(from[v.AgentID], len(messages)-1):]
	}
}

// returnRefused closes the session that a connection switches away from.
func returnRefused(o *options) {
	ids := used{}
	o.Policy.Accept = refusing("session_closed", "this session has been closed",
		func(_ manager, c connInfo, msg message) bool {
			id := asked(msg)
			if id != "" && id != ids.last(c.ID) && slices.Contains(ids[c.ID], id) {
				return true
			}
			ids.note(c, msg)
			return false
		})
}

// returnRenames forks the session that a connection returns to.
func returnRenames(o *options) {
	var id string
	back := returning(func(turnView) { id = rand.Text() })
	o.Policy.SessionID = func(v turnView) string {
		id = ""
		if back(v); v.SessionID != "" && id != "" {
			return id
		}
		return correct.SessionID(v)
	}
}

// underAsked sends the model's words under one of the agent_ids that the connection has used, whichever turn is
// speaking.
func underAsked(which func(ids []string) string) fault {
	return func(o *options) {
		ids := noted(o)
		o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
			if mine := ids[to.ID]; len(mine) > 0 && ofModel(msg) {
				msg = msg.With("agent_id", which(mine))
			}
			send(to.ID, msg)
		}
	}
}
