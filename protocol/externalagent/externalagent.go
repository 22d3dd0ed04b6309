// Package externalagent is the vocabulary of the external-agent protocol, mvp-0.2: the names of its roles, messages,
// fields, error codes and log fields, and the words of the default booking flow. It does no I/O and judges nothing,
// so that the bundled relay, host and agent and the harness share words but no misunderstandings.
//
// Source: external-agent.zh.md; names that the source leaves open are those of the default binding.
package externalagent

// Protocol is the id of this protocol on the command line, in profiles and in results.
const Protocol = "external-agent"

// Version is the value of every envelope's v, section 3.
const Version = "mvp-0.2"

// Path is the endpoint, section 2.
const Path = "/agent/ws"

// DefaultSession is the relay session of the source's example. It is never a study session's id.
const DefaultSession = "default"

// Parties of a relay session: the role of relay.join, section 4.0. The source defines only the agent's.
const (
	AgentRole    = "agent"
	HostRole     = "host"
	FrontendRole = "frontend" // another name of HostRole
)

// Roles that a target can have: which party, or pair of parties, is under test.
const (
	Relay = "relay" // the relay alone; the harness is host and agent
	Host  = "host"  // relay and host behind one URL; the harness is the agent
	Agent = "agent" // the agent; the harness is relay and host
)

// Message types, sections 4.0 to 4.2.
const (
	RelayJoin   = "relay.join"
	RelayJoined = "relay.joined"

	SessionStart = "session.start" // agent to host
	SnapshotGet  = "snapshot.get"
	ToolCall     = "tool.call"
	AgentMessage = "agent.message"
	SessionEnd   = "session.end"

	SessionStarted = "session.started" // host to agent
	SnapshotState  = "snapshot.state"
	ToolResult     = "tool.result"
	StateUpdated   = "state.updated"
	UserMessage    = "user.message"
	SessionEnded   = "session.ended"
	ErrorMessage   = "error"
)

// SourceHost is the source of every state.updated.
const SourceHost = "host"

// Error codes, section 5.
const (
	InvalidMessage      = "INVALID_MESSAGE"
	SessionNotActive    = "SESSION_NOT_ACTIVE"
	UnknownTool         = "UNKNOWN_TOOL"
	InvalidParams       = "INVALID_PARAMS"
	NoActiveSpec        = "NO_ACTIVE_SPEC"
	ToolExecutionFailed = "TOOL_EXECUTION_FAILED"
)

// Codes lists the error codes.
func Codes() []string {
	return []string{InvalidMessage, SessionNotActive, UnknownTool, InvalidParams, NoActiveSpec, ToolExecutionFailed}
}

// BackendData is the key that is never serialised into anything sent to an agent, section 7.
const BackendData = "backendData"

// Directions of a logged event, from the host's view, section 6.
const (
	In       = "in"
	Out      = "out"
	Internal = "internal"
)

// Members of every message, section 3; see Envelope.
const (
	V       = "v"
	Type    = "type"
	ID      = "id"
	ReplyTo = "replyTo"
	Payload = "payload"
)

// Members of payloads.
const (
	Role           = "role"
	SessionID      = "sessionId" // the relay session, or the study session
	Spec           = "uiSpec"
	ToolSchema     = "toolSchema"
	MessageHistory = "messageHistory"
	ToolName       = "toolName"
	Params         = "params"
	OK             = "ok"
	Code           = "code"
	Message        = "message"
	Text           = "text"
	LogFile        = "logFile"
)

// Envelope is the form of every message, section 3.
type Envelope struct {
	V       string `json:"v"`
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	ReplyTo string `json:"replyTo,omitempty"`
	Payload any    `json:"payload"`
}

// Join is the payload of relay.join and of relay.joined.
type Join struct {
	Role      string `json:"role"`
	SessionID string `json:"sessionId"` // the relay session
}

// Failure is the payload of an error.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// LogEvent is one line of a study log, section 6.
type LogEvent struct {
	SessionID  string `json:"sessionId"`  // the study session
	EventIndex int    `json:"eventIndex"` // strictly increasing through the file
	Timestamp  string `json:"timestamp"`  // RFC 3339, UTC, milliseconds
	Direction  string `json:"direction"`  // In, Out or Internal
	Type       string `json:"type"`
	Payload    any    `json:"payload"`
}
