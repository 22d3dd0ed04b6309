package host

import (
	"context"
	"log/slog"
	"time"

	"parley/reference-server/defaults"
)

// Options configures a Host. The zero value runs the built-in cinema correctly and logs into a temporary folder.
type Options struct {
	Catalogue *Catalogue // default: the built-in one; hosts may share a catalogue

	Logs    string // folder of the logs, created if missing; "": a temporary one, which Close removes
	Store   Store  // used instead of a store in Logs; the host does not close it, so hosts may share it
	LogName string // stands for the folder Logs in logFile of session.ended; default: DefaultLogName

	Now func() time.Time // default: time.Now

	Policy   Policy   // makes a faulty host
	Inbound  Inbound  // sees messages before the host does; may be nil
	Outbound Outbound // sees messages before the connection does; may be nil

	Logger *slog.Logger // default: none
	Limits Limits       // zero fields are those of DefaultLimits
}

// DefaultLogName makes the logFile of session.ended look as in the source: logs/study/s-20260213-001.jsonl. A reader
// replaces this prefix by the folder Options.Logs.
const DefaultLogName = "logs/"

// Conn is a connection that has joined a relay session as its host. Both methods return soon after ctx ends. Each
// method is called by one goroutine at a time. The host waits for Write, which must not wait for an agent.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, data []byte) error
}

// Inbound sees an incoming message and returns the messages to handle instead; an empty result drops it. The message
// may be changed in place. Inbound does not see texts that are not JSON objects. The log has the original message.
//
// It is called with the host's lock held, so it must not call methods of the Host.
type Inbound func(v View, msg Message) []Message

// Outbound sees an outgoing message and sends its replacements. send may be called any number of times, in this call
// or in a later call of Outbound, Inbound or the policy; it logs what it sends. The same locking rules as for Inbound
// apply.
type Outbound func(v View, msg Message, send func(Message))

// Limits bounds what a Host keeps.
type Limits struct {
	Message      int   // bytes of an incoming message; a longer one is INVALID_MESSAGE
	Text         int   // bytes of a text of the history; beyond: INVALID_MESSAGE, or INVALID_PARAMS of postMessage
	History      int   // maximum entries of the history, not counting the receipt
	HistoryBytes int   // maximum bytes of its JSON, likewise; a state must fit into a frame of a relay
	Log          int64 // maximum bytes of a log; beyond it the session ends
}

// DefaultLimits are the default limits of a host.
var DefaultLimits = Limits{Message: 1 << 20, Text: 16 << 10, History: 2000, HistoryBytes: 512 << 10, Log: 1 << 30}

func (o Options) withDefaults() (Options, error) {
	if o.Catalogue == nil {
		var err error
		if o.Catalogue, err = LoadCatalogue(""); err != nil {
			return o, err
		}
	}
	defaults.Fill(&o, Options{
		LogName:  DefaultLogName,
		Now:      time.Now,
		Policy:   right,
		Inbound:  func(_ View, msg Message) []Message { return []Message{msg} },
		Outbound: func(_ View, msg Message, send func(Message)) { send(msg) },
		Logger:   slog.New(slog.DiscardHandler),
		Limits:   DefaultLimits,
	})
	return o, nil
}
