package agent

import (
	"fmt"
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
		m.do(Arm{GiveUpTimer, m.o.GiveUp}, Dial{})
	case Connected:
		m.connected()
	case Disconnected:
		m.disconnected(e.Err)
	case Received:
		m.received(e.Message)
	case Junk:
		m.strange(e.Oddity)
	case Fired:
		m.fired(e.Timer)
	}
	for m.step() {
	}
	out := m.out
	m.out = nil
	return out
}

// do adds actions, unless the run has finished.
func (m *Machine) do(actions ...Action) {
	for _, a := range actions {
		if !m.done {
			m.out = append(m.out, a)
		}
	}
}

func (m *Machine) note(text string, args ...any) { m.do(Note{text, args}) }

// finish ends the run.
func (m *Machine) finish(err error) {
	m.do(Finish{m.outcome, err})
	m.done = true
}

// step does what is due, and reports whether something else may be due now.
func (m *Machine) step() (more bool) {
	c := &m.connection
	switch {
	case m.done || !c.open:
		return false
	case c.joinID == "":
		m.join()
		return true
	case !m.o.Policy.MayTalk(m.view()):
		return false
	// expects no reply, so it need not wait for an outstanding one
	case len(m.unheard) > 0 && m.endings == 0 && m.active && !m.needStart && !m.needSync:
		m.reply()
		return true
	case c.awaited != nil || m.pausing:
		return false
	case m.ending && m.needStart: // the session has ended already
		m.outcome.Ended = true
		m.finish(nil)
		return false
	case m.needStart:
		m.startSession()
		return true
	case m.needSync:
		m.request(proto.SnapshotGet, object{})
		return true
	case m.ending:
		m.endSession()
		return false
	case m.call != nil:
		return m.settle()
	}
	return m.act()
}

// view returns the view for a policy.
func (m *Machine) view() View {
	return View{
		Connection: m.outcome.Connections, Joined: m.connection.joined, Active: m.active, Session: m.session,
		Calls: m.calls, Made: m.outcome.Calls,
		Last: m.last, Call: m.call, Result: m.result, Awaited: m.connection.awaited,
	}
}

// resync makes a snapshot due, if the policy wants one.
func (m *Machine) resync(why Occasion) {
	if m.o.Policy.Resync(m.view(), why, why != CallConfirmed) { // state.updated follows a call's confirmation
		m.note("snapshot wanted", "why", string(why))
		m.needSync = true
	}
}

// send sends a message, and returns its id.
func (m *Machine) send(kind string, payload object) (id string) {
	m.ids++
	anyID := m.o.Policy.ID(m.view(), kind, m.ids, idOfMessage(kind, m.ids))
	m.o.Outbound(m.view(), wire.New(kind, payload).With("id", anyID), func(msg Message) { m.do(Send{msg}) })
	return fmt.Sprint(anyID)
}

// request sends a message and awaits its reply before any other request.
func (m *Machine) request(kind string, payload object) (id string) {
	id = m.send(kind, payload)
	m.connection.awaited = &Request{ID: id, Type: kind}
	m.do(Arm{AnswerTimer, m.o.Limits.Answer})
	m.note("sent", "type", kind, "id", id)
	return id
}

// answered clears the outstanding request.
func (m *Machine) answered() {
	m.connection.awaited = nil
	m.unanswered = 0
	m.do(Disarm{AnswerTimer})
}

// rest delays the next request, longer each time, so that a disagreement does not become a flood.
func (m *Machine) rest() {
	m.pausing = true
	m.do(Arm{PauseTimer, m.pause})
	m.pause = min(2*m.pause, m.o.Backoff.Max)
}

// fired handles a timer.
func (m *Machine) fired(t Timer) {
	switch t {
	case RedialTimer:
		m.do(Dial{})
	case GiveUpTimer:
		m.finish(m.connection.hopeless(m.o.GiveUp))
	case JoinTimer:
		m.redial("relay.joined has not come")
	case AnswerTimer:
		m.overdue()
	case PatienceTimer:
		m.resync(NoUpdate)
	case PauseTimer:
		m.pausing = false
	case PollTimer:
		m.polling = false
		m.resync(NothingShown)
	}
}
