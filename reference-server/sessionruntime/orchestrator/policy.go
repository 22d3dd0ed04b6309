package orchestrator

import (
	"fmt"

	proto "parley/protocol/sessionruntime"
)

// Policy is what the protocol prescribes, one decision per method. Correct decides as the source does; a faulty orchestrator
// embeds it and decides one thing otherwise.
//
// All methods are called while the machine works, so they may call no method of the Machine. A policy belongs to one
// machine. The Turn and the Transaction that a method is given are as they were when the message came.
type Policy interface {
	// Role tells who sent a message (1.1 to 1.3).
	Role(v View, msg proto.Message) Role

	// Takes tells whether a message is handled. again: one of the same sender and id has been (RT-028, RT-029, RT-042, RT-175).
	Takes(v View, msg proto.Message, from Role, again bool) bool

	// Member refuses an agent that is not in the session: of a mention, a switch, a removal, a handover (RT-086, RT-087).
	Member(v View, agent string) *Refusal

	// Mention tells whether an input names its agent, and which; "" if that can't be read (RT-083 to RT-085).
	Mention(v View, msg proto.Message) (agent string, is bool)

	// Target is the agent that an input goes to; mentioned is "" for a plain one. "": there is none (RT-069 to RT-071).
	Target(v View, msg proto.Message, mentioned string) string

	// IDs are those of the turn that an input begins. One that is "" becomes a fresh one (RT-072).
	IDs(v View, msg proto.Message) (trace, turn string)

	// Input is the program of a turn that begins (4A, 4B).
	Input(v View, t Turn, mention bool) []Step

	// Acks tells whether an INPUT_ACK is that of the turn that it names (RT-077).
	Acks(v View, t Turn, msg proto.Message) bool

	// Acked is the program of a turn whose INPUT_ACK came (RT-080, RT-081).
	Acked(v View, t Turn) []Step

	// RouteTimeout is the program of a turn whose INPUT_ACK did not come in time (RT-078, RT-079).
	RouteTimeout(v View, t Turn) []Step

	// Output is the program of an AGENT_OUTPUT. t is the turn that it names, the zero Turn if there is none (4G).
	Output(v View, t Turn, msg proto.Message) []Step

	// Error is the program of an ERROR of an agent or of SessionManager. t is the same (RT-011, RT-040).
	Error(v View, t Turn, msg proto.Message) []Step

	// Cancels are the ids of the turns that a CANCEL or INTERRUPT is for; none: nobody speaks (RT-095 to RT-098).
	Cancels(v View, msg proto.Message) []string

	// Canceling is the program of a turn that is to be canceled (RT-099, RT-100).
	Canceling(v View, t Turn) []Step

	// Stops tells whether a CANCEL_ACK or STREAM_STOPPED is that of the turn that it names (RT-102).
	Stops(v View, t Turn, msg proto.Message) bool

	// Stopped is the program of a turn whose CANCEL is acknowledged (RT-103 to RT-105).
	Stopped(v View, t Turn) []Step

	// CancelTimeout is the program of a turn whose CANCEL was not acknowledged in time (RT-G01).
	CancelTimeout(v View, t Turn) []Step

	// Switch is the program of a SWITCH_AGENT of the frontend (RT-032).
	Switch(v View, agent string, msg proto.Message) []Step

	// Handover refuses a HANDOVER_REQUEST (4F).
	Handover(v View, from, to string) *Refusal

	// Begin is the program of a transaction (4D, 4E, 4F, 4H).
	Begin(v View, tx Transaction) []Step

	// Correlate tells which transaction an answer is for, by its id; "": none. open are those that wait for such an
	// answer, oldest first (RT-062).
	Correlate(v View, msg proto.Message, open []Transaction) string

	// Answered is the program of a transaction when its answer came; it is over then (4D, 4E, 4F, 4H).
	Answered(v View, tx Transaction, msg proto.Message) []Step

	// Fallback is the agent that is active in place of the one that was removed; "": none (RT-112).
	Fallback(v View, removed string) string
}

// Role is what a party is.
type Role string

// The roles.
const (
	Frontend Role = "frontend"
	Agent    Role = "agent" // of the session, or not
	Manager  Role = "manager"
	Self     Role = "self"
	Nobody   Role = "nobody" // is only observed
)

// Refusal is why something is not done: the subtype of the ERROR, and a text that names the mend.
type Refusal struct{ Subtype, Text string }

// Correct is the policy of the source.
type Correct struct{}

var _ Policy = Correct{}

// Role goes by the sender.
func (Correct) Role(_ View, msg proto.Message) Role {
	switch msg.Sender {
	case proto.FromFrontend:
		return Frontend
	case proto.FromManager:
		return Manager
	case proto.FromSession:
		return Self
	case proto.FromLogger, "":
		return Nobody
	}
	return Agent
}

// Takes what is sent to SYSTEM, and from agents on BROADCAST; once, and nothing of its own.
func (Correct) Takes(v View, msg proto.Message, from Role, again bool) bool {
	if again || from == Self || from == Nobody || msg.SessionID != v.SessionID() {
		return false
	}
	switch msg.Target {
	case proto.ToSystem, proto.ToSession:
		return true
	case proto.ToBroadcast:
		return from == Agent
	}
	return false
}

// Member refuses whom agents_in_session does not have.
func (Correct) Member(v View, agent string) *Refusal {
	if v.Has(agent) {
		return nil
	}
	return &Refusal{proto.AgentNotFound, fmt.Sprintf("agent %.80q is not in the session: invite it first", agent)}
}

// Target is who is mentioned, else who is active, else the default.
func (Correct) Target(v View, _ proto.Message, mentioned string) string {
	return or(mentioned, or(v.Active(), v.Default()))
}

// IDs are kept as they came.
func (Correct) IDs(_ View, msg proto.Message) (trace, turn string) {
	return text(msg, proto.TraceID), text(msg, proto.TurnID)
}

// Input switches first, if need be (RT-090).
func (Correct) Input(_ View, _ Turn, mention bool) []Step {
	if mention {
		return []Step{Activate, TellSwitch, Route, Accept}
	}
	return []Step{Route, Accept}
}

// Acks takes the ack of the turn's agent while it is waited for.
func (Correct) Acks(_ View, t Turn, msg proto.Message) bool {
	return t.Status == Routing && t.Agent == msg.Sender
}

// Acked starts the turn.
func (Correct) Acked(View, Turn) []Step { return []Step{Start, TellStarted} }

// RouteTimeout fails the turn.
func (Correct) RouteTimeout(View, Turn) []Step { return []Step{Fail, TellRouteTimeout} }

// Switch switches.
func (Correct) Switch(View, string, proto.Message) []Step { return []Step{Activate, TellSwitch} }

// Handover is from an agent of the session to another one that is not active.
func (c Correct) Handover(v View, from, to string) *Refusal {
	if r := c.Member(v, from); r != nil {
		return r
	}
	if r := c.Member(v, to); r != nil {
		return r
	}
	if to == from || to == v.Active() {
		return &Refusal{proto.BadMessage, fmt.Sprintf("agent %.80q has the conversation already: nothing is handed over", to)}
	}
	return nil
}

// Begin asks SessionManager, or the frontend; before a removal or a close it silences who speaks (RT-106, RT-152).
func (Correct) Begin(_ View, tx Transaction) []Step {
	switch tx.Kind {
	case proto.RemoveAgent:
		return []Step{Interrupt, Await, TellBegun, Request, Unbind, FallBack}
	case proto.InviteAgent:
		return []Step{Request, TellBegun}
	case proto.SessionClose:
		return []Step{Interrupt, Await, Request}
	case proto.SessionOpen:
		return []Step{Request}
	case proto.HandoverRequest:
		return []Step{Prompt}
	}
	return nil
}

// Answered does what was asked for, and tells it.
func (Correct) Answered(_ View, _ Transaction, msg proto.Message) []Step {
	switch Subtype(msg) {
	case proto.AddAgentDone:
		return []Step{Register, TellDone}
	case proto.RemoveAgentDone, proto.SessionOpened, proto.SessionClosed:
		return []Step{TellDone}
	case proto.AddAgentFailed, proto.RemoveAgentFailed, proto.SessionFailed:
		return []Step{TellFailed}
	case proto.HandoverConfirm:
		return []Step{Activate, TellSwitch, GiveContext}
	}
	return nil
}

// Fallback is the agent that is longest in the session.
func (Correct) Fallback(v View, _ string) string {
	if all := v.Agents(); len(all) > 0 {
		return all[0]
	}
	return ""
}
