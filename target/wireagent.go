package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/protocol/externalagent"
)

// anyNonce stands for what makes one scenario's names differ from another's.
const anyNonce = "{nonce}"

// ExternalAgent is the wire of external-agent, where it differs from the default binding, and what a target of each role is
// tested with.
type ExternalAgent struct {
	WS WSWire `yaml:"ws"` // its path's default is /agent/ws

	// HostRole is what a host calls itself when it joins: what a relay expects of one. Default "host".
	HostRole string `yaml:"host-role"`

	// Session is the relay session that the harness joins; see SessionFor. Default "default".
	Session string `yaml:"session"`

	Start  StudyStart `yaml:"start"`
	Fields CodeFields `yaml:"fields"`

	// Booking is the way through the host's whole flow, made from a new session; empty: none is known. Default: that of the
	// bundled host.
	Booking []ToolCall `yaml:"booking"`

	Provoke Provocations `yaml:"provoke"`

	// Logs is the folder against which the logFile of session.ended is resolved, relative to the profile; {dir} and
	// {profile} are replaced. Default "": logs cannot be read. See LogKeeper.
	Logs string `yaml:"logs"`

	// Flow is the file of the scripted host that an agent or a relay meets, relative to the profile. Default "": the built-in
	// one. Profile.FlowFile resolves it.
	Flow string `yaml:"flow"`

	Agent AgentSide `yaml:"agent"`
}

// StudyStart is the payload of session.start. {nonce} may stand in it; see For.
type StudyStart struct {
	StudyID       string `yaml:"study-id"`       // default pilot-01
	ParticipantID string `yaml:"participant-id"` // default P07
}

// CodeFields is where the error codes are. Each is a JSON Pointer from the top of the message, or a bare name, which means
// the member of that name.
type CodeFields struct {
	ErrorCode  Pointer  `yaml:"error-code"`  // of an error; default /payload/code
	ResultCode Pointers `yaml:"result-code"` // of a tool.result that is not ok; default [/payload/code, /payload/error/code]
}

// Provocations are the ways to make a host give error codes that take a certain state.
type Provocations struct {
	NoActiveSpec Provocation `yaml:"no-active-spec"` // NO_ACTIVE_SPEC; default: the booking, then next
	ToolFailure  Provocation `yaml:"tool-failure"`   // TOOL_EXECUTION_FAILED; default: next
}

// Provocation are calls made from a new session, of which the last one must fail. In YAML they are a list, which may begin
// with {booking: true}. See CallsOf.
type Provocation struct {
	Booking bool       // they come after the whole booking
	Calls   []ToolCall // none: the code cannot be provoked
}

// AgentSide is what an agent is tested with.
type AgentSide struct {
	// Listen is the loopback address, host:port, where the harness listens for an agent that connects by itself. Default "":
	// a free port.
	Listen string `yaml:"listen"`

	Join Duration `yaml:"join"` // for it to connect and join, once it is started or its connection is lost; default 10s
	Pace Duration `yaml:"pace"` // for the next thing that it does; default 10s, as a language model takes its time
}

// ToolCall is one tool.call.
type ToolCall struct {
	Tool   string           `yaml:"tool"`
	Params map[string]Value `yaml:"params"`
}

// ParamsFor is the params of the call, with what comes from the uiSpec (a decoded JSON value) put in. An error names the param
// for which the uiSpec has nothing.
func (c ToolCall) ParamsFor(uiSpec any) (map[string]any, error) {
	params := make(map[string]any, len(c.Params))
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		value, missing, ok := resolve(c.Params[name].Of, uiSpec)
		if !ok {
			return nil, fmt.Errorf("param %s of %s: the uiSpec has nothing at %s", name, c.Tool, missing)
		}
		params[name] = value
	}
	return params, nil
}

// Value is the value of a param: any JSON value, in which each Pointer stands for what it points to in the latest uiSpec. In
// YAML a Pointer is written {pointer: /items/0/id}, as the whole value or within lists and mappings.
type Value struct{ Of any }

// Resolve is the value with what comes from the uiSpec (a decoded JSON value) put in, and whether that has all of it. Lists
// and mappings are copies, apart from those of the uiSpec.
func (v Value) Resolve(uiSpec any) (any, bool) {
	value, _, ok := resolve(v.Of, uiSpec)
	return value, ok
}

func resolve(of, uiSpec any) (value any, missing Pointer, ok bool) {
	switch of := of.(type) {
	case Pointer:
		value, ok = of.Get(uiSpec)
		return value, of, ok
	case []any:
		list := make([]any, len(of))
		for i := range of {
			if list[i], missing, ok = resolve(of[i], uiSpec); !ok {
				return nil, missing, false
			}
		}
		return list, "", true
	case map[string]any:
		m := make(map[string]any, len(of))
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if m[name], missing, ok = resolve(of[name], uiSpec); !ok {
				return nil, missing, false
			}
		}
		return m, "", true
	}
	return of, "", true
}

// SessionFor is the relay session of a scenario: Session with {nonce} replaced. Without {nonce} it is the same for all.
func (e ExternalAgent) SessionFor(nonce string) string {
	return strings.ReplaceAll(e.Session, anyNonce, nonce)
}

// For is the payload of a scenario: {nonce} is replaced.
func (s StudyStart) For(nonce string) StudyStart {
	return StudyStart{
		StudyID:       strings.ReplaceAll(s.StudyID, anyNonce, nonce),
		ParticipantID: strings.ReplaceAll(s.ParticipantID, anyNonce, nonce),
	}
}

// CallsOf lists all calls of a provocation, those of the booking included. Nil: it cannot be provoked.
func (e ExternalAgent) CallsOf(p Provocation) []ToolCall {
	switch {
	case len(p.Calls) == 0, p.Booking && len(e.Booking) == 0:
		return nil
	case p.Booking:
		return slices.Concat(e.Booking, p.Calls)
	}
	return slices.Clone(p.Calls)
}

// DefaultExternalAgent is the default binding of external-agent, with the way through the bundled host.
func DefaultExternalAgent() ExternalAgent {
	next := ToolCall{Tool: externalagent.Next}
	return ExternalAgent{
		WS:       WSWire{Path: externalagent.Path},
		HostRole: externalagent.HostRole,
		Session:  externalagent.DefaultSession,
		Start:    StudyStart{StudyID: "pilot-01", ParticipantID: "P07"},
		Fields: CodeFields{
			ErrorCode: "/payload/code", ResultCode: Pointers{"/payload/code", "/payload/error/code"},
		},
		Booking: defaultBooking(),
		Provoke: Provocations{
			NoActiveSpec: Provocation{Booking: true, Calls: []ToolCall{next}},
			ToolFailure:  Provocation{Calls: []ToolCall{next}},
		},
		Agent: AgentSide{Join: Duration{10 * time.Second}, Pace: Duration{10 * time.Second}},
	}
}

// defaultBooking takes the first item of every stage.
func defaultBooking() (calls []ToolCall) {
	first := Value{Pointer("/items/0/id")}
	for _, stage := range externalagent.Stages() {
		switch stage {
		case externalagent.ConfirmStage:
		case externalagent.TicketStage:
			calls = append(calls, ToolCall{externalagent.SetQuantity, map[string]Value{"itemId": first, "quantity": {uint64(1)}}})
		default:
			calls = append(calls, ToolCall{externalagent.Select, map[string]Value{"itemId": first}})
		}
		calls = append(calls, ToolCall{Tool: externalagent.Next})
	}
	return calls
}
