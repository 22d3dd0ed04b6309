package host

import (
	"context"
	"log/slog"
	"time"
)

// Options configures a Host. The zero value plays the built-in cinema correctly, and logs into a temporary folder.
type Options struct {
	Catalogue *Catalogue // the built-in one without it; hosts may share it

	Logs    string // folder of the logs, made if need be; "": a temporary one, which Close removes
	Store   Store  // in place of the one that Logs names; it is not closed, so hosts may share it
	LogName string // what logFile of session.ended begins with, in the place of the folder Logs; DefaultLogName without it

	Now func() time.Time // time.Now without it

	Policy   Policy   // Correct{} without it
	Inbound  Inbound  // sees messages before the host does; may be nil
	Outbound Outbound // sees messages before the connection does; may be nil

	Logger *slog.Logger // discards without it
	Limits Limits       // DefaultLimits for fields that are zero
}

// DefaultLogName makes the logFile of session.ended look as in the source: logs/study/s-20260213-001.jsonl. Who reads it
// puts the folder Options.Logs in the place of this first part.
const DefaultLogName = "logs/"

// Conn is a connection that has joined a relay session as its host. Both methods return soon after ctx ends. Read and Write
// are each called by one goroutine at a time.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, data []byte) error
}

// Inbound sees a message that came in, and returns the messages to handle in its place: none drops it. The message may be
// changed in place. What is no JSON object never comes here. The log has the message as it came over the wire.
//
// It is called with the host's lock held, so it may call no method of the Host.
type Inbound func(v View, msg Message) []Message

// Outbound sees a message on its way to the connection, and sends what is to be sent in its place. send may be called any
// number of times, in this call or in a later one of Outbound, Inbound or the policy; it logs what it sends. Called like
// Inbound.
type Outbound func(v View, msg Message, send func(Message))

// Limits bounds what a Host keeps.
type Limits struct {
	Message      int   // bytes of a message that comes in; more is INVALID_MESSAGE
	Text         int   // bytes of one text of the history; more is INVALID_MESSAGE, or INVALID_PARAMS of postMessage
	History      int   // entries of the history, one more for the receipt; then there is no room
	HistoryBytes int   // bytes of its JSON, the same; a state must fit into a frame of a relay
	Log          int64 // bytes of a log; more ends the session
	Outgoing     int   // bytes that may wait for a slow reader; more ends the connection
}

// DefaultLimits are the limits that hold where Options names none.
var DefaultLimits = Limits{
	Message:      1 << 20,
	Text:         16 << 10,
	History:      2000,
	HistoryBytes: 512 << 10,
	Log:          1 << 30,
	Outgoing:     32 << 20,
}

func (l Limits) withDefaults() Limits {
	l.Message = or(l.Message, DefaultLimits.Message)
	l.Text = or(l.Text, DefaultLimits.Text)
	l.History = or(l.History, DefaultLimits.History)
	l.HistoryBytes = or(l.HistoryBytes, DefaultLimits.HistoryBytes)
	l.Log = or(l.Log, DefaultLimits.Log)
	l.Outgoing = or(l.Outgoing, DefaultLimits.Outgoing)
	return l
}

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (o Options) withDefaults() (Options, error) {
	o.Limits = o.Limits.withDefaults()
	o.LogName = or(o.LogName, DefaultLogName)
	if o.Catalogue == nil {
		var err error
		if o.Catalogue, err = LoadCatalogue(""); err != nil {
			return o, err
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Policy == nil {
		o.Policy = Correct{}
	}
	if o.Inbound == nil {
		o.Inbound = func(_ View, msg Message) []Message { return []Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ View, msg Message, send func(Message)) { send(msg) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
