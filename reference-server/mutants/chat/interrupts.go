package chat

import (
	"crypto/rand"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// interruptFaults end too much, too little, or more than the turn.
var interruptFaults = map[string]fault{
	"ignores-interrupts":        deciding(hitting(func(manager, string) []string { return nil })),
	"interrupts-everything":     deciding(hitting(func(m manager, _ string) []string { return m.Sessions() })),
	"interrupts-a-connection":   interruptsUsed(func(ids used, c connInfo, _ string) []string { return ids[c.ID] }),
	"interrupts-the-last-asked": interruptsUsed(func(ids used, c connInfo, _ string) []string { return []string{ids.last(c.ID)} }),
	"interrupts-every-last-one": interruptsUsed(lastOfEach),
	"idle-interrupt-hits-all":   deciding(hitting(allIfIdle)),
	"interrupt-named-stop":      receiving(retyped(proto.InterruptType, "stop")),
	"interrupt-named-cancel":    receiving(retyped(proto.InterruptType, "cancel")),
	"interrupt-by-session-id":   misreading(proto.InterruptType, func(msg message) { msg["agent_id"] = msg["session_id"] }),
	"interrupt-has-no-result":   telling(noResult),
	"interrupt-closes":          receiving(interruptCloses),
	"interrupt-ends-session":    interruptEnds,
	"interrupt-sticks":          receiving(sticks),
	"late-interrupt-hits-next":  receiving(hitsNext),
	"interrupt-creates":         receiving(interruptCreates),
}

func hitting(f func(m manager, key string) []string) func() rules {
	return func() rules {
		return rules{targets: func(m manager, _ connInfo, key string) []string { return f(m, key) }}
	}
}

// allIfIdle asks for the tasks of a session that has none, and an empty filter is no filter.
func allIfIdle(m manager, key string) []string {
	if m.Running(key) {
		return []string{key}
	}
	return m.Sessions()
}

// interruptsUsed goes by what the connection has asked so far.
func interruptsUsed(which func(ids used, c connInfo, key string) []string) fault {
	return func(o *options) {
		ids := used{}
		o.Inbound = func(_ manager, from connInfo, msg message) []message {
			ids.note(from, msg)
			return []message{msg}
		}
		o.Policy = rules{targets: func(_ manager, c connInfo, key string) []string { return which(ids, c, key) }}
	}
}

// lastOfEach is the session that is meant, and what each of the other connections has asked last.
func lastOfEach(ids used, c connInfo, key string) []string {
	all := []string{key}
	for other := range ids {
		if other != c.ID {
			all = append(all, ids.last(other))
		}
	}
	return all
}

// retyped knows a client message by another type.
func retyped(kind, as string) func() sessionchat.Inbound {
	return func() sessionchat.Inbound {
		return func(_ manager, _ connInfo, msg message) []message {
			switch msg["type"] {
			case as:
				msg["type"] = kind
			case kind:
				msg["type"] = "unknown " + kind
			}
			return []message{msg}
		}
	}
}

// noResult drops the last message of a turn that was interrupted.
func noResult() sessionchat.Outbound {
	return func(_ manager, to connInfo, msg message, send sender) {
		if !ended(proto.Interrupted)(msg) {
			send(to.ID, msg)
		}
	}
}

// interruptCloses cancels the task of the connection with that of the turn.
func interruptCloses() sessionchat.Inbound {
	return func(m manager, from connInfo, msg message) []message {
		if msg["type"] == proto.InterruptType {
			m.End(from.ID, websocket.StatusInternalError, "")
		}
		return []message{msg}
	}
}

// interruptEnds removes the session with its turn, from the store too.
func interruptEnds(o *options) {
	lost := lives{}
	o.Policy = rules{key: lost.key}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if ended(proto.Interrupted)(msg) {
			lost.lose(agentOf(msg))
		}
		send(to.ID, msg)
	}
}

// sticks interrupts every later turn of a session that was interrupted once.
func sticks() sessionchat.Inbound {
	flags := map[string]bool{}
	return func(m manager, _ connInfo, msg message) []message {
		id, _ := msg["agent_id"].(string)
		switch {
		case msg["type"] == proto.InterruptType:
			flags[id] = flags[id] || m.Running(id)
		case asked(msg) != "" && flags[id]:
			return []message{msg, {"type": proto.InterruptType, "agent_id": id}}
		}
		return []message{msg}
	}
}

// hitsNext keeps an interrupt that found nothing for the turn that comes.
func hitsNext() sessionchat.Inbound {
	pending := map[string]bool{}
	return func(m manager, _ connInfo, msg message) []message {
		id, _ := msg["agent_id"].(string)
		switch {
		case msg["type"] == proto.InterruptType:
			pending[id] = !m.Running(id)
		case asked(msg) != "" && pending[id]:
			delete(pending, id)
			return []message{msg, {"type": proto.InterruptType, "agent_id": id}}
		}
		return []message{msg}
	}
}

// interruptCreates obtains the session as a chat does, and tells so, before it looks for a turn.
func interruptCreates() sessionchat.Inbound {
	ids := map[string]bool{}
	return func(m manager, from connInfo, msg message) []message {
		id, _ := msg["agent_id"].(string)
		if msg["type"] == proto.InterruptType && !ids[id] {
			m.Send(from.ID, announcement(id, rand.Text()))
		}
		ids[id] = true
		return []message{msg}
	}
}
