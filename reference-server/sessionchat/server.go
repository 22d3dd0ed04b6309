// Package sessionchat is the bundled target of the session-chat protocol: an http.Handler that implements
// session-chat.zh.md, as the project's rulings interpret it, over the default binding.
//
// The entry points are New and the routes of the Server that it returns:
//
//	GET /chat/ws   the WebSocket: text frames, one JSON object each, both ways
//	GET /health    200 {"status":"ok"}
//
// A session belongs to an agent_id, which is an opaque key (SC-060), and not to a connection: the first chat that
// names it creates it (SC-001, SC-002), it leaves memory after being idle for a while, and its next chat reloads it
// from the store (SC-003, SC-007 to SC-009). Each chat gets one turn, on the connection that asked:
//
//	system     message: subtype "init", model, resumed
//	stream     message: text                      one per piece of the answer
//	assistant  message: role, content             the whole answer; only if the turn succeeds
//	result     message: subtype, duration_ms, num_turns; code and text too when the subtype is "error"
//
// Outside of turns the server sends pong in reply to ping, and error {code, text} for a message that starts no turn.
// Every message has agent_id, session_id, message_type, message and timestamp (SC-038 to SC-044); unknown ids are
// null: on a pong (except for the ping's agent_id), and on an error about no session or one that is not in memory.
//
// The server's parts follow the terms of the source:
//
//   - manager is its session_manager: the sessions in memory and their queues of turns
//   - Store is its database: session id and history by agent_id
//   - turn is its query operation, from obtaining the session to the result
//   - conn is a connection: a bounded queue of messages and the turns that it asked for
//
// A session is saved before any message about it is sent, and a turn before its result, so that a crash loses nothing
// that a client has received (SC-018, SC-023). The server does no I/O under its lock.
//
// Each decision that the source prescribes is a function of Policy; Correct has the correct ones. Messages pass
// through Options.Inbound and Options.Outbound, stored data through Options.Store. Faulty servers replace these, so
// this code contains no faults.
package sessionchat

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/llm"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/connection"
	"parley/reference-server/defaults"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections and turns.
type Server struct {
	o     Options
	mux   *http.ServeMux
	store Store

	ctx   context.Context // of all turns; canceled by Close
	stop  context.CancelCauseFunc
	turns sync.WaitGroup

	closing sync.Once
	closed  chan struct{} // closed when everything has ended
	failed  error         // error of closing the store; set before closed is closed

	mu     sync.Mutex
	m      *manager
	ending bool // Close was called
}

// New returns a server. It fails as OpenStore does.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	store := o.Store
	if store == nil {
		var err error
		if store, err = OpenStore(o); err != nil {
			return nil, err
		}
	}
	s := &Server{o: o, store: store, m: newManager(o), closed: make(chan struct{})}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.m.timer = time.AfterFunc(o.Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.m.evictIdle()
	})
	s.mux = http.NewServeMux()
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

// Close interrupts all turns, sends their results, closes all connections (1001), and closes the store. If ctx ends
// first, it drops the connections and returns an error that wraps ctx's; cleanup continues in the background. Later
// connections get 503. Close may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.closeServer() })
	select {
	case <-s.closed:
		return s.failed
	case <-ctx.Done():
		for _, c := range s.m.conns.All() {
			c.End(connection.ErrClosing)
		}
		return fmt.Errorf("close the session-chat server: %w", ctx.Err())
	}
}

func (s *Server) closeServer() {
	defer close(s.closed)
	s.mu.Lock()
	s.ending = true
	s.m.timer.Stop()
	s.mu.Unlock()
	s.m.conns.Close()
	s.stop(errClosing)
	s.turns.Wait() // each sends its result first
	for _, c := range s.m.conns.All() {
		c.Finish(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: "server closes"})
	}
	s.m.conns.Wait()
	if err := s.store.Close(); err != nil {
		s.failed = fmt.Errorf("close the store: %w", err)
	}
}

// Options configures a Server. The zero value keeps its sessions in memory and answers with a new llm.Brain.
type Options struct {
	DB    string // file of the sessions; "" keeps them in memory
	Store Store  // replaces the store that DB names; the server closes it

	// Unsynced leaves it to the operating system when the file is written to disk: saved data survives the process, but
	// not a loss of power. It is for temporary files, so that no chat waits for a busy disk.
	Unsynced bool

	Idle  time.Duration // a session idle for this long leaves memory; default: 10 minutes
	Model string        // used if a chat's options name none; default: "default"

	Backend      Backend      // answers the conversations; default: a new llm.Brain
	Policy       Policy       // nil functions default to those of Correct
	Inbound      Inbound      // sees client messages before the server; may be nil
	Outbound     Outbound     // sees messages before their connection; may be nil
	Logger       *slog.Logger // default: discard
	AllowOrigins []string     // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits       Limits       // zero fields default to DefaultLimits
}

// Backend is the model behind the sessions; the source calls it the SDK client. *llm.Brain is one.
//
// Answer passes the pieces of the answer to emit in order. It must return soon after ctx ends, because an interrupt
// waits for that. It is called by many goroutines concurrently.
type Backend interface {
	Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error
}

// Inbound sees a decoded client message and returns the messages to handle instead; an empty result drops it. The
// message may be changed in place. Inbound does not see texts that can't be decoded.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(m Manager, from ConnInfo, msg Message) []Message

// Outbound sees a message on its way to a connection and sends its replacements. send may be called any number of
// times, for any connection, during the call or later, by any goroutine; a message must not change after it was sent.
// The same locking rules as for Inbound apply.
type Outbound func(m Manager, to ConnInfo, msg Message, send func(connID string, msg Message))

// ConnInfo describes a connection.
type ConnInfo struct {
	ID    string
	Query url.Values // of the request that opened it
}

// Limits bounds what a Server keeps and its waits.
type Limits struct {
	Connections int // open connections; more get 503
	Sessions    int // sessions in memory; beyond it the longest-idle one is evicted, else "overloaded"
	Queue       int // queued chats per session; another gets "overloaded"

	Message  int64 // bytes of a client message; a larger one closes the connection with 1009
	AgentID  int   // bytes of an agent_id; a longer one is "invalid_message"
	Answer   int   // bytes of one answer of the model; beyond it the turn fails
	Outgoing int   // bytes waiting for a slow reader; beyond it the connection is dropped
	Memory   int   // bytes of text in memory, over all sessions; beyond it the longest-idle are evicted, else "overloaded"
	Database int64 // bytes of the database; a chat that does not fit gets "overloaded"

	History      int // turns of one session that are kept and shown to the model
	HistoryBytes int // bytes of their text; the oldest turns are dropped first, in memory and when a store is read

	Turn  time.Duration // a whole turn
	Store time.Duration // wait for the database lock; an operation of the store takes at most twice as long
	Write time.Duration // one write to a connection
	Close time.Duration // the wait for the client's half of a closing handshake
}

// DefaultLimits are the default limits.
var DefaultLimits = Limits{
	Connections:  4096,
	Sessions:     4096,
	Queue:        16,
	Message:      8 << 20,
	AgentID:      64 << 10,
	Answer:       16 << 20,
	Outgoing:     32 << 20,
	Memory:       512 << 20,
	Database:     1 << 30,
	History:      1000,
	HistoryBytes: 32 << 20,
	Turn:         30 * time.Minute,
	Store:        30 * time.Second,
	Write:        time.Minute,
	Close:        time.Second,
}

const (
	defaultIdle  = 10 * time.Minute
	defaultModel = "default"
)

func (o Options) withDefaults() Options {
	defaults.Fill(&o.Limits, DefaultLimits)
	defaults.Fill(&o.Policy, Correct)
	o.Idle, o.Model = cmp.Or(o.Idle, defaultIdle), cmp.Or(o.Model, defaultModel)
	if o.Backend == nil {
		o.Backend = llm.NewUnrecorded()
	}
	if o.Inbound == nil {
		o.Inbound = func(_ Manager, _ ConnInfo, msg Message) []Message { return []Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ Manager, to ConnInfo, msg Message, send func(string, Message)) { send(to.ID, msg) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// conn is a connection and the turns that it asked for.
type conn struct {
	*connection.Outbox
	info  ConnInfo
	turns map[*turn]struct{} // guarded by Server.mu
}

// smooth is how many bytes a streaming turn may be ahead of the reader, so that a pong or the result of an interrupt
// arrives soon.
const smooth = 256 << 10

func newConn(ctx context.Context, info ConnInfo, outgoing int) *conn {
	return &conn{connection.New(ctx, connection.Limits{Bytes: outgoing}), info, map[*turn]struct{}{}}
}

// serveWebSocket serves one connection from handshake to end. Opening it creates nothing (SC-001).
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	l := s.o.Limits
	c := newConn(context.WithoutCancel(r.Context()), ConnInfo{"conn_" + rand.Text(), r.URL.Query()}, l.Outgoing)
	if err := s.m.conns.Add(c.info.ID, c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.removeConnection(c)
	s.greetConnection(c)
	c.Serve(w, r, connection.WebSocket{
		Message: l.Message, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			if c.TextOnly(kind, data) {
				s.handleMessage(c, data)
			}
		},
	})
}

// greetConnection handles the policy's initial messages of a connection.
func (s *Server) greetConnection(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, msg := range s.o.Policy.OnConnect(s.m, c.info) {
		s.dispatchMessage(c, msg)
	}
}

// removeConnection removes a connection that has ended. Its sessions stay (SC-059), its turns end (SC-054).
func (s *Server) removeConnection(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endTurns := s.o.Policy.OnDisconnect(s.m, c.info)
	s.m.conns.Remove(c.info.ID)
	if !endTurns {
		return
	}
	for t := range c.turns {
		if t.cancel == nil { // it is still queued
			s.removeTurn(t)
			continue
		}
		t.cancel(errGone)
	}
}

// emitMessage passes a message to a connection through Outbound. The caller holds the lock, so that messages are sent
// in the order of the changes that they report.
func (s *Server) emitMessage(c *conn, msg Message) {
	if s.m.conns.Get(c.info.ID) != nil {
		s.o.Outbound(s.m, c.info, msg, s.m.Send)
	}
}
