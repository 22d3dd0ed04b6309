// Package gate is an HTTP and WebSocket intermediary between a program and its peer that works on messages. It listens,
// opens a connection to the upstream for each connection of a client, and shows every message to a [Handler], which
// passes, drops or replaces it, or answers instead of the peer. It knows no protocol.
//
// Unless a Handler intervenes, bytes pass unchanged: heads with the order and spelling of their fields, bodies with
// their chunks, frames with their fragments and masks, pings, close codes, events with their comments and line ends.
// The gate always makes these changes:
//
//   - Host becomes that of the upstream, whose path is prepended to that of the request; Options.Header is added.
//   - Accept-Encoding and Sec-WebSocket-Extensions are removed from requests, so that nothing is compressed.
//   - The gate itself answers Expect: 100-continue.
//   - The content of an event stream is unchanged, but it is divided into new chunks, and a stream with a
//     Content-Length becomes a chunked one.
//
// Origin passes unchecked. Only HTTP/1 is supported.
//
// A message is held back until it is complete and the Handler has decided; without a Handler, bytes pass as they come.
// A close or reset of one side is passed on to the other.
package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"parley/internal/freeport"
	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Bounds of a Gate, which limit the memory that a peer can use.
const (
	defaultMax = 8 << 20  // bytes of a message
	maxLinks   = 256      // connections of clients by default; further ones are refused with 503
	maxHead    = 64 << 10 // bytes of the head of a request or response

	maxFailures = 100 // recorded failures without a party
)

// maxHeld bounds the bytes of all held messages; the connection of a message that exceeds it is ended. Tests change it.
var maxHeld int64 = 256 << 20

// Options configure a Gate.
type Options struct {
	Addr string      // host:port where it listens; default 127.0.0.1:0, a free port of loopback
	TLS  *tls.Config // nil: without TLS

	// Upstream returns the base URL of the peer (http, https, ws, wss or unix), and is asked for each request. nil or "":
	// there is no peer, and every Open and Request needs a Reply; without one the answer is 502.
	Upstream    func() string
	UpstreamTLS *tls.Config // nil: Go's defaults
	Header      http.Header // set on requests to the upstream; Host too

	// Program is the side under test. The records are those of the other end, as the drivers ws and sse would write
	// them: Received is what the program sent, before the Handler decides; Sent what it gets.
	Program Side
	Sink    driver.Sink // receives the records; nil: they are dropped
	Handle  Handler     // nil: everything passes

	// Party names the party of a request. n is the number of the stream or socket that it opens, from 1, or 0 for any
	// other request. Default: C1, C2, …, and "" for 0. A name that an open stream or socket already has gets a number:
	// "A", "A 2", ….
	Party func(r *http.Request, n int) string

	// Streams, if not nil, reports whether a GET that does not request an event stream opens one nevertheless.
	Streams func(r *http.Request) bool

	// Posts, if not nil, reports whether a request is answered by itself, with a body or with an event stream: its records
	// are those of the driver sse.Posts, and such a stream is no connection in them. Only for Program Server.
	Posts func(r *http.Request) bool
	Reads []string // headers of plain requests, and of their answers, that records show

	// Admit, if not nil, is called with the head of each request before anything else happens to the request, and may
	// change it. If it returns a reason, the request is refused with 401 and that text, and nothing is passed on.
	Admit func(head *rawhttp.Head) (why string)

	// MaxLinks is how many connections of clients may be open at once; further ones are refused with 503. Default 256.
	MaxLinks int

	// MaxMessage is the maximum length in bytes of an examined message; default 8 MiB. Longer ones pass unexamined, in
	// pieces, and are recorded cut.
	MaxMessage int
}

// Gate is an intermediary that listens. It is safe for concurrent use.
type Gate struct {
	o    Options
	tcp  net.Listener
	port *freeport.Port // nil: the caller chose the port
	work sync.WaitGroup
	held atomic.Int64

	failures atomic.Int64 // without a party

	mu     sync.Mutex
	links  map[*link]struct{}
	conns  map[string]*conn
	n      int // streams and sockets so far
	closed bool
}

// New listens. The error is that of the address.
func New(o Options) (*Gate, error) {
	g := &Gate{o: o, links: map[*link]struct{}{}, conns: map[string]*conn{}}
	g.o.setDefaults()
	var err error
	if g.o.Addr == "" {
		if g.port, err = freeport.Lend(); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		g.o.Addr = g.port.Addr()
	}
	if g.tcp, err = net.Listen("tcp", g.o.Addr); err != nil {
		g.port.Release()
		return nil, err
	}
	g.work.Go(g.acceptConns)
	return g, nil
}

func (o *Options) setDefaults() {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMax
	}
	if o.MaxLinks <= 0 {
		o.MaxLinks = maxLinks
	}
	if o.Upstream == nil {
		o.Upstream = func() string { return "" }
	}
	if o.Party == nil {
		o.Party = func(_ *http.Request, n int) string {
			if n == 0 {
				return ""
			}
			return fmt.Sprintf("C%d", n)
		}
	}
	if o.TLS != nil {
		o.TLS = o.TLS.Clone()
		o.TLS.NextProtos = []string{"http/1.1"}
	}
}

// URL returns where it listens, http or https, without a trailing slash.
func (g *Gate) URL() string {
	scheme := "http://"
	if g.o.TLS != nil {
		scheme = "https://"
	}
	host, port, _ := net.SplitHostPort(g.tcp.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + net.JoinHostPort(host, port)
}

// Conn is an open stream or socket.
type Conn struct {
	Name  string
	Path  string // with the query
	Kind  string // "sse" or "ws"
	Since time.Time
}

// Connections returns the open streams and sockets, oldest first.
func (g *Gate) Connections() []Conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Conn
	for _, c := range g.conns {
		if c.isOpen() {
			out = append(out, Conn{Name: c.name, Path: c.path, Kind: c.kind, Since: c.since})
		}
	}
	slices.SortFunc(out, func(a, b Conn) int { return a.Since.Compare(b.Since) })
	return out
}

// ErrNoConnection reports that no stream or socket of that name is open.
var ErrNoConnection = errors.New("no such connection is open")

// findConn returns a stream or socket, open or about to be.
func (g *Gate) findConn(name string) (*conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.conns[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%q: %w", name, ErrNoConnection)
}

// Send sends a message of the caller on a stream or socket, between two messages of the peer. It uses Event, ID, Binary
// and Body of m. The Handler does not see it. If the connection is requested and not open yet, Send waits for that. It
// returns when the message has been passed to the network, or when ctx ends; the message may still be sent after that.
// On a stream it can be sent to the client only. The error is ErrNoConnection, or driver.ErrClosed once the connection
// is closing.
//
// A message of Kind transcript.Closed begins to end the connection, as End does with driver.Graceful, by a close frame
// with Status (0: 1000) and Body as its reason.
func (g *Gate) Send(ctx context.Context, name string, to Side, m Message) error {
	c, err := g.findConn(name)
	if err != nil {
		return err
	}
	return c.sendOwn(ctx, to, m)
}

// End ends an open stream or socket towards both sides, and waits until it has ended. Graceful: with a close frame
// 1000, or the regular end of the stream; the connection is dropped at most a second later. The error is
// ErrNoConnection.
func (g *Gate) End(name string, how driver.CloseMode) error {
	c, err := g.findConn(name)
	if err != nil {
		return err
	}
	if !c.isOpen() {
		return fmt.Errorf("%q: %w", name, ErrNoConnection)
	}
	c.beginEnd(how)
	<-c.done
	return nil
}

// Shutdown ends all open streams and sockets, as Send does with m, and waits until they have ended: at most a second,
// for those whose sides do not answer.
func (g *Gate) Shutdown(m Message) {
	g.mu.Lock()
	var all []*conn
	for _, c := range g.conns {
		if c.isOpen() {
			all = append(all, c)
		}
	}
	g.mu.Unlock()
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			c.endWith(m)
			<-c.done
		})
	}
	work.Wait()
}

// Reset drops all connections, and waits until none of their records can reach the sink any more. The gate keeps
// listening.
func (g *Gate) Reset() {
	g.mu.Lock()
	all := make([]*link, 0, len(g.links))
	for l := range g.links {
		all = append(all, l)
	}
	g.mu.Unlock()
	for _, l := range all {
		l.resetBoth()
	}
	for _, l := range all {
		<-l.done
	}
}

// Close stops listening and drops all connections. Nothing reaches the sink or the Handler afterwards. Closing twice is
// harmless.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	_ = g.tcp.Close()
	g.Reset()
	g.work.Wait()
	g.port.Release()
}

// acceptConns accepts connections until the port is closed.
func (g *Gate) acceptConns() {
	for {
		tcp, err := g.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // temporary, such as a lack of file descriptors
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if l := g.registerConn(tcp); l != nil {
			g.work.Go(l.serveRequests)
		}
	}
}

// registerConn adds a connection; it returns nil after Close.
func (g *Gate) registerConn(tcp net.Conn) *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = tcp.Close()
		return nil
	}
	l := newLink(g, tcp)
	l.full = len(g.links) >= g.o.MaxLinks
	g.links[l] = struct{}{}
	return l
}

// unregisterLink is called when a link has ended.
func (g *Gate) unregisterLink(l *link) {
	g.mu.Lock()
	delete(g.links, l)
	g.mu.Unlock()
	close(l.done)
}

// holdBytes counts bytes that are kept in memory, and reports whether the total is within the bounds.
func (g *Gate) holdBytes(n int) bool { return g.held.Add(int64(n)) <= maxHeld }

// ClientLeft ends the label of the last record of a stream of a server under test that the client has left.
const ClientLeft = ": the client left the stream"

// sinkRecord gives a record to the sink.
func (g *Gate) sinkRecord(r transcript.Record) int {
	if g.o.Sink == nil {
		return 0
	}
	return g.o.Sink(r)
}

// messageRecord is the record of an event or WebSocket message.
func messageRecord(kind, party string, dir transcript.Dir, m Message) transcript.Record {
	r := transcript.Record{Conn: party, Dir: dir, Kind: transcript.Frame, Bytes: m.Body, Type: "text"}
	switch {
	case kind == "sse":
		r.Kind, r.Type, r.ID = transcript.Stream, m.Event, m.ID
		if r.Type == "" {
			r.Type = "message"
		}
		r.Label = r.Type
	case m.Binary:
		r.Type = "binary"
	case !utf8.Valid(m.Body):
		r.Label = "text that is not UTF-8"
	}
	return r
}
