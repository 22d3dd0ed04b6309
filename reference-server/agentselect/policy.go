package agentselect

import (
	"net/url"

	proto "parley/protocol/agentselect"
)

// Policy has the decisions that the protocol prescribes. A nil function defaults to that of Correct, so a faulty
// server is a policy with one function.
//
// The functions are called with the server's lock held, one at a time.
type Policy struct {
	// Agents returns the agents that exist for a purpose, given those in the configuration.
	Agents func(why Purpose, now []Agent) []Agent

	// InitialAgent returns the agent's id for a connection without a session, or for a session just created on it (3.4).
	InitialAgent func(c ConnInfo) string

	// CheckID checks the form of agentId as sent; raw is nil if it is missing (3.6, 4.1).
	CheckID func(raw any) *Refusal

	// Target returns the session that a message acts on; "" if there is none (4.1).
	Target func(m Manager, c ConnInfo, msg Message) string

	// AgentKey returns the key under which a session's agent is kept (4.3: every sessionId has its own).
	AgentKey func(session, conn string) string

	// Busy reports whether to refuse a switch of this session (4.3).
	Busy func(m Manager, session string) bool

	// Bind returns the effect of creating or loading a session on a connection (4.3).
	Bind func(m Manager, how Occasion, c ConnInfo, session string) Binding

	// Commit is called for every judged switch, and calls set to change the session's agent.
	Commit func(sw Switch, set func(agentID string))

	// Configure returns the configuration for a model call (3.5).
	Configure func(t TurnView) Config

	// Abort returns what an abort ends (3.5).
	Abort func() AbortEffect

	// OnDisconnect is called when a connection has ended, before its sessions are left without one (4.3).
	OnDisconnect func(m Manager, c ConnInfo)
}

// Purpose is the use of a list of agents.
type Purpose string

// The purposes.
const (
	ForConnect Purpose = "connect" // agent_list
	ForSwitch  Purpose = "switch"  // does the requested agent exist?
	ForRefusal Purpose = "refusal" // availableAgents
	ForTurn    Purpose = "turn"    // configuration of a conversation
)

// Occasion is the cause of a binding.
type Occasion string

// The occasions.
const (
	OnCreate Occasion = "create"
	OnLoad   Occasion = "load"
)

// Refusal is why a switch fails: an error code of section 4.2 and a text.
type Refusal struct{ Code, Message string }

// Binding is the effect of binding a session to a connection.
type Binding struct {
	Owner   bool // the session's events go to the connection
	Default bool // messages on the connection without a sessionId act on the session
	Release bool // the session is no longer the default of its former connection
}

// Switch is a judged switch_agent.
type Switch struct {
	Conn, Session     string
	AgentID, Previous string   // AgentID is "" if the client sent no string
	Refusal           *Refusal // nil if the switch succeeds
}

// TurnView is an upcoming model call.
type TurnView struct {
	Session string
	Turn    int    // number within the session, from 1
	Call    int    // number within the turn, from 1
	Now     Config // of the session's current agent
	Started Config // configuration of the turn's first call
}

// Config is an agent's configuration for a conversation.
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

// Manager is the server's state, named after the SSEManager of section 4.3. It is valid only during the call that
// receives it. Correct only reads it; the methods that change it check nothing and are meant for faulty policies.
type Manager interface {
	Connections() []ConnInfo // oldest first
	Sessions() []string      // oldest first
	Exists(session string) bool
	DefaultSession(conn string) string // "" if the connection has none
	Owner(session string) string       // "" if the session has no connection
	Running(session string) bool       // sessionControllers has an unfinished entry
	Pending(session string) []string   // types of the requests in pendingInteractions, oldest first
	AgentOf(session string) string     // current agent id
	Agents() []Agent                   // as currently configured

	NewSession(c ConnInfo) string // owned by the connection, but not its default
	SetDefault(conn, session string)
	SetAgentOf(session, agentID string)
}

// Correct is the policy that the source prescribes.
var Correct = Policy{
	// Always the current ones (AS-027, AS-052).
	Agents: func(_ Purpose, now []Agent) []Agent { return now },

	// general for every connection (AS-055, AS-056), whatever the URL says (AS-021).
	InitialAgent: func(ConnInfo) string { return proto.General },

	CheckID: checkID,
	Target:  targetOf,

	// The session (AS-093).
	AgentKey: func(session, _ string) string { return session },

	// Either condition, and only for this session (AS-109 to AS-112).
	Busy: func(m Manager, session string) bool { return m.Running(session) || len(m.Pending(session)) > 0 },

	// The session moves to the connection entirely (AS-094, AS-100, AS-101).
	Bind: func(Manager, Occasion, ConnInfo, string) Binding {
		return Binding{Owner: true, Default: true, Release: true}
	},

	// The agent changes if and only if the switch succeeds (AS-053).
	Commit: func(sw Switch, set func(string)) {
		if sw.Refusal == nil {
			set(sw.AgentID)
		}
	},

	// A turn keeps its initial configuration (AS-061, AS-062).
	Configure: func(t TurnView) Config {
		if t.Call == 1 {
			return t.Now
		}
		return t.Started
	},

	// Both the turn and its pending requests (AS-068).
	Abort: func() AbortEffect { return AbortEffect{Turn: true, Interactions: true} },

	// Its sessions continue, and can be loaded by another connection (AS-099).
	OnDisconnect: func(Manager, ConnInfo) {},
}

// checkID checks for an empty id before a malformed one (AS-070, AS-073, AS-077, AS-080). A missing id counts as
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

// targetOf returns the named session if it exists, or without a name the connection's default (AS-081, AS-082,
// AS-091, AS-104).
func targetOf(m Manager, c ConnInfo, msg Message) string {
	raw, present := msg[proto.SessionID]
	if !present {
		return m.DefaultSession(c.ID)
	}
	id, _ := raw.(string)
	if !m.Exists(id) {
		return ""
	}
	return id
}
