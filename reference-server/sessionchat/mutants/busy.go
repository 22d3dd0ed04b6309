package mutants

import (
	"strconv"

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
