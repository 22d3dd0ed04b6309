package agentselect

import (
	"cmp"
	"log/slog"
	"time"

	"parley/llm"
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
	ModelCalls:  64,
	Turn:        30 * time.Minute,
	Write:       time.Minute,
	Heartbeat:   15 * time.Second,
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	return Limits{
		Body: cmp.Or(l.Body, d.Body), AgentsFile: cmp.Or(l.AgentsFile, d.AgentsFile),
		Connections: cmp.Or(l.Connections, d.Connections), Sessions: cmp.Or(l.Sessions, d.Sessions),
		History: cmp.Or(l.History, d.History), Queue: cmp.Or(l.Queue, d.Queue),
		ModelCalls: cmp.Or(l.ModelCalls, d.ModelCalls), Turn: cmp.Or(l.Turn, d.Turn),
		Write: cmp.Or(l.Write, d.Write), Heartbeat: cmp.Or(l.Heartbeat, d.Heartbeat),
	}
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Brain == nil {
		o.Brain = llm.New()
	}
	o.Policy = o.Policy.withDefaults()
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
