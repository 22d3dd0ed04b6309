package orchestrator

import (
	"fmt"

	proto "parley/protocol/sessionruntime"
)

// correctOutput forwards an output if its turn is in flight and its sender is the turn's agent, and reports it
// otherwise (RT-141). It also starts a turn that was not acknowledged (RT-143).
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

// correctError forwards an error from any sender (RT-011). If the sender is the agent of the named turn, the error
// fails the turn.
func correctError(_ View, t Turn, msg proto.Message) []Step {
	if t.Status.InFlight() && t.Agent == msg.Sender {
		return []Step{Fail, Forward}
	}
	return []Step{Forward}
}

// IsFinal reports whether an output is the last of its turn: its stream says so, or it is not a chunk (RT-146).
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

// failure handles an ERROR from an agent or SessionManager.
func (m *Machine) failure(msg proto.Message) {
	t := m.turns[text(msg, proto.TurnID)]
	m.run(&job{t: t, msg: msg}, m.o.Policy.Error(m, t.view(), msg))
}

// forward publishes an agent's message with payload and metadata unchanged (RT-148, RT-149).
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

// report publishes that an output is not forwarded. The id of another agent's turn appears only in the payload,
// because that turn is not at fault.
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

// speak makes a turn the last one that spoke (RT-142).
func (m *Machine) speak(t *turn) {
	m.hush(t)
	t.Speaking = true
	m.speaking = append(m.speaking, t)
}
