package target

import (
	"net/http"
	"net/url"
	"strings"
)

// AgentSelect is the wire of agent-select, where it differs from the default binding.
type AgentSelect struct {
	SSE         SSEWire           `yaml:"sse"`
	WS          WSWire            `yaml:"ws"`
	Correlation Correlation       `yaml:"correlation"`
	Envelope    Envelope          `yaml:"envelope"`
	Fields      Fields            `yaml:"fields"`
	Events      map[string]string `yaml:"events"`   // default name of a server event → its name on this wire; see EventName
	Messages    map[string]string `yaml:"messages"` // default name of a client message → its name on this wire; see MessageName
}

// SSEWire holds the endpoints of the sse driver. {id} in a path stands for the session's id.
type SSEWire struct {
	Stream  Endpoint `yaml:"stream"`  // default GET /events
	Message Endpoint `yaml:"message"` // default POST /message
	Create  Endpoint `yaml:"create"`  // default POST /session/create
	Load    Endpoint `yaml:"load"`    // default POST /session/load
	List    Endpoint `yaml:"list"`    // default GET /session/list
	Delete  Endpoint `yaml:"delete"`  // default DELETE /session/{id}
	Health  Endpoint `yaml:"health"`  // default GET /health
}

// Endpoint is one HTTP endpoint below the base URL. In YAML it is its path, which keeps the default method, or
// {path: /path, method: PUT}.
type Endpoint struct {
	Method string
	Path   string
}

// For is the path with {id} replaced by a session's id, escaped.
func (e Endpoint) For(sessionID string) string {
	return strings.ReplaceAll(e.Path, "{id}", url.PathEscape(sessionID))
}

// WSWire is the WebSocket of the ws driver.
type WSWire struct {
	Path         string   `yaml:"path"`         // default /agents/ws; of each protocol its own
	Subprotocols []string `yaml:"subprotocols"` // offered in the handshake; default none
}

// Correlation is how a POST tells which connection it belongs to; exactly one of Single, Body and Header is set. In YAML it is "single" (the
// target cannot tell), {body: connectionId} (a name or JSON Pointer in the body) or {header: X-Connection-Id}. Where creating or loading a
// session is told otherwise than messages, these stand beside it: {header: X-Connection-Id, create: {body: connectionId}}.
type Correlation struct {
	Single bool
	Body   Pointer // default /connectionId
	Header string
	Create *Correlation // of session creation; nil: the same
	Load   *Correlation // of session loading; nil: the same
}

// OfCreate is how the creation of a session tells its connection.
func (c Correlation) OfCreate() Correlation { return c.or(c.Create) }

// OfLoad is how loading a session tells its connection.
func (c Correlation) OfLoad() Correlation { return c.or(c.Load) }

func (c Correlation) or(own *Correlation) Correlation {
	if own != nil {
		return *own
	}
	return Correlation{Single: c.Single, Body: c.Body, Header: c.Header}
}

// Envelope is where an event keeps what every event has, as JSON Pointers into the event's object.
type Envelope struct {
	Type      Pointer `yaml:"type"`       // default /type; unused when SSEEvent
	SSEEvent  bool    `yaml:"-"`          // "type: sse-event": the event: field of the stream names the type
	Data      Pointer `yaml:"data"`       // default /data, or with sse-event ""; "" is the whole object
	RequestID Pointer `yaml:"request-id"` // default /requestId
	Timestamp Pointer `yaml:"timestamp"`  // default /timestamp
}

// Fields is where the fields are. Each is a JSON Pointer, or a bare name, which means the member of that name.
type Fields struct {
	Event   EventFields   `yaml:"event"`
	Agent   AgentFields   `yaml:"agent"`
	Answer  AnswerFields  `yaml:"answer"`
	Request RequestFields `yaml:"request"`
}

// EventFields are within the data of an event.
type EventFields struct {
	ConnectionID    Pointer `yaml:"connection-id"`     // connected; default /connectionId
	Agents          Pointer `yaml:"agents"`            // agent_list; default /agents
	CurrentAgentID  Pointer `yaml:"current-agent-id"`  // agent_list, agent_switched; default /currentAgentId
	PreviousAgentID Pointer `yaml:"previous-agent-id"` // agent_switched; default /previousAgentId
	AgentName       Pointer `yaml:"agent-name"`        // agent_switched; default /agentName
	ErrorCode       Pointer `yaml:"error-code"`        // error; default /errorCode
	Message         Pointer `yaml:"message"`           // error; default /message
	AvailableAgents Pointer `yaml:"available-agents"`  // error; default /availableAgents
	Role            Pointer `yaml:"role"`              // message; default /role
	Content         Pointer `yaml:"content"`           // message; default /content
	Streaming       Pointer `yaml:"streaming"`         // message; default /streaming
	SessionID       Pointer `yaml:"session-id"`        // complete, session_created, session_loaded; default /sessionId
	Cancelled       Pointer `yaml:"cancelled"`         // complete; default /cancelled
}

// AgentFields are within one entry of a list of agents.
type AgentFields struct {
	ID          Pointer `yaml:"id"`          // default /id
	Name        Pointer `yaml:"name"`        // default /name
	Description Pointer `yaml:"description"` // default /description
}

// AnswerFields are within the HTTP answers to session requests.
type AnswerFields struct {
	Success   Pointer `yaml:"success"`    // default /success
	SessionID Pointer `yaml:"session-id"` // of the created session; default /session/id
}

// RequestFields are within what the client sends: bodies over HTTP, frames over WebSocket.
type RequestFields struct {
	Type           Pointer `yaml:"type"`             // default /type
	AgentID        Pointer `yaml:"agent-id"`         // default /agentId
	SessionID      Pointer `yaml:"session-id"`       // default /sessionId
	Content        Pointer `yaml:"content"`          // default /content
	RequestID      Pointer `yaml:"request-id"`       // default /requestId
	Response       Pointer `yaml:"response"`         // default /response
	InitialAgentID Pointer `yaml:"initial-agent-id"` // default /initialAgentId
}

// EventName is what a server event of the default binding is called on this wire.
func (a AgentSelect) EventName(name string) string { return renamed(a.Events, name) }

// EventOf is the default name of an event on this wire, the inverse of EventName. A name that the default binding does not
// have is returned as it is; one that it has, but that this wire calls otherwise, means nothing here, and gives "".
func (a AgentSelect) EventOf(wire string) string {
	return original(a.Events, wire, func(n, wire string) bool { return n == wire })
}

// MessageName is what a client message of the default binding is called on this wire.
func (a AgentSelect) MessageName(name string) string { return renamed(a.Messages, name) }

// EnvelopeFor is the envelope as a driver sees it: "sse-event" names types in a field that only SSE has, so that over ws
// the default positions stand in for it.
func (a AgentSelect) EnvelopeFor(driver string) Envelope {
	if driver == WS && a.Envelope.SSEEvent {
		return DefaultAgentSelect().Envelope
	}
	return a.Envelope
}

func renamed(names map[string]string, name string) string {
	if n, ok := names[name]; ok {
		return n
	}
	return name
}

func original[N any](names map[string]N, wire string, has func(N, string) bool) string {
	for name, n := range names {
		if has(n, wire) {
			return name
		}
	}
	if _, moved := names[wire]; moved {
		return ""
	}
	return wire
}

// DefaultAgentSelect is the default binding of agent-select.
func DefaultAgentSelect() AgentSelect {
	return AgentSelect{
		SSE: SSEWire{
			Stream:  Endpoint{http.MethodGet, "/events"},
			Message: Endpoint{http.MethodPost, "/message"},
			Create:  Endpoint{http.MethodPost, "/session/create"},
			Load:    Endpoint{http.MethodPost, "/session/load"},
			List:    Endpoint{http.MethodGet, "/session/list"},
			Delete:  Endpoint{http.MethodDelete, "/session/{id}"},
			Health:  Endpoint{http.MethodGet, "/health"},
		},
		WS:          WSWire{Path: "/agents/ws"},
		Correlation: Correlation{Body: "/connectionId"},
		Envelope:    Envelope{Type: "/type", Data: "/data", RequestID: "/requestId", Timestamp: "/timestamp"},
		Fields: Fields{
			Event: EventFields{
				ConnectionID: "/connectionId", Agents: "/agents", CurrentAgentID: "/currentAgentId",
				PreviousAgentID: "/previousAgentId", AgentName: "/agentName", ErrorCode: "/errorCode",
				Message: "/message", AvailableAgents: "/availableAgents", Role: "/role", Content: "/content",
				Streaming: "/streaming", SessionID: "/sessionId", Cancelled: "/cancelled",
			},
			Agent:  AgentFields{ID: "/id", Name: "/name", Description: "/description"},
			Answer: AnswerFields{Success: "/success", SessionID: "/session/id"},
			Request: RequestFields{
				Type: "/type", AgentID: "/agentId", SessionID: "/sessionId", Content: "/content",
				RequestID: "/requestId", Response: "/response", InitialAgentID: "/initialAgentId",
			},
		},
	}
}
