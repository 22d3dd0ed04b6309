// Package sessionruntime is the bundled target of the session-runtime protocol: the orchestrator of package
// orchestrator behind the default binding, in which the client is the bus. What the client sends goes to OnMessage;
// what the orchestrator publishes is sent back.
//
// There are two entry points: NewServer, an http.Handler, and ServeStdio.
//
//	GET /bus/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health   200 {"status":"ok"}
//
// On stdio a frame is a line. A frame is a message of protocol/sessionruntime, or has the member "parley":
//
//	{"parley":"setup","session_id","agents":[…],"active_agent_id","limits":{"input_ack_ms","cancel_ack_ms"}}
//	    makes a runtime, or resets that of the session: {"parley":"ready","session_id"}. Without active_agent_id no agent
//	    is active; limits are milliseconds, and 10 000 where they are absent or 0. Other members are refused: a
//	    misspelt limit would silently be the default one
//	{"parley":"fence","id"}
//	    {"parley":"fenced","id"}, once everything before it has been handled
//
// A message goes to the runtime of its session_id. A frame that can't be handled, for example because it is not a
// JSON object or names an unknown session, only gets {"parley":"error","text"}.
//
// A message that has no effect, such as one with an unknown event or target, gets no answer either (RT-157), only a
// line in the log.
//
// Each connection is a bus with its own runtimes, which end with it. The code follows the path of a frame:
//
//   - Server and ServeStdio read and write frames, over a WebSocket or a pair of streams
//   - serve is the single goroutine that handles the frames of a bus and the timeouts of its runtimes
//   - bus is its state: the runtimes by session, and a heap of their timeouts
//   - connection.Outbox queues outgoing frames; while it is full no frame is handled
//
// Numbers in payloads and metadata keep their original form (RT-148, RT-149).
//
// Options.Seams makes faulty orchestrators: it changes the options of runtimes and the routing of messages.
package sessionruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/connection"
	"parley/reference-server/defaults"
	"parley/reference-server/sessionruntime/orchestrator"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections.
type Server struct {
	o     Options
	mux   *http.ServeMux
	conns *connection.Registry[*connection.Outbox, connection.Outbox]
}

// NewServer returns a server. It rejects negative limits.
func NewServer(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	conns := connection.NewRegistry[*connection.Outbox, connection.Outbox](o.Limits.Connections)
	s := &Server{o: o, mux: http.NewServeMux(), conns: conns}
	s.mux.HandleFunc("GET "+proto.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", web.Health)
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses requests from pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.AllowOrigins) {
		s.mux.ServeHTTP(w, r)
	}
}

// serveWebSocket serves one connection from handshake to end.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	l := s.o.Limits
	out := connection.New(context.WithoutCancel(r.Context()), connection.Limits{})
	if err := s.conns.Add(out, out); err != nil {
		out.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.conns.Remove(out)
	in := make(chan arrival, l.Incoming)
	var served sync.WaitGroup
	served.Go(func() { serveBus(s.o, in, out) })
	out.Serve(w, r, connection.WebSocket{
		Message: l.Message, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			if out.TextOnly(kind, data) {
				queueFrame(out.Context(), in, arrival{data: data})
			}
		},
	})
	served.Wait()
	s.o.Logger.Debug("connection ended", "why", context.Cause(out.Context()))
}

// Close closes all connections (1001) after their queued frames, and waits. If ctx ends first, it drops them and
// returns an error that wraps ctx's. Later connections get 503. Close may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.conns.Close()
	for _, out := range s.conns.All() {
		out.Finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: connection.ErrClosing.Error()})
	}
	err := connection.Await(ctx, s.conns.Wait)
	if err == nil {
		return nil
	}
	for _, out := range s.conns.All() {
		out.End(connection.ErrClosing)
	}
	s.conns.Wait()
	return fmt.Errorf("close the session-runtime server: %w", err)
}

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

var errTooLong = errors.New("the frame is too long")

// arrival is a frame, or the error that it was too long.
type arrival struct {
	data []byte
	err  error
}

// serveBus handles incoming frames and the timeouts of all runtimes in one goroutine (section 5), until in or the
// connection ends. Then it closes the connection after the queued frames.
func serveBus(o Options, in <-chan arrival, out *connection.Outbox) {
	handleAll(newBus(o), in, out)
	out.Finish(websocket.CloseError{Code: websocket.StatusNormalClosure})
}

// handleAll handles frames and timeouts. Frames that have arrived before a timeout is served are handled first, so
// that an ack delayed only by this machine's load is in time.
func handleAll(b *bus, in <-chan arrival, out *connection.Outbox) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ctx := out.Context()
	for {
		out.AwaitRoom(ctx, b.o.Limits.Outgoing)
		var due <-chan time.Time
		if at, ok := b.nextTimeout(); ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
			for range len(in) {
				if a, ok := <-in; ok {
					out.Push(b.takeFrame(a)...)
				}
			}
			out.Push(b.handleTimeouts(time.Now())...)
		case a, ok := <-in:
			if !ok {
				return
			}
			out.Push(b.takeFrame(a)...)
		}
	}
}

func (b *bus) takeFrame(a arrival) [][]byte {
	if a.err != nil {
		return b.answerProblem(fmt.Sprintf("%v: send at most %d bytes", a.err, b.o.Limits.Message))
	}
	return b.handleFrame(a.data)
}

// queueFrame queues a frame for handling, unless the connection ends first.
func queueFrame(ctx context.Context, in chan<- arrival, a arrival) {
	select {
	case in <- a:
	case <-ctx.Done():
	}
}
