package agentselect

import (
	"net/url"
	"reflect"

	proto "parley/protocol/agentselect"
)

// Policy is what the protocol prescribes: one decision each. A decision that is nil is made as by Correct, so that a
// faulty server is a policy with one of them.
//
// All are called with the server's lock held, one at a time.
type Policy struct {
	// Agents returns the agents that exist, as seen for a purpose, from those that now stand in the configuration.
	Agents func(why Purpose, now []Agent) []Agent

	// InitialAgent is the id of the agent of a connection without session, or of a session just created on it (3.4).
	InitialAgent func(c ConnInfo) string

	// CheckID judges the form of agentId as sent, nil if it is missing (3.6, 4.1).
	CheckID func(raw any) *Refusal

	// Target is the session that a message acts on, "" if there is none (4.1).
	Target func(m Manager, c ConnInfo, msg Message) string

	// AgentKey names the place where the agent of a session is kept (4.3: every sessionId has its own).
	AgentKey func(session, conn string) string

	// Busy reports whether a switch of this session is refused (4.3).
	Busy func(m Manager, session string) bool

	// Bind returns what the creation or the loading of a session on a connection does (4.3).
	Bind func(m Manager, how Occasion, c ConnInfo, session string) Binding

	// Commit is told of every switch that was judged, and calls set to change the session's agent.
	Commit func(sw Switch, set func(agentID string))

	// Configure returns what a model call of a turn is made with (3.5).
	Configure func(t TurnView) Config

	// Abort returns what an abort ends (3.5).
	Abort func() AbortEffect
}

// Purpose is what a list of agents is wanted for.
type Purpose string

// The purposes.
const (
	ForConnect Purpose = "connect" // agent_list
	ForSwitch  Purpose = "switch"  // does the requested agent exist?
	ForRefusal Purpose = "refusal" // availableAgents
	ForTurn    Purpose = "turn"    // configuration of a conversation
)

// Occasion is what makes a binding.
type Occasion string

// The occasions.
const (
	OnCreate Occasion = "create"
	OnLoad   Occasion = "load"
)

// Refusal is why a switch fails: an error code of section 4.2 and a text.
type Refusal struct{ Code, Message string }

// Binding is what binding a session to a connection changes.
type Binding struct {
	Owner   bool // the session's events go to the connection
	Default bool // the connection's messages without sessionId act on the session
	Release bool // the session's former connection no longer acts on it by default
}

// Switch is a judged switch_agent.
type Switch struct {
	Conn, Session     string
	AgentID, Previous string   // AgentID is "" if what was sent is not a string
	Refusal           *Refusal // nil if it succeeds
}

// TurnView is a model call that is about to be made.
type TurnView struct {
	Session string
	Turn    int    // of the session, from 1
	Call    int    // of the turn, from 1
	Now     Config // of the session's agent at this moment
	Started Config // what the first call of the turn was made with
}

// Config is what an agent gives to a conversation.
type Config struct {
	AgentID string
	Prompt  string
	Tools   []string
}

// AbortEffect is what an abort ends.
type AbortEffect struct{ Turn, Interactions bool }

// ConnInfo describes a connection.
type ConnInfo struct {
	ID        string
	Transport string     // "sse" or "ws"
	Query     url.Values // of the request that opened it
}

// Manager is the server's state, named after the SSEManager of section 4.3. It is valid only during the call that it is
// handed to. Correct only reads it; the methods that change it check nothing, and are there for faulty policies.
type Manager interface {
	Connections() []ConnInfo // oldest first
	Sessions() []string      // oldest first
	Exists(session string) bool
	DefaultSession(conn string) string // "" if the connection is bound to none
	Owner(session string) string       // "" if the session has no connection
	Running(session string) bool       // sessionControllers has an unfinished entry
	Pending(session string) []string   // types of the requests in pendingInteractions, oldest first
	AgentOf(session string) string     // current agent id
	Agents() []Agent                   // as they now stand in the configuration

	NewSession(c ConnInfo) string // owned by the connection, not its default
	SetDefault(conn, session string)
	SetAgentOf(session, agentID string)
}

// Correct is the policy of the source.
var Correct = Policy{
	// Always the current ones (AS-027, AS-052).
	Agents: func(_ Purpose, now []Agent) []Agent { return now },

	// general for everybody (AS-055, AS-056), whatever the URL says (AS-021).
	InitialAgent: func(ConnInfo) string { return proto.General },

	CheckID: checkID,
	Target:  targetOf,

	// The session (AS-093).
	AgentKey: func(session, _ string) string { return session },

	// Either fact alone, of this session alone (AS-109 to AS-112).
	Busy: func(m Manager, session string) bool { return m.Running(session) || len(m.Pending(session)) > 0 },

	// The session moves to the connection entirely (AS-094, AS-100, AS-101).
	Bind: func(Manager, Occasion, ConnInfo, string) Binding {
		return Binding{Owner: true, Default: true, Release: true}
	},

	// The agent changes if the switch succeeds, and only then (AS-053).
	Commit: func(sw Switch, set func(string)) {
		if sw.Refusal == nil {
			set(sw.AgentID)
		}
	},

	// A turn keeps what it started with (AS-061, AS-062).
	Configure: func(t TurnView) Config {
		if t.Call == 1 {
			return t.Now
		}
		return t.Started
	},

	// Both (AS-068).
	Abort: func() AbortEffect { return AbortEffect{Turn: true, Interactions: true} },
}

// withDefaults has the decisions of Correct where p has none.
func (p Policy) withDefaults() Policy {
	own, correct := reflect.ValueOf(&p).Elem(), reflect.ValueOf(Correct)
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(correct.Field(i))
		}
	}
	return p
}

// checkID finds an id empty before it finds it malformed (AS-070, AS-073, AS-077, AS-080). A missing one counts as
// empty, one that is not a string as malformed.
func checkID(raw any) *Refusal {
	id, isString := raw.(string)
	switch {
	case raw == nil || isString && id == "":
		return &Refusal{proto.InvalidAgentID, proto.EmptyIDText}
	case !isString || !proto.IDPattern.MatchString(id):
		return &Refusal{proto.InvalidAgentIDFormat, proto.FormatIDText}
	}
	return nil
}

// targetOf is the named session if it exists, and without a name the connection's own (AS-081, AS-082, AS-091, AS-104).
func targetOf(m Manager, c ConnInfo, msg Message) string {
	raw, present := msg["sessionId"]
	if !present {
		return m.DefaultSession(c.ID)
	}
	id, _ := raw.(string)
	if !m.Exists(id) {
		return ""
	}
	return id
}
