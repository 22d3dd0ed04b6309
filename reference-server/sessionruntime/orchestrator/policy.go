package orchestrator

import (
	"cmp"
	"fmt"

	proto "parley/protocol/sessionruntime"
)

// Policy has the decisions that the protocol prescribes. A nil function defaults to that of Correct, so a faulty
// orchestrator is a policy with one function.
//
// The functions are called while the machine works, so they must not call methods of the Machine. A policy belongs to
// one machine. The Turn and Transaction arguments show the state from before the message.
type Policy struct {
	// Role returns the sender's role (1.1 to 1.3).
	Role func(v View, msg proto.Message) Role

	// Takes reports whether to handle a message. again reports whether one of the same sender and id was handled before
	// (RT-028, RT-029, RT-042, RT-175).
	Takes func(v View, msg proto.Message, from Role, again bool) bool

	// Member refuses an agent that is not in the session, for a mention, switch, removal or handover (RT-086, RT-087).
	Member func(v View, agent string) *Refusal

	// Mention reports whether an input mentions an agent, and which; "" if unreadable (RT-083 to RT-085).
	Mention func(v View, msg proto.Message) (agent string, is bool)

	// Target returns the agent for an input; mentioned is "" for a plain one. It returns "" if there is none (RT-069 to
	// RT-071).
	Target func(v View, msg proto.Message, mentioned string) string

	// IDs returns the ids of the turn that an input begins. Empty ones are replaced by new ones (RT-072).
	IDs func(v View, msg proto.Message) (trace, turn string)

	// Input returns the program of a turn that begins (4A, 4B).
	Input func(v View, t Turn, mention bool) []Step

	// Acks reports whether an INPUT_ACK acknowledges the turn that it names (RT-077).
	Acks func(v View, t Turn, msg proto.Message) bool

	// Acked returns the program after an INPUT_ACK (RT-080, RT-081).
	Acked func(v View, t Turn) []Step

	// RouteTimeout returns the program for a missing INPUT_ACK (RT-078, RT-079).
	RouteTimeout func(v View, t Turn) []Step

	// Output returns the program of an AGENT_OUTPUT. t is the turn that it names, or the zero Turn (4G).
	Output func(v View, t Turn, msg proto.Message) []Step

	// Error returns the program of an ERROR from an agent or SessionManager. t is as in Output (RT-011, RT-040).
	Error func(v View, t Turn, msg proto.Message) []Step

	// Cancels returns the ids of the turns that a CANCEL or INTERRUPT is for; empty if no turn is speaking (RT-095 to
	// RT-098).
	Cancels func(v View, msg proto.Message) []string

	// Canceling returns the program that begins a turn's cancellation (RT-099, RT-100).
	Canceling func(v View, t Turn) []Step

	// Stops reports whether a CANCEL_ACK or STREAM_STOPPED acknowledges the turn's CANCEL (RT-102).
	Stops func(v View, t Turn, msg proto.Message) bool

	// Stopped returns the program after a turn's CANCEL was acknowledged (RT-103 to RT-105).
	Stopped func(v View, t Turn) []Step

	// CancelTimeout returns the program for a missing acknowledgement of a CANCEL (RT-G01).
	CancelTimeout func(v View, t Turn) []Step

	// Switch returns the program of a SWITCH_AGENT from the frontend (RT-032).
	Switch func(v View, agent string, msg proto.Message) []Step

	// Handover refuses a HANDOVER_REQUEST (4F).
	Handover func(v View, from, to string) *Refusal

	// Begin returns the program that begins a transaction (4D, 4E, 4F, 4H).
	Begin func(v View, tx Transaction) []Step

	// Correlate returns the id of the transaction that an answer is for; "" if none. open lists those that await such an
	// answer, oldest first (RT-062).
	Correlate func(v View, msg proto.Message, open []Transaction) string

	// Answered returns the program of a transaction after its answer; the transaction has ended by then (4D, 4E, 4F,
	// 4H).
	Answered func(v View, tx Transaction, msg proto.Message) []Step

	// Fallback returns the agent that replaces a removed active one; "" if none (RT-112).
	Fallback func(v View, removed string) string
}

// Role is the role of a party.
type Role string

// The roles.
const (
	Frontend Role = "frontend"
	Agent    Role = "agent" // in the session or not
	Manager  Role = "manager"
	Self     Role = "self"
	Nobody   Role = "nobody" // only observes
)

// Refusal is why a request is refused: the subtype of the ERROR, and a text that says how to fix it.
type Refusal struct{ Subtype, Text string }

// Correct is the policy that the source prescribes.
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

// correctRole derives the role from the sender.
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

// correctTakes accepts messages to SYSTEM, and from agents also on BROADCAST, each only once, and none of its own.
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

// correctMember refuses agents that are not in agents_in_session.
func correctMember(v View, agent string) *Refusal {
	if v.Has(agent) {
		return nil
	}
	return &Refusal{proto.AgentNotFound, fmt.Sprintf("agent %.80q is not in the session: invite it first", agent)}
}

// correctTarget returns the mentioned agent, else the active one, else the default.
func correctTarget(v View, _ proto.Message, mentioned string) string {
	return cmp.Or(mentioned, v.Active(), v.Default())
}

// correctIDs keeps the ids as sent.
func correctIDs(_ View, msg proto.Message) (trace, turn string) {
	return memberText(msg, proto.TraceID), memberText(msg, proto.TurnID)
}

// correctInput switches first if necessary (RT-090).
func correctInput(_ View, _ Turn, mention bool) []Step {
	if mention {
		return []Step{Activate, TellSwitch, Route, Accept}
	}
	return []Step{Route, Accept}
}

// correctAcks accepts the awaited ack of the turn's agent.
func correctAcks(_ View, t Turn, msg proto.Message) bool {
	return t.Status == Routing && t.Agent == msg.Sender
}

// correctAcked starts the turn.
func correctAcked(View, Turn) []Step { return []Step{Start, TellStarted} }

// correctRouteTimeout fails the turn.
func correctRouteTimeout(View, Turn) []Step { return []Step{Fail, TellRouteTimeout} }

// correctSwitch switches.
func correctSwitch(View, string, proto.Message) []Step { return []Step{Activate, TellSwitch} }

// correctHandover requires an agent of the session as source, and another, inactive one as target.
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

// correctBegin asks SessionManager or the frontend; before a removal or a close it silences the speaking agents
// (RT-106, RT-152).
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

// correctAnswered performs the request and publishes the result.
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

// correctFallback returns the agent longest in the session.
func correctFallback(v View, _ string) string {
	if all := v.Agents(); len(all) > 0 {
		return all[0]
	}
	return ""
}
