package sessionchat

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"time"

	"parley/llm"
	"parley/reference-server/defaults"
)

// Options configures a Server. The zero value keeps its sessions in memory and answers with a brain of its own.
type Options struct {
	DB    string // file of the sessions; "" keeps them for as long as the server lives
	Store Store  // in place of the one that DB names; the server closes it

	// Unsynced leaves it to the system when the file is written to the disk: what is saved survives the end of the
	// process, but not a loss of power. It is for a file that is thrown away in the end: no chat waits for a disk that is
	// busy.
	Unsynced bool

	Idle  time.Duration // a session that nobody used for so long leaves memory; 10 minutes without it
	Model string        // asked for by a chat whose options name none; "default" without it

	Backend      Backend      // answers the conversations; a new llm.Brain without it
	Policy       Policy       // Correct, where a decision is nil
	Inbound      Inbound      // sees client messages before the server does; may be nil
	Outbound     Outbound     // sees messages before their connection does; may be nil
	Logger       *slog.Logger // discards without it
	AllowOrigins []string     // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // DefaultLimits for fields that are zero
}

// Backend is the model behind the sessions, in the words of the source: the SDK client. *llm.Brain is one.
//
// Answer hands the pieces of the answer to emit, one after the other. It returns soon after ctx ends: an interrupt
// takes effect no earlier. It is called by many goroutines at once.
type Backend interface {
	Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error
}

// Inbound sees a decoded client message, and returns the messages to handle in its place: none drops it. The message
// may be changed in place. What can't be decoded never comes here.
//
// It is called with the server's lock held, so it may call no method of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) []Message

// Outbound sees a message on its way to a connection, and sends what is to be sent in its place. send may be called any
// number of times, for any connection, during the call or later, by any goroutine; what has been sent must not change
// any more. Called like Inbound.
type Outbound func(m Manager, to ConnInfo, msg Message, send func(connID string, msg Message))

// ConnInfo describes a connection.
type ConnInfo struct {
	ID    string
	Query url.Values // of the request that opened it
}

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Connections int // open connections; further ones get 503
	Sessions    int // sessions in memory; the one idle for longest makes room, else "overloaded"
	Queue       int // chats that wait for the turn of their session; one more gets "overloaded"

	Message  int64 // bytes of a client message; more closes the connection with 1009
	AgentID  int   // bytes of an agent_id; more is "invalid_message"
	Answer   int   // bytes of one answer of the model; more fails the turn
	Outgoing int   // bytes that may wait for a slow reader; a message more cuts it off
	Memory   int   // bytes of text in memory, over all sessions; the ones idle for longest make room, else "overloaded"
	Database int64 // bytes of the database; a chat that finds no room in it gets "overloaded"

	History      int // turns of one session that are kept, and that the model is shown
	HistoryBytes int // their text in bytes; the oldest turns go first, in memory and in what a store hands out

	Turn  time.Duration // a whole turn
	Store time.Duration // the wait for the lock of the database; an operation of the store takes twice as long at most
	Write time.Duration // one write to a connection
	Close time.Duration // the wait for the client's half of a closing handshake
}

// DefaultLimits are the limits that hold where Options names none.
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
		o.Backend = llm.New()
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
