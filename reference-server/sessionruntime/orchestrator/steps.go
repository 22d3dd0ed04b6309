package orchestrator

import (
	"cmp"
	"slices"

	proto "parley/protocol/sessionruntime"
)

// Step is one action of a machine. A program is a list of steps. A step that does not apply, such as a turn step in
// the program of a transaction, does nothing.
type Step string

// Steps of a turn.
const (
	Route            Step = "route"              // USER_INPUT to the turn's agent; start waiting for INPUT_ACK
	Accept           Step = "accept"             // EVENT TURN_ACCEPTED
	Start            Step = "start"              // the turn is RUNNING
	TellStarted      Step = "tell started"       // EVENT AGENT_STARTED
	Fail             Step = "fail"               // the turn is FAILED
	TellRouteTimeout Step = "tell route timeout" // ERROR ROUTE_TIMEOUT
	Speak            Step = "speak"              // the turn becomes the last one that spoke
	// AGENT_OUTPUT or ERROR to the frontend, unchanged; also without a turn
	Forward           Step = "forward"
	Complete          Step = "complete"            // the turn is COMPLETED
	Report            Step = "report"              // ERROR UNEXPECTED_OUTPUT; also without a turn
	Cancel            Step = "cancel"              // the turn is CANCELED, and no ack is awaited any more
	TellCanceled      Step = "tell canceled"       // EVENT CANCELED
	Resume            Step = "resume"              // continue transactions that waited for the turn's ack
	TellCancelTimeout Step = "tell cancel timeout" // ERROR CANCEL_TIMEOUT
	Abandon           Step = "abandon"             // end transactions that waited for the turn's ack
)

// Steps of a transaction.
const (
	// wait until the CANCELs are acknowledged and no turn to be silenced speaks
	Await       Step = "await"
	TellBegun   Step = "tell begun"   // EVENT AGENT_REMOVING or ADDING_AGENT
	Request     Step = "request"      // CONTROL REQUEST_... to SYSTEM
	Unbind      Step = "unbind"       // the agent leaves agents_in_session
	FallBack    Step = "fall back"    // if the agent is active, activate another one: CONTROL SWITCH_AGENT
	Register    Step = "register"     // the agent joins agents_in_session
	Prompt      Step = "prompt"       // CONTROL HANDOVER_UI_PROMPT to the frontend
	GiveContext Step = "give context" // CONTROL HANDOVER_CONTEXT to the agent
	TellDone    Step = "tell done"    // EVENT AGENT_ADDED, AGENT_REMOVED, SESSION_OPENED or SESSION_CLOSED
	TellFailed  Step = "tell failed"  // ERROR ADD_AGENT_FAILED, REMOVE_AGENT_FAILED or SESSION_FAILED
)

// Steps of turns, transactions and switches.
const (
	// CONTROL CANCEL to the turn's agent, and EVENT CANCEL_SENT; in a transaction for all turns that it silences
	Interrupt  Step = "interrupt"
	Activate   Step = "activate"    // make the agent of the turn, transaction or switch active
	TellSwitch Step = "tell switch" // CONTROL SWITCH_AGENT to SYSTEM, if the program has changed the active agent
)

// job is the subject of a program.
type job struct {
	t   *turn        // nil without a turn
	tx  *transaction // nil without a transaction
	msg proto.Message

	agent           string // the agent for Activate
	trigger, reason string // of a switch
	before          string // the active agent before the program; set by run
}

// run executes a program. It stops at an Await that must wait; proceed executes the rest.
func (m *Machine) run(j *job, program []Step) {
	j.before = m.active
	for i, s := range program {
		if s == Await && j.tx != nil && len(j.tx.waits) > 0 {
			j.tx.rest, j.tx.paused = slices.Clone(program[i+1:]), true
			return
		}
		m.step(j, s)
	}
	if j.t != nil {
		m.settle(j.t)
	}
}

// step executes a step of the turn or transaction, or else one of the common steps.
func (m *Machine) step(j *job, s Step) {
	if j.t != nil && m.turnStep(j, s) || j.tx != nil && m.txStep(j, s) {
		return
	}
	switch s {
	case Forward:
		m.forward(j)
	case Report:
		m.report(j)
	case Activate:
		m.active = cmp.Or(j.agent, m.active)
	case TellSwitch:
		m.tellSwitch(j)
	}
}

func (m *Machine) turnStep(j *job, s Step) (done bool) {
	switch s {
	case Route:
		m.route(j)
	case Accept:
		m.accept(j.t)
	case Start:
		m.start(j.t)
	case TellStarted:
		m.tellStarted(j.t)
	case Fail:
		m.end(j.t, Failed)
	case TellRouteTimeout:
		m.tellRouteTimeout(j.t)
	case Speak:
		m.speak(j.t)
	case Complete:
		m.end(j.t, Completed)
	case Interrupt:
		m.interrupt(j.t, m.txID(j.msg), cmp.Or(reasonOf(j.msg), "the user canceled"))
	case Cancel:
		m.canceled(j.t)
	case TellCanceled:
		m.tellCanceled(j.t)
	case Resume:
		m.resume(j.t)
	case TellCancelTimeout:
		m.tellCancelTimeout(j.t)
	case Abandon:
		m.abandon(j.t)
	default:
		return false
	}
	return true
}

func (m *Machine) txStep(j *job, s Step) (done bool) {
	switch s {
	case Interrupt:
		m.silence(j.tx)
	case TellBegun:
		m.tellBegun(j.tx)
	case Request:
		m.request(j.tx)
	case Unbind:
		m.unbind(j.tx.Agent)
	case FallBack:
		m.fallBack(j.tx)
	case Register:
		m.register(j.tx.Agent)
	case Prompt:
		m.prompt(j.tx)
	case GiveContext:
		m.giveContext(j.tx)
	case TellDone:
		m.tellDone(j.tx, j.msg)
	case TellFailed:
		m.tellFailed(j.tx, j.msg)
	default:
		return false
	}
	return true
}
