package sessionchat

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"time"

	"parley/internal/llm"
	"parley/reference-server/defaults"
)

// Options configures a Server. The zero value keeps its sessions in memory and answers with a new llm.Brain.
type Options struct {
	DB    string // file of the sessions; "" keeps them in memory
	Store Store  // replaces the store that DB names; the server closes it

	// Unsynced leaves it to the operating system when the file is written to disk: saved data survives the process, but
	// not a loss of power. It is for temporary files, so that no chat waits for a busy disk.
	Unsynced bool

	Idle  time.Duration // a session idle for this long leaves memory; default: 10 minutes
	Model string        // used if a chat's options name none; default: "default"

	Backend      Backend      // answers the conversations; default: a new llm.Brain
	Policy       Policy       // nil functions default to those of Correct
	Inbound      Inbound      // sees client messages before the server; may be nil
	Outbound     Outbound     // sees messages before their connection; may be nil
	Logger       *slog.Logger // default: discard
	AllowOrigins []string     // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // zero fields default to DefaultLimits
}

// Backend is the model behind the sessions; the source calls it the SDK client. *llm.Brain is one.
//
// Answer passes the pieces of the answer to emit in order. It must return soon after ctx ends, because an interrupt
// waits for that. It is called by many goroutines concurrently.
type Backend interface {
	Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error
}

// Inbound sees a decoded client message and returns the messages to handle instead; an empty result drops it. The
// message may be changed in place. Inbound does not see texts that can't be decoded.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) []Message

// Outbound sees a message on its way to a connection and sends its replacements. send may be called any number of
// times, for any connection, during the call or later, by any goroutine; a message must not change after it was sent.
// The same locking rules as for Inbound apply.
type Outbound func(m Manager, to ConnInfo, msg Message, send func(connID string, msg Message))

// ConnInfo describes a connection.
type ConnInfo struct {
	ID    string
	Query url.Values // of the request that opened it
}

// Limits bounds what a Server keeps and its waits.
type Limits struct {
	Connections int // open connections; more get 503
	Sessions    int // sessions in memory; beyond it the longest-idle one is evicted, else "overloaded"
	Queue       int // queued chats per session; another gets "overloaded"

	Message  int64 // bytes of a client message; a larger one closes the connection with 1009
	AgentID  int   // bytes of an agent_id; a longer one is "invalid_message"
	Answer   int   // bytes of one answer of the model; beyond it the turn fails
	Outgoing int   // bytes waiting for a slow reader; beyond it the connection is dropped
	Memory   int   // bytes of text in memory, over all sessions; beyond it the longest-idle are evicted, else "overloaded"
	Database int64 // bytes of the database; a chat that does not fit gets "overloaded"

	History      int // turns of one session that are kept and shown to the model
	HistoryBytes int // bytes of their text; the oldest turns are dropped first, in memory and when a store is read

	Turn  time.Duration // a whole turn
	Store time.Duration // wait for the database lock; an operation of the store takes at most twice as long
	Write time.Duration // one write to a connection
	Close time.Duration // the wait for the client's half of a closing handshake
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Connections:  4096,
	Sessions:     4096,
	Queue:        16,
	Message:      8 << 20,
	AgentID:      64 << 10,
	Answer:       16 << 20,
	Outgoing:     32 << 20,
	Memory:       512 << 20,
	Database:     1 << 30,
	History:      1000,
	HistoryBytes: 32 << 20,
	Turn:         30 * time.Minute,
	Store:        30 * time.Second,
	Write:        time.Minute,
	Close:        time.Second,
}

const (
	defaultIdle  = 10 * time.Minute
	defaultModel = "default"
)

func (o Options) withDefaults() Options {
	defaults.Fill(&o.Limits, DefaultLimits)
	defaults.Fill(&o.Policy, Correct)
	o.Idle, o.Model = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Model, defaultModel)
	if o.Backend == nil {
		o.Backend = llm.NewUnrecorded()
	}
	if o.Inbound == nil {
		o.Inbound = func(_ Manager, _ ConnInfo, msg Message) []Message { return []Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ Manager, to ConnInfo, msg Message, send func(string, Message)) { send(to.ID, msg) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
