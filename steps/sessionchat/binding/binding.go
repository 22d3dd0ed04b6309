// Package binding is the wire of session-chat in a profile: what the default binding is, and where a target differs
// from it.
package binding

import (
	_ "embed"

	"parley/protocol/sessionchat"
	"parley/target"
)

//go:embed example.yaml
var example string

// OptionsModel is the capability that a profile may declare: the model that a chat's options name is used.
const OptionsModel = "options-model"

// Kind is what a profile of session-chat may say.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     sessionchat.Protocol,
		Prefix:       "SC",
		Roles:        []string{target.Server},
		Drivers:      []string{target.WS},
		Capabilities: []string{OptionsModel},
		Example:      example,
		Ignores: []string{"tools", "agents", "provoke.pending_confirmation", "provoke.pending_question",
			"hooks.add-agent", "hooks.change-agent", "hooks.remove-agent", "hooks.config-digest", "hooks.user-says"},
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

// Of is the wire of a profile of session-chat.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// Binding is the wire of session-chat, where it differs from the default binding.
type Binding struct {
	WS target.WSWire `yaml:"ws"` // its path's default is /chat/ws

	// Idle is the target's own limit, after which a session without activity leaves memory. Default 0: not known.
	Idle target.Duration `yaml:"idle"`

	Fields ChatFields `yaml:"fields"`

	// How this wire calls what the default binding calls by the keys.
	Types    map[string]target.Names `yaml:"types"`    // message_type; see TypeOf
	Outcomes map[string]target.Names `yaml:"outcomes"` // the subtype of a result; see OutcomeOf
	Messages map[string]string       `yaml:"messages"` // client messages; see MessageName
}

// ChatFields is where the fields are. Each is a JSON Pointer from the top of the message, or a bare name, which means
// the member of that name.
type ChatFields struct {
	Message ChatMessageFields `yaml:"message"`
	Request ChatRequestFields `yaml:"request"`
}

// ChatMessageFields are within what the server sends.
type ChatMessageFields struct {
	// Type is where the type stands. The first is where messages of a session keep it; the others are alternatives for
	// messages that belong to no session, such as errors and pongs. Default [/message_type].
	Type      target.Pointers `yaml:"type"`
	AgentID   target.Pointer  `yaml:"agent-id"`   // default /agent_id
	SessionID target.Pointer  `yaml:"session-id"` // default /session_id
	Body      target.Pointer  `yaml:"body"`       // default /message; "" is the whole message, on a wire that has no body
	Timestamp target.Pointer  `yaml:"timestamp"`  // default /timestamp
	Subtype   target.Pointer  `yaml:"subtype"`    // of a result; default /message/subtype
	Code      target.Pointer  `yaml:"code"`       // of an error; default /message/code
	Text      target.Pointer  `yaml:"text"`       // of a stream message; default /message/text
}

// ChatRequestFields are within what the client sends.
type ChatRequestFields struct {
	Type    target.Pointer `yaml:"type"`     // default /type
	AgentID target.Pointer `yaml:"agent-id"` // default /agent_id
	Content target.Pointer `yaml:"content"`  // default /content
	Options target.Pointer `yaml:"options"`  // default /options
	Model   target.Pointer `yaml:"model"`    // default /options/model
}

// TypeOf is the default name of a message_type on this wire. A name that the default binding does not have is returned
// as it is; one that it has, but that this wire calls otherwise, means nothing here, and gives "".
func (b Binding) TypeOf(wire string) string { return target.Original(b.Types, wire) }

// OutcomeOf is the default name of how a turn has ended, the subtype of a result, by the rules of TypeOf.
func (b Binding) OutcomeOf(wire string) string { return target.Original(b.Outcomes, wire) }

// MessageName is what a client message of the default binding is called on this wire.
func (b Binding) MessageName(name string) string { return target.Renamed(b.Messages, name) }

// Default is the default binding of session-chat.
func Default() Binding {
	return Binding{
		WS: target.WSWire{Path: sessionchat.Path},
		Fields: ChatFields{
			Message: ChatMessageFields{
				Type: target.Pointers{"/message_type"}, AgentID: "/agent_id", SessionID: "/session_id", Body: "/message",
				Timestamp: "/timestamp", Subtype: "/message/subtype", Code: "/message/code", Text: "/message/text",
			},
			Request: ChatRequestFields{
				Type: "/type", AgentID: "/agent_id", Content: "/content", Options: "/options", Model: "/options/model",
			},
		},
	}
}
