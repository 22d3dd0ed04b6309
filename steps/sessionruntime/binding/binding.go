// Package binding describes the session-runtime wire in a profile: the default binding and how a target may differ
// from it.
package binding

import (
	_ "embed"

	"parley/protocol/sessionruntime"
	"parley/target"
)

//go:embed example.yaml
var example string

var defaults = target.Defaults[Binding](example, sessionruntime.Protocol)

// Kind returns what a session-runtime profile may contain.
func Kind() target.Kind {
	return target.Kind{
		Protocol: sessionruntime.Protocol,
		Prefix:   "RT",
		Roles:    []string{target.Server},
		Drivers:  []string{target.WS, target.Stdio},
		Example:  example,
		Renames:  renames,
		Ignores: []string{"model", "tools", "provoke", "agents",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest", "hooks.restart",
			"hooks.user-says", "hooks.call"},
		About: "The bundled orchestrator of session-runtime is judged over ws; add --driver all for stdio.",
		Runs:  []string{"--protocol session-runtime --explore 200 --seed 1"},
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

// Of returns the wire of a session-runtime profile.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// Binding is the session-runtime wire where it differs from the default binding, plus what the harness may ask of the
// target. Over stdio one line stands for one ws frame.
type Binding struct {
	WS target.WSWire `yaml:"ws"` // its path's default is /bus/ws

	// Subscribes lists the bus targets whose messages reach the orchestrator: SYSTEM and optionally BROADCAST, by their
	// default names. Default both.
	Subscribes target.Names `yaml:"subscribes"`

	Limits RuntimeLimits `yaml:"limits"`

	// Fence reports whether the target answers the fence frame. Default true; without it the quiet window is used
	// instead.
	Fence bool `yaml:"fence"`

	// Agents are the ids of the agents in the set-up frame, three or more. Default agent-a, agent-b, agent-c.
	Agents target.Names `yaml:"agents"`

	Senders RuntimeSenders `yaml:"senders"`
	Fields  RuntimeFields  `yaml:"fields"`

	// This wire's names for the keys, which are default names. If several are listed, the harness sends the first.
	Events   map[string]target.Names `yaml:"events"`   // see EventOf
	Subtypes map[string]target.Names `yaml:"subtypes"` // see SubtypeOf; default CANCELED: [CANCELED, TURN_CANCELED]
	Targets  map[string]target.Names `yaml:"targets"`  // see TargetOf
}

// RuntimeLimits are the target's limits, after which an acknowledgement counts as missing.
type RuntimeLimits struct {
	InputAck  target.Duration `yaml:"input-ack"`  // default 60ms
	CancelAck target.Duration `yaml:"cancel-ack"` // default 60ms

	// Fixed says that the limits cannot be set: both values are the target's own. Default false: they are the shortest
	// limits that can be requested at set-up.
	Fixed bool `yaml:"fixed"`
}

// RuntimeSenders are the values of the sender field. An agent's is its id.
type RuntimeSenders struct {
	Frontend string `yaml:"frontend"` // default frontend
	Manager  string `yaml:"manager"`  // SessionManager; default session_manager
	Session  string `yaml:"session"`  // the target's own; default session
	Logger   string `yaml:"logger"`   // default logger
}

// RuntimeFields says where the fields are. Each is a JSON Pointer from the top of the frame, or a bare name for the
// member of that name. Of several places the harness writes to the first, unless noted otherwise, and reads from the
// first that has a value.
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

	// TargetAgent is the agent of an accepted turn or of a handover. Default [/payload/target_agent,
	// /payload/target_agent_id, /metadata/target_agent, /metadata/target_agent_id].
	TargetAgent target.Pointers `yaml:"target-agent"`

	// AgentID is the agent that is added or removed, in requests and in their results. Default [/payload/agent_id,
	// /payload/agent/agent_id, /payload/agent/id, /payload/agent_spec/agent_id, /payload/agent_spec/id,
	// /metadata/agent_id].
	AgentID target.Pointers `yaml:"agent-id"`

	Code    target.Pointers `yaml:"code"`    // of an ERROR without a subtype, used as its subtype; default [/payload/code]
	From    target.Pointers `yaml:"from"`    // of SWITCH_AGENT; default [/payload/from]
	To      target.Pointers `yaml:"to"`      // of SWITCH_AGENT; default [/payload/to]
	Reason  target.Pointers `yaml:"reason"`  // of SWITCH_AGENT; default [/payload/reason]
	Trigger target.Pointers `yaml:"trigger"` // of SWITCH_AGENT; default [/payload/trigger]

	// Mention is the agent of a USER_INPUT of subtype MENTION; all places are written. Default
	// [/metadata/mentioned_agent_id, /metadata/target_agent_id].
	Mention target.Pointers `yaml:"mention"`
}

// EventOf returns the default name of an event on this wire. A name unknown to the default binding is returned
// unchanged; a default name that this wire has renamed means nothing here and yields "".
func (b Binding) EventOf(wire string) string { return target.Original(b.Events, wire) }

// EventName returns this wire's name for an event of the default binding.
func (b Binding) EventName(name string) string { return target.Sent(b.Events, name) }

// SubtypeOf returns the default name of a subtype on this wire, by the rules of EventOf.
func (b Binding) SubtypeOf(wire string) string { return target.Original(b.Subtypes, wire) }

// SubtypeName returns this wire's name for a subtype of the default binding.
func (b Binding) SubtypeName(name string) string { return target.Sent(b.Subtypes, name) }

// TargetOf returns the default name of a target on this wire, by the rules of EventOf.
func (b Binding) TargetOf(wire string) string { return target.Original(b.Targets, wire) }

// TargetName returns this wire's name for a target of the default binding.
func (b Binding) TargetName(name string) string { return target.Sent(b.Targets, name) }

// Default returns the default binding of session-runtime.
func Default() Binding { return defaults() }
