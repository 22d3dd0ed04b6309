package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	proto "parley/protocol/sessionruntime"
)

// turn is the record of a turn plus the machine's private state.
type turn struct {
	Turn
	due      time.Time // deadline of Waiting
	open     bool      // whether it is in Machine.open
	cancelTx string    // tx_id of the last CANCEL
	spoken   uint64    // value of Machine.spoken at its last output
}

// publicTurn returns the public record of the turn; the zero Turn for nil.
func (t *turn) publicTurn() Turn {
	if t == nil {
		return Turn{}
	}
	return t.Turn
}

func (t *turn) turnIDs() IDs { return IDs{Trace: t.TraceID, Turn: t.ID} }

// handleInput handles a USER_INPUT (4A, 4B).
func (m *Machine) handleInput(msg proto.Message) {
	agent, mention, r := m.targetOf(msg)
	if r != nil {
		m.publishRefusal(msg, r)
		return
	}
	trace, id := m.o.Policy.IDs(m, msg)
	t := &turn{open: true, Turn: Turn{
		ID: cmp.Or(id, m.o.NewID()), TraceID: cmp.Or(trace, m.o.NewID()),
		RequestedBy: cmp.Or(memberText(msg, "user_id"), msg.Sender),
		Agent:       agent, Status: Routing, CreatedAt: m.now,
	}}
	switch {
	case m.turns[t.ID] != nil:
		m.publishRefusal(msg,
			&Refusal{proto.BadMessage, "the turn_id belongs to another turn: take a new one, or none"})
		return
	case len(m.open) >= m.o.Limits.Turns:
		m.publishRefusal(msg,
			&Refusal{proto.Overloaded, "too many turns are in flight: send the input again when one has ended"})
		return
	}
	m.turns[t.ID] = t
	m.open = append(m.open, t)
	j := &job{t: t, msg: msg, agent: agent, trigger: proto.Mention, reason: "the user mentioned the agent"}
	m.runProgram(j, m.o.Policy.Input(m, t.publicTurn(), mention))
}

// targetOf returns the agent for an input, or why there is none.
func (m *Machine) targetOf(msg proto.Message) (agent string, mention bool, r *Refusal) {
	mentioned, mention := m.o.Policy.Mention(m, msg)
	if mention && mentioned == "" {
		return "", true, &Refusal{proto.BadMessage, "a mention names its agent: put its id into payload.mentioned_agent_id"}
	}
	agent = m.o.Policy.Target(m, msg, mentioned)
	if agent == "" {
		return "", mention, &Refusal{proto.NoAgent, "no agent is in the session: invite one first"}
	}
	return agent, mention, m.o.Policy.Member(m, agent)
}

// routeInput passes an input on, keeping the sender's payload and metadata.
func (m *Machine) routeInput(j *job) {
	out := m.New(proto.UserInput, j.msg.Subtype, proto.ToAgent, j.t.Agent, j.msg.Payload, IDs{})
	out.Metadata = cloneObject(j.msg.Metadata)
	out.Metadata[proto.TraceID], out.Metadata[proto.TurnID] = j.t.TraceID, j.t.ID
	m.addTimeout(j.t, proto.InputAck, m.o.InputAck)
	m.emitMessage(out)
}

func (m *Machine) acceptInput(t *turn) {
	m.publishEvent(proto.TurnAccepted, object{"turn_id": t.ID, "trace_id": t.TraceID, "target_agent": t.Agent},
		t.turnIDs())
}

// handleInputAck handles an INPUT_ACK.
func (m *Machine) handleInputAck(msg proto.Message) {
	t := m.turnOf(msg, func(t *turn) bool { return t.Status == Routing })
	if t != nil && m.o.Policy.Acks(m, t.publicTurn(), msg) {
		m.runProgram(&job{t: t, msg: msg}, m.o.Policy.Acked(m, t.publicTurn()))
	}
}

func (m *Machine) startTurn(t *turn) {
	if t.Status == Routing {
		t.Status = Running
	}
	if t.Waiting == proto.InputAck {
		m.removeTimeout(t)
	}
}

func (m *Machine) tellStarted(t *turn) {
	m.publishEvent(proto.AgentStarted, object{"turn_id": t.ID, "agent_id": t.Agent}, t.turnIDs())
}

func (m *Machine) tellRouteTimeout(t *turn) {
	m.publishError(proto.RouteTimeout,
		"the agent did not acknowledge the input in time: send it again, or to another agent",
		object{"turn_id": t.ID, "agent_id": t.Agent}, t.turnIDs())
}

// endTurn gives a turn in flight its final status. The ack of a CANCEL may still arrive.
func (m *Machine) endTurn(t *turn, s Status) {
	m.stopSpeaking(t)
	if t.Status.InFlight() {
		t.Status = s
	}
	if t.Waiting == proto.InputAck {
		m.removeTimeout(t)
	}
}

// stopSpeaking marks a turn as no longer speaking.
func (m *Machine) stopSpeaking(t *turn) {
	if t.Speaking {
		t.Speaking = false
		m.speaking = slices.DeleteFunc(m.speaking, func(other *turn) bool { return other == t })
	}
}

func (m *Machine) addTimeout(t *turn, what string, limit time.Duration) {
	t.Waiting, t.due = what, m.now.Add(limit)
}

func (m *Machine) removeTimeout(t *turn) { t.Waiting, t.due = "", time.Time{} }

// moveToFinished moves a turn that expects nothing more to the finished ones, and forgets the oldest of these.
func (m *Machine) moveToFinished(t *turn) {
	if !t.open || t.Status.InFlight() || t.Waiting == proto.CancelAck {
		return
	}
	t.open = false
	t.CancelSent = false
	m.open = slices.DeleteFunc(m.open, func(other *turn) bool { return other == t })
	m.finished = append(m.finished, t)
	for len(m.finished) > m.o.Limits.Finished {
		delete(m.turns, m.finished[0].ID)
		m.finished[0] = nil
		m.finished = m.finished[1:]
	}
}

// turnOf returns the turn that an agent's message names, else the agent's only open turn that it can mean; nil if
// there is none.
func (m *Machine) turnOf(msg proto.Message, meant func(t *turn) bool) (found *turn) {
	if id := memberText(msg, proto.TurnID); id != "" {
		return m.turns[id]
	}
	for _, t := range m.open {
		if t.Agent == msg.Sender && meant(t) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

// lastTurn returns the agent's turn that spoke last; nil if it has not spoken.
func (m *Machine) lastTurn(agent string) (last *turn) {
	for _, t := range m.turns {
		if t.Agent == agent && t.spoken > 0 && (last == nil || t.spoken > last.spoken) {
			last = t
		}
	}
	return last
}

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

// handleOutput handles an AGENT_OUTPUT (4G).
func (m *Machine) handleOutput(msg proto.Message) {
	t := m.turns[memberText(msg, proto.TurnID)]
	m.runProgram(&job{t: t, msg: msg}, m.o.Policy.Output(m, t.publicTurn(), msg))
}

// handleError handles an ERROR from an agent or SessionManager.
func (m *Machine) handleError(msg proto.Message) {
	t := m.turns[memberText(msg, proto.TurnID)]
	m.runProgram(&job{t: t, msg: msg}, m.o.Policy.Error(m, t.publicTurn(), msg))
}

// forwardOutput publishes an agent's message with payload and metadata unchanged (RT-148, RT-149).
func (m *Machine) forwardOutput(j *job) {
	if t := j.t; t != nil && j.msg.Event == proto.AgentOutput {
		t.LastOutput = m.now
		m.spoken++
		t.spoken = m.spoken
		m.collected.addPiece(t, j.msg.Payload)
	}
	out := m.New(j.msg.Event, j.msg.Subtype, proto.ToFrontend, "", j.msg.Payload, IDs{})
	out.Metadata = cloneObject(j.msg.Metadata)
	m.emitMessage(out)
}

// reportUnforwarded publishes that an output is not forwarded. The id of another agent's turn appears only in the
// payload, because that turn is not at fault.
func (m *Machine) reportUnforwarded(j *job) {
	payload := object{"agent_id": j.msg.Sender, "message_id": j.msg.ID}
	id := memberText(j.msg, proto.TurnID)
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
		ids = t.turnIDs()
		why = fmt.Sprintf("names a turn that is %s", t.Status)
	}
	m.publishError(proto.UnexpectedReply, fmt.Sprintf("output of agent %.80q is not shown: it %s", j.msg.Sender, why),
		payload,
		ids)
}

// markSpeaking makes a turn the last one that spoke (RT-142).
func (m *Machine) markSpeaking(t *turn) {
	m.stopSpeaking(t)
	t.Speaking = true
	m.speaking = append(m.speaking, t)
}
