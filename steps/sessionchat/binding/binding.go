// Package binding is the session-chat section of a profile: the default binding, and how a target differs from it.
package binding

import (
	_ "embed"

	"parley/protocol/sessionchat"
	"parley/target"
)

//go:embed example.yaml
var example string

var defaults = target.Defaults[Binding](example, sessionchat.Protocol)

// OptionsModel is the optional capability to use the model named in a chat's options.
const OptionsModel = "options-model"

// Kind describes profiles of session-chat.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     sessionchat.Protocol,
		Prefix:       "SC",
		Roles:        []string{target.Server},
		Drivers:      []string{target.WS},
		Capabilities: []string{OptionsModel},
		Example:      example,
		Renames:      renames,
		Ignores: []string{"tools", "agents", "provoke.pending_confirmation", "provoke.pending_question",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest", "hooks.user-says",
			"hooks.call"},
		Runs: []string{"--protocol session-chat", "--target http://localhost:3000 --protocol session-chat"},
		Sections: func() []target.Section {
			b := Default()
			return []target.Section{{Key: sessionchat.Protocol, Value: &b}}
		},
		Check:  check,
		Locate: func(p *target.Profile) { p.SplitSocket(&Of(p).WS) },
		Reach: func(p *target.Profile) target.Reach {
			return target.Reach{Paths: map[string]string{target.WS: Of(p).WS.Path}}
		},
	}
}

// Of returns the session-chat section of a profile.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// Binding is the wire of session-chat, as far as it differs from the default binding.
type Binding struct {
	WS target.WSWire `yaml:"ws"` // the default path is /chat/ws

	// Idle is the time after which the target removes an inactive session from memory. Default 0: unknown.
	Idle target.Duration `yaml:"idle"`

	Fields ChatFields `yaml:"fields"`

	// The names on this wire, by their default binding names.
	Types    map[string]target.Names `yaml:"types"`    // message_type; see TypeOf
	Outcomes map[string]target.Names `yaml:"outcomes"` // subtype of a result; see OutcomeOf
	Messages map[string]string       `yaml:"messages"` // client messages; see MessageName
}

// ChatFields are the locations of fields. Each is a JSON Pointer from the top of the message, or a bare name, which
// stands for the top-level member. What each is, and its default, is in the example; names are what servers call it
// (see probe.Names).
type ChatFields struct {
	Message ChatMessageFields `yaml:"message"`
	Request ChatRequestFields `yaml:"request"`
}

// ChatMessageFields are in server messages.
type ChatMessageFields struct {
	// Type is the location of the type. The first is that of messages of a session; the others are alternatives for
	// messages of no session, such as errors and pongs.
	Type      target.Pointers `yaml:"type" names:"messagetype type event eventtype kind msgtype op"`
	AgentID   target.Pointer  `yaml:"agent-id"`
	SessionID target.Pointer  `yaml:"session-id" names:"conversationid threadid chatid sid session conversation"`
	// Body may be "", the whole message, for a wire without bodies.
	Body      target.Pointer `yaml:"body" names:"message body data payload" whole:"yes"`
	Timestamp target.Pointer `yaml:"timestamp" names:"time ts createdat at"`
	Subtype   target.Pointer `yaml:"subtype" names:"outcome state status stopreason finishreason reason"`
	Code      target.Pointer `yaml:"code" names:"errorcode"`
	Text      target.Pointer `yaml:"text" names:"delta chunk token content"`
}

// ChatRequestFields are in client messages.
type ChatRequestFields struct {
	Type    target.Pointer `yaml:"type"`
	AgentID target.Pointer `yaml:"agent-id"`
	Content target.Pointer `yaml:"content"`
	Options target.Pointer `yaml:"options"`
	Model   target.Pointer `yaml:"model"`
}

// TypeOf returns the default binding name of a message_type on this wire. A name unknown to the default binding is
// returned unchanged. A default binding name that this wire has renamed means nothing here and yields "".
func (b Binding) TypeOf(wire string) string { return target.Original(b.Types, wire) }

// OutcomeOf returns the default binding name of a turn's outcome, the subtype of a result, by the rules of TypeOf.
func (b Binding) OutcomeOf(wire string) string { return target.Original(b.Outcomes, wire) }

// MessageName returns the name on this wire of a client message of the default binding.
func (b Binding) MessageName(name string) string { return target.Renamed(b.Messages, name) }

// Default returns the default binding of session-chat.
func Default() Binding { return defaults() }
