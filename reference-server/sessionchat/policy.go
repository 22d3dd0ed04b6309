package sessionchat

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
)

// Policy has the decisions that the protocol prescribes. A nil function defaults to that of Correct, so a faulty
// server is a policy with one function.
//
// The functions are called with the server's lock held, one at a time, so they must not call methods of the Server.
type Policy struct {
	// OnConnect returns messages to handle as if the client had sent them first (SC-001).
	OnConnect func(m Manager, c ConnInfo) []Message

	// OnDisconnect reports whether to end the turns that the connection asked for, including queued ones (SC-054).
	OnDisconnect func(m Manager, c ConnInfo) (endTurns bool)

	// OnIdle is called for every session just before it leaves memory (SC-053).
	OnIdle func(m Manager, key string)

	// Malformed handles a text that is not a message, for the given reason: it returns the messages to handle instead,
	// or a refusal.
	Malformed func(m Manager, c ConnInfo, data []byte, why *Refusal) ([]Message, *Refusal)

	// Accept checks a message by itself: nil accepts it (SC-029 to SC-037). The server's limits are checked afterwards.
	Accept func(m Manager, c ConnInfo, msg Message) *Refusal

	// Key returns the key of an agent_id's session, in memory or in the store (SC-005, SC-027, SC-060).
	Key func(c ConnInfo, agentID string, in Place) string

	// Queue names the queue of a session's turns; each queue runs one turn at a time.
	Queue func(m Manager, c ConnInfo, key string) string

	// InterruptTargets returns the sessions whose running turns an interrupt ends; key is that of its agent_id (SC-036).
	InterruptTargets func(m Manager, c ConnInfo, key string) []string

	// Known returns what the store has of a session that is not in memory, and whether it has it (SC-007 to SC-009).
	Known func(key string, stored Record, found bool) (Record, bool)

	// SessionID returns the session's id from this turn on; v.SessionID is its current id, "" if none.
	SessionID func(v TurnView) string

	// Persist returns which parts of a turn to save. It is called before system and before result is sent (SC-018,
	// SC-023).
	Persist func(v TurnView, at Moment) Saving

	// Content returns the user's content as the model gets it (SC-019).
	Content func(key, content string) string

	// Model returns the model for one turn; options is nil if the chat has none (SC-032 to SC-034).
	Model func(key string, options map[string]any, fallback string) string

	// History returns the conversation for the model to continue; its last message is the user's new one (SC-006).
	History func(v TurnView, messages []llm.Message) []llm.Message
}

// Place is where to look for a session.
type Place string

// The places.
const (
	InMemory Place = "memory" // the source's session_manager
	InStore  Place = "store"  // its database; read once while the session is in memory (SC-010)
)

// Moment is when a turn is saved.
type Moment string

// The moments.
const (
	AtStart Moment = "start" // the session and the user's content
	AtEnd   Moment = "end"   // with the answer
)

// Saving selects what to save. A turn can't be saved without its session.
type Saving struct{ Session, Turn bool }

// TurnView is a running turn.
type TurnView struct {
	Conn      string // the connection that asked
	AgentID   string // as sent
	Key       string // in memory
	SessionID string
	Turn      int  // number within the session, from 1
	Resumed   bool // this turn loaded the session from the store
}

// Refusal is why a message is refused: an error code and a text that says how to fix it.
type Refusal struct{ Code, Text string }

// Manager is the server's state, named after the session_manager of the source. It is valid only during the call that
// receives it.
type Manager interface {
	Connections() []ConnInfo // oldest first
	Sessions() []string      // keys of the sessions in memory, sorted
	Running(key string) bool
	Waiting(key string) int      // chats waiting in that queue, without running ones
	SessionID(key string) string // "" if the session is not in memory or has no id yet

	// Send sends a message on a connection, bypassing Outbound. A correct policy never does.
	Send(connID string, msg Message)

	// End closes a connection after its queued messages and ignores what it sends from now on. A correct policy never
	// does.
	End(connID string, code websocket.StatusCode, reason string)
}

// Correct is the policy that the source prescribes.
var Correct = Policy{
	// Only a chat creates a session (SC-001, SC-002).
	OnConnect: func(Manager, ConnInfo) []Message { return nil },

	// The turns end, because no client is left to receive them; the sessions stay (SC-054, SC-059).
	OnDisconnect: func(Manager, ConnInfo) bool { return true },

	// The store has the session (SC-053).
	OnIdle: func(Manager, string) {},

	Malformed: func(_ Manager, _ ConnInfo, _ []byte, why *Refusal) ([]Message, *Refusal) { return nil, why },
	Accept:    checkFields,

	// The agent_id, byte for byte (SC-060).
	Key: func(_ ConnInfo, agentID string, _ Place) string { return agentID },

	// One queue per session, so that sessions run in parallel (SC-004).
	Queue: func(_ Manager, _ ConnInfo, key string) string { return key },

	// The named session, whichever connection asked for its turn (SC-036).
	InterruptTargets: func(_ Manager, _ ConnInfo, key string) []string { return []string{key} },

	// What the store has, whatever the session's age (SC-058).
	Known: func(_ string, stored Record, found bool) (Record, bool) { return stored, found },

	// A session keeps its id; a new one gets a new UUID (SC-006, SC-016, SC-042).
	SessionID: func(v TurnView) string {
		if v.SessionID != "" {
			return v.SessionID
		}
		return newUUID()
	},

	// Everything each time (SC-018, SC-022, SC-023).
	Persist: func(TurnView, Moment) Saving { return Saving{Session: true, Turn: true} },

	// Unchanged (SC-019).
	Content: func(_, content string) string { return content },

	// That of the options, for this chat only (SC-033).
	Model: func(_ string, options map[string]any, fallback string) string {
		name, _ := options[proto.Model].(string)
		return cmp.Or(name, fallback)
	},

	// That of the session, and nothing else (SC-027).
	History: func(_ TurnView, messages []llm.Message) []llm.Message { return messages },
}

// newUUID returns a random UUID (version 4, RFC 9562).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
