package target

import (
	"time"

	"parley/protocol/sessionruntime"
)

// SessionRuntime is the wire of session-runtime, where it differs from the default binding, and what the harness may ask of
// the target. Over stdio a line is what a frame is over ws.
type SessionRuntime struct {
	WS WSWire `yaml:"ws"` // its path's default is /bus/ws

	// Subscribes are the targets whose messages the target's bus delivers to it: SYSTEM, and maybe BROADCAST, by the names of
	// the default binding. Default both.
	Subscribes Names `yaml:"subscribes"`

	Limits RuntimeLimits `yaml:"limits"`

	// Fence tells whether it answers the fence frame. Default true; without it the quiet window stands in.
	Fence bool `yaml:"fence"`

	// Agents are the ids of the agents that the set-up frame names, three or more. Default agent-a, agent-b, agent-c.
	Agents Names `yaml:"agents"`

	Senders RuntimeSenders `yaml:"senders"`
	Fields  RuntimeFields  `yaml:"fields"`

	// How this wire calls what the default binding calls by the keys. Of several names the harness sends the first.
	Events   map[string]Names `yaml:"events"`   // see EventOf
	Subtypes map[string]Names `yaml:"subtypes"` // see SubtypeOf; default CANCELED: [CANCELED, TURN_CANCELED]
	Targets  map[string]Names `yaml:"targets"`  // see TargetOf
}

// RuntimeLimits are the target's own, after which an acknowledgement counts as missing.
type RuntimeLimits struct {
	InputAck  Duration `yaml:"input-ack"`  // default 60ms
	CancelAck Duration `yaml:"cancel-ack"` // default 60ms

	// Fixed tells that the target cannot be told: both are what it goes by. Default false: they are the shortest that it can
	// be asked for at set-up.
	Fixed bool `yaml:"fixed"`
}

// RuntimeSenders is what stands in the sender field. An agent's is its id.
type RuntimeSenders struct {
	Frontend string `yaml:"frontend"` // default frontend
	Manager  string `yaml:"manager"`  // SessionManager; default session_manager
	Session  string `yaml:"session"`  // the target's own; default session
	Logger   string `yaml:"logger"`   // default logger
}

// RuntimeFields is where the fields are. Each is a JSON Pointer from the top of the frame, or a bare name, which means the
// member of that name. Of several places the harness writes to the first, unless it says otherwise, and reads from the first
// that has something.
type RuntimeFields struct {
	ID        Pointer  `yaml:"id"`        // default /id
	Session   Pointer  `yaml:"session"`   // default /session_id
	Event     Pointer  `yaml:"event"`     // default /event
	Subtype   Pointers `yaml:"subtype"`   // all of them are written; default [/subtype, /metadata/subtype]
	Sender    Pointer  `yaml:"sender"`    // default /sender
	Target    Pointer  `yaml:"target"`    // default /target
	TargetID  Pointer  `yaml:"target-id"` // default /target_id
	Payload   Pointer  `yaml:"payload"`   // default /payload
	Timestamp Pointer  `yaml:"timestamp"` // default /timestamp
	Metadata  Pointer  `yaml:"metadata"`  // default /metadata

	TraceID Pointers `yaml:"trace-id"` // default [/metadata/trace_id, /payload/trace_id]
	TurnID  Pointers `yaml:"turn-id"`  // default [/metadata/turn_id, /payload/turn_id]
	TxID    Pointers `yaml:"tx-id"`    // default [/metadata/tx_id, /payload/tx_id]
	IsChunk Pointer  `yaml:"is-chunk"` // of AGENT_OUTPUT; default /metadata/stream/is_chunk
	Seq     Pointer  `yaml:"seq"`      // of AGENT_OUTPUT; default /metadata/stream/seq
	Final   Pointer  `yaml:"final"`    // of AGENT_OUTPUT; default /metadata/stream/final

	// TargetAgent is the agent of a turn that is accepted, and of a handover. Default [/payload/target_agent,
	// /payload/target_agent_id, /metadata/target_agent, /metadata/target_agent_id].
	TargetAgent Pointers `yaml:"target-agent"`

	// AgentID is the agent that is added or removed, and in what is asked and told about it. Default [/payload/agent_id,
	// /payload/agent/agent_id, /payload/agent/id, /payload/agent_spec/agent_id, /payload/agent_spec/id, /metadata/agent_id].
	AgentID Pointers `yaml:"agent-id"`

	Code    Pointers `yaml:"code"`    // of an ERROR without a subtype, which it stands for; default [/payload/code]
	From    Pointers `yaml:"from"`    // of SWITCH_AGENT; default [/payload/from]
	To      Pointers `yaml:"to"`      // of SWITCH_AGENT; default [/payload/to]
	Reason  Pointers `yaml:"reason"`  // of SWITCH_AGENT; default [/payload/reason]
	Trigger Pointers `yaml:"trigger"` // of SWITCH_AGENT; default [/payload/trigger]

	// Mention is the agent of a USER_INPUT of subtype MENTION; all of them are written. Default
	// [/metadata/mentioned_agent_id, /metadata/target_agent_id].
	Mention Pointers `yaml:"mention"`
}

// EventOf is the default name of an event on this wire. A name that the default binding does not have is returned as it is;
// one that it has, but that this wire calls otherwise, means nothing here, and gives "".
func (s SessionRuntime) EventOf(wire string) string { return original(s.Events, wire, Names.has) }

// EventName is what an event of the default binding is called on this wire.
func (s SessionRuntime) EventName(name string) string { return first(s.Events, name) }

// SubtypeOf is the default name of a subtype on this wire, by the rules of EventOf.
func (s SessionRuntime) SubtypeOf(wire string) string { return original(s.Subtypes, wire, Names.has) }

// SubtypeName is what a subtype of the default binding is called on this wire.
func (s SessionRuntime) SubtypeName(name string) string { return first(s.Subtypes, name) }

// TargetOf is the default name of a target on this wire, by the rules of EventOf.
func (s SessionRuntime) TargetOf(wire string) string { return original(s.Targets, wire, Names.has) }

// TargetName is what a target of the default binding is called on this wire.
func (s SessionRuntime) TargetName(name string) string { return first(s.Targets, name) }

// first is the name that is sent, of those that a thing has.
func first(names map[string]Names, name string) string {
	if all := names[name]; len(all) > 0 {
		return all[0]
	}
	return name
}

// DefaultSessionRuntime is the default binding of session-runtime.
func DefaultSessionRuntime() SessionRuntime {
	soon := Duration{60 * time.Millisecond}
	return SessionRuntime{
		WS:         WSWire{Path: sessionruntime.Path},
		Subscribes: Names{sessionruntime.ToSystem, sessionruntime.ToBroadcast},
		Limits:     RuntimeLimits{InputAck: soon, CancelAck: soon},
		Fence:      true,
		Agents:     Names{"agent-a", "agent-b", "agent-c"},
		Senders: RuntimeSenders{
			Frontend: sessionruntime.FromFrontend, Manager: sessionruntime.FromManager,
			Session: sessionruntime.FromSession, Logger: sessionruntime.FromLogger,
		},
		Fields:   defaultRuntimeFields(),
		Subtypes: map[string]Names{sessionruntime.Canceled: {sessionruntime.Canceled, sessionruntime.TurnCanceled}},
	}
}

func defaultRuntimeFields() RuntimeFields {
	return RuntimeFields{
		ID: "/id", Session: "/session_id", Event: "/event", Subtype: Pointers{"/subtype", "/metadata/subtype"},
		Sender: "/sender", Target: "/target", TargetID: "/target_id", Payload: "/payload", Timestamp: "/timestamp",
		Metadata: "/metadata",
		TraceID:  Pointers{"/metadata/trace_id", "/payload/trace_id"},
		TurnID:   Pointers{"/metadata/turn_id", "/payload/turn_id"},
		TxID:     Pointers{"/metadata/tx_id", "/payload/tx_id"},
		IsChunk:  "/metadata/stream/is_chunk", Seq: "/metadata/stream/seq", Final: "/metadata/stream/final",
		TargetAgent: Pointers{
			"/payload/target_agent", "/payload/target_agent_id", "/metadata/target_agent", "/metadata/target_agent_id",
		},
		AgentID: Pointers{
			"/payload/agent_id", "/payload/agent/agent_id", "/payload/agent/id", "/payload/agent_spec/agent_id",
			"/payload/agent_spec/id", "/metadata/agent_id",
		},
		Code: Pointers{"/payload/code"}, From: Pointers{"/payload/from"}, To: Pointers{"/payload/to"},
		Reason: Pointers{"/payload/reason"}, Trigger: Pointers{"/payload/trigger"},
		Mention: Pointers{"/metadata/mentioned_agent_id", "/metadata/target_agent_id"},
	}
}
