package agent

import (
	"fmt"
	"strings"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Machine is the agent without socket and clock. It serves one run and is used by one goroutine.
//
// Every event updates the known state; then step does what is due until nothing is left. So a first connection, a new
// one, a session restart and a possibly stale state all share one order of steps:
//
//	join, session.start if none is active, snapshot.get if the state may be stale, the state after a call, the next call
type Machine struct {
	o   Options
	out []Action // actions for the current event

	connection connection
	ids        int
	unanswered int           // consecutive unanswered requests
	pause      time.Duration // before the next request; doubles with each refusal
	pausing    bool

	needStart bool // a session.start is due
	needSync  bool // a snapshot.get is due
	everBegan bool // session.start has been sent
	active    bool
	begunHere bool // session.started was received on this connection
	session   string

	last      State
	call      *Called
	result    object
	retry     *Call
	calls     int // in the study session
	confirmed bool
	looked    bool // a snapshot was requested because no call was left to try
	polling   bool
	poll      time.Duration // interval before the next poll
	planner   *planner
	stages    map[string]bool // stages already commented on
	unheard   []string        // user messages without a reply

	ending  bool
	endings int // session.end messages sent
	done    bool
	outcome Outcome
}

// NewMachine makes the Machine of a run. It ignores Dial and Log of its options.
func NewMachine(o Options) *Machine {
	o = o.withDefaults()
	return &Machine{
		o: o, connection: connection{backoff: o.Backoff.First}, pause: o.Backoff.First, poll: o.Patience,
		planner: newPlanner(), stages: map[string]bool{},
	}
}

// Outcome returns the result of the run so far.
func (m *Machine) Outcome() Outcome { return m.outcome }

// OnEvent handles an event and returns the resulting actions. Nothing follows a Finish.
func (m *Machine) OnEvent(e Event) []Action {
	switch e := e.(type) {
	case Started:
		m.addActions(Arm{GiveUpTimer, m.o.GiveUp}, Dial{})
	case Connected:
		m.beginConnection()
	case Disconnected:
		m.prepareReconnect(e.Err)
	case Received:
		m.handleObject(e.Message)
	case Junk:
		m.handleStrange(e.Oddity)
	case Fired:
		m.handleTimer(e.Timer)
	}
	for m.doDue() {
	}
	out := m.out
	m.out = nil
	return out
}

// addActions adds actions, unless the run has finished.
func (m *Machine) addActions(actions ...Action) {
	for _, a := range actions {
		if !m.done {
			m.out = append(m.out, a)
		}
	}
}

func (m *Machine) addNote(text string, args ...any) { m.addActions(Note{text, args}) }

// finishRun ends the run.
func (m *Machine) finishRun(err error) {
	m.addActions(Finish{m.outcome, err})
	m.done = true
}

// doDue does what is due, and reports whether something else may be due now.
func (m *Machine) doDue() (more bool) {
	c := &m.connection
	switch {
	case m.done || !c.open:
		return false
	case c.joinID == "":
		m.sendJoin()
		return true
	case !m.o.Policy.MayTalk(m.policyView()):
		return false
	// expects no reply, so it need not wait for an outstanding one
	case len(m.unheard) > 0 && m.endings == 0 && m.active && !m.needStart && !m.needSync:
		m.replyToUser()
		return true
	case c.awaited != nil || m.pausing:
		return false
	case m.ending && m.needStart: // the session has ended already
		m.outcome.Ended = true
		m.finishRun(nil)
		return false
	case m.needStart:
		m.startSession()
		return true
	case m.needSync:
		m.sendRequest(proto.SnapshotGet, object{})
		return true
	case m.ending:
		m.endSession()
		return false
	case m.call != nil:
		return m.concludeIfKnown()
	}
	return m.makeNextCall()
}

// policyView returns the view for a policy.
func (m *Machine) policyView() View {
	return View{
		Connection: m.outcome.Connections, Joined: m.connection.joined, Active: m.active, Session: m.session,
		Calls: m.calls, Made: m.outcome.Calls,
		Last: m.last, Call: m.call, Result: m.result, Awaited: m.connection.awaited,
	}
}

// requireSnapshot makes a snapshot due, if the policy wants one.
func (m *Machine) requireSnapshot(why Occasion) {
	if m.o.Policy.Resync(m.policyView(), why, why != CallConfirmed) { // state.updated follows a call's confirmation
		m.addNote("snapshot wanted", "why", string(why))
		m.needSync = true
	}
}

// sendMessage sends a message, and returns its id.
func (m *Machine) sendMessage(kind string, payload object) (id string) {
	m.ids++
	anyID := m.o.Policy.ID(m.policyView(), kind, m.ids, idOfMessage(kind, m.ids))
	m.o.Outbound(m.policyView(), wire.New(kind, payload).With("id", anyID),
		func(msg Message) { m.addActions(Send{msg}) })
	return fmt.Sprint(anyID)
}

// sendRequest sends a message and awaits its reply before any other request.
func (m *Machine) sendRequest(kind string, payload object) (id string) {
	id = m.sendMessage(kind, payload)
	m.connection.awaited = &Request{ID: id, Type: kind}
	m.addActions(Arm{AnswerTimer, m.o.Limits.Answer})
	m.addNote("sent", "type", kind, "id", id)
	return id
}

// clearRequest clears the outstanding request.
func (m *Machine) clearRequest() {
	m.connection.awaited = nil
	m.unanswered = 0
	m.addActions(Disarm{AnswerTimer})
}

// delayNext delays the next request, longer each time, so that a disagreement does not become a flood.
func (m *Machine) delayNext() {
	m.pausing = true
	m.addActions(Arm{PauseTimer, m.pause})
	m.pause = min(2*m.pause, m.o.Backoff.Max)
}

// handleTimer handles a timer.
func (m *Machine) handleTimer(t Timer) {
	switch t {
	case RedialTimer:
		m.addActions(Dial{})
	case GiveUpTimer:
		m.finishRun(m.connection.hopelessError(m.o.GiveUp))
	case JoinTimer:
		m.replaceConnection("relay.joined has not come")
	case AnswerTimer:
		m.handleOverdue()
	case PatienceTimer:
		m.requireSnapshot(NoUpdate)
	case PauseTimer:
		m.pausing = false
	case PollTimer:
		m.polling = false
		m.requireSnapshot(NothingShown)
	}
}

// makeNextCall makes the next call, or ends the session if no call is left.
func (m *Machine) makeNextCall() (more bool) {
	v := m.policyView()
	s := m.o.Policy.State(v, m.last)
	if m.isFinished(s) {
		m.outcome.Booked = m.confirmed
		m.requestEnd("study-complete")
		return true
	}
	if s.UISpec == nil || len(s.Tools) == 0 {
		m.awaitForm()
		return false
	}
	m.poll = m.o.Patience
	m.announceStage(s)
	candidates := m.planner.candidateCalls(s)
	switch {
	case m.outcome.Calls >= m.o.MaxCalls:
		m.requestEnd("call-limit")
	case m.retry != nil:
		m.makeCall(*m.retry)
	case len(candidates) > 0:
		m.makeCall(m.o.Policy.Choose(v, s, candidates[0]))
	case !m.looked: // the state may be stale
		m.looked = true
		m.requireSnapshot(NothingLeft)
	default:
		m.requestEnd("no-way-forward")
	}
	return true
}

// requestEnd requests the end of the session.
func (m *Machine) requestEnd(reason string) {
	m.addNote("nothing is left to do", "reason", reason)
	m.ending, m.outcome.Reason = true, reason
}

// awaitForm waits until the host shows something and polls it at growing intervals.
func (m *Machine) awaitForm() {
	const rarest = 16
	if m.polling {
		return
	}
	m.polling = true
	m.addActions(Arm{PollTimer, m.poll})
	m.poll = min(2*m.poll, rarest*m.o.Patience)
}

// makeCall sends a tool.call (EA-033 to EA-035).
func (m *Machine) makeCall(c Call) {
	m.outcome.Calls++
	m.calls++
	m.retry, m.looked, m.result = nil, false, nil
	m.call = &Called{Call: c, Before: m.last}
	m.addNote("call", "tool", c.Tool, "params", formatBriefly(c.Params), "reason", clipText(c.Reason, 200))
	m.call.ID = m.sendRequest(proto.ToolCall, object{"toolName": c.Tool, "params": c.Params, "reason": c.Reason})
}

// toolResult confirms or fails a call. The agent does not act on its uiSpec (EA-051, EA-074).
func (m *Machine) toolResult(msg Message, r Request) {
	payload := msg.Payload()
	ok, isBool := payload["ok"].(bool)
	if !isBool {
		m.handleStrange(Oddity{Kind: Useless, Why: "ok is neither true nor false", Message: msg})
		return
	}
	m.clearRequest()
	m.result = payload
	if !ok {
		code, text := codeOf(payload)
		m.addNote("call failed", "id", r.ID, "code", clipText(code, 80), "text", clipText(text, 200))
		m.applyRemedy(Failure{Request: r, Code: code, Text: text})
		return
	}
	quick, _ := payload["uiSpec"].(object)
	m.addNote("call confirmed", "id", r.ID, "quickStage", clipText(readScreen(quick).stage, 80))
	m.awaitState()
}

// awaitState waits for the state that follows the call (EA-051, EA-054).
func (m *Machine) awaitState() {
	m.call.Answered, m.confirmed = true, true
	m.addActions(Arm{PatienceTimer, m.o.Patience})
	m.requireSnapshot(CallConfirmed)
}

// concludeIfKnown reports whether the call has led to a known state and, if so, concludes it.
func (m *Machine) concludeIfKnown() (more bool) {
	switch {
	case m.call.Overdue: // and the policy wants no snapshot
		m.concludeCall()
		return true
	case m.call.Answered && m.o.Policy.Settled(m.policyView(), hasNewState(*m.call, m.last)):
		m.concludeCall()
		return true
	}
	return false
}

// concludeCall ends a call: the last state is its result.
func (m *Machine) concludeCall() {
	if m.call == nil {
		return
	}
	m.planner.recordResult(*m.call, m.last)
	m.call = nil
	m.addActions(Disarm{PatienceTimer})
}

// callFailed ends a failed call; only the remedy TryAgain repeats it in the same state.
func (m *Machine) callFailed(remedy Remedy, code string) {
	c := *m.call
	if remedy == TakeAsDone {
		m.awaitState()
		return
	}
	m.outcome.Failed++
	m.call = nil
	if remedy == TryAgain {
		m.retry = &c.Call
		return
	}
	m.planner.recordFailure(c, code)
}

// codeOf finds the error code in a tool.result with ok:false. The source does not say where it is.
func codeOf(payload object) (code, text string) {
	where := []object{payload}
	for _, name := range []string{"error", "failure"} {
		if inner, isObject := payload[name].(object); isObject {
			where = append(where, inner)
		}
	}
	for _, o := range where {
		if code == "" {
			code, _ = o["code"].(string)
		}
		if text == "" {
			text, _ = o["message"].(string)
		}
	}
	for _, c := range proto.Codes() {
		if said, _ := payload["error"].(string); code == "" && strings.Contains(said, c) {
			code = c
		}
	}
	return code, text
}
