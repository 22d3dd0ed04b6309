// Package host is the bundled movie-booking host of the external-agent protocol: it implements external-agent.zh.md
// as the project's rulings interpret it, over a connection that has joined a relay session.
//
// New makes the host of one relay session, Serve runs it over a connection, Say delivers the participant's input, and
// Close ends it. A host keeps its study session across connections.
//
//	agent sends      host answers                                            then
//	session.start    session.started {sessionId}                             state.updated
//	snapshot.get     snapshot.state {sessionId, uiSpec, messageHistory, …}
//	tool.call        tool.result {ok: true, toolName, uiSpec?}               state.updated
//	agent.message    nothing; the history shows it                           state.updated
//	session.end      session.ended {sessionId, logFile, stateReset: true}
//
// A refused request gets error {code, message} and changes nothing. Say sends user.message {text, stage}, then
// state.updated. The host sends no other unsolicited state: an agent that reconnects asks for a snapshot (EA-076).
//
// # Where the document is silent
//
// A request is first checked by itself: a malformed envelope or payload gets INVALID_MESSAGE, with or without a
// session. Then, without a session, every request but session.start gets SESSION_NOT_ACTIVE, including agent.message.
// A session.start while one is active gets INVALID_MESSAGE, and the session continues. A tool.call after the booking,
// when uiSpec is null and toolSchema empty, gets NO_ACTIVE_SPEC; a tool missing from the current toolSchema gets
// UNKNOWN_TOOL; params that violate its schema get INVALID_PARAMS; and a valid call that can't be executed gets
// TOOL_EXECUTION_FAILED: an item that is sold out, next without a choice or with unequal numbers of tickets and seats,
// more tickets of a type than are sold, a ninth seat, a full history. A session whose log can't be written also gets
// TOOL_EXECUTION_FAILED: it does not begin, or it ends.
//
// Requests without an id are handled; their replies have no replyTo. Relay messages (relay.joined, error) get no
// reply.
//
// # The booking
//
// The stages are those of protocol/externalagent. The first items always lead to a booking: select /items/0/id and
// next up to the seats, setQuantity of /items/0/id to 1 and next, next. At the seat stage, select toggles a seat.
// Later choices survive prev, and survive a changed earlier choice where they are still possible. Filters, orders and
// highlights end with the form. next at the last stage books: the receipt with the booking code becomes the
// assistant's last message in the history. A booking lasts only as long as its session: the next session finds the
// same seats free.
//
// # The log
//
// Each study session has a file study/<sessionId>.jsonl in the folder Options.Logs. Its name consists of the date and
// a number, never of anything that a party sent. The logFile of session.ended begins with Options.LogName, "logs/" by
// default, which stands for that folder: the file is Options.Logs + strings.TrimPrefix(logFile, Options.LogName). It
// is complete and closed before session.ended is sent, and has a line for it.
//
// It holds the messages as they went over the wire (incoming ones before Inbound, outgoing ones after Outbound) and
// internal events. Incoming messages are logged while a session is active, and so is the session.start that begins
// one.
//
// # Faulty hosts
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change messages, Policy.Record and
// Options.Store change the log. Mutants are built from these hooks, so this code contains no faults.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/externalagent"
	"parley/reference-server/defaults"
	"parley/reference-server/externalagent/wire"
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

// Errors of Serve.
var (
	ErrClosed  = errors.New("the host is closed")
	ErrServing = errors.New("the host has a connection already")
)

// Host is the host of one relay session. It is safe for concurrent use.
type Host struct {
	store Store
	owned bool // the host closes the store

	mu     sync.Mutex
	m      *machine
	closed bool
	served bool // Serve has been called before

	conn Conn // nil while disconnected
	ctx  context.Context
	end  context.CancelCauseFunc
	idle chan struct{} // closed when the connection has ended
}

// New returns a host without a session. It fails when the log folder can't be used.
func New(o Options) (*Host, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{store: o.Store}
	if h.store == nil {
		if h.store, err = OpenStore(o.Logs); err != nil {
			return nil, err
		}
		h.owned = true
	}
	h.m = newMachine(o, h.store)
	return h, nil
}

// Serve runs the host over a connection that has joined a relay session, until the connection, ctx or the host ends.
// It always returns an error, the reason it ended. The session survives, and another connection may be served
// afterwards (EA-076); a concurrent second one gets ErrServing.
func (h *Host) Serve(ctx context.Context, c Conn) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := h.beginConnection(ctx, end, c); err != nil {
		return err
	}
	defer h.endConnection()
	for {
		data, err := c.Read(ctx)
		if err != nil {
			end(fmt.Errorf("read: %w", err))
			return context.Cause(ctx)
		}
		h.changeState(func(m *machine) { m.receiveFrame(data) })
	}
}

func (h *Host) beginConnection(ctx context.Context, end context.CancelCauseFunc, c Conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case h.conn != nil:
		return ErrServing
	}
	h.conn, h.ctx, h.end, h.idle = c, ctx, end, make(chan struct{})
	h.m.beginConnection(h.served)
	h.served = true
	h.sendQueued()
	return nil
}

func (h *Host) endConnection() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m.connected = false
	h.conn = nil
	close(h.idle)
}

// changeState changes the state and writes the resulting messages in the order of the changes.
func (h *Host) changeState(f func(m *machine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		f(h.m)
		h.sendQueued()
	}
}

// sendQueued sends the queued messages. The caller holds the lock.
func (h *Host) sendQueued() {
	for _, data := range h.m.takeQueued() {
		if h.conn == nil {
			return
		}
		if err := h.conn.Write(h.ctx, data); err != nil {
			h.end(fmt.Errorf("write: %w", err))
			return
		}
	}
}

// Say delivers the participant's input: it is shown in the history and sent to the agent with the stage of the form
// that is or was last shown. It fails with ErrNoSession, ErrText, ErrFull or ErrClosed.
func (h *Host) Say(text string) (err error) {
	err = ErrClosed
	h.changeState(func(m *machine) { err = m.userSays(text) })
	return err
}

// Active reports whether a study session is active.
func (h *Host) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m.id != ""
}

// Close ends the active session and completes its log, without sending a message; it ends the connection's Serve and
// waits for it. It may be called again.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.m.abandonSession("the host closed")
	h.m.takeQueued()
	err := h.m.journal.failed
	h.closed = true
	idle := h.idle
	if h.conn != nil {
		h.end(ErrClosed)
	}
	h.mu.Unlock()
	if idle != nil {
		<-idle
	}
	if h.owned {
		err = errors.Join(err, h.store.Close())
	}
	return err
}

// Message is an envelope. In an incoming one, numbers are of type Number. Nested values are fresh for each message
// and may be changed in place.
type Message = wire.Message

type object = wire.Object

// Number is a JSON number as it was sent, so that the log can repeat it.
type Number string

// MarshalJSON writes the number as it came.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// float returns the number for a tool, capped at the largest float64.
func (n Number) float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // use the default marshalling
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decodeEnvelope reads an envelope strictly: a JSON object in valid UTF-8 with case-sensitive, unique names.
func decodeEnvelope(data []byte, limit int) (Message, *Refusal) {
	if len(data) > limit {
		return nil, &Refusal{proto.InvalidMessage, fmt.Sprintf("the message is too long: send at most %d bytes", limit)}
	}
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &Refusal{proto.InvalidMessage, jsonwhy.Of(err)}
	}
	if msg == nil {
		return nil, &Refusal{proto.InvalidMessage, "send one JSON object, not null"}
	}
	return msg, nil
}

// plainNumbers returns a copy with floats in place of numbers.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case Number:
		return v.float()
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = plainNumbers(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			all[name] = plainNumbers(v[name])
		}
		return all
	}
	return v
}
