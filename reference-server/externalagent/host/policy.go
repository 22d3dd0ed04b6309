package host

import (
	proto "parley/protocol/externalagent"
)

// Policy makes a faulty host. Each function gets the correct decision as its last argument and returns the one to
// use; a nil function keeps the correct one. The functions are called with the host's lock held, one at a time, so
// they must not call methods of the Host. A policy belongs to one host.
type Policy struct {
	// Connected decides what to keep when a connection begins; again reports whether there was an earlier one (EA-076).
	Connected func(v View, again bool, keep Keep) Keep

	// Accept checks an envelope by itself; nil accepts it (EA-019 to EA-037).
	Accept func(v View, msg Message, why *Refusal) *Refusal

	// Ready decides whether an accepted envelope may be handled in the current state (EA-079, EA-082).
	Ready func(v View, msg Message, why *Refusal) *Refusal

	// Tools returns the tools to announce now (EA-095).
	Tools func(v View, tools []proto.Tool) []proto.Tool

	// Announced finds the called tool among the announced ones (EA-080, EA-096); nil refuses the call.
	Announced func(v View, announced []proto.Tool, name string, tool *proto.Tool) *proto.Tool

	// Params checks the params of a call against its tool (EA-071, EA-081).
	Params func(v View, tool proto.Tool, params map[string]any, why *Refusal) *Refusal

	// Execute executes a call by calling run, which returns nil or why it failed (EA-007, EA-083).
	Execute func(v View, c Call, run func() *Refusal) *Refusal

	// Result returns the payload of the tool.result of an executed call (EA-046 to EA-053).
	Result func(v View, c Call, payload map[string]any) map[string]any

	// Updates decides whether a state.updated follows an incoming message or a user.message (EA-051, EA-054).
	Updates func(v View, msg Message, follows bool) bool

	// State returns the state for a message (EA-043 to EA-045, EA-057 to EA-059, EA-073, EA-102). s may be changed in
	// place.
	State func(v View, in Part, s State) State

	// Refused returns the message that answers a refused request (EA-068 to EA-070, EA-104).
	Refused func(v View, request Message, msg Message) Message

	// Reset decides what to keep when a session ends. It is called before session.ended is sent (EA-011).
	Reset func(v View, keep Keep) Keep

	// Record returns the log lines for an event (EA-085 to EA-093).
	Record func(v View, e Entry) []Entry
}

// right changes no decision.
var right = Policy{
	Connected: func(_ View, _ bool, keep Keep) Keep { return keep },
	Accept:    func(_ View, _ Message, why *Refusal) *Refusal { return why },
	Ready:     func(_ View, _ Message, why *Refusal) *Refusal { return why },
	Announced: func(_ View, _ []proto.Tool, _ string, tool *proto.Tool) *proto.Tool { return tool },
	Params:    func(_ View, _ proto.Tool, _ map[string]any, why *Refusal) *Refusal { return why },
	Execute:   func(_ View, _ Call, run func() *Refusal) *Refusal { return run() },
	Result:    func(_ View, _ Call, payload map[string]any) map[string]any { return payload },
	Updates:   func(_ View, _ Message, follows bool) bool { return follows },
	State:     func(_ View, _ Part, s State) State { return s },
	Refused:   func(_ View, _, msg Message) Message { return msg },
	Reset:     func(_ View, keep Keep) Keep { return keep },
	Record:    func(_ View, e Entry) []Entry { return []Entry{e} },
}

// Refusal is why a message is refused: an error code and a text that says how to fix it.
type Refusal struct{ Code, Text string }

// Keep lists what survives an event.
type Keep struct {
	Session bool // the session continues, with its log
	Booking bool // the form and the choices
	History bool
}

// Part is a kind of message that carries a state.
type Part string

// The parts.
const (
	InSnapshot Part = "snapshot" // snapshot.state
	InUpdate   Part = "update"   // state.updated
)

// State is what an agent sees (EA-004 to EA-006).
type State struct {
	UISpec         any   // a proto.UISpec as map[string]any; nil while no form is shown
	MessageHistory []any // proto.ChatMessage values as map[string]any
	ToolSchema     []any // proto.Tool values as map[string]any
}

// Call is a tool.call.
type Call struct {
	Tool   string
	Params map[string]any // numbers are of type float64
}

// Entry is an event of the log, with the members of proto.LogEvent. It is a map, so that a mutant can change any
// member.
type Entry map[string]any

// View is a host's state, for policies and hooks. It is valid only during the call that receives it.
type View struct{ m *machine }

// Active reports whether a session has been started and has not ended.
func (v View) Active() bool { return v.m.id != "" }

// SessionID returns the id of the study session; "" if none is active.
func (v View) SessionID() string { return v.m.id }

// Shown returns the stage of the current form; "" if no form is shown.
func (v View) Shown() string { return v.m.booking.stageName() }

// Stage returns the stage of the form that is or was last shown.
func (v View) Stage() string { return v.m.stage }

// State returns the current state. It may be changed in place.
func (v View) State() State { return v.m.drawState().clone() }

// Sent returns the state as the last state.updated or snapshot.state carried it. It may be changed in place.
func (v View) Sent() State { return v.m.last.clone() }

// CopyBooking copies the form and the choices. The returned function writes them back; it may be called while a later
// View is valid.
func (v View) CopyBooking() (writeBack func()) {
	kept := v.m.booking.clone()
	return func() { *v.m.booking = kept.clone() }
}

// ToolsAt returns the tools of a stage.
func (v View) ToolsAt(stage string) []proto.Tool {
	return v.m.booking.toolsAt(stage, v.m.o.Limits.Text)
}

// Backend returns the backend data of a stage's items by id. It must not be sent (EA-102).
func (v View) Backend(stage string) map[string]any { return v.m.booking.backendData(stage) }

// Send sends a message and logs it, bypassing Outbound.
func (v View) Send(msg Message) { v.m.queueMessage(msg) }

// Write logs an event of the session, bypassing Policy.Record.
func (v View) Write(e Entry) { v.m.writeLog(e) }
