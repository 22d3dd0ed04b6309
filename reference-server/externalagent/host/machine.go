package host

import (
	"reflect"

	proto "parley/protocol/externalagent"
)

// machine is the host without its connection: messages go in, messages come out. It is used by one goroutine at a time.
type machine struct {
	o     Options
	store Store

	id      string // of the study session; "" while none is active
	journal journal
	booking *booking
	stage   string // the last that was shown in this session
	chat    chat
	told    State
	drawn   drawing

	arrived   []byte // what came over the wire, while it is handled
	connected bool
	out       [][]byte // what is to be sent once the step is done
}

func newMachine(o Options, store Store) *machine {
	m := &machine{o: o, store: store}
	m.reset(Keep{})
	return m
}

// reset forgets what is not kept. Before a session no form is shown.
func (m *machine) reset(keep Keep) {
	if !keep.Session {
		m.closeLog()
		m.id = ""
	}
	if !keep.Booking {
		m.booking = newBooking(m.o.Catalogue, m.o.Now())
		m.stage = ""
		if m.id == "" {
			m.booking.turnTo(noStage)
		} else {
			m.look()
		}
	}
	if !keep.History {
		m.chat = chat{}
	}
	if keep == (Keep{}) {
		m.told = State{}
	}
}

// look remembers the stage that is shown, for what is said once no form is.
func (m *machine) look() {
	if name := m.booking.name(); name != "" {
		m.stage = name
	}
}

// begin is told that a connection begins.
func (m *machine) begin(again bool) {
	m.connected = true
	m.reset(m.o.Policy.Connected(m, again))
}

// receive handles what came over the wire.
func (m *machine) receive(data []byte) {
	msg, refusal := decode(data, m.o.Limits.Message)
	m.arrived = data
	m.recordArrival(data)
	msgs := []Message{msg}
	if refusal != nil {
		msgs, refusal = m.o.Policy.Malformed(m, data, refusal)
	}
	if refusal != nil {
		m.emit(m.o.Policy.Refused(m, Message{}, *refusal))
	}
	for _, msg := range msgs {
		for _, msg := range m.o.Inbound(m, msg) {
			m.dispatch(msg)
		}
	}
	m.arrived = nil
	m.settle(msg)
}

// dispatch handles one message. What a relay says is not answered, so that no two parties answer each other for ever.
func (m *machine) dispatch(msg Message) {
	if kind := msg.Type(); kind == proto.ErrorMessage || kind == proto.RelayJoined {
		return
	}
	refusal := m.o.Policy.Accept(m, msg)
	if refusal == nil {
		refusal = m.o.Policy.Ready(m, msg)
	}
	if refusal == nil {
		refusal = m.handle(msg)
	}
	if refusal != nil {
		m.emit(m.o.Policy.Refused(m, msg, *refusal))
	}
}

func (m *machine) handle(msg Message) *Refusal {
	switch msg.Type() {
	case proto.SessionStart:
		return m.start(msg)
	case proto.SnapshotGet:
		m.snapshot(msg)
	case proto.ToolCall:
		return m.call(msg)
	case proto.AgentMessage:
		return m.agentSays(msg)
	case proto.SessionEnd:
		m.end(msg)
	}
	return nil
}

// start opens the log with the message that began it (EA-010, EA-031, EA-038).
func (m *machine) start(msg Message) *Refusal {
	m.abandon("another session began")
	log, err := m.store.Create(m.o.Now())
	if err != nil {
		m.o.Logger.Error("no session", "err", err)
		return &Refusal{proto.ToolExecutionFailed, "the study log can't be opened: a session that isn't logged can't begin"}
	}
	m.id, m.journal = log.ID(), journal{log: log}
	if m.booking.name() == "" { // else it was kept, which is wrong
		m.booking = newBooking(m.o.Catalogue, m.o.Now())
	}
	m.look()
	m.recordArrival(m.arrived)
	m.emit(Reply(msg, proto.SessionStarted, object{"sessionId": m.id}))
	m.update(msg)
	return nil
}

// snapshot answers with the whole state (EA-041 to EA-045).
func (m *machine) snapshot(msg Message) {
	payload := fields(m.o.Policy.State(m, InSnapshot))
	payload["sessionId"] = m.id
	m.told = m.draw()
	m.emit(Reply(msg, proto.SnapshotState, payload))
}

// update tells the state (EA-055 to EA-059). msg is what it follows.
func (m *machine) update(msg Message) {
	if !m.o.Policy.Updates(m, msg) {
		return
	}
	payload := fields(m.o.Policy.State(m, InUpdate))
	payload["source"] = proto.SourceHost
	m.told = m.draw()
	m.emit(NewMessage(proto.StateUpdated, payload))
}

func fields(s State) object {
	return object{"uiSpec": s.UISpec, "messageHistory": s.MessageHistory, "toolSchema": s.ToolSchema}
}

// end answers once the log is complete, for the answer is the last line of it (EA-010, EA-011, EA-063 to EA-067).
func (m *machine) end(msg Message) {
	m.internal(stateReset, object{"reason": msg.text("reason")})
	keep := m.o.Policy.Reset(m)
	name := study // of no log: only a faulty host comes here without one
	if m.journal.log != nil {
		name = m.journal.log.Name()
	}
	m.emit(Reply(msg, proto.SessionEnded, object{"sessionId": m.id, "logFile": m.o.LogName + name, "stateReset": true}))
	m.reset(keep)
}

// abandon ends the session that is active without being asked to. Its log says why.
func (m *machine) abandon(why string) {
	if m.id == "" {
		return
	}
	m.internal(sessionClosed, object{"reason": why})
	m.reset(Keep{})
}

// settle is the end of each step. A session that can't be logged, or no more, does not go on: the log is what a study is
// for (section 6).
func (m *machine) settle(request Message) {
	if m.journal.log != nil && m.journal.bytes > m.o.Limits.Log {
		m.abandon("the log is full")
	}
	if m.journal.failed == nil {
		return
	}
	m.o.Logger.Error("session ended", "err", m.journal.failed)
	m.reset(Keep{})
	m.journal.failed = nil
	m.out = nil
	if request != nil {
		m.emit(m.o.Policy.Refused(m, request, Refusal{proto.ToolExecutionFailed, "the study log can't be written: the session has ended"}))
	}
}

// emit hands a message to the connection, by way of Outbound.
func (m *machine) emit(msg Message) { m.o.Outbound(m, msg, m.Send) }

// Send implements View.
func (m *machine) Send(msg Message) {
	if !m.connected {
		return // who connects later asks for a snapshot (EA-076)
	}
	data, err := encode(msg)
	if err != nil {
		m.o.Logger.Error("message not encoded", "type", msg.Type(), "err", err)
		return
	}
	m.record(proto.Out, msg.Type(), msg["payload"])
	m.out = append(m.out, data)
}

// sent hands over what is to be sent.
func (m *machine) sent() [][]byte {
	out := m.out
	m.out = nil
	return out
}

var _ View = (*machine)(nil)

// Active implements View.
func (m *machine) Active() bool { return m.id != "" }

// SessionID implements View.
func (m *machine) SessionID() string { return m.id }

// Shown implements View.
func (m *machine) Shown() string { return m.booking.name() }

// Stage implements View.
func (m *machine) Stage() string { return m.stage }

// Told implements View.
func (m *machine) Told() State { return m.told.clone() }

// ToolsAt implements View.
func (m *machine) ToolsAt(stage string) []proto.Tool {
	return m.booking.toolsAt(stage, m.o.Limits.Text)
}

// Backend implements View.
func (m *machine) Backend(stage string) map[string]any { return m.booking.backend(stage) }

// State implements View.
func (m *machine) State() State { return m.draw().clone() }

// drawing is a state in its generic form, and what it was drawn of.
type drawing struct {
	booking *booking // nil once it has changed
	uiSpec  any
	stale   bool // tools and schema, as the booking has changed
	tools   []proto.Tool
	schema  []any
}

// draw is the state in its generic form. What has not changed is not drawn again, so the parts are not to be changed.
func (m *machine) draw() State {
	if m.drawn.booking != m.booking {
		m.drawn.booking, m.drawn.uiSpec, m.drawn.stale = m.booking, nil, true
		if spec := m.booking.uiSpec(); spec != nil {
			m.drawn.uiSpec = generic(spec)
		}
	}
	if _, correct := m.o.Policy.(Correct); m.drawn.stale || !correct { // the correct tools are those of the booking alone
		if tools := m.o.Policy.Tools(m); m.drawn.schema == nil || !reflect.DeepEqual(tools, m.drawn.tools) {
			m.drawn.tools, m.drawn.schema = tools, []any{}
			if len(tools) > 0 {
				m.drawn.schema, _ = generic(tools).([]any)
			}
		}
		m.drawn.stale = false
	}
	return State{UISpec: m.drawn.uiSpec, MessageHistory: m.chat.entries(), ToolSchema: m.drawn.schema}
}

func (s State) clone() State {
	history, _ := plain(s.MessageHistory).([]any)
	tools, _ := plain(s.ToolSchema).([]any)
	return State{UISpec: plain(s.UISpec), MessageHistory: history, ToolSchema: tools}
}
