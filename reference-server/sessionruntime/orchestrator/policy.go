package orchestrator

import (
	"cmp"
	"fmt"
	"reflect"

	proto "parley/protocol/sessionruntime"
)

// Policy is what the protocol prescribes: one decision each. A decision that is nil is made as by Correct, so that a
// faulty orchestrator is a policy with one of them.
//
// All are called while the machine works, so they may call no method of the Machine. A policy belongs to one machine.
// The Turn and the Transaction that a decision is given are as they were when the message came.
type Policy struct {
	// Role tells who sent a message (1.1 to 1.3).
	Role func(v View, msg proto.Message) Role

	// Takes reports whether a message is handled. again: one of the same sender and id has been (RT-028, RT-029, RT-042,
	// RT-175).
	Takes func(v View, msg proto.Message, from Role, again bool) bool

	// Member refuses an agent that is not in the session: of a mention, a switch, a removal, a handover (RT-086, RT-087).
	Member func(v View, agent string) *Refusal

	// Mention reports whether an input names its agent, and which; "" if that can't be read (RT-083 to RT-085).
	Mention func(v View, msg proto.Message) (agent string, is bool)

	// Target is the agent that an input goes to; mentioned is "" for a plain one. "": there is none (RT-069 to RT-071).
	Target func(v View, msg proto.Message, mentioned string) string

	// IDs are those of the turn that an input begins. One that is "" becomes a fresh one (RT-072).
	IDs func(v View, msg proto.Message) (trace, turn string)

	// Input is the program of a turn that begins (4A, 4B).
	Input func(v View, t Turn, mention bool) []Step

	// Acks reports whether an INPUT_ACK is that of the turn that it names (RT-077).
	Acks func(v View, t Turn, msg proto.Message) bool

	// Acked is the program of a turn whose INPUT_ACK came (RT-080, RT-081).
	Acked func(v View, t Turn) []Step

	// RouteTimeout is the program of a turn whose INPUT_ACK did not come in time (RT-078, RT-079).
	RouteTimeout func(v View, t Turn) []Step

	// Output is the program of an AGENT_OUTPUT. t is the turn that it names, the zero Turn if there is none (4G).
	Output func(v View, t Turn, msg proto.Message) []Step

	// Error is the program of an ERROR of an agent or of SessionManager. t is the same (RT-011, RT-040).
	Error func(v View, t Turn, msg proto.Message) []Step

	// Cancels are the ids of the turns that a CANCEL or INTERRUPT is for; none: nobody speaks (RT-095 to RT-098).
	Cancels func(v View, msg proto.Message) []string

	// Canceling is the program of a turn that is to be canceled (RT-099, RT-100).
	Canceling func(v View, t Turn) []Step

	// Stops reports whether a CANCEL_ACK or STREAM_STOPPED is that of the turn that it names (RT-102).
	Stops func(v View, t Turn, msg proto.Message) bool

	// Stopped is the program of a turn whose CANCEL is acknowledged (RT-103 to RT-105).
	Stopped func(v View, t Turn) []Step

	// CancelTimeout is the program of a turn whose CANCEL was not acknowledged in time (RT-G01).
	CancelTimeout func(v View, t Turn) []Step

	// Switch is the program of a SWITCH_AGENT of the frontend (RT-032).
	Switch func(v View, agent string, msg proto.Message) []Step

	// Handover refuses a HANDOVER_REQUEST (4F).
	Handover func(v View, from, to string) *Refusal

	// Begin is the program of a transaction (4D, 4E, 4F, 4H).
	Begin func(v View, tx Transaction) []Step

	// Correlate tells which transaction an answer is for, by its id; "": none. open are those that wait for such an
	// answer, oldest first (RT-062).
	Correlate func(v View, msg proto.Message, open []Transaction) string

	// Answered is the program of a transaction when its answer came; it is over then (4D, 4E, 4F, 4H).
	Answered func(v View, tx Transaction, msg proto.Message) []Step

	// Fallback is the agent that is active in place of the one that was removed; "": none (RT-112).
	Fallback func(v View, removed string) string
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
var Correct = Policy{
	Role:          correctRole,
	Takes:         correctTakes,
	Member:        correctMember,
	Mention:       correctMention,
	Target:        correctTarget,
	IDs:           correctIDs,
	Input:         correctInput,
	Acks:          correctAcks,
	Acked:         correctAcked,
	RouteTimeout:  correctRouteTimeout,
	Output:        correctOutput,
	Error:         correctError,
	Cancels:       correctCancels,
	Canceling:     correctCanceling,
	Stops:         correctStops,
	Stopped:       correctStopped,
	CancelTimeout: correctCancelTimeout,
	Switch:        correctSwitch,
	Handover:      correctHandover,
	Begin:         correctBegin,
	Correlate:     correctCorrelate,
	Answered:      correctAnswered,
	Fallback:      correctFallback,
}

// withDefaults has the decisions of Correct where p has none.
func (p Policy) withDefaults() Policy {
	own, correct := reflect.ValueOf(&p).Elem(), reflect.ValueOf(Correct)
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(correct.Field(i))
		}
	}
	return p
}

// correctRole goes by the sender.
func correctRole(_ View, msg proto.Message) Role {
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

// correctTakes what is sent to SYSTEM, and from agents on BROADCAST; once, and nothing of its own.
func correctTakes(v View, msg proto.Message, from Role, again bool) bool {
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

// correctMember refuses whom agents_in_session does not have.
func correctMember(v View, agent string) *Refusal {
	if v.Has(agent) {
		return nil
	}
	return &Refusal{proto.AgentNotFound, fmt.Sprintf("agent %.80q is not in the session: invite it first", agent)}
}

// correctTarget is who is mentioned, else who is active, else the default.
func correctTarget(v View, _ proto.Message, mentioned string) string {
	return cmp.Or(mentioned, v.Active(), v.Default())
}

// correctIDs are kept as they came.
func correctIDs(_ View, msg proto.Message) (trace, turn string) {
	return text(msg, proto.TraceID), text(msg, proto.TurnID)
}

// correctInput switches first, if need be (RT-090).
func correctInput(_ View, _ Turn, mention bool) []Step {
	if mention {
		return []Step{Activate, TellSwitch, Route, Accept}
	}
	return []Step{Route, Accept}
}

// correctAcks takes the ack of the turn's agent while it is waited for.
func correctAcks(_ View, t Turn, msg proto.Message) bool {
	return t.Status == Routing && t.Agent == msg.Sender
}

// correctAcked starts the turn.
func correctAcked(View, Turn) []Step { return []Step{Start, TellStarted} }

// correctRouteTimeout fails the turn.
func correctRouteTimeout(View, Turn) []Step { return []Step{Fail, TellRouteTimeout} }

// correctSwitch switches.
func correctSwitch(View, string, proto.Message) []Step { return []Step{Activate, TellSwitch} }

// correctHandover is from an agent of the session to another one that is not active.
func correctHandover(v View, from, to string) *Refusal {
	if r := correctMember(v, from); r != nil {
		return r
	}
	if r := correctMember(v, to); r != nil {
		return r
	}
	if to == from || to == v.Active() {
		return &Refusal{proto.BadMessage, fmt.Sprintf("agent %.80q has the conversation already: nothing is handed over", to)}
	}
	return nil
}

// correctBegin asks SessionManager, or the frontend; before a removal or a close it silences who speaks (RT-106,
// RT-152).
func correctBegin(_ View, tx Transaction) []Step {
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

// correctAnswered does what was asked for, and tells it.
func correctAnswered(_ View, _ Transaction, msg proto.Message) []Step {
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

// correctFallback is the agent that is longest in the session.
func correctFallback(v View, _ string) string {
	if all := v.Agents(); len(all) > 0 {
		return all[0]
	}
	return ""
}
