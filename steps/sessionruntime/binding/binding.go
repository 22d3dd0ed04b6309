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
// member of that name. Of several places the harness writes to those that the tag says, if the field is part of no
// payload, and reads from the first that has a value. The defaults are in the example; names are what servers call the
// fields (see probe.Names).
type RuntimeFields struct {
	ID        target.Pointer  `yaml:"id" names:"msgid messageid uid"`
	Session   target.Pointer  `yaml:"session"`
	Event     target.Pointer  `yaml:"event" names:"kind type eventtype messagetype op"`
	Subtype   target.Pointers `yaml:"subtype" names:"sub eventsubtype action name" written:"all"`
	Sender    target.Pointer  `yaml:"sender" names:"from source src origin"`
	Target    target.Pointer  `yaml:"target" names:"to dest destination recipient audience"`
	TargetID  target.Pointer  `yaml:"target-id"`
	Payload   target.Pointer  `yaml:"payload" names:"body data content" holds:"others"`
	Timestamp target.Pointer  `yaml:"timestamp" names:"ts time at createdat sentat"`
	Metadata  target.Pointer  `yaml:"metadata" names:"meta headers context ctx" holds:"others"`

	TraceID target.Pointers `yaml:"trace-id" names:"trace correlationid" written:"first"`
	TurnID  target.Pointers `yaml:"turn-id" names:"turn" written:"first"`
	TxID    target.Pointers `yaml:"tx-id" written:"first"`
	IsChunk target.Pointer  `yaml:"is-chunk"` // of AGENT_OUTPUT, as are the next two
	Seq     target.Pointer  `yaml:"seq"`
	Final   target.Pointer  `yaml:"final"`

	TargetAgent target.Pointers `yaml:"target-agent"` // the agent of an accepted turn or of a handover
	AgentID     target.Pointers `yaml:"agent-id"`     // the agent that is added or removed, in requests and in results

	Code    target.Pointers `yaml:"code"` // of an ERROR without a subtype, used as its subtype
	From    target.Pointers `yaml:"from"` // of SWITCH_AGENT, as are the next three
	To      target.Pointers `yaml:"to"`
	Reason  target.Pointers `yaml:"reason"`
	Trigger target.Pointers `yaml:"trigger"`

	Mention target.Pointers `yaml:"mention" written:"all"` // the agent of a USER_INPUT of subtype MENTION
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
