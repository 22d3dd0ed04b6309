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
	// of a session whose set-up frame gives no limits.input_ack_ms; orchestrator.DefaultAck without it
	InputAck  time.Duration
	CancelAck time.Duration // the same, for limits.cancel_ack_ms

	Seams        func() Seams // called once for each bus; may be nil
	Logger       *slog.Logger // discards without it
	AllowOrigins []string     // Origin values accepted besides loopback ones; "null" and "*" stand for themselves

	Limits  Limits              // DefaultLimits for fields that are zero
	Runtime orchestrator.Limits // of each runtime; orchestrator.DefaultLimits for fields that are zero
}

// Seams are where the orchestrators of a bus are made faulty. Both functions may be nil. They are called by one
// goroutine at a time, so what they share needs no lock.
type Seams struct {
	// Runtime changes the options of a runtime before it is made, at every set-up frame. SessionID says which it is.
	Runtime func(o *orchestrator.Options)

	// Route tells which runtime a message is for, by its session_id; that of the message without it.
	Route func(msg proto.Message) (sessionID string)
}

// Limits bounds what a bus keeps and waits for.
type Limits struct {
	Connections int // open connections of a Server; further ones get 503
	Sessions    int // runtimes of one bus; a set-up frame for one more is an error

	Message  int64         // bytes of a frame; more closes a WebSocket with 1009, and is an error on stdio
	Incoming int           // frames that wait to be handled
	Outgoing int           // bytes that wait for a slow reader; beyond them no frame is handled until there is room
	Ack      time.Duration // the longest limit that a set-up frame may ask for

	Write time.Duration // one write to a WebSocket; more ends the connection
	Close time.Duration // the wait for the client's half of a closing handshake
}

// DefaultLimits are the limits that hold where Options names none.
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

// withDefaults fails on what is negative: no such limit can be kept.
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
