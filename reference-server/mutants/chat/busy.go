package chat

import (
	"strconv"

	proto "parley/protocol/sessionchat"
)

// busyFaults fail where a session is asked again while it answers, or once a turn has gone another way than the usual one.
var busyFaults = map[string]fault{
	"busy-answers-as-another": busyAsAnother,
	"busy-wrecks":             busyWrecks,
	"failure-wrecks":          failureWrecks,
}

// busyAsAnother answers the second chat under an agent_id of its own: each task has one.
func busyAsAnother(o *options) {
	waiting := map[string]int{} // agent_id → turns to come that were asked while another ran
	forks := map[string]int{}   // agent_id → number of the fork that answers; 0 for none
	o.Inbound = func(m manager, _ connInfo, msg message) []message {
		if id := asked(msg); id != "" && m.Running(id) {
			waiting[id]++
		}
		return []message{msg}
	}
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
	o.Policy = rules{accept: func(m manager, c connInfo, msg message) *refusal {
		id := asked(msg)
		if wrecked[id] && !m.Running(id) {
			return &refusal{Code: "busy", Text: "this session is busy"}
		}
		wrecked[id] = wrecked[id] || id != "" && m.Running(id)
		return correct.Accept(m, c, msg)
	}}
}

// failureWrecks leaves a session unusable once a turn of it has failed.
func failureWrecks(o *options) {
	wrecked := map[string]bool{}
	o.Policy = rules{accept: func(m manager, c connInfo, msg message) *refusal {
		if wrecked[asked(msg)] {
			return &refusal{Code: "session_failed", Text: "this session has failed"}
		}
		return correct.Accept(m, c, msg)
	}}
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if ended(proto.Failed)(msg) {
			wrecked[agentOf(msg)] = true
		}
		send(to.ID, msg)
	}
}
