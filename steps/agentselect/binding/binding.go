// Package binding describes the agent-select wire in a profile: the default binding and how a target may differ from
// it.
package binding

import (
	_ "embed"
	"net/url"
	"strings"

	"parley/protocol/agentselect"
	"parley/target"
)

//go:embed example.yaml
var example string

var defaults = target.Defaults[Binding](example, agentselect.Protocol)

// Capabilities that a profile may declare. agent-client uses SessionList too: the page lists its sessions, and loads
// one by a click.
const (
	InitialAgentID = "initial-agent-id" // creating a session takes the id of its first agent
	SessionList    = "session-list"     // the list endpoint exists
	SessionDelete  = "session-delete"   // the delete endpoint exists
	Health         = "health"           // the health endpoint exists
)

// Kind returns what an agent-select profile may contain.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     agentselect.Protocol,
		Prefix:       "AS",
		Roles:        []string{target.Server},
		Drivers:      []string{target.SSE, target.WS},
		Capabilities: []string{InitialAgentID, SessionList, SessionDelete, Health},
		Example:      example,
		Renames:      Renames,
		Ignores:      []string{"hooks.user-says", "hooks.call"},
		Sections:     func() []target.Section { return []target.Section{Section()} },
		Settle:       func(p *target.Profile) { p.Agents.Default = agentselect.General },
		Check:        Check,
		Configures:   true,
		Reach: func(p *target.Profile) target.Reach {
			b := Of(p)
			r := target.Reach{Paths: map[string]string{target.SSE: b.SSE.Stream.Path, target.WS: b.WS.Path},
				IDs: b.IDs()}
			if b.Correlation.Single {
				r.Shared = "one connection (correlation: single)"
			}
			return r
		},
	}
}

// Section returns the profile section that holds the wire.
func Section() target.Section {
	b := Default()
	return target.Section{Key: agentselect.Protocol, Value: &b}
}

// Of returns the agent-select wire of a profile. agent-client profiles have one too, because their pages talk to an
// agent-select server.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// Binding is the agent-select wire where it differs from the default binding.
type Binding struct {
	SSE         SSEWire           `yaml:"sse"`
	WS          target.WSWire     `yaml:"ws"`
	Correlation Correlation       `yaml:"correlation"`
	Envelope    Envelope          `yaml:"envelope"`
	Fields      Fields            `yaml:"fields"`
	Events      map[string]string `yaml:"events"`   // default name of a server event → its own; see EventName
	Messages    map[string]string `yaml:"messages"` // default name of a client message → its own; see MessageName
}

// SSEWire holds the endpoints of the sse driver. {id} in a path stands for the session id.
type SSEWire struct {
	Stream  Endpoint `yaml:"stream"`
	Message Endpoint `yaml:"message"`
	Create  Endpoint `yaml:"create"`
	Load    Endpoint `yaml:"load"`
	List    Endpoint `yaml:"list"`
	Delete  Endpoint `yaml:"delete"`
	Health  Endpoint `yaml:"health"`
}

// Endpoint is one HTTP endpoint below the base URL. In YAML it is its path, with the default method, or {path: /path,
// method: PUT}.
type Endpoint struct {
	Method string
	Path   string
}

// For returns the path with {id} replaced by the escaped session id.
func (e Endpoint) For(sessionID string) string {
	return strings.ReplaceAll(e.Path, "{id}", url.PathEscape(sessionID))
}

// Correlation says how a POST identifies its connection; exactly one of Single, Body and Header is set. In YAML it is
// "single" (the target cannot tell), {body: connectionId} (a name or JSON Pointer in the body) or {header:
// X-Connection-Id}. If creating or loading a session differs, create or load is added: {header: X-Connection-Id,
// create: {body: connectionId}}.
type Correlation struct {
	Single bool
	Body   target.Pointer
	Header string
	Create *Correlation // of session creation; nil: the same
	Load   *Correlation // of session loading; nil: the same
}

// OfCreate returns the correlation used to create a session.
func (c Correlation) OfCreate() Correlation { return c.or(c.Create) }

// OfLoad returns the correlation used to load a session.
func (c Correlation) OfLoad() Correlation { return c.or(c.Load) }

func (c Correlation) or(own *Correlation) Correlation {
	if own != nil {
		return *own
	}
	return Correlation{Single: c.Single, Body: c.Body, Header: c.Header}
}

// Envelope says where an event keeps its common fields, as JSON Pointers into the event's object.
type Envelope struct {
	Type      target.Pointer `yaml:"type" names:"event eventtype kind"` // unused when SSEEvent
	SSEEvent  bool           `yaml:"-"`                                 // the event: field of the stream has the type
	Data      target.Pointer `yaml:"data" names:"payload body"`         // "" is the whole object
	RequestID target.Pointer `yaml:"request-id"`
	Timestamp target.Pointer `yaml:"timestamp"`
}

// Fields says where the fields are. Each is a JSON Pointer, or a bare name for the member of that name. The defaults
// are in the example; names are what servers call the fields (see probe.Names).
type Fields struct {
	Event   EventFields   `yaml:"event"`
	Agent   AgentFields   `yaml:"agent"`
	Answer  AnswerFields  `yaml:"answer"`
	Request RequestFields `yaml:"request"`
}

// EventFields are in the data of an event.
type EventFields struct {
	ConnectionID target.Pointer `yaml:"connection-id" names:"connid clientid streamid connection"`
	Agents       target.Pointer `yaml:"agents"`
	// CurrentAgentID is in agent_list and agent_switched.
	CurrentAgentID target.Pointer `yaml:"current-agent-id" names:"currentagent current activeagentid activeagent"`

	PreviousAgentID target.Pointer `yaml:"previous-agent-id"` // agent_switched
	AgentName       target.Pointer `yaml:"agent-name"`        // agent_switched
	ErrorCode       target.Pointer `yaml:"error-code"`        // error
	Message         target.Pointer `yaml:"message"`           // error
	AvailableAgents target.Pointer `yaml:"available-agents"`  // error
	Role            target.Pointer `yaml:"role"`              // message
	Content         target.Pointer `yaml:"content"`           // message
	Streaming       target.Pointer `yaml:"streaming"`         // message
	SessionID       target.Pointer `yaml:"session-id"`        // complete, session_created, …
	Cancelled       target.Pointer `yaml:"cancelled"`         // complete
}

// AgentFields are in each entry of a list of agents.
type AgentFields struct {
	ID          target.Pointer `yaml:"id" names:"agentid key slug"`
	Name        target.Pointer `yaml:"name" names:"title label displayname agentname"`
	Description target.Pointer `yaml:"description" names:"desc summary about"`
}

// AnswerFields are in the HTTP answers to session requests.
type AnswerFields struct {
	Success   target.Pointer `yaml:"success" names:"ok"`
	SessionID target.Pointer `yaml:"session-id" names:"sid session"` // of the created session
}

// RequestFields are in client messages: bodies over HTTP, frames over WebSocket.
type RequestFields struct {
	Type           target.Pointer `yaml:"type"`
	AgentID        target.Pointer `yaml:"agent-id"`
	SessionID      target.Pointer `yaml:"session-id"`
	Content        target.Pointer `yaml:"content"`
	RequestID      target.Pointer `yaml:"request-id"`
	Response       target.Pointer `yaml:"response"`
	InitialAgentID target.Pointer `yaml:"initial-agent-id"`
}

// Places returns where the members of a message are, by their names in the vocabulary.
func (f RequestFields) Places() map[string]target.Pointer {
	return map[string]target.Pointer{
		agentselect.Type: f.Type, agentselect.AgentID: f.AgentID, agentselect.SessionID: f.SessionID,
		agentselect.Content: f.Content, agentselect.RequestID: f.RequestID, agentselect.Response: f.Response,
		agentselect.InitialAgentID: f.InitialAgentID,
	}
}

// IDs returns where this wire has ids: pointers, with the names of the default binding.
func (b Binding) IDs() map[string]string {
	ids := map[string]string{}
	for name, all := range map[string][]target.Pointer{
		agentselect.ConnectionID: {b.Fields.Event.ConnectionID, b.Correlation.Body, b.Correlation.OfCreate().Body,
			b.Correlation.OfLoad().Body},
		agentselect.SessionID: {b.Fields.Event.SessionID, b.Fields.Answer.SessionID, b.Fields.Request.SessionID},
		agentselect.RequestID: {b.Envelope.RequestID, b.Fields.Request.RequestID},
	} {
		for _, p := range all {
			if p != "" {
				ids[string(p)] = name
			}
		}
	}
	return ids
}

// EventName returns this wire's name for a server event of the default binding.
func (b Binding) EventName(name string) string { return target.Renamed(b.Events, name) }

// EventOf returns the default name of an event on this wire, the inverse of EventName. A name unknown to the default
// binding is returned unchanged; a default name that this wire has renamed means nothing here and yields "".
func (b Binding) EventOf(wire string) string {
	return target.Original(b.Events, wire)
}

// MessageName returns this wire's name for a client message of the default binding.
func (b Binding) MessageName(name string) string { return target.Renamed(b.Messages, name) }

// EnvelopeFor returns the envelope for a driver: only SSE has the field that "sse-event" reads the type from, so over
// ws the default positions are used instead.
func (b Binding) EnvelopeFor(driver string) Envelope {
	if driver == target.WS && b.Envelope.SSEEvent {
		return Default().Envelope
	}
	return b.Envelope
}

// Default returns the default binding of agent-select.
func Default() Binding { return defaults() }
