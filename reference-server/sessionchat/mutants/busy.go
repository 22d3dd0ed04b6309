package mutants

import (
	"strconv"

	proto "parley/protocol/sessionchat"
)

// busyFaults fail where a session is asked again while it answers, or once a turn has gone another way than the usual
// one.
var busyFaults = map[string]fault{
	"busy-answers-as-another": busyAsAnother,
	"busy-wrecks":             busyWrecks,
	"failure-wrecks":          failureWrecks,
}

// busyAsAnother answers the second chat under an agent_id of its own: each task has one.
func busyAsAnother(o *options) {
	waiting := map[string]int{} // agent_id → turns to come that were asked while another ran
	forks := map[string]int{}   // agent_id → number of the fork that answers; 0 for none
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

// busyWrecks loses the lock of a session that was asked twice at once.
func busyWrecks(o *options) {
	wrecked := map[string]bool{}
	o.Policy.Accept = refusing("busy", "this session is busy", func(m manager, _ connInfo, msg message) bool {
		id := asked(msg)
		running := m.Running(id)
		wrecked[id] = wrecked[id] || id != "" && running
		return wrecked[id] && !running
	})
}

// failureWrecks leaves a session unusable once a turn of it has failed.
func failureWrecks(o *options) {
	wrecked := map[string]bool{}
	o.Policy.Accept = refusing("session_failed", "this session has failed",
		func(_ manager, _ connInfo, msg message) bool { return wrecked[asked(msg)] })
	o.Outbound = hearing(ended(proto.Failed), func(msg message) { wrecked[agentOf(msg)] = true })
}
