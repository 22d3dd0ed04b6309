package orchestrator

import (
	"fmt"

	proto "parley/protocol/sessionruntime"
)

// correctOutput is forwarded if its turn is in flight and its sender is the turn's agent, else reported (RT-141). A
// turn that was not acknowledged starts by it (RT-143).
func correctOutput(_ View, t Turn, msg proto.Message) []Step {
	if !t.Status.InFlight() || t.Agent != msg.Sender {
		return []Step{Report}
	}
	var steps []Step
	if t.Status == Routing {
		steps = []Step{Start, TellStarted}
	}
	if IsFinal(msg) {
		return append(steps, Forward, Complete)
	}
	return append(steps, Speak, Forward)
}

// correctError is forwarded, whoever sent it (RT-011). If it is of the agent of the turn that it names, it fails the
// turn.
func correctError(_ View, t Turn, msg proto.Message) []Step {
	if t.Status.InFlight() && t.Agent == msg.Sender {
		return []Step{Fail, Forward}
	}
	return []Step{Forward}
}

// IsFinal tells whether an output is the last of its turn: one whose stream says so, or one that is no chunk (RT-146).
func IsFinal(msg proto.Message) bool {
	stream, _ := msg.Metadata[proto.Stream].(map[string]any)
	final, says := stream[proto.Final].(bool)
	if final {
		return true
	}
	if chunk, says := stream[proto.IsChunk].(bool); says {
		return !chunk
	}
	return !says
}

// output handles an AGENT_OUTPUT (4G).
func (m *Machine) output(msg proto.Message) {
	t := m.turns[text(msg, proto.TurnID)]
	m.run(&job{t: t, msg: msg}, m.o.Policy.Output(m, t.view(), msg))
}

// failure handles an ERROR of an agent, or of SessionManager.
func (m *Machine) failure(msg proto.Message) {
	t := m.turns[text(msg, proto.TurnID)]
	m.run(&job{t: t, msg: msg}, m.o.Policy.Error(m, t.view(), msg))
}

// forward publishes what an agent said, as it is: payload and metadata (RT-148, RT-149).
func (m *Machine) forward(j *job) {
	if t := j.t; t != nil && j.msg.Event == proto.AgentOutput {
		t.LastOutput = m.now
		m.spoken++
		t.spoken = m.spoken
		m.collected.add(t, j.msg.Payload)
	}
	out := m.New(j.msg.Event, j.msg.Subtype, proto.ToFrontend, "", j.msg.Payload, IDs{})
	out.Metadata = cloned(j.msg.Metadata)
	m.emit(out)
}

// report tells of output that is not forwarded. Another agent's turn stands in the payload only: nothing is wrong with
// it.
func (m *Machine) report(j *job) {
	payload := object{"agent_id": j.msg.Sender, "message_id": j.msg.ID}
	id := text(j.msg, proto.TurnID)
	if len(id) > m.o.Limits.ID {
		id = ""
	}
	var ids IDs
	why := "names no turn that is known"
	switch t := j.t; {
	case t == nil:
		ids.Turn = id
	case t.Agent != j.msg.Sender:
		payload["claimed_turn_id"] = id
		why = "names a turn of another agent"
	default:
		ids = t.ids()
		why = fmt.Sprintf("names a turn that is %s", t.Status)
	}
	m.fail(proto.UnexpectedReply, fmt.Sprintf("output of agent %.80q is not shown: it %s", j.msg.Sender, why), payload,
		ids)
}

// speak puts a turn behind all others that speak (RT-142).
func (m *Machine) speak(t *turn) {
	m.hush(t)
	t.Speaking = true
	m.speaking = append(m.speaking, t)
}
