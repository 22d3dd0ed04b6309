// Package relay is the bundled relay of the external-agent protocol: an http.Handler that connects a host with its
// agents, following external-agent.zh.md as the project's rulings interpret it.
//
// Use New, the routes of the Server that it returns, and Attach for a party within this process:
//
//	GET /agent/ws  the WebSocket: text frames, one JSON envelope each, both ways
//	GET /health    200 {"status":"ok"}
//
// Every party first joins a relay session with relay.join and gets relay.joined (EA-025 to EA-030). From then on the
// relay passes an agent's messages to the host of its session and the host's messages to its agents, byte for byte.
// The relay adds only relay.joined and error.
//
// # Where the document is silent
//
// Joining. The host's role is "host" or "frontend". A sessionId is an opaque key of 1 to 200 bytes. A session has one
// host: a second one replaces the first, whose connection is closed with 4001. It has any number of agents. A party
// that repeats its join gets another relay.joined; one that joins with another role or session gets INVALID_MESSAGE
// and keeps its role and session. A party that has not joined gets SESSION_NOT_ACTIVE for a well-formed envelope of
// any type.
//
// Checking. An envelope is a text frame of valid UTF-8: one JSON object that nests at most 128 deep and repeats no
// name within an object. It has v, type and payload; id and replyTo are strings if present (section 3), and null is
// not a string. Its type is one that its sender's side may send (sections 4.0 to 4.2); no party may send
// relay.joined. Other members, including those of the payload, may have any value: they concern host and agent. An
// envelope that fails a check gets INVALID_MESSAGE, with replyTo if an id could be read before the fault, and is not
// passed on; the connection stays open. Envelopes of hosts are checked too.
//
// Answers. A host's envelope with replyTo goes to the agent that asked with that id. Two agents may use the same id:
// then the envelope goes to the oldest request that its type can answer (session.started answers session.start, and
// so on; error answers each), or else to the oldest with that id. It goes to all agents if no request is known, or if
// it has no replyTo. Each request is answered once.
//
// No host. Without one, an agent's envelope gets SESSION_NOT_ACTIVE. When the host leaves or is replaced, its
// unanswered requests get the same error, except agent.message, which is for display only. The number of unanswered
// requests per agent is bounded; the oldest are forgotten first.
//
// Limits. A frame of more than 1 MiB closes its connection with 1009. A party that reads too slowly is dropped; no
// other party waits for it. A join that exceeds a limit gets SESSION_NOT_ACTIVE. Close ends all connections with
// 1001.
//
// # Faulty relays
//
// Options.Policy changes decisions, Options.Inbound and Options.Outbound change frames. Mutants are built from these
// hooks, so this code contains no faults.
package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/connection"
	"parley/reference-server/defaults"
	"parley/reference-server/web"
)

// Server is the handler. It is safe for concurrent use; Close ends its connections.
type Server struct {
	o    Options
	mux  *http.ServeMux
	open sync.WaitGroup // connections

	closing sync.Once
	closed  chan struct{} // closed when everything has ended

	conns sync.Map // *conn by number: an Outbound may send at any time, with or without the lock

	mu       sync.Mutex
	count    int                 // size of conns
	last     int                 // number of the newest connection
	sessions map[string]*session // by key
	ending   bool                // Close was called
}

// New returns a relay. It never fails.
func New(o Options) (*Server, error) {
	s := &Server{o: o.withDefaults(), mux: http.NewServeMux(), sessions: map[string]*session{},
		closed: make(chan struct{})}
	s.mux.HandleFunc("GET "+s.o.Path, s.serveWebSocket)
	s.mux.HandleFunc("GET /health", web.Health)
	return s, nil
}

// ServeHTTP implements http.Handler. It refuses requests from pages of other origins.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if web.Admit(w, r, s.o.Origins) {
		s.mux.ServeHTTP(w, r)
	}
}

var errEnding = errors.New("the relay closes")

// Close closes all connections (1001), including attached ones, and waits for them and for calls of OnAgent and
// OnEmpty. If ctx ends first, it drops the connections and returns an error that wraps ctx's; cleanup continues in
// the background. Later connections get 503. Close may be called again, and waits again.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() { go s.close() })
	select {
	case <-s.closed:
		return nil
	case <-ctx.Done():
		for _, c := range s.allConnections() {
			c.End(errEnding)
		}
		return fmt.Errorf("close the relay: %w", ctx.Err())
	}
}

func (s *Server) close() {
	defer close(s.closed)
	s.mu.Lock()
	s.ending = true
	for _, c := range s.allConnections() {
		c.closeAfterQueue(websocket.CloseError{Code: websocket.StatusGoingAway, Reason: errEnding.Error()})
	}
	s.mu.Unlock()
	s.open.Wait()
}

// registerConnection registers a connection and numbers it.
func (s *Server) registerConnection(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return errEnding
	case s.count >= s.o.Limits.Connections:
		return connection.ErrMany
	}
	s.count++
	s.last++
	c.party.Conn = s.last
	s.conns.Store(s.last, c)
	s.open.Add(1)
	return nil
}

// findConnection returns the connection with a number; nil once it has left.
func (s *Server) findConnection(number int) *conn {
	c, ok := s.conns.Load(number)
	if !ok {
		return nil
	}
	return c.(*conn)
}

// allConnections returns the connections, oldest first.
func (s *Server) allConnections() (conns []*conn) {
	s.conns.Range(func(_, c any) bool {
		conns = append(conns, c.(*conn))
		return true
	})
	slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(a.party.Conn, b.party.Conn) })
	return conns
}

// emitFrame passes a frame to a connection through Outbound. The caller holds the lock, so that each connection gets
// frames in the order of the changes. from is nil for the relay's own messages.
func (s *Server) emitFrame(from, to *conn, frame []byte) {
	if s.o.Outbound == nil {
		to.Push(frame)
		return
	}
	var sender Party
	if from != nil {
		sender = from.party
	}
	s.o.Outbound(Relay{s}, sender, to.party, frame, s.queueFrame)
}

func (s *Server) queueFrame(number int, frame []byte) {
	if c := s.findConnection(number); c != nil {
		c.Push(frame)
	}
}

// Options configures a Server. The zero value is a relay without a host of its own.
type Options struct {
	Path string // of the WebSocket; "": /agent/ws

	// OnAgent is called when an agent joins a relay session without a host, before the agent gets its reply, so that a
	// host that it attaches is present when the agent first speaks. It is called once per period without a host, one
	// call per session at a time; agents that join the session meanwhile wait for it. session is the name that the agent
	// sent. It may attach hosts but no agents, and must not close the Server. The agent does not receive what a host
	// broadcasts during the call. May be nil.
	OnAgent func(session string)

	// OnEmpty is called when the last agent of a relay session has left, with the name that OnAgent got. No agent joins
	// the session during the call, so a host that it closes is gone before the next agent joins. May be nil.
	OnEmpty func(session string)

	Policy   Policy   // makes a faulty relay
	Inbound  Inbound  // sees frames before the relay; may be nil
	Outbound Outbound // sees frames before their connection; may be nil

	Origins []string // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
	Limits  Limits   // zero fields are those of DefaultLimits
}

// Inbound sees a frame from a party and returns the frames to handle instead; an empty result drops it. It may hold a
// frame back and return it after a later one. It also sees what an attached party writes, but not its join.
//
// It is called with the server's lock held, so it must not call methods of the Server.
type Inbound func(r Relay, from Party, f Frame) []Frame

// Outbound sees a frame on its way to a party and sends its replacements. from is the party that sent it; its Conn is
// 0 for the relay's own messages. send may be called any number of times, for any connection, during the call or
// later, by any goroutine; a frame must not change after it was sent. The same locking rules as for Inbound apply.
type Outbound func(r Relay, from, to Party, frame []byte, send func(conn int, frame []byte))

// Frame is one message of the WebSocket.
type Frame struct {
	Data   []byte
	Binary bool
}

// Limits bounds what a Server keeps and waits for.
type Limits struct {
	Connections int // open or attached; more get 503, or an error
	Sessions    int // relay sessions; a join that would make another is refused
	Agents      int // per relay session; a further join is refused

	Frame        int64 // bytes per frame; a larger one closes the connection with 1009
	Requests     int   // unanswered requests per agent; beyond it the oldest is forgotten
	RequestBytes int   // total bytes of their ids, likewise
	Queue        int   // frames that may wait for a slow reader; one more drops the connection
	QueueBytes   int   // total bytes of them, likewise; a single frame may always wait

	Write time.Duration // one write to a connection; a slower one drops it
	Close time.Duration // the wait for the peer's half of a closing handshake
}

// DefaultLimits are the default limits of a relay.
var DefaultLimits = Limits{
	Connections:  1024,
	Sessions:     1024,
	Agents:       64,
	Frame:        1 << 20,
	Requests:     1024,
	RequestBytes: 4 << 20,
	Queue:        4096,
	QueueBytes:   32 << 20,
	Write:        time.Minute,
	Close:        time.Second,
}

func (o Options) withDefaults() Options {
	defaults.Fill(&o, Options{Path: proto.Path, Policy: right, Limits: DefaultLimits})
	return o
}

// conn is a connection of a party, over a socket or attached.
type conn struct {
	*connection.Outbox

	in      sync.Mutex // serializes the party's frames
	leaving sync.Once

	party Party // role and session are guarded by Server.mu
	gone  bool  // the connection has left the relay; guarded by Server.mu
}

func newConn(ctx context.Context, attached bool, l Limits) *conn {
	out := connection.New(ctx, connection.Limits{Frames: l.Queue, Bytes: l.QueueBytes})
	return &conn{Outbox: out, party: Party{Attached: attached}}
}

// closeAfterQueue closes the connection after the queued frames; only the first call counts. An attached party leaves
// at once, because it has no frames in transit.
func (c *conn) closeAfterQueue(bye websocket.CloseError) {
	c.Finish(bye)
	if c.party.Attached {
		c.End(bye)
	}
}

// serveWebSocket serves one connection from handshake to end. Once the relay has said goodbye, it drops the party's
// frames.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c := newConn(context.WithoutCancel(r.Context()), false, s.o.Limits)
	if err := s.registerConnection(c); err != nil {
		c.End(err)
		web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.removeConnection(c)
	l := s.o.Limits
	c.Serve(w, r, connection.WebSocket{
		Message: l.Frame, Write: l.Write, Close: l.Close,
		Receive: func(kind websocket.MessageType, data []byte) {
			s.receiveFrame(c, Frame{Data: data, Binary: kind == websocket.MessageBinary})
		},
	})
}
