// Package sessionruntime is the vocabulary of the session-runtime protocol: the names of its events, subtypes and
// fields, and the shape of a message on the bus. It does no I/O and judges nothing, so that the bundled orchestrator
// and the harness share words but no misunderstandings.
//
// Source: session-runtime.zh.md; names that the source leaves open are those of the default binding.
package sessionruntime

// Protocol is the id of this protocol on the command line, in profiles and in results.
const Protocol = "session-runtime"

// Path is the path of the bus WebSocket in the default binding.
const Path = "/bus/ws"

// Events (消息类型总结表).
const (
	UserInput   = "USER_INPUT"
	AgentOutput = "AGENT_OUTPUT"
	Control     = "CONTROL"
	Event       = "EVENT"
	Error       = "ERROR"
)

// Targets of a message. The source names SYSTEM, AGENT, FRONTEND and BROADCAST; the others are the default binding's.
const (
	ToSystem    = "SYSTEM"
	ToSession   = "SESSION"
	ToAgent     = "AGENT"
	ToFrontend  = "FRONTEND"
	ToLogger    = "LOGGER"
	ToBroadcast = "BROADCAST"
)

// Senders of the default binding. An agent's is its id.
const (
	FromFrontend = "frontend"
	FromManager  = "session_manager"
	FromSession  = "session" // the orchestrator (section 1: subscriber_id="session")
	FromLogger   = "logger"
)

// Mention is the subtype of a USER_INPUT that names its agent (4B).
const Mention = "MENTION"

// Subtypes of CONTROL from the frontend (section 1.1).
const (
	Cancel          = "CANCEL" // also to an agent (4C)
	Interrupt       = "INTERRUPT"
	SwitchAgent     = "SWITCH_AGENT" // also published by the orchestrator (section 3)
	InviteAgent     = "INVITE_AGENT"
	RemoveAgent     = "REMOVE_AGENT"
	HandoverConfirm = "HANDOVER_CONFIRM"
	HandoverReject  = "HANDOVER_REJECT"
	SessionOpen     = "SESSION_OPEN"
	SessionClose    = "SESSION_CLOSE"
)

// Subtypes of CONTROL from an agent (sections 1.2, 4F, 6), and one of EVENT.
const (
	InputAck         = "INPUT_ACK"
	CancelAck        = "CANCEL_ACK"
	HandoverRequest  = "HANDOVER_REQUEST"
	HandoverAccepted = "HANDOVER_ACCEPTED"
	StreamStopped    = "STREAM_STOPPED" // EVENT: stands for CANCEL_ACK (4C)
)

// Subtypes of CONTROL from SessionManager (section 1.3). SessionFailed answers both requests.
const (
	AddAgentDone      = "ADD_AGENT_DONE"
	AddAgentFailed    = "ADD_AGENT_FAILED"
	RemoveAgentDone   = "REMOVE_AGENT_DONE"
	RemoveAgentFailed = "REMOVE_AGENT_FAILED" // also of the ERROR to the frontend (4D)
	SessionOpened     = "SESSION_OPENED"
	SessionClosed     = "SESSION_CLOSED"
	SessionFailed     = "SESSION_FAILED"
)

// Subtypes of CONTROL from the orchestrator.
const (
	RequestAddAgent     = "REQUEST_ADD_AGENT"    // to SYSTEM: SessionManager
	RequestRemoveAgent  = "REQUEST_REMOVE_AGENT" // to SYSTEM: SessionManager
	RequestSessionOpen  = "REQUEST_SESSION_OPEN"
	RequestSessionClose = "REQUEST_SESSION_CLOSE"
	HandoverUIPrompt    = "HANDOVER_UI_PROMPT" // to the frontend
	HandoverContext     = "HANDOVER_CONTEXT"   // to the new agent
)

// Subtypes of EVENT to the frontend. Those that the source calls optional may be absent.
const (
	TurnAccepted  = "TURN_ACCEPTED"
	TurnCanceled  = "TURN_CANCELED" // the same as Canceled
	Canceled      = "CANCELED"
	AgentAdded    = "AGENT_ADDED"
	AgentRemoved  = "AGENT_REMOVED"
	AgentStarted  = "AGENT_STARTED"      // optional
	NobodySpeaks  = "NO_ACTIVE_SPEAKING" // optional
	CancelSent    = "CANCEL_SENT"        // optional
	AddingAgent   = "ADDING_AGENT"       // optional
	AgentRemoving = "AGENT_REMOVING"     // optional
	RemovedLocal  = "AGENT_REMOVED_LOCAL"
	ActiveChanged = "ACTIVE_AGENT_CHANGED"
)

// Subtypes of ERROR to the frontend. The source names RouteTimeout and RemoveAgentFailed; the others are the bundled
// orchestrator's, and no verdict depends on their names.
const (
	RouteTimeout    = "ROUTE_TIMEOUT"
	CancelTimeout   = "CANCEL_TIMEOUT"
	AgentNotFound   = "AGENT_NOT_IN_SESSION"
	UnexpectedReply = "UNEXPECTED_OUTPUT"
	AddFailed       = "ADD_AGENT_FAILED"
	NoAgent         = "NO_AGENT"
	BadMessage      = "INVALID_MESSAGE"
)

// Set-up frames of the default binding: the member "parley" says which.
const (
	Setup  = "setup"  // session_id, agents, active_agent_id, limits.input_ack_ms, limits.cancel_ack_ms
	Ready  = "ready"  // answers a setup
	Fence  = "fence"  // id
	Fenced = "fenced" // id; everything delivered before the fence has been handled
)

// Message is one frame on the bus in the default binding.
type Message struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	Event     string `json:"event"`
	Subtype   string `json:"subtype,omitzero"`
	Sender    string `json:"sender"`
	Target    string `json:"target"`
	TargetID  string `json:"target_id,omitzero"`
	Payload   any    `json:"payload"`
	Timestamp string `json:"timestamp"` // RFC 3339, UTC
	// trace_id, turn_id, tx_id, subtype, stream {is_chunk, seq, final}, visibility, and anything the sender has added
	Metadata map[string]any `json:"metadata"`
}

// Members of Message.Metadata.
const (
	TraceID    = "trace_id"
	TurnID     = "turn_id"
	TxID       = "tx_id"
	Stream     = "stream" // object: IsChunk bool, Seq integer, Final bool
	IsChunk    = "is_chunk"
	Seq        = "seq"
	Final      = "final"
	Visibility = "visibility"
)
