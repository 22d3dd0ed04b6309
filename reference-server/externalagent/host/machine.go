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
	m.resetState(Keep{})
	return m
}

// resetState clears what keep does not retain. Before a session no form is shown.
func (m *machine) resetState(keep Keep) {
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
			m.rememberStage()
		}
	}
	if !keep.History {
		m.chat = chat{}
	}
	if keep == (Keep{}) {
		m.last = State{}
	}
}

// rememberStage remembers the current stage, for messages that are sent when no form is shown.
func (m *machine) rememberStage() {
	if name := m.booking.stageName(); name != "" {
		m.stage = name
	}
}

// beginConnection handles a new connection. The session survives the previous one (EA-076).
func (m *machine) beginConnection(again bool) {
	m.connected = true
	m.resetState(m.o.Policy.Connected(View{m}, again, Keep{Session: true, Booking: true, History: true}))
}

// receiveFrame handles an incoming frame.
func (m *machine) receiveFrame(data []byte) {
	msg, refusal := decodeEnvelope(data, m.o.Limits.Message)
	m.arrived = data
	m.recordArrival(data)
	if refusal != nil {
		m.refuseRequest(Message{}, *refusal)
	} else {
		for _, msg := range m.o.Inbound(View{m}, msg) {
			m.dispatchMessage(msg)
		}
	}
	m.arrived = nil
	m.endStep(msg)
}

// dispatchMessage handles one message. It never answers relay messages, so that two parties can't answer each other
// forever.
func (m *machine) dispatchMessage(msg Message) {
	if kind := msg.Type(); kind == proto.ErrorMessage || kind == proto.RelayJoined {
		return
	}
	refusal := m.o.Policy.Accept(View{m}, msg, checkEnvelope(msg))
	if refusal == nil {
		refusal = m.o.Policy.Ready(View{m}, msg, m.requireSession(msg))
	}
	if refusal == nil {
		refusal = m.handleMessage(msg)
	}
	if refusal != nil {
		m.refuseRequest(msg, *refusal)
	}
}

// refuseRequest answers a request with an error.
func (m *machine) refuseRequest(request Message, r Refusal) {
	msg := wire.Reply(request, proto.ErrorMessage, object{"code": r.Code, "message": r.Text})
	m.emitMessage(m.o.Policy.Refused(View{m}, request, msg))
}

// requireSession requires an active session, except for session.start, which requires that there is none; a tool.call
// also requires a form.
func (m *machine) requireSession(msg Message) *Refusal {
	active, kind := m.id != "", msg.Type()
	switch {
	case kind == proto.SessionStart && active:
		return &Refusal{proto.InvalidMessage, "a session is active: end it with session.end first"}
	case kind == proto.SessionStart:
		return nil
	case !active:
		return &Refusal{proto.SessionNotActive, "no session is active: send session.start first"}
	case kind == proto.ToolCall && m.booking.stageName() == "":
		return &Refusal{proto.NoActiveSpec, "the booking is done, no form is shown: end the session with session.end"}
	}
	return nil
}

func (m *machine) handleMessage(msg Message) *Refusal {
	switch msg.Type() {
	case proto.SessionStart:
		return m.startSession(msg)
	case proto.SnapshotGet:
		m.sendSnapshot(msg)
	case proto.ToolCall:
		return m.handleToolCall(msg)
	case proto.AgentMessage:
		return m.agentSays(msg)
	case proto.SessionEnd:
		m.endSession(msg)
	}
	return nil
}

// startSession begins a session and logs the message that started it (EA-010, EA-031, EA-038).
func (m *machine) startSession(msg Message) *Refusal {
	m.abandonSession("another session began")
	log, err := m.store.Create(m.o.Now())
	if err != nil {
		m.o.Logger.Error("no session", "err", err)
		return &Refusal{proto.ToolExecutionFailed, "the study log can't be opened: a session that isn't logged can't begin"}
	}
	m.id, m.journal = log.ID(), journal{log: log}
	if m.booking.stageName() == "" { // a faulty host may have kept the booking
		m.booking = newBooking(m.o.Catalogue, m.o.Now())
	}
	m.rememberStage()
	m.recordArrival(m.arrived)
	m.emitMessage(wire.Reply(msg, proto.SessionStarted, object{"sessionId": m.id}))
	m.sendUpdate(msg)
	return nil
}

// sendSnapshot answers with the whole state (EA-041 to EA-045).
func (m *machine) sendSnapshot(msg Message) {
	payload := m.currentState(InSnapshot)
	payload["sessionId"] = m.id
	m.last = m.drawState()
	m.emitMessage(wire.Reply(msg, proto.SnapshotState, payload))
}

// sendUpdate sends the state (EA-055 to EA-059) after a message.
func (m *machine) sendUpdate(msg Message) {
	if !m.o.Policy.Updates(View{m}, msg, true) {
		return
	}
	payload := m.currentState(InUpdate)
	payload["source"] = proto.SourceHost
	m.last = m.drawState()
	m.emitMessage(wire.New(proto.StateUpdated, payload))
}

func (m *machine) currentState(in Part) object {
	s := m.o.Policy.State(View{m}, in, m.drawState().clone())
	return object{"uiSpec": s.UISpec, "messageHistory": s.MessageHistory, "toolSchema": s.ToolSchema}
}

// endSession replies before it closes the log, because the reply is the log's last line (EA-010, EA-011, EA-063 to
// EA-067).
func (m *machine) endSession(msg Message) {
	m.internalError(stateReset, object{"reason": msg.PayloadText("reason")})
	keep := m.o.Policy.Reset(View{m}, Keep{})
	name := study // a faulty host may have no log
	if m.journal.log != nil {
		name = m.journal.log.Name()
	}
	m.emitMessage(wire.Reply(msg, proto.SessionEnded, object{"sessionId": m.id, "logFile": m.o.LogName + name,
		"stateReset": true}))
	m.resetState(keep)
}

// abandonSession ends the active session without a request. The log records the reason.
func (m *machine) abandonSession(why string) {
	if m.id == "" {
		return
	}
	m.internalError(sessionClosed, object{"reason": why})
	m.resetState(Keep{})
}

// endStep ends each step. It ends a session that can't be logged: a study exists for its log (section 6).
func (m *machine) endStep(request Message) {
	if m.journal.log != nil && m.journal.bytes > m.o.Limits.Log {
		m.abandonSession("the log is full")
	}
	if m.journal.failed == nil {
		return
	}
	m.o.Logger.Error("session ended", "err", m.journal.failed)
	m.resetState(Keep{})
	m.journal.failed = nil
	m.out = nil
	if request != nil {
		m.refuseRequest(request,
			Refusal{proto.ToolExecutionFailed, "the study log can't be written: the session has ended"})
	}
}

// emitMessage passes a message to the connection through Outbound.
func (m *machine) emitMessage(msg Message) { m.o.Outbound(View{m}, msg, m.queueMessage) }

func (m *machine) queueMessage(msg Message) {
	if !m.connected {
		return // an agent that connects later asks for a snapshot (EA-076)
	}
	data := wire.Encode(msg)
	m.logEvent(proto.Out, msg.Type(), msg["payload"])
	m.out = append(m.out, data)
}

// takeQueued returns the queued messages and clears the queue.
func (m *machine) takeQueued() [][]byte {
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

// drawState returns the state in its generic form. It rebuilds only the changed parts, so the caller must not modify
// them.
func (m *machine) drawState() State {
	if m.drawn.booking != m.booking {
		m.drawn.booking, m.drawn.uiSpec, m.drawn.stale = m.booking, nil, true
		if spec := m.booking.uiSpec(); spec != nil {
			m.drawn.uiSpec = wire.Plain(spec)
		}
	}
	if hook := m.o.Policy.Tools; m.drawn.stale || hook != nil {
		if tools := m.announcedTools(); m.drawn.schema == nil || !reflect.DeepEqual(tools, m.drawn.tools) {
			m.drawn.tools, m.drawn.schema = tools, []any{}
			if len(tools) > 0 {
				m.drawn.schema, _ = wire.Plain(tools).([]any)
			}
		}
		m.drawn.stale = false
	}
	return State{UISpec: m.drawn.uiSpec, MessageHistory: m.chat.entries(), ToolSchema: m.drawn.schema}
}

// announcedTools returns the announced tools.
func (m *machine) announcedTools() []proto.Tool {
	tools := m.booking.toolsAt(m.booking.stageName(), m.o.Limits.Text)
	if hook := m.o.Policy.Tools; hook != nil {
		tools = hook(View{m}, tools)
	}
	return tools
}

func (s State) clone() State {
	history, _ := plainNumbers(s.MessageHistory).([]any)
	tools, _ := plainNumbers(s.ToolSchema).([]any)
	return State{UISpec: plainNumbers(s.UISpec), MessageHistory: history, ToolSchema: tools}
}
