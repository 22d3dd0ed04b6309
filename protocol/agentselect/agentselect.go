// Package agentselect is the vocabulary of the agent-select protocol: the names of its messages, events, error codes
// and fields, and the shapes that carry them. It does no I/O and judges nothing, so that the bundled server and the
// harness share words but no misunderstandings.
//
// Source: agent-select.zh.md, sections 4.1 to 4.4; names that the source leaves open are those of the default binding.
package agentselect

import "regexp"

// Protocol is the id of this protocol on the command line, in profiles and in results.
const Protocol = "agent-select"

// Client message types. SwitchAgentType is from section 4.1; the others are the default binding's.
const (
	SwitchAgentType      = "switch_agent"
	ChatType             = "chat"
	AbortType            = "abort"
	ConfirmationResponse = "tool_confirmation_response"
	QuestionResponse     = "user_question_response"
	SessionCreateType    = "session_create" // WebSocket only; over HTTP it is an endpoint
	SessionLoadType      = "session_load"   // WebSocket only; over HTTP it is an endpoint
)

// Server event types. AgentListEvent, AgentSwitchedEvent and ErrorEvent are from section 4.2; the others are the
// default binding's.
const (
	ConnectedEvent           = "connected"
	AgentListEvent           = "agent_list"
	AgentSwitchedEvent       = "agent_switched"
	ErrorEvent               = "error"
	MessageEvent             = "message"
	ConfirmationRequestEvent = "tool_confirmation_request"
	QuestionRequestEvent     = "user_question_request"
	CompleteEvent            = "complete"
	SessionCreatedEvent      = "session_created" // WebSocket only
	SessionLoadedEvent       = "session_loaded"  // WebSocket only
)

// Error codes of a failed switch, section 4.2.
const (
	InvalidAgentID       = "invalid_agent_id"
	InvalidAgentIDFormat = "invalid_agent_id_format"
	AgentNotFound        = "agent_not_found"
	AgentBusy            = "agent_busy"
	SessionNotFound      = "session_not_found"
)

// ErrorCodes lists the codes that a failed switch may use, in the order of section 4.2.
var ErrorCodes = []string{InvalidAgentID, InvalidAgentIDFormat, AgentNotFound, AgentBusy, SessionNotFound}

// Texts that section 3.6 quotes as exact behaviour.
const (
	EmptyIDText  = "agentId cannot be empty"
	FormatIDText = "agentId contains invalid characters. Allowed: [a-z0-9_-]"
)

// NotFoundText returns the example text of section 3.3; any text that contains the id is accepted (AS-050).
func NotFoundText(id string) string { return "Invalid agent ID: " + id }

// Built-in agents, section 1.1.
const (
	General             = "general"
	RequirementAnalyzer = "requirement_analyzer"
	Debugger            = "debugger"
)

// BuiltinIDs lists the ids of the three built-in agents, in the order of section 1.1.
var BuiltinIDs = []string{General, RequirementAnalyzer, Debugger}

// IDPattern matches an agent id, section 4.1 ("[a-z0-9_-]+"), anchored at both ends.
var IDPattern = regexp.MustCompile(`\A[a-z0-9_-]+\z`)

// AgentInfo is one entry of a list of agents, section 4.4.
type AgentInfo struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Members of client messages, section 4.3.
const (
	Type           = "type" // also of events
	AgentID        = "agentId"
	SessionID      = "sessionId" // also of events
	Content        = "content"   // also of a message event
	RequestID      = "requestId" // also of events
	Response       = "response"
	InitialAgentID = "initialAgentId"
)

// Members of the data of events, section 4.4.
const (
	ConnectionID    = "connectionId"
	Agents          = "agents"
	CurrentAgentID  = "currentAgentId"
	PreviousAgentID = "previousAgentId"
	AgentName       = "agentName"
	ErrorCode       = "errorCode"
	Message         = "message" // the text of an error
	AvailableAgents = "availableAgents"
	Role            = "role"
	Streaming       = "streaming"
	Cancelled       = "cancelled"
)
