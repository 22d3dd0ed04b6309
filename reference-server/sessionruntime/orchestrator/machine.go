package orchestrator

import (
	"slices"
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
		m.register(id)
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
		m.take(msg)
	}
	return m.published()
}

// Due returns the time of the next timeout; false if there is none. OnMessage and Tick may change it.
func (m *Machine) Due() (at time.Time, ok bool) {
	if t := m.next(); t != nil {
		return t.due, true
	}
	return time.Time{}, false
}

// Tick executes the timeouts that are due, in order, and returns the messages to publish. Before Due it does nothing.
func (m *Machine) Tick(now time.Time) []proto.Message {
	m.now = now
	for t := m.next(); t != nil && !t.due.After(now); t = m.next() {
		m.expire(t)
	}
	return m.published()
}

// next returns the turn with the earliest timeout; nil if there is none.
func (m *Machine) next() (next *turn) {
	for _, t := range m.open {
		if t.Waiting != "" && (next == nil || t.due.Before(next.due)) {
			next = t
		}
	}
	return next
}

func (m *Machine) expire(t *turn) {
	what := t.Waiting
	m.unwait(t)
	if what == proto.CancelAck {
		m.run(&job{t: t}, m.o.Policy.CancelTimeout(m, t.view()))
		return
	}
	m.run(&job{t: t}, m.o.Policy.RouteTimeout(m, t.view()))
}

func (m *Machine) take(msg proto.Message) {
	from, id := m.o.Policy.Role(m, msg), digestOf(msg)
	again := msg.ID != "" && m.seen.has(id)
	if !m.o.Policy.Takes(m, msg, from, again) {
		if why := mistake(msg, from, again); why != "" {
			m.o.Dropped(msg, why)
		}
		return
	}
	if msg.ID != "" {
		m.seen.add(id)
	}
	m.dispatch(msg, from)
}

// kind identifies the handler of a message (RT-157).
type kind struct {
	from           Role
	event, subtype string
}

var handlers = map[kind]func(m *Machine, msg proto.Message){
	{Frontend, proto.UserInput, ""}:                   (*Machine).input,
	{Frontend, proto.Control, proto.Cancel}:           (*Machine).cancel,
	{Frontend, proto.Control, proto.Interrupt}:        (*Machine).cancel,
	{Frontend, proto.Control, proto.SwitchAgent}:      (*Machine).switchTo,
	{Frontend, proto.Control, proto.InviteAgent}:      (*Machine).invite,
	{Frontend, proto.Control, proto.RemoveAgent}:      (*Machine).remove,
	{Frontend, proto.Control, proto.HandoverConfirm}:  (*Machine).decided,
	{Frontend, proto.Control, proto.HandoverReject}:   (*Machine).decided,
	{Frontend, proto.Control, proto.SessionOpen}:      (*Machine).session,
	{Frontend, proto.Control, proto.SessionClose}:     (*Machine).session,
	{Agent, proto.AgentOutput, ""}:                    (*Machine).output,
	{Agent, proto.Error, ""}:                          (*Machine).failure,
	{Agent, proto.Control, proto.InputAck}:            (*Machine).acked,
	{Agent, proto.Control, proto.CancelAck}:           (*Machine).stopped,
	{Agent, proto.Event, proto.StreamStopped}:         (*Machine).stopped,
	{Agent, proto.Control, proto.HandoverRequest}:     (*Machine).handover,
	{Manager, proto.Control, proto.AddAgentDone}:      (*Machine).receipt,
	{Manager, proto.Control, proto.AddAgentFailed}:    (*Machine).receipt,
	{Manager, proto.Control, proto.RemoveAgentDone}:   (*Machine).receipt,
	{Manager, proto.Control, proto.RemoveAgentFailed}: (*Machine).receipt,
	{Manager, proto.Control, proto.SessionOpened}:     (*Machine).receipt,
	{Manager, proto.Control, proto.SessionClosed}:     (*Machine).receipt,
	{Manager, proto.Control, proto.SessionFailed}:     (*Machine).receipt,
	{Manager, proto.Error, ""}:                        (*Machine).failure,
}

// dispatch handles a message by its sender, event and subtype. A frontend gets an error for a message that it must
// not send; any other unknown message is ignored.
func (m *Machine) dispatch(msg proto.Message, from Role) {
	if from == Frontend {
		if r := m.malformed(msg); r != nil {
			m.refuse(msg, r)
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
		m.refuse(msg, &Refusal{proto.BadMessage, "a frontend sends no CONTROL of this subtype"})
	} else if why := unhandled(msg, from); why != "" {
		m.o.Dropped(msg, why)
	}
}

// session handles SESSION_OPEN and SESSION_CLOSE (4H).
func (m *Machine) session(msg proto.Message) {
	kind := Subtype(msg)
	if m.busy(kind, "") {
		m.refuse(msg, &Refusal{proto.InProgress, "this has been asked for already"})
		return
	}
	m.begin(&transaction{Transaction: Transaction{Kind: kind, Request: msg}})
}

// emit passes a message to Outbound.
func (m *Machine) emit(msg proto.Message) { m.o.Outbound(m, msg, m.Send) }

// Send implements View.
func (m *Machine) Send(msg proto.Message) { m.out = append(m.out, msg) }

func (m *Machine) published() []proto.Message {
	out := m.out
	m.out = nil
	return slices.Clip(out)
}
