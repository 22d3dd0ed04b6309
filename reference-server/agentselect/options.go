package agentselect

import (
	"log/slog"
	"time"

	"parley/model"
)

// Options configures a Server. The zero value serves the built-in agents with a brain of its own.
type Options struct {
	AgentsFile   string       // TOML file of custom agents; none without it
	Brain        *model.Brain // answers the conversations; a new one without it
	Policy       Policy       // Correct{} without it
	Inbound      Inbound      // sees client messages before the server does; may be nil
	Outbound     Outbound     // sees events before their connection does; may be nil
	Logger       *slog.Logger // discards without it
	AllowOrigins []string     // Origin values accepted besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // DefaultLimits for fields that are zero
}

// Message is a decoded client message. Absent and null members differ.
type Message map[string]any

// Inbound sees a decoded client message and returns the messages to handle in its place: none drops it. The message may be
// changed in place. Over HTTP a dropped message is answered as accepted.
//
// It is called with the server's lock held, so it may call no method of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) []Message

// Outbound sees an event on its way to a connection, and sends what is to be sent in its place. send may be called any
// number of times, for any connection, during the call or later, by any goroutine. Called like Inbound.
type Outbound func(m Manager, to ConnInfo, ev Event, send func(connID string, ev Event))

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Body        int64         // bytes of an HTTP body or a WebSocket message
	AgentsFile  int64         // bytes of the agents file
	Connections int           // open connections; further ones get 503
	Sessions    int           // sessions; the oldest one that is idle and has no connection makes room, else 503
	History     int           // messages kept per session
	Queue       int           // events waiting for a slow reader; one more ends its connection
	ModelCalls  int           // model calls of one turn
	Turn        time.Duration // a whole turn, with the time that it waits for the user
	Write       time.Duration // one write to a connection
	Heartbeat   time.Duration // between two SSE comments on a quiet stream
}

// DefaultLimits are the limits that hold where Options names none.
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
	l.Body = or(l.Body, DefaultLimits.Body)
	l.AgentsFile = or(l.AgentsFile, DefaultLimits.AgentsFile)
	l.Connections = or(l.Connections, DefaultLimits.Connections)
	l.Sessions = or(l.Sessions, DefaultLimits.Sessions)
	l.History = or(l.History, DefaultLimits.History)
	l.Queue = or(l.Queue, DefaultLimits.Queue)
	l.ModelCalls = or(l.ModelCalls, DefaultLimits.ModelCalls)
	l.Turn = or(l.Turn, DefaultLimits.Turn)
	l.Write = or(l.Write, DefaultLimits.Write)
	l.Heartbeat = or(l.Heartbeat, DefaultLimits.Heartbeat)
	return l
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.withDefaults()
	if o.Brain == nil {
		o.Brain = model.New()
	}
	if o.Policy == nil {
		o.Policy = Correct{}
	}
	if o.Inbound == nil {
		o.Inbound = func(_ Manager, _ ConnInfo, msg Message) []Message { return []Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ Manager, to ConnInfo, ev Event, send func(string, Event)) { send(to.ID, ev) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
