package sessionchat

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"

	"github.com/coder/websocket"

	"parley/llm"
)

// Policy is what the protocol prescribes: one decision each. A decision that is nil is made as by Correct, so that a
// faulty server is a policy with one of them.
//
// All are called with the server's lock held, one at a time, so they may call no method of the Server.
type Policy struct {
	// OnConnect returns messages to handle as if the client had sent them as its first (SC-001).
	OnConnect func(m Manager, c ConnInfo) []Message

	// OnDisconnect reports whether the turns end that the connection asked for, waiting ones included (SC-054).
	OnDisconnect func(m Manager, c ConnInfo) (endTurns bool)

	// OnIdle is called for every session that leaves memory, just before it does (SC-053).
	OnIdle func(m Manager, key string)

	// Malformed decides about a text that is not a message, for the reason given: it returns the messages to handle in its
	// place, or a refusal.
	Malformed func(m Manager, c ConnInfo, data []byte, why *Refusal) ([]Message, *Refusal)

	// Accept judges a message by itself: nil accepts it (SC-029 to SC-037). The limits of the server are judged after it.
	Accept func(m Manager, c ConnInfo, msg Message) *Refusal

	// Key names the session of an agent_id, in memory or in the store (SC-005, SC-027, SC-060).
	Key func(c ConnInfo, agentID string, in Place) string

	// Queue names the queue in which the turns of a session wait for each other: one runs per queue.
	Queue func(m Manager, c ConnInfo, key string) string

	// InterruptTargets are the sessions whose running turns an interrupt ends; key is that of its agent_id (SC-036).
	InterruptTargets func(m Manager, c ConnInfo, key string) []string

	// Known returns what the store knew of a session that is not in memory; found is whether it had it (SC-007 to SC-009).
	Known func(key string, stored Record, found bool) (Record, bool)

	// SessionID is the id that the session has from this turn on; v.SessionID is the one it has now, "" if none.
	SessionID func(v TurnView) string

	// Persist returns what of a turn is saved. It is asked before system is sent, and before result is (SC-018, SC-023).
	Persist func(v TurnView, at Moment) Saving

	// Content is what the user said, as the model is asked it (SC-019).
	Content func(key, content string) string

	// Model is the model of one turn; options is nil if the chat has none (SC-032 to SC-034).
	Model func(key string, options map[string]any, fallback string) string

	// History is the conversation as the model is asked to continue it; its last message is the user's new one (SC-006).
	History func(v TurnView, messages []llm.Message) []llm.Message
}

// Place is where a session is looked for.
type Place string

// The places.
const (
	InMemory Place = "memory" // the source's session_manager
	InStore  Place = "store"  // its database; asked once for as long as the session is in memory (SC-010)
)

// Moment is when a turn is saved.
type Moment string

// The moments.
const (
	AtStart Moment = "start" // the session is registered, with what the user said
	AtEnd   Moment = "end"   // with the answer
)

// Saving is what is saved. A turn can't be saved without its session.
type Saving struct{ Session, Turn bool }

// TurnView is a turn that runs.
type TurnView struct {
	Conn      string // the connection that asked
	AgentID   string // as it was sent
	Key       string // in memory
	SessionID string
	Turn      int  // of the session, from 1
	Resumed   bool // the session comes from the store for this turn
}

// Refusal is why a message is not acted on: an error code, and a text that names the mend.
type Refusal struct{ Code, Text string }

// Manager is the server's state, named after the session_manager of the source. It is valid only during the call that
// it is handed to.
type Manager interface {
	Connections() []ConnInfo // oldest first
	Sessions() []string      // keys of the sessions in memory, sorted
	Running(key string) bool
	Waiting(key string) int      // chats in the queue of that name, without those that run
	SessionID(key string) string // "" if the session is not in memory, or has none yet

	// Send puts a message on a connection, past Outbound. A correct policy never does.
	Send(connID string, msg Message)

	// End closes a connection after what is queued for it; what it sends from now on is not looked at. A correct policy
	// never does.
	End(connID string, code websocket.StatusCode, reason string)
}

// Correct is the policy of the source.
var Correct = Policy{
	// Only a chat creates (SC-001, SC-002).
	OnConnect: func(Manager, ConnInfo) []Message { return nil },

	// The turns end, as nobody is left to receive them; the sessions stay (SC-054, SC-059).
	OnDisconnect: func(Manager, ConnInfo) bool { return true },

	// The store has the session (SC-053).
	OnIdle: func(Manager, string) {},

	Malformed: func(_ Manager, _ ConnInfo, _ []byte, why *Refusal) ([]Message, *Refusal) { return nil, why },
	Accept:    accept,

	// The agent_id, byte for byte (SC-060).
	Key: func(_ ConnInfo, agentID string, _ Place) string { return agentID },

	// The session's own: sessions run side by side (SC-004).
	Queue: func(_ Manager, _ ConnInfo, key string) string { return key },

	// The session that was named, whoever asked for its turn (SC-036).
	InterruptTargets: func(_ Manager, _ ConnInfo, key string) []string { return []string{key} },

	// What the store has, whatever the session's age (SC-058).
	Known: func(_ string, stored Record, found bool) (Record, bool) { return stored, found },

	// A session keeps its id, which is a new UUID in the beginning (SC-006, SC-016, SC-042).
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
		name, _ := options["model"].(string)
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
