// Package sessionchat is the vocabulary of the session-chat protocol: the names of its messages and of their members,
// under which the harness decodes them. It does no I/O and judges nothing, so that the bundled server and the harness
// share words but no misunderstandings.
//
// Source: session-chat.zh.md, section 消息协议; names that the source leaves open are those of the default binding.
package sessionchat

// Protocol is the id of this protocol on the command line, in profiles and in results.
const Protocol = "session-chat"

// Path is the path of the WebSocket in the default binding.
const Path = "/chat/ws"

// Client message types, section 前端发送消息.
const (
	ChatType      = "chat"
	InterruptType = "interrupt"
	PingType      = "ping"
)

// Server message types (message_type). Assistant is from the source's example; the others are the default binding's.
const (
	SystemMessage    = "system"    // the first message of a turn; carries the session id
	StreamMessage    = "stream"    // a piece of the answer: message.text
	AssistantMessage = "assistant" // the whole answer: message.role, message.content
	ResultMessage    = "result"    // ends a turn: message.subtype
	ErrorMessage     = "error"     // message.code, message.text
	PongMessage      = "pong"      // answers a ping
)

// How a turn ended: the subtype of a result.
const (
	Success     = "success"
	Interrupted = "interrupted"
	Failed      = "error"
)

// Error codes of the default binding.
const (
	InvalidMessage = "invalid_message" // not a JSON object, or a field of the wrong type
	UnknownType    = "unknown_type"
	MissingField   = "missing_field" // a chat or an interrupt without a required field
	NotRunning     = "not_running"   // an interrupt while no turn is running
	ModelFailed    = "model_failed"
	Overloaded     = "overloaded" // a server limit is reached
)

// Members of client messages.
const (
	Type    = "type"
	AgentID = "agent_id" // also of server messages, as the client sent it; null in messages without a session
	Content = "content"
	Options = "options" // an object that may be absent; its unknown members are tolerated
	Model   = "model"   // of the options
)

// Members of server messages, section 后端返回消息.
const (
	MessageType = "message_type"
	SessionID   = "session_id" // null until the backend has assigned it
	Body        = "message"    // an object
	Timestamp   = "timestamp"  // RFC 3339, UTC
	Subtype     = "subtype"    // of the body of a result
	Code        = "code"       // of the body of an error
	Text        = "text"       // of the body of a stream message or an error
)

// Piece is a member of decoded stream messages alone, not of the wire: true if their text is where the profile says.
const Piece = "piece"
