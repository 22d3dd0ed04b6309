package host

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// Policy is what the protocol prescribes, one decision per method. Correct decides as the source does; a faulty host embeds
// it and decides one thing otherwise.
//
// All methods are called with the host's lock held, one at a time, so they may call no method of the Host. A policy belongs
// to one host.
type Policy interface {
	// Connected tells what is kept when a party's connection begins; again is whether there was one before (EA-076).
	Connected(v View, again bool) Keep

	// Malformed tells what is made of a text that is no JSON object, and why it is none: the messages to handle in its place,
	// or a refusal (EA-018, EA-078).
	Malformed(v View, data []byte, why *Refusal) ([]Message, *Refusal)

	// Accept judges an envelope by itself: nil accepts it (EA-019 to EA-037).
	Accept(v View, msg Message) *Refusal

	// Ready tells whether an envelope that has been accepted may be handled as things are (EA-079, EA-082).
	Ready(v View, msg Message) *Refusal

	// Tools are the tools that are announced now (EA-095).
	Tools(v View) []proto.Tool

	// Announced finds the tool of a call among those (EA-080, EA-096).
	Announced(v View, announced []proto.Tool, name string) (proto.Tool, *Refusal)

	// Params judges the params of a call by the tool that was found (EA-071, EA-081).
	Params(v View, tool proto.Tool, params map[string]any) *Refusal

	// Execute executes a call, by calling run, which tells whether it failed (EA-007, EA-083).
	Execute(v View, c Call, run func() *Refusal) *Refusal

	// Result is the payload of the tool.result of a call that was executed (EA-046 to EA-053).
	Result(v View, c Call) map[string]any

	// Updates tells whether a state.updated follows what was done about a message, one that came in or a user.message that
	// is sent (EA-051, EA-054).
	Updates(v View, msg Message) bool

	// State is the state that a message has (EA-043 to EA-045, EA-057 to EA-059, EA-073, EA-102).
	State(v View, in Part) State

	// Refused is the message that answers a request that was refused (EA-068 to EA-070, EA-104).
	Refused(v View, request Message, r Refusal) Message

	// Reset tells what is kept when a session ends. It is asked before session.ended is sent (EA-011).
	Reset(v View) Keep

	// Record tells what is logged in place of an event, line by line (EA-085 to EA-093).
	Record(v View, e Entry) []Entry
}

// Refusal is why a message is not acted on: an error code, and a text that names the mend.
type Refusal struct{ Code, Text string }

// Keep is what outlives an event.
type Keep struct {
	Session bool // which goes on, with its log
	Booking bool // the form, and what was chosen
	History bool
}

// Part is where a state is told.
type Part string

// The parts.
const (
	InSnapshot Part = "snapshot" // snapshot.state
	InUpdate   Part = "update"   // state.updated
	InResult   Part = "result"   // tool.result, uiSpec only
)

// State is what an agent can read (EA-004 to EA-006). It may be changed in place.
type State struct {
	UISpec         any   // a proto.UISpec as map[string]any; nil while no form is shown
	MessageHistory []any // of proto.ChatMessage, as map[string]any
	ToolSchema     []any // of proto.Tool, as map[string]any
}

// Call is a tool.call.
type Call struct {
	Tool   string
	Params map[string]any // numbers are of type float64
}

// Entry is an event of the log, with the members of proto.LogEvent. A map, so that a faulty host can get every member wrong.
type Entry map[string]any

// View is a host's state. It is valid only during the call that it is handed to.
type View interface {
	Active() bool      // a session has been started and has not ended
	SessionID() string // the study session; "" if none is active
	Shown() string     // the stage whose form is shown; "" if none is
	Stage() string     // the same, but of the last form that was shown while none is

	State() State                        // as it is now
	Told() State                         // as it was when it was last told in a state.updated or a snapshot.state
	ToolsAt(stage string) []proto.Tool   // those of a stage, for the items that it has as things are
	Backend(stage string) map[string]any // what the house knows of its items, by id; nobody may be told (EA-102)

	// Send puts a message on the connection, past Outbound, and into the log. Correct never does.
	Send(msg Message)

	// Write puts an event into the log of the session, past Record. Correct never does.
	Write(e Entry)
}

// Correct is the policy of the source.
type Correct struct{}

var _ Policy = Correct{}

// Connected keeps everything: a session outlives its connection (EA-076).
func (Correct) Connected(View, bool) Keep { return Keep{Session: true, Booking: true, History: true} }

// Malformed is refused.
func (Correct) Malformed(_ View, _ []byte, why *Refusal) ([]Message, *Refusal) { return nil, why }

// Ready asks for a session, but for session.start, which asks that there be none; and for a form of a tool.call.
func (Correct) Ready(v View, msg Message) *Refusal {
	switch {
	case msg.Type() == proto.SessionStart && v.Active():
		return &Refusal{proto.InvalidMessage, "a session is active: end it with session.end first"}
	case msg.Type() == proto.SessionStart:
		return nil
	case !v.Active():
		return &Refusal{proto.SessionNotActive, "no session is active: send session.start first"}
	case msg.Type() == proto.ToolCall && v.Shown() == "":
		return &Refusal{proto.NoActiveSpec, "the booking is done, no form is shown: end the session with session.end"}
	}
	return nil
}

// Tools are those of the stage that is shown.
func (Correct) Tools(v View) []proto.Tool { return v.ToolsAt(v.Shown()) }

// Announced finds a tool by its name.
func (Correct) Announced(_ View, announced []proto.Tool, name string) (proto.Tool, *Refusal) {
	for _, tool := range announced {
		if tool.Name == name {
			return tool, nil
		}
	}
	return proto.Tool{}, &Refusal{proto.UnknownTool, fmt.Sprintf("toolSchema announces no tool %.80q at this stage", name)}
}

// Execute executes.
func (Correct) Execute(_ View, _ Call, run func() *Refusal) *Refusal { return run() }

// Result has the form at once, for tools that change no more than the form that is shown.
func (Correct) Result(v View, c Call) map[string]any {
	payload := map[string]any{"ok": true, "toolName": c.Tool}
	switch c.Tool {
	case proto.Select, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight:
		payload["uiSpec"] = v.State().UISpec
	}
	return payload
}

// Updates tells of every change.
func (Correct) Updates(View, Message) bool { return true }

// State is what it is, wherever it is told.
func (Correct) State(v View, _ Part) State { return v.State() }

// Refused is an error.
func (Correct) Refused(_ View, request Message, r Refusal) Message {
	return Reply(request, proto.ErrorMessage, map[string]any{"code": r.Code, "message": r.Text})
}

// Reset keeps nothing.
func (Correct) Reset(View) Keep { return Keep{} }

// Record logs the event as it is.
func (Correct) Record(_ View, e Entry) []Entry { return []Entry{e} }
