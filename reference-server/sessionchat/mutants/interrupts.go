package mutants

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionchat"
)

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
	"interrupt-named-stop":        retyped(proto.InterruptType, "stop"),
	"interrupt-named-cancel":      retyped(proto.InterruptType, "cancel"),
	"interrupt-by-session-id":     misreading(proto.InterruptType, bySessionID),
	"interrupt-has-no-result":     silent(ended(proto.Interrupted)),
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

// retyped treats a client message type as another.
func retyped(kind, as string) fault {
	return receiving(noting(func(_ manager, _ connInfo, msg message) {
		switch msg["type"] {
		case as:
			msg["type"] = kind
		case kind:
			msg["type"] = "unknown " + kind
		}
	}))
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
