// Package binding is the wire of session-runtime in a profile: what the default binding is, and where a target differs
// from it.
package binding

import (
	_ "embed"
	"time"

	"parley/protocol/sessionruntime"
	"parley/target"
)

//go:embed example.yaml
var example string

// Kind is what a profile of session-runtime may say.
func Kind() target.Kind {
	return target.Kind{
		Protocol: sessionruntime.Protocol,
		Prefix:   "RT",
		Roles:    []string{target.Server},
		Drivers:  []string{target.WS, target.Stdio},
		Example:  example,
		Ignores:  []string{"model", "tools", "provoke", "agents", "hooks"},
		About:    "The bundled orchestrator of session-runtime is judged over ws; add --driver all for stdio.",
		Runs:     []string{"--protocol session-runtime --explore 200 --seed 1"},
		Sections: func() []target.Section {
			b := Default()
			return []target.Section{{Key: sessionruntime.Protocol, Value: &b}}
		},
		Check:  check,
		Locate: func(p *target.Profile) { p.SplitSocket(&Of(p).WS) },
		Reach: func(p *target.Profile) target.Reach {
			return target.Reach{Paths: map[string]string{target.WS: Of(p).WS.Path}}
		},
	}
}

// Of is the wire of a profile of session-runtime.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// Binding is the wire of session-runtime, where it differs from the default binding, and what the harness may ask of
// the target. Over stdio a line is what a frame is over ws.
type Binding struct {
	WS target.WSWire `yaml:"ws"` // its path's default is /bus/ws

	// Subscribes are the targets whose messages the target's bus delivers to it: SYSTEM, and maybe BROADCAST, by the names
	// of the default binding. Default both.
	Subscribes target.Names `yaml:"subscribes"`

	Limits RuntimeLimits `yaml:"limits"`

	// Fence reports whether it answers the fence frame. Default true; without it the quiet window stands in.
	Fence bool `yaml:"fence"`

	// Agents are the ids of the agents that the set-up frame names, three or more. Default agent-a, agent-b, agent-c.
	Agents target.Names `yaml:"agents"`

	Senders RuntimeSenders `yaml:"senders"`
	Fields  RuntimeFields  `yaml:"fields"`

	// How this wire calls what the default binding calls by the keys. Of several names the harness sends the first.
	Events   map[string]target.Names `yaml:"events"`   // see EventOf
	Subtypes map[string]target.Names `yaml:"subtypes"` // see SubtypeOf; default CANCELED: [CANCELED, TURN_CANCELED]
	Targets  map[string]target.Names `yaml:"targets"`  // see TargetOf
}

// RuntimeLimits are the target's own, after which an acknowledgement counts as missing.
type RuntimeLimits struct {
	InputAck  target.Duration `yaml:"input-ack"`  // default 60ms
	CancelAck target.Duration `yaml:"cancel-ack"` // default 60ms

	// Fixed tells that the target cannot be told: both are what it goes by. Default false: they are the shortest that it
	// can be asked for at set-up.
	Fixed bool `yaml:"fixed"`
}

// RuntimeSenders is what stands in the sender field. An agent's is its id.
type RuntimeSenders struct {
	Frontend string `yaml:"frontend"` // default frontend
	Manager  string `yaml:"manager"`  // SessionManager; default session_manager
	Session  string `yaml:"session"`  // the target's own; default session
	Logger   string `yaml:"logger"`   // default logger
}

// RuntimeFields is where the fields are. Each is a JSON Pointer from the top of the frame, or a bare name, which means
// the member of that name. Of several places the harness writes to the first, unless it says otherwise, and reads from
// the first that has something.
type RuntimeFields struct {
	ID        target.Pointer  `yaml:"id"`        // default /id
	Session   target.Pointer  `yaml:"session"`   // default /session_id
	Event     target.Pointer  `yaml:"event"`     // default /event
	Subtype   target.Pointers `yaml:"subtype"`   // all of them are written; default [/subtype, /metadata/subtype]
	Sender    target.Pointer  `yaml:"sender"`    // default /sender
	Target    target.Pointer  `yaml:"target"`    // default /target
	TargetID  target.Pointer  `yaml:"target-id"` // default /target_id
	Payload   target.Pointer  `yaml:"payload"`   // default /payload
	Timestamp target.Pointer  `yaml:"timestamp"` // default /timestamp
	Metadata  target.Pointer  `yaml:"metadata"`  // default /metadata

	TraceID target.Pointers `yaml:"trace-id"` // default [/metadata/trace_id, /payload/trace_id]
	TurnID  target.Pointers `yaml:"turn-id"`  // default [/metadata/turn_id, /payload/turn_id]
	TxID    target.Pointers `yaml:"tx-id"`    // default [/metadata/tx_id, /payload/tx_id]
	IsChunk target.Pointer  `yaml:"is-chunk"` // of AGENT_OUTPUT; default /metadata/stream/is_chunk
	Seq     target.Pointer  `yaml:"seq"`      // of AGENT_OUTPUT; default /metadata/stream/seq
	Final   target.Pointer  `yaml:"final"`    // of AGENT_OUTPUT; default /metadata/stream/final

	// TargetAgent is the agent of a turn that is accepted, and of a handover. Default [/payload/target_agent,
	// /payload/target_agent_id, /metadata/target_agent, /metadata/target_agent_id].
	TargetAgent target.Pointers `yaml:"target-agent"`

	// AgentID is the agent that is added or removed, and in what is asked and told about it. Default [/payload/agent_id,
	// /payload/agent/agent_id, /payload/agent/id, /payload/agent_spec/agent_id, /payload/agent_spec/id,
	// /metadata/agent_id].
	AgentID target.Pointers `yaml:"agent-id"`

	Code    target.Pointers `yaml:"code"`    // of an ERROR without a subtype, which it stands for; default [/payload/code]
	From    target.Pointers `yaml:"from"`    // of SWITCH_AGENT; default [/payload/from]
	To      target.Pointers `yaml:"to"`      // of SWITCH_AGENT; default [/payload/to]
	Reason  target.Pointers `yaml:"reason"`  // of SWITCH_AGENT; default [/payload/reason]
	Trigger target.Pointers `yaml:"trigger"` // of SWITCH_AGENT; default [/payload/trigger]

	// Mention is the agent of a USER_INPUT of subtype MENTION; all of them are written. Default
	// [/metadata/mentioned_agent_id, /metadata/target_agent_id].
	Mention target.Pointers `yaml:"mention"`
}

// EventOf is the default name of an event on this wire. A name that the default binding does not have is returned as it
// is; one that it has, but that this wire calls otherwise, means nothing here, and gives "".
func (b Binding) EventOf(wire string) string { return target.Original(b.Events, wire) }

// EventName is what an event of the default binding is called on this wire.
func (b Binding) EventName(name string) string { return target.Sent(b.Events, name) }

// SubtypeOf is the default name of a subtype on this wire, by the rules of EventOf.
func (b Binding) SubtypeOf(wire string) string { return target.Original(b.Subtypes, wire) }

// SubtypeName is what a subtype of the default binding is called on this wire.
func (b Binding) SubtypeName(name string) string { return target.Sent(b.Subtypes, name) }

// TargetOf is the default name of a target on this wire, by the rules of EventOf.
func (b Binding) TargetOf(wire string) string { return target.Original(b.Targets, wire) }

// TargetName is what a target of the default binding is called on this wire.
func (b Binding) TargetName(name string) string { return target.Sent(b.Targets, name) }

// Default is the default binding of session-runtime.
func Default() Binding {
	soon := target.Duration{Duration: 60 * time.Millisecond}
	return Binding{
		WS:         target.WSWire{Path: sessionruntime.Path},
		Subscribes: target.Names{sessionruntime.ToSystem, sessionruntime.ToBroadcast},
		Limits:     RuntimeLimits{InputAck: soon, CancelAck: soon},
		Fence:      true,
		Agents:     target.Names{"agent-a", "agent-b", "agent-c"},
		Senders: RuntimeSenders{
			Frontend: sessionruntime.FromFrontend, Manager: sessionruntime.FromManager,
			Session: sessionruntime.FromSession, Logger: sessionruntime.FromLogger,
		},
		Fields:   defaultRuntimeFields(),
		Subtypes: map[string]target.Names{sessionruntime.Canceled: {sessionruntime.Canceled, sessionruntime.TurnCanceled}},
	}
}

func defaultRuntimeFields() RuntimeFields {
	return RuntimeFields{
		ID: "/id", Session: "/session_id", Event: "/event", Subtype: target.Pointers{"/subtype", "/metadata/subtype"},
		Sender: "/sender", Target: "/target", TargetID: "/target_id", Payload: "/payload", Timestamp: "/timestamp",
		Metadata: "/metadata",
		TraceID:  target.Pointers{"/metadata/trace_id", "/payload/trace_id"},
		TurnID:   target.Pointers{"/metadata/turn_id", "/payload/turn_id"},
		TxID:     target.Pointers{"/metadata/tx_id", "/payload/tx_id"},
		IsChunk:  "/metadata/stream/is_chunk", Seq: "/metadata/stream/seq", Final: "/metadata/stream/final",
		TargetAgent: target.Pointers{
			"/payload/target_agent", "/payload/target_agent_id", "/metadata/target_agent", "/metadata/target_agent_id",
		},
		AgentID: target.Pointers{
			"/payload/agent_id", "/payload/agent/agent_id", "/payload/agent/id", "/payload/agent_spec/agent_id",
			"/payload/agent_spec/id", "/metadata/agent_id",
		},
		Code: target.Pointers{"/payload/code"}, From: target.Pointers{"/payload/from"}, To: target.Pointers{"/payload/to"},
		Reason: target.Pointers{"/payload/reason"}, Trigger: target.Pointers{"/payload/trigger"},
		Mention: target.Pointers{"/metadata/mentioned_agent_id", "/metadata/target_agent_id"},
	}
}
