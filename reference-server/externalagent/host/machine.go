package host

import (
	"reflect"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// machine is the host without its connection: messages go in, messages come out. It is used by one goroutine at a time.
type machine struct {
	o     Options
	store Store

	id      string // of the study session; "" while none is active
	journal journal
	booking *booking
	stage   string // last stage shown in this session
	chat    chat
	last    State // as last sent
	drawn   drawing

	arrived   []byte // the frame being handled
	connected bool
	out       [][]byte // sent at the end of the step
}

func newMachine(o Options, store Store) *machine {
	m := &machine{o: o, store: store}
	m.reset(Keep{})
	return m
}

// reset clears what keep does not retain. Before a session no form is shown.
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
		m.last = State{}
	}
}

// look remembers the current stage, for messages that are sent when no form is shown.
func (m *machine) look() {
	if name := m.booking.name(); name != "" {
		m.stage = name
	}
}

// begin handles a new connection. The session survives the previous one (EA-076).
func (m *machine) begin(again bool) {
	m.connected = true
	m.reset(m.o.Policy.Connected(View{m}, again, Keep{Session: true, Booking: true, History: true}))
}

// receive handles an incoming frame.
func (m *machine) receive(data []byte) {
	msg, refusal := decode(data, m.o.Limits.Message)
	m.arrived = data
	m.recordArrival(data)
	if refusal != nil {
		m.refuse(Message{}, *refusal)
	} else {
		for _, msg := range m.o.Inbound(View{m}, msg) {
			m.dispatch(msg)
		}
	}
	m.arrived = nil
	m.settle(msg)
}

// dispatch handles one message. It never answers relay messages, so that two parties can't answer each other forever.
func (m *machine) dispatch(msg Message) {
	if kind := msg.Type(); kind == proto.ErrorMessage || kind == proto.RelayJoined {
		return
	}
	refusal := m.o.Policy.Accept(View{m}, msg, accept(msg))
	if refusal == nil {
		refusal = m.o.Policy.Ready(View{m}, msg, m.ready(msg))
	}
	if refusal == nil {
		refusal = m.handle(msg)
	}
	if refusal != nil {
		m.refuse(msg, *refusal)
	}
}

// refuse answers a request with an error.
func (m *machine) refuse(request Message, r Refusal) {
	msg := wire.Reply(request, proto.ErrorMessage, object{"code": r.Code, "message": r.Text})
	m.emit(m.o.Policy.Refused(View{m}, request, msg))
}

// ready requires an active session, except for session.start, which requires that there is none; a tool.call also
// requires a form.
func (m *machine) ready(msg Message) *Refusal {
	active, kind := m.id != "", msg.Type()
	switch {
	case kind == proto.SessionStart && active:
		return &Refusal{proto.InvalidMessage, "a session is active: end it with session.end first"}
	case kind == proto.SessionStart:
		return nil
	case !active:
		return &Refusal{proto.SessionNotActive, "no session is active: send session.start first"}
	case kind == proto.ToolCall && m.booking.name() == "":
		return &Refusal{proto.NoActiveSpec, "the booking is done, no form is shown: end the session with session.end"}
	}
	return nil
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

// start begins a session and logs the message that started it (EA-010, EA-031, EA-038).
func (m *machine) start(msg Message) *Refusal {
	m.abandon("another session began")
	log, err := m.store.Create(m.o.Now())
	if err != nil {
		m.o.Logger.Error("no session", "err", err)
		return &Refusal{proto.ToolExecutionFailed, "the study log can't be opened: a session that isn't logged can't begin"}
	}
	m.id, m.journal = log.ID(), journal{log: log}
	if m.booking.name() == "" { // a faulty host may have kept the booking
		m.booking = newBooking(m.o.Catalogue, m.o.Now())
	}
	m.look()
	m.recordArrival(m.arrived)
	m.emit(wire.Reply(msg, proto.SessionStarted, object{"sessionId": m.id}))
	m.update(msg)
	return nil
}

// snapshot answers with the whole state (EA-041 to EA-045).
func (m *machine) snapshot(msg Message) {
	payload := m.state(InSnapshot)
	payload["sessionId"] = m.id
	m.last = m.draw()
	m.emit(wire.Reply(msg, proto.SnapshotState, payload))
}

// update sends the state (EA-055 to EA-059) after a message.
func (m *machine) update(msg Message) {
	if !m.o.Policy.Updates(View{m}, msg, true) {
		return
	}
	payload := m.state(InUpdate)
	payload["source"] = proto.SourceHost
	m.last = m.draw()
	m.emit(wire.New(proto.StateUpdated, payload))
}

func (m *machine) state(in Part) object {
	s := m.o.Policy.State(View{m}, in, m.draw().clone())
	return object{"uiSpec": s.UISpec, "messageHistory": s.MessageHistory, "toolSchema": s.ToolSchema}
}

// end replies before it closes the log, because the reply is the log's last line (EA-010, EA-011, EA-063 to EA-067).
func (m *machine) end(msg Message) {
	m.internal(stateReset, object{"reason": msg.PayloadText("reason")})
	keep := m.o.Policy.Reset(View{m}, Keep{})
	name := study // a faulty host may have no log
	if m.journal.log != nil {
		name = m.journal.log.Name()
	}
	m.emit(wire.Reply(msg, proto.SessionEnded, object{"sessionId": m.id, "logFile": m.o.LogName + name,
		"stateReset": true}))
	m.reset(keep)
}

// abandon ends the active session without a request. The log records the reason.
func (m *machine) abandon(why string) {
	if m.id == "" {
		return
	}
	m.internal(sessionClosed, object{"reason": why})
	m.reset(Keep{})
}

// settle ends each step. It ends a session that can't be logged: a study exists for its log (section 6).
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
		m.refuse(request, Refusal{proto.ToolExecutionFailed, "the study log can't be written: the session has ended"})
	}
}

// emit passes a message to the connection through Outbound.
func (m *machine) emit(msg Message) { m.o.Outbound(View{m}, msg, m.send) }

func (m *machine) send(msg Message) {
	if !m.connected {
		return // an agent that connects later asks for a snapshot (EA-076)
	}
	data := wire.Encode(msg)
	m.record(proto.Out, msg.Type(), msg["payload"])
	m.out = append(m.out, data)
}

// sent returns the queued messages and clears the queue.
func (m *machine) sent() [][]byte {
	out := m.out
	m.out = nil
	return out
}

// drawing caches a state in its generic form, with its source.
type drawing struct {
	booking *booking // nil once the booking has changed
	uiSpec  any
	stale   bool // the booking has changed, so tools and schema may have changed too
	tools   []proto.Tool
	schema  []any
}

// draw returns the state in its generic form. It rebuilds only the changed parts, so the caller must not modify them.
func (m *machine) draw() State {
	if m.drawn.booking != m.booking {
		m.drawn.booking, m.drawn.uiSpec, m.drawn.stale = m.booking, nil, true
		if spec := m.booking.uiSpec(); spec != nil {
			m.drawn.uiSpec = wire.Plain(spec)
		}
	}
	if hook := m.o.Policy.Tools; m.drawn.stale || hook != nil {
		if tools := m.tools(); m.drawn.schema == nil || !reflect.DeepEqual(tools, m.drawn.tools) {
			m.drawn.tools, m.drawn.schema = tools, []any{}
			if len(tools) > 0 {
				m.drawn.schema, _ = wire.Plain(tools).([]any)
			}
		}
		m.drawn.stale = false
	}
	return State{UISpec: m.drawn.uiSpec, MessageHistory: m.chat.entries(), ToolSchema: m.drawn.schema}
}

// tools returns the announced tools.
func (m *machine) tools() []proto.Tool {
	tools := m.booking.toolsAt(m.booking.name(), m.o.Limits.Text)
	if hook := m.o.Policy.Tools; hook != nil {
		tools = hook(View{m}, tools)
	}
	return tools
}

func (s State) clone() State {
	history, _ := plain(s.MessageHistory).([]any)
	tools, _ := plain(s.ToolSchema).([]any)
	return State{UISpec: plain(s.UISpec), MessageHistory: history, ToolSchema: tools}
}
