package mutants

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// busyFaults fail when a session gets a chat while it is answering, or after a turn that ended in an unusual way.
var busyFaults = map[string]fault{
	"busy-answers-as-another": busyAsAnother,
	"busy-wrecks":             busyWrecks,
	"failure-wrecks":          failureWrecks,
	"failure-hangs":           failureHangs,
}

// busyAsAnother answers the second chat under its own agent_id, because each task has one.
func busyAsAnother(o *options) {
	waiting := map[string]int{} // agent_id → pending turns that were queued while another ran
	forks := map[string]int{}   // agent_id → number of the fork that answers; 0: none
	o.Inbound = noting(func(m manager, _ connInfo, msg message) {
		if id := asked(msg); id != "" && m.Running(id) {
			waiting[id]++
		}
	})
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		id := agentOf(msg)
		if n := forks[id]; n > 0 && ofTurn(msg) {
			send(to.ID, msg.With("agent_id", id+"#"+strconv.Itoa(n)))
		} else {
			send(to.ID, msg)
		}
		if msg.Type() == proto.ResultMessage {
			forks[id] = waiting[id]
			waiting[id] = max(waiting[id]-1, 0)
		}
	}
}

// busyWrecks loses the lock of a session that gets a second chat while busy.
func busyWrecks(o *options) {
	wrecked := map[string]bool{}
	o.Policy.Accept = refusing("busy", "this session is busy", func(m manager, _ connInfo, msg message) bool {
		id := asked(msg)
		running := m.Running(id)
		wrecked[id] = wrecked[id] || id != "" && running
		return wrecked[id] && !running
	})
}

// failureWrecks leaves a session unusable after a failed turn.
func failureWrecks(o *options) {
	wrecked := map[string]bool{}
	o.Policy.Accept = refusing("session_failed", "this session has failed",
		func(_ manager, _ connInfo, msg message) bool { return wrecked[asked(msg)] })
	o.Outbound = hearing(ended(proto.Failed), func(msg message) { wrecked[agentOf(msg)] = true })
}

// failureHangs neither ends a failed turn nor answers its session again.
func failureHangs(o *options) {
	hung := map[string]bool{}
	o.Inbound = func(_ manager, _ connInfo, msg message) []message {
		if hung[asked(msg)] {
			return nil
		}
		return []message{msg}
	}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if ended(proto.Failed)(msg) {
			hung[agentOf(msg)] = true
			return
		}
		send(to.ID, msg)
	}
}

// interruptFaults end too much, too little, or more than the turn.
var interruptFaults = map[string]fault{
	"ignores-interrupts":      hitting(func(manager, string) []string { return nil }),
	"interrupts-everything":   hitting(func(m manager, _ string) []string { return m.Sessions() }),
	"interrupts-a-connection": interruptsUsed(func(ids used, conn, _ string) []string { return ids[conn] }),
	"interrupts-the-last-asked": interruptsUsed(func(ids used, conn,
		_ string) []string {
		return []string{ids.last(conn)}
	}),
	"interrupts-every-last-one":   interruptsUsed(lastOfEach),
	"idle-interrupt-hits-all":     hitting(allIfIdle),
	"interrupts-in-any-case":      hitting(allInAnyCase),
	"interrupt-by-its-asker-only": interruptByAsker,
	"interrupt-closes":            receiving(taking(proto.InterruptType, noting(interruptCloses))),
	"interrupt-ends-session":      interruptEnds,
	"interrupt-sticks":            flagging(func(flagged, running bool) bool { return flagged || running }, false),
	"late-interrupt-hits-next":    flagging(func(_, running bool) bool { return !running }, true),
	"interrupt-creates":           interruptCreates,
	"interrupted-leave-at-end":    interruptedLeaveAtEnd,
}

// interruptOf returns the interrupt of an agent_id.
func interruptOf(agentID string) message {
	return message{"type": proto.InterruptType, "agent_id": agentID}
}

func hitting(f func(m manager, key string) []string) fault {
	return deciding(rules{InterruptTargets: func(m manager, _ connInfo, key string) []string { return f(m, key) }})
}

// allIfIdle selects all sessions for an idle one, because an empty filter matches everything.
func allIfIdle(m manager, key string) []string {
	if m.Running(key) {
		return []string{key}
	}
	return m.Sessions()
}

// allInAnyCase selects all sessions whose agent_id differs only in case, as a comparison of a database does.
func allInAnyCase(m manager, key string) []string {
	return slices.DeleteFunc(slices.Clone(m.Sessions()), func(s string) bool { return !strings.EqualFold(s, key) })
}

// interruptsUsed selects the targets from the connections' earlier chats.
func interruptsUsed(which func(ids used, conn, key string) []string) fault {
	return func(o *options) {
		ids := noted(o)
		o.Policy.InterruptTargets = func(_ manager, c connInfo, key string) []string { return which(ids, c.ID, key) }
	}
}

// lastOfEach returns the named session, and the last session of each other connection.
func lastOfEach(ids used, conn, key string) []string {
	all := []string{key}
	for other := range ids {
		if other != conn {
			all = append(all, ids.last(other))
		}
	}
	return all
}

// interruptByAsker heeds only interrupts on the connection that asked for the turn.
func interruptByAsker(o *options) {
	askers := map[string]string{} // by agent_id
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if id := asked(msg); id != "" {
			askers[id] = from.ID
		}
	})
	o.Policy.InterruptTargets = func(_ manager, c connInfo, key string) []string {
		if askers[key] != c.ID {
			return nil
		}
		return []string{key}
	}
}

// interruptCloses cancels the connection's task together with the turn's.
func interruptCloses(m manager, from connInfo, _ message) {
	m.End(from.ID, websocket.StatusInternalError, "")
}

// interruptEnds removes the session together with its turn, from the store too.
func interruptEnds(o *options) {
	lost := losing(o)
	o.Outbound = hearing(ended(proto.Interrupted), func(msg message) { lost.lose(agentOf(msg)) })
}

// flagging interrupts the turns of the sessions that an interrupt has flagged; with once, that clears the flag.
func flagging(flag func(flagged, running bool) bool, once bool) fault {
	return func(o *options) {
		flags := map[string]bool{}
		o.Inbound = func(m manager, _ connInfo, msg message) []message {
			id := agentOf(msg)
			switch {
			case msg["type"] == proto.InterruptType:
				flags[id] = flag(flags[id], m.Running(id))
			case asked(msg) != "" && flags[id]:
				flags[id] = !once
				return []message{msg, interruptOf(id)}
			}
			return []message{msg}
		}
	}
}

// interruptCreates obtains and announces the session, as for a chat, before it looks for a turn.
func interruptCreates(o *options) {
	ids := map[string]bool{}
	o.Inbound = noting(func(m manager, from connInfo, msg message) {
		id := agentOf(msg)
		if msg["type"] == proto.InterruptType && !ids[id] {
			m.Send(from.ID, announcement(id, rand.Text()))
		}
		ids[id] = true
	})
}

// interruptedLeaveAtEnd forgets, at the end of a connection, those of its sessions whose last turn was interrupted.
func interruptedLeaveAtEnd(o *options) {
	lost, ids, broken := losing(o), noted(o), map[string]bool{}
	o.Outbound = hearing(ended(), func(msg message) { broken[agentOf(msg)] = ended(proto.Interrupted)(msg) })
	o.Policy.OnDisconnect = func(m manager, c connInfo) bool {
		for _, id := range unique(ids[c.ID]) {
			if broken[id] {
				lost.lose(id)
			}
		}
		return true
	}
}

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
