package sessionruntime

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/defaults"
	"parley/reference-server/sessionruntime/orchestrator"
)

// Options configures a Server, or one bus on stdio. The zero value behaves correctly.
type Options struct {
	// used if the set-up frame gives no limits.input_ack_ms; default: orchestrator.DefaultAck
	InputAck  time.Duration
	CancelAck time.Duration // likewise for limits.cancel_ack_ms

	Seams        func() Seams // called once per bus; may be nil
	Logger       *slog.Logger // default: discard
	AllowOrigins []string     // accepted Origin values besides loopback ones; "null" and "*" stand for themselves

	Limits  Limits              // zero fields default to DefaultLimits
	Runtime orchestrator.Limits // of each runtime; zero fields default to orchestrator.DefaultLimits
}

// Seams make the orchestrators of a bus faulty. Both functions may be nil. They are called by one goroutine at a
// time, so their shared state needs no lock.
type Seams struct {
	// Runtime changes the options of a runtime before it is made, at every set-up frame. SessionID identifies it.
	Runtime func(o *orchestrator.Options)

	// Route returns the session ID of the runtime for a message; default: that of the message.
	Route func(msg proto.Message) (sessionID string)
}

// Limits bounds what a bus keeps and its waits.
type Limits struct {
	Connections int // open connections of a Server; more get 503
	Sessions    int // runtimes of a bus; a set-up frame for another is an error

	Message  int64         // bytes per frame; a larger one closes a WebSocket with 1009, and is an error on stdio
	Incoming int           // frames waiting to be handled
	Outgoing int           // bytes waiting for a slow reader; beyond that no frame is handled
	Ack      time.Duration // maximum limit in a set-up frame

	Write time.Duration // one write to a WebSocket; a slower one ends the connection
	Close time.Duration // the wait for the client's half of a closing handshake
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Connections: 1024,
	Sessions:    1024,
	Message:     1 << 20,
	Incoming:    16,
	Outgoing:    8 << 20,
	Ack:         time.Hour,
	Write:       time.Minute,
	Close:       time.Second,
}

// withDefaults fills in defaults. It rejects negative limits.
func (o Options) withDefaults() (Options, error) {
	defaults.Fill(&o.Limits, DefaultLimits)
	o.InputAck = cmp.Or(o.InputAck, orchestrator.DefaultAck)
	o.CancelAck = cmp.Or(o.CancelAck, orchestrator.DefaultAck)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l, r := o.Limits, o.Runtime
	if min(l.Connections, l.Sessions, int(l.Message), l.Incoming, l.Outgoing, int(l.Ack), int(l.Write), int(l.Close),
		int(o.InputAck), int(o.CancelAck), r.Turns, r.Finished, r.Transactions, r.Agents, r.Seen, r.Output, r.ID) < 0 {
		return o, errors.New("a limit can't be negative")
	}
	return o, nil
}
