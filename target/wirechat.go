package target

import "parley/protocol/sessionchat"

// SessionChat is the wire of session-chat, where it differs from the default binding.
type SessionChat struct {
	WS WSWire `yaml:"ws"` // its path's default is /chat/ws

	// Idle is the target's own limit, after which a session without activity leaves memory. Default 0: not known.
	Idle Duration `yaml:"idle"`

	Fields ChatFields `yaml:"fields"`

	// How this wire calls what the default binding calls by the keys.
	Types    map[string]Names  `yaml:"types"`    // message_type; see TypeOf
	Outcomes map[string]Names  `yaml:"outcomes"` // the subtype of a result; see OutcomeOf
	Messages map[string]string `yaml:"messages"` // client messages; see MessageName
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
	Type      Pointers `yaml:"type"`
	AgentID   Pointer  `yaml:"agent-id"`   // default /agent_id
	SessionID Pointer  `yaml:"session-id"` // default /session_id
	Body      Pointer  `yaml:"body"`       // default /message; "" is the whole message, on a wire that has no body
	Timestamp Pointer  `yaml:"timestamp"`  // default /timestamp
	Subtype   Pointer  `yaml:"subtype"`    // of a result; default /message/subtype
	Code      Pointer  `yaml:"code"`       // of an error; default /message/code
	Text      Pointer  `yaml:"text"`       // of a stream message; default /message/text
}

// ChatRequestFields are within what the client sends.
type ChatRequestFields struct {
	Type    Pointer `yaml:"type"`     // default /type
	AgentID Pointer `yaml:"agent-id"` // default /agent_id
	Content Pointer `yaml:"content"`  // default /content
	Options Pointer `yaml:"options"`  // default /options
	Model   Pointer `yaml:"model"`    // default /options/model
}

// TypeOf is the default name of a message_type on this wire. A name that the default binding does not have is returned
// as it is; one that it has, but that this wire calls otherwise, means nothing here, and gives "".
func (s SessionChat) TypeOf(wire string) string { return original(s.Types, wire, Names.has) }

// OutcomeOf is the default name of how a turn has ended, the subtype of a result, by the rules of TypeOf.
func (s SessionChat) OutcomeOf(wire string) string { return original(s.Outcomes, wire, Names.has) }

// MessageName is what a client message of the default binding is called on this wire.
func (s SessionChat) MessageName(name string) string { return renamed(s.Messages, name) }

// DefaultSessionChat is the default binding of session-chat.
func DefaultSessionChat() SessionChat {
	return SessionChat{
		WS: WSWire{Path: sessionchat.Path},
		Fields: ChatFields{
			Message: ChatMessageFields{
				Type: Pointers{"/message_type"}, AgentID: "/agent_id", SessionID: "/session_id", Body: "/message",
				Timestamp: "/timestamp", Subtype: "/message/subtype", Code: "/message/code", Text: "/message/text",
			},
			Request: ChatRequestFields{
				Type: "/type", AgentID: "/agent_id", Content: "/content", Options: "/options", Model: "/options/model",
			},
		},
	}
}
