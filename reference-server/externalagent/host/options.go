package host

import (
	"context"
	"log/slog"
	"time"

	"parley/reference-server/defaults"
)

// Options configures a Host. The zero value plays the built-in cinema correctly, and logs into a temporary folder.
type Options struct {
	Catalogue *Catalogue // default: the built-in one; hosts may share it

	Logs    string // folder of the logs, made if it is missing; "": a temporary one, which Close removes
	Store   Store  // used instead of a store in Logs; the host does not close it, so hosts may share it
	LogName string // what logFile of session.ended has in place of the folder Logs; default: DefaultLogName

	Now func() time.Time // default: time.Now

	Policy   Policy   // makes a faulty host
	Inbound  Inbound  // sees messages before the host does; may be nil
	Outbound Outbound // sees messages before the connection does; may be nil

	Logger *slog.Logger // default: none
	Limits Limits       // zero fields are those of DefaultLimits
}

// DefaultLogName makes the logFile of session.ended look as in the source: logs/study/s-20260213-001.jsonl. A reader
// replaces this first part by the folder Options.Logs.
const DefaultLogName = "logs/"

// Conn is a connection that has joined a relay session as its host. Both methods return soon after ctx ends. Read and
// Write are each called by one goroutine at a time. The host waits for Write, which must not wait for an agent.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, data []byte) error
}

// Inbound sees a message that came in, and returns the messages to handle in its place: none drops it. The message may
// be changed in place. Texts that are not JSON objects do not come here. The log has the message as it came over the
// wire.
//
// It is called with the host's lock held, so it may call no method of the Host.
type Inbound func(v View, msg Message) []Message

// Outbound sees a message on its way to the connection, and sends what is to be sent in its place. send may be called
// any number of times, in this call or in a later one of Outbound, Inbound or the policy; it logs what it sends. Called
// like Inbound.
type Outbound func(v View, msg Message, send func(Message))

// Limits bounds what a Host keeps.
type Limits struct {
	Message      int   // bytes of a message that comes in; more is INVALID_MESSAGE
	Text         int   // bytes of one text of the history; more is INVALID_MESSAGE, or INVALID_PARAMS of postMessage
	History      int   // entries of the history, besides the receipt; then there is no room
	HistoryBytes int   // bytes of its JSON, likewise; a state must fit into a frame of a relay
	Log          int64 // bytes of a log; more ends the session
}

// DefaultLimits are the limits of a host whose Options set none.
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
