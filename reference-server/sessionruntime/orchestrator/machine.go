package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	proto "parley/protocol/sessionruntime"
)

// Machine is the orchestrator of one session. It is used by one goroutine at a time.
type Machine struct {
	o   Options
	now time.Time // time of the current message or timeout

	active   string
	agents   []string
	turns    map[string]*turn // all remembered turns, by id
	open     []*turn          // in flight, or with a CANCEL in flight; oldest first
	finished []*turn          // the others, in the order in which they finished
	speaking []*turn          // ordered by last output
	txs      []*transaction   // open; oldest first

	seen      seen
	collected collected
	spoken    uint64 // number of forwarded outputs

	out []proto.Message
}

// New makes the machine of a session. It also accepts options that Options.Validate rejects; an active agent that is
// not among the agents then counts as none.
func New(o Options) *Machine {
	o = o.withDefaults()
	m := &Machine{o: o, turns: map[string]*turn{}, seen: newSeen(o.Limits.Seen),
		collected: collected{limit: o.Limits.Output}}
	for _, id := range o.Agents {
		m.registerAgent(id)
	}
	if m.Has(o.Active) {
		m.active = o.Active
	}
	return m
}

// OnMessage handles a message (section 5) and returns the messages to publish, in order. A message that is not
// relevant here, for example one for another session, yields nothing. The results may share parts of payload and
// metadata with the argument; neither may be changed in place.
func (m *Machine) OnMessage(msg proto.Message) []proto.Message {
	m.now = m.o.Now()
	for _, msg := range m.o.Inbound(m, msg) {
		m.takeMessage(msg)
	}
	return m.takePublished()
}

// Due returns the time of the next timeout; false if there is none. OnMessage and Tick may change it.
func (m *Machine) Due() (at time.Time, ok bool) {
	if t := m.nextTimeout(); t != nil {
		return t.due, true
	}
	return time.Time{}, false
}

// Tick executes the timeouts that are due, in order, and returns the messages to publish. Before Due it does nothing.
func (m *Machine) Tick(now time.Time) []proto.Message {
	m.now = now
	for t := m.nextTimeout(); t != nil && !t.due.After(now); t = m.nextTimeout() {
		m.expireTurns(t)
	}
	return m.takePublished()
}

// nextTimeout returns the turn with the earliest timeout; nil if there is none.
func (m *Machine) nextTimeout() (next *turn) {
	for _, t := range m.open {
		if t.Waiting != "" && (next == nil || t.due.Before(next.due)) {
			next = t
		}
	}
	return next
}

func (m *Machine) expireTurns(t *turn) {
	what := t.Waiting
	m.removeTimeout(t)
	if what == proto.CancelAck {
		m.runProgram(&job{t: t}, m.o.Policy.CancelTimeout(m, t.publicTurn()))
		return
	}
	m.runProgram(&job{t: t}, m.o.Policy.RouteTimeout(m, t.publicTurn()))
}

func (m *Machine) takeMessage(msg proto.Message) {
	from, id := m.o.Policy.Role(m, msg), digestOf(msg)
	again := msg.ID != "" && m.seen.hasID(id)
	if !m.o.Policy.Takes(m, msg, from, again) {
		if why := describeMistake(msg, from, again); why != "" {
			m.o.Dropped(msg, why)
		}
		return
	}
	if msg.ID != "" {
		m.seen.addID(id)
	}
	m.dispatchMessage(msg, from)
}

// kind identifies the handler of a message (RT-157).
type kind struct {
	from           Role
	event, subtype string
}

var handlers = map[kind]func(m *Machine, msg proto.Message){
	{Frontend, proto.UserInput, ""}:                   (*Machine).handleInput,
	{Frontend, proto.Control, proto.Cancel}:           (*Machine).handleCancel,
	{Frontend, proto.Control, proto.Interrupt}:        (*Machine).handleCancel,
	{Frontend, proto.Control, proto.SwitchAgent}:      (*Machine).switchTo,
	{Frontend, proto.Control, proto.InviteAgent}:      (*Machine).handleInviteAgent,
	{Frontend, proto.Control, proto.RemoveAgent}:      (*Machine).handleRemoveAgent,
	{Frontend, proto.Control, proto.HandoverConfirm}:  (*Machine).handleDecision,
	{Frontend, proto.Control, proto.HandoverReject}:   (*Machine).handleDecision,
	{Frontend, proto.Control, proto.SessionOpen}:      (*Machine).handleSession,
	{Frontend, proto.Control, proto.SessionClose}:     (*Machine).handleSession,
	{Agent, proto.AgentOutput, ""}:                    (*Machine).handleOutput,
	{Agent, proto.Error, ""}:                          (*Machine).handleError,
	{Agent, proto.Control, proto.InputAck}:            (*Machine).handleInputAck,
	{Agent, proto.Control, proto.CancelAck}:           (*Machine).handleCancelAck,
	{Agent, proto.Event, proto.StreamStopped}:         (*Machine).handleCancelAck,
	{Agent, proto.Control, proto.HandoverRequest}:     (*Machine).handleHandover,
	{Manager, proto.Control, proto.AddAgentDone}:      (*Machine).handleReceipt,
	{Manager, proto.Control, proto.AddAgentFailed}:    (*Machine).handleReceipt,
	{Manager, proto.Control, proto.RemoveAgentDone}:   (*Machine).handleReceipt,
	{Manager, proto.Control, proto.RemoveAgentFailed}: (*Machine).handleReceipt,
	{Manager, proto.Control, proto.SessionOpened}:     (*Machine).handleReceipt,
	{Manager, proto.Control, proto.SessionClosed}:     (*Machine).handleReceipt,
	{Manager, proto.Control, proto.SessionFailed}:     (*Machine).handleReceipt,
	{Manager, proto.Error, ""}:                        (*Machine).handleError,
}

// dispatchMessage handles a message by its sender, event and subtype. A frontend gets an error for a message that it
// must not send; any other unknown message is ignored.
func (m *Machine) dispatchMessage(msg proto.Message, from Role) {
	if from == Frontend {
		if r := m.checkIDs(msg); r != nil {
			m.publishRefusal(msg, r)
			return
		}
	}
	k := kind{from, msg.Event, ""}
	if msg.Event == proto.Control || msg.Event == proto.Event {
		k.subtype = Subtype(msg)
	}
	if handle := handlers[k]; handle != nil {
		handle(m, msg)
	} else if from == Frontend && msg.Event == proto.Control {
		m.publishRefusal(msg, &Refusal{proto.BadMessage, "a frontend sends no CONTROL of this subtype"})
	} else if why := whyUnhandled(msg, from); why != "" {
		m.o.Dropped(msg, why)
	}
}

// handleSession handles SESSION_OPEN and SESSION_CLOSE (4H).
func (m *Machine) handleSession(msg proto.Message) {
	kind := Subtype(msg)
	if m.isBusy(kind, "") {
		m.publishRefusal(msg, &Refusal{proto.InProgress, "this has been asked for already"})
		return
	}
	m.openTransaction(&transaction{Transaction: Transaction{Kind: kind, Request: msg}})
}

// emitMessage passes a message to Outbound.
func (m *Machine) emitMessage(msg proto.Message) { m.o.Outbound(m, msg, m.Send) }

// Send implements View.
func (m *Machine) Send(msg proto.Message) { m.out = append(m.out, msg) }

func (m *Machine) takePublished() []proto.Message {
	out := m.out
	m.out = nil
	return slices.Clip(out)
}

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
	before          string // the active agent before the program; set by runProgram
}

// runProgram executes a program. It stops at an Await that must wait; proceed executes the rest.
func (m *Machine) runProgram(j *job, program []Step) {
	j.before = m.active
	for i, s := range program {
		if s == Await && j.tx != nil && len(j.tx.waits) > 0 {
			j.tx.rest, j.tx.paused = slices.Clone(program[i+1:]), true
			return
		}
		m.runStep(j, s)
	}
	if j.t != nil {
		m.moveToFinished(j.t)
	}
}

// runStep executes a step of the turn or transaction, or else one of the common steps.
func (m *Machine) runStep(j *job, s Step) {
	if j.t != nil && m.turnStep(j, s) || j.tx != nil && m.txStep(j, s) {
		return
	}
	switch s {
	case Forward:
		m.forwardOutput(j)
	case Report:
		m.reportUnforwarded(j)
	case Activate:
		m.active = cmp.Or(j.agent, m.active)
	case TellSwitch:
		m.tellSwitch(j)
	}
}

func (m *Machine) turnStep(j *job, s Step) (done bool) {
	switch s {
	case Route:
		m.routeInput(j)
	case Accept:
		m.acceptInput(j.t)
	case Start:
		m.startTurn(j.t)
	case TellStarted:
		m.tellStarted(j.t)
	case Fail:
		m.endTurn(j.t, Failed)
	case TellRouteTimeout:
		m.tellRouteTimeout(j.t)
	case Speak:
		m.markSpeaking(j.t)
	case Complete:
		m.endTurn(j.t, Completed)
	case Interrupt:
		m.cancelTurn(j.t, m.txID(j.msg), cmp.Or(reasonOf(j.msg), "the user canceled"))
	case Cancel:
		m.endCanceled(j.t)
	case TellCanceled:
		m.tellCanceled(j.t)
	case Resume:
		m.resumeTransactions(j.t)
	case TellCancelTimeout:
		m.tellCancelTimeout(j.t)
	case Abandon:
		m.abandonTransactions(j.t)
	default:
		return false
	}
	return true
}

func (m *Machine) txStep(j *job, s Step) (done bool) {
	switch s {
	case Interrupt:
		m.silenceTurns(j.tx)
	case TellBegun:
		m.tellBegun(j.tx)
	case Request:
		m.sendRequest(j.tx)
	case Unbind:
		m.unbindAgent(j.tx.Agent)
	case FallBack:
		m.fallBack(j.tx)
	case Register:
		m.registerAgent(j.tx.Agent)
	case Prompt:
		m.promptUser(j.tx)
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

// The events and targets that a message can have. A message with another one is nobody's: the source gives it no
// answer (RT-157), so that only Options.Dropped tells its sender.
var (
	events  = []string{proto.UserInput, proto.AgentOutput, proto.Control, proto.Event, proto.Error}
	targets = []string{proto.ToSystem, proto.ToSession, proto.ToAgent, proto.ToFrontend, proto.ToLogger, proto.ToBroadcast}
)

// describeMistake says why a message that is not taken was probably meant to be; "" for one that others on the bus
// exchange.
func describeMistake(msg proto.Message, from Role, again bool) string {
	switch {
	case msg.Sender == "":
		return "it has no sender"
	case !slices.Contains(targets, msg.Target):
		return fmt.Sprintf("unknown target %.80q (known: %s)", msg.Target, strings.Join(targets, ", "))
	case !slices.Contains(events, msg.Event):
		return unknownEvent(msg)
	case from == Frontend && msg.Target != proto.ToSystem && msg.Target != proto.ToSession:
		return fmt.Sprintf("the target is %s: what a frontend sends to %s is not for the orchestrator (send it to %s)",
			msg.Target, msg.Target, proto.ToSystem)
	case again:
		return fmt.Sprintf("a message with the id %.80q has come from this sender before", msg.ID)
	}
	return ""
}

// whyUnhandled says why a message to the orchestrator has no effect; "" for one that it only hears.
func whyUnhandled(msg proto.Message, from Role) string {
	switch {
	case !slices.Contains(events, msg.Event):
		return unknownEvent(msg)
	case msg.Target == proto.ToBroadcast || from == Agent && msg.Event == proto.Event:
		return ""
	}
	what := msg.Event
	if kind := Subtype(msg); kind != "" {
		what += " " + kind
	}
	return fmt.Sprintf("the orchestrator takes no %.80s from the sender %.80q", what, msg.Sender)
}

func unknownEvent(msg proto.Message) string {
	return fmt.Sprintf("unknown event %.80q (known: %s)", msg.Event, strings.Join(events, ", "))
}
