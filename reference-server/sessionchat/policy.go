package sessionchat

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/coder/websocket"

	"parley/model"
)

// Policy is what the protocol prescribes, one decision per method. Correct decides as the source does; a faulty server
// embeds it and decides one thing otherwise.
//
// All methods are called with the server's lock held, one at a time, so they may call no method of the Server.
type Policy interface {
	// OnConnect returns messages to handle as if the client had sent them as its first (SC-001).
	OnConnect(m Manager, c ConnInfo) []Message

	// OnDisconnect tells whether the turns end that the connection asked for, waiting ones included (SC-054).
	OnDisconnect(m Manager, c ConnInfo) (endTurns bool)

	// OnIdle is told of every session that leaves memory, just before it does (SC-053).
	OnIdle(m Manager, key string)

	// Malformed tells what is made of a text that is no message, and why it is none: the messages to handle in its place, or
	// a refusal.
	Malformed(m Manager, c ConnInfo, data []byte, why *Refusal) ([]Message, *Refusal)

	// Accept judges a message by itself: nil accepts it (SC-029 to SC-037). The limits of the server are judged after it.
	Accept(m Manager, c ConnInfo, msg Message) *Refusal

	// Key names the session of an agent_id, in memory or in the store (SC-005, SC-027, SC-060).
	Key(c ConnInfo, agentID string, in Place) string

	// Queue names the queue in which the turns of a session wait for each other: one runs per queue.
	Queue(m Manager, c ConnInfo, key string) string

	// InterruptTargets are the sessions whose running turns an interrupt ends; key is that of its agent_id (SC-036).
	InterruptTargets(m Manager, c ConnInfo, key string) []string

	// Known tells what the store knew of a session that is not in memory; found is whether it had it (SC-007 to SC-009).
	Known(key string, stored Record, found bool) (Record, bool)

	// SessionID is the id that the session has from this turn on; v.SessionID is the one it has now, "" if none.
	SessionID(v TurnView) string

	// Persist tells what of a turn is saved. It is asked before system is sent, and before result is (SC-018, SC-023).
	Persist(v TurnView, at Moment) Saving

	// Content is what the user said, as the model is asked it (SC-019).
	Content(key, content string) string

	// Model is the model of one turn; options is nil if the chat has none (SC-032 to SC-034).
	Model(key string, options map[string]any, fallback string) string

	// History is the conversation as the model is asked to continue it; its last message is the user's new one (SC-006).
	History(v TurnView, messages []model.Message) []model.Message
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

// Manager is the server's state, named after the session_manager of the source. It is valid only during the call that it
// is handed to.
type Manager interface {
	Connections() []ConnInfo // oldest first
	Sessions() []string      // keys of the sessions in memory, sorted
	Running(key string) bool
	Waiting(key string) int      // chats in the queue of that name, without those that run
	SessionID(key string) string // "" if the session is not in memory, or has none yet

	// Send puts a message on a connection, past Outbound. Correct never does.
	Send(connID string, msg Message)

	// End closes a connection behind what is queued for it; what it sends from now on is not looked at. Correct never does.
	End(connID string, code websocket.StatusCode, reason string)
}

// Correct is the policy of the source.
type Correct struct{}

var _ Policy = Correct{}

// OnConnect does nothing: only a chat creates (SC-001, SC-002).
func (Correct) OnConnect(Manager, ConnInfo) []Message { return nil }

// OnDisconnect ends the turns, as nobody is left to hear them; the sessions stay (SC-054, SC-059).
func (Correct) OnDisconnect(Manager, ConnInfo) bool { return true }

// OnIdle does nothing: the store has the session (SC-053).
func (Correct) OnIdle(Manager, string) {}

// Malformed is refused.
func (Correct) Malformed(_ Manager, _ ConnInfo, _ []byte, why *Refusal) ([]Message, *Refusal) {
	return nil, why
}

// Key is the agent_id, byte for byte (SC-060).
func (Correct) Key(_ ConnInfo, agentID string, _ Place) string { return agentID }

// Queue is the session's own: sessions run side by side (SC-004).
func (Correct) Queue(_ Manager, _ ConnInfo, key string) string { return key }

// InterruptTargets is the session that was named, whoever asked for its turn (SC-036).
func (Correct) InterruptTargets(_ Manager, _ ConnInfo, key string) []string { return []string{key} }

// Known is what the store says, whatever the session's age (SC-058).
func (Correct) Known(_ string, stored Record, found bool) (Record, bool) { return stored, found }

// SessionID stays what it is, and is a new UUID in the beginning (SC-006, SC-016, SC-042).
func (Correct) SessionID(v TurnView) string {
	if v.SessionID != "" {
		return v.SessionID
	}
	return newUUID()
}

// Persist saves everything each time (SC-018, SC-022, SC-023).
func (Correct) Persist(TurnView, Moment) Saving { return Saving{Session: true, Turn: true} }

// Content is passed on unchanged (SC-019).
func (Correct) Content(_, content string) string { return content }

// Model is that of the options, for this chat only (SC-033).
func (Correct) Model(_ string, options map[string]any, fallback string) string {
	if name, _ := options["model"].(string); name != "" {
		return name
	}
	return fallback
}

// History is that of the session, and nothing else (SC-027).
func (Correct) History(_ TurnView, messages []model.Message) []model.Message { return messages }

// newUUID returns a random UUID (version 4, RFC 9562).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
