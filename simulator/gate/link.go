package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// headTime bounds the time until a connection begins its first request, and the time for each request to be complete.
const headTime = 10 * time.Second

// link is a connection of a client, and its connection to the upstream. One goroutine serves it; fields that others may
// use are guarded by mu.
type link struct {
	g      *Gate
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing more can happen on it
	full   bool          // it exceeds the limit of connections
	client *end

	mu     sync.Mutex
	server *end // nil: none
	base   base // of server
	conn   *conn
	gone   error // how the client has ended its side; nil: it has not
	dead   bool  // reset or closed by the gate
}

func newLink(g *Gate, tcp net.Conn) *link {
	l := &link{g: g, done: make(chan struct{}), client: newEnd(tcp)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// serveRequests handles the requests of the connection one after the other.
func (l *link) serveRequests() {
	defer l.g.unregisterLink(l)
	defer l.closeBoth()
	if l.full {
		l.refuseMalformed(http.StatusServiceUnavailable, "too many connections are open")
		return
	}
	if l.g.o.TLS != nil && !l.handshakeTLS() {
		return
	}
	for first := true; ; first = false {
		x, ok := l.readHead(first)
		if !ok || !x.serveRequest() {
			return
		}
	}
}

func (l *link) handshakeTLS() bool {
	ctx, cancel := context.WithTimeout(l.ctx, headTime)
	defer cancel()
	t := tls.Server(l.client.Conn, l.g.o.TLS)
	if t.HandshakeContext(ctx) != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Conn = t
	l.client.in.Reset(t)
	return true
}

// readHead reads the head of the next request.
func (l *link) readHead(first bool) (*exchange, bool) {
	if l.client.endWatch() != nil {
		return nil, false
	}
	if first {
		_ = l.client.SetReadDeadline(time.Now().Add(headTime))
	}
	b, err := l.client.in.Peek(1)
	if err != nil {
		return nil, false
	}
	if b[0] == 0x16 && l.g.o.TLS == nil {
		l.recordFailure("a connection began a TLS handshake, but this address is http, not https")
		return nil, false
	}
	_ = l.client.SetReadDeadline(time.Now().Add(headTime))
	head, err := rawhttp.ReadHead(l.client.in, maxHead)
	_ = l.client.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, rawhttp.ErrTooLong):
		l.refuseMalformed(http.StatusRequestHeaderFieldsTooLarge, "the head of the request is longer than 64 KiB")
		return nil, false
	case err != nil:
		l.recordFailure("a connection ended before its request was whole: " + err.Error())
		return nil, false
	}
	x := &exchange{l: l, g: l.g, head: rawhttp.ParseHead(head)}
	if l.g.o.Admit != nil {
		if why := l.g.o.Admit(&x.head); why != "" {
			l.refuseMalformed(http.StatusUnauthorized, why)
			return nil, false
		}
	}
	if x.req, err = x.head.Request(); err != nil {
		l.refuseMalformed(http.StatusBadRequest, "the request is not HTTP: "+err.Error())
		return nil, false
	}
	return x, true
}

// recordFailure records a failure without a party, unless there are too many.
func (l *link) recordFailure(what string) {
	n := l.g.failures.Add(1)
	if n > maxFailures {
		return
	}
	if n == maxFailures {
		what += " (and no more failures of this kind are recorded)"
	}
	l.g.sinkRecord(transcript.Record{Dir: transcript.Noted, Kind: transcript.Failure, Label: what})
}

// lingers is how long a refused client may keep sending: closing a connection with unread bytes resets it, and the
// answer would be lost.
const lingers = time.Second

// refuseMalformed answers a malformed request, and ends the connection.
func (l *link) refuseMalformed(status int, why string) {
	l.recordFailure(why)
	_ = l.client.SetDeadline(time.Now().Add(lingers))
	h := plainHead(status, why+"\n")
	h.Set("Connection", "close")
	if _, err := l.client.Write(append(h.Bytes(), why+"\n"...)); err != nil {
		return
	}
	l.client.closeWrite()
	for n := 0; n < 1<<20; {
		m, err := l.client.in.Discard(l.client.in.Buffered() + 1)
		if n += m; err != nil {
			return
		}
	}
}

// dialUpstream returns the connection to the upstream. It dials if there is none, or if it has ended.
func (l *link) dialUpstream(b base) (*end, error) {
	l.mu.Lock()
	was, at := l.server, l.base
	l.mu.Unlock()
	if was != nil && at == b && !was.isStale() {
		return was, nil
	}
	if was != nil {
		l.closeUpstream()
	}
	e, err := b.dialUpstream(l.ctx, l.g.o.UpstreamTLS)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		_ = e.Close()
		return nil, driver.ErrClosed
	}
	l.server, l.base = e, b
	return e, nil
}

// closeUpstream closes the connection to the upstream.
func (l *link) closeUpstream() {
	l.mu.Lock()
	e := l.server
	l.server = nil
	l.mu.Unlock()
	if e != nil {
		_ = e.Close()
		_ = e.endWatch()
	}
}

// clientGone passes on that the client has ended its side. A server under test must see that the client has ended only
// one direction; for a client under test it is the end of its stream.
func (l *link) clientGone(err error) {
	l.mu.Lock()
	l.gone = err
	server, c := l.server, l.conn
	l.mu.Unlock()
	if c != nil && c.kind == "ws" && c.isOpen() {
		return // the reader of the socket will get the error again
	}
	over := c != nil && c.clientLeft()
	if over || wasReset(err) {
		l.cancel()
	}
	switch {
	case server == nil:
	case wasReset(err):
		server.resetConn()
	case over:
		_ = server.Close()
	default:
		server.closeWrite()
	}
}

// hasLeft passes on that the client ended its side before the stream was open.
func (l *link) hasLeft() {
	l.mu.Lock()
	err := l.gone
	l.mu.Unlock()
	if err != nil {
		l.clientGone(err)
	}
}

// closeServer closes the connection to the upstream.
func (l *link) closeServer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// resetBoth drops both connections.
func (l *link) resetBoth() {
	l.mu.Lock()
	l.dead = true
	server, c := l.server, l.conn
	client := l.client.Conn
	l.mu.Unlock()
	if c != nil {
		c.markEnding()
	}
	l.cancel()
	(&end{Conn: client}).resetConn()
	if server != nil {
		server.resetConn()
	}
}

// closeBoth closes both connections if they are still open.
func (l *link) closeBoth() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.cancel()
	_ = l.client.Close()
	_ = l.client.endWatch()
	l.closeUpstream()
}
