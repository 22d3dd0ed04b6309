package agentselect

import (
	"log/slog"
	"time"

	"parley/internal/llm"
	"parley/reference-server/defaults"
)

// Options configures a Server. The zero value serves the built-in agents with a new brain.
type Options struct {
	AgentsFile   string       // TOML file of custom agents; default: none
	Brain        *llm.Brain   // answers the conversations; default: a new one
	Policy       Policy       // nil functions default to those of Correct
	Inbound      Inbound      // sees client messages before the server; may be nil
	Outbound     Outbound     // sees events before their connection; may be nil
	Logger       *slog.Logger // default: discard
	AllowOrigins []string     // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // zero fields default to DefaultLimits
}

// Message is a decoded client message. Absent and null members differ.
type Message map[string]any

// Inbound sees a decoded client message, which it may change, and reports whether to handle it. Over HTTP an ignored
// message gets a success response.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) bool

// Outbound sees an event on its way to a connection and sends its replacements. send may be called any number of
// times, for any connection, during the call or later, by any goroutine. The same locking rules as for Inbound apply.
type Outbound func(m Manager, to ConnInfo, ev Event, send func(connID string, ev Event))

// Limits bounds what a Server keeps and its waits.
type Limits struct {
	Body        int64         // bytes of an HTTP body or a WebSocket message
	AgentsFile  int64         // bytes of the agents file
	Connections int           // open connections; more get 503
	Sessions    int           // sessions; beyond it the oldest idle one without a connection is evicted, else 503
	History     int           // messages kept per session
	Queue       int           // events waiting for a slow reader; one more ends its connection
	QueueBytes  int           // total bytes of them, likewise; a single event may always wait
	ModelCalls  int           // model calls of one turn
	Turn        time.Duration // a whole turn, including waits for the user
	Write       time.Duration // one write to a connection
	Heartbeat   time.Duration // between two SSE comments on a quiet stream
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Body:        1 << 20,
	AgentsFile:  1 << 20,
	Connections: 4096,
	Sessions:    16384,
	History:     200,
	Queue:       512,
	QueueBytes:  32 << 20,
	ModelCalls:  64,
	Turn:        30 * time.Minute,
	Write:       time.Minute,
	Heartbeat:   15 * time.Second,
}

func (o Options) withDefaults() Options {
	defaults.Fill(&o.Limits, DefaultLimits)
	defaults.Fill(&o.Policy, Correct)
	if o.Brain == nil {
		o.Brain = llm.NewUnrecorded()
	}
	if o.Inbound == nil {
		o.Inbound = func(Manager, ConnInfo, Message) bool { return true }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ Manager, to ConnInfo, ev Event, send func(string, Event)) { send(to.ID, ev) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
