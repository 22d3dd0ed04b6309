package ws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"parley/internal/freeport"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Bounds of a Listener: how much a target that keeps connecting may use of the harness.
const (
	maxOpen       = 16       // open connections; further ones are refused
	maxUnaccepted = 256      // connections that wait for Accept, including those that have ended meanwhile
	maxShaking    = 32       // connections in the handshake; further ones must wait
	maxRequest    = 64 << 10 // bytes of a request
	maxRefusals   = 100      // recorded refusals
)

// shakeTime bounds a handshake, from the connection to the end of its request.
const shakeTime = 10 * time.Second

// ListenOptions configure a Listener.
type ListenOptions struct {
	Addr         string             // host:port; default 127.0.0.1:0, a free port of loopback
	Path         string             // the only path served, with any query; default /
	MaxEvent     int                // bytes of one message; 0: 8 MiB
	Sink         driver.Sink        // receives the records
	Party        func(n int) string // name of the n-th connection in the transcript, n from 1; default T1, T2, …
	Subprotocols []string           // in order of preference
}

// Listener makes the harness a WebSocket server, for targets that are clients. It records what they send just as a
// [Driver] records what servers send, except that a client's frames must be masked.
//
// An accepted connection is recorded as a received record of Kind Open, whose Bytes are the request as it came, with
// all of its headers, and a sent one of Kind Open with status 101. Only then does it have a party and a number. The
// origin is not checked, and no extension is accepted. A refused request is recorded as one of Kind Request, with its
// Bytes, and a sent one of Kind Response, both without a party: 404 for another path, 426, 405 or 400 for an invalid
// handshake, 431 for a request beyond 64 KiB, 503 for the connection beyond the sixteenth and for any while the
// listener is paused. A connection without a request is closed after ten seconds; that, and a connection that ends
// before its request, is a Failure without a party. At most a hundred refusals and failures are recorded.
//
// It is safe for concurrent use.
type Listener struct {
	o        ListenOptions
	addr     string         // with the actual port, which stays the same
	port     *freeport.Port // nil: the caller chose the port
	patience time.Duration

	queue   chan *accepted
	shaking chan struct{} // a token for each connection in the handshake
	gone    chan struct{} // closed by Close
	work    sync.WaitGroup

	// turn is held while a request is decided, recorded and, if accepted, queued, so that connections are numbered,
	// recorded and returned in the same order.
	turn    sync.Mutex
	n       int // accepted connections so far
	refused int

	sending sync.RWMutex // read-locked by every Send

	mu     sync.Mutex
	tcp    net.Listener // nil after Leave
	paused bool
	closed bool
	conns  map[net.Conn]*conn // nil value: not accepted (yet)
}

// Listen opens a listener. ctx bounds the opening only.
func Listen(ctx context.Context, o ListenOptions) (*Listener, error) {
	return listen(ctx, o, shakeTime)
}

func listen(ctx context.Context, o ListenOptions, patience time.Duration) (*Listener, error) {
	var port *freeport.Port // nil: the caller chose the port
	if o.Addr == "" {
		var err error
		if port, err = freeport.Lend(); err != nil {
			return nil, err
		}
		o.Addr = port.Addr()
	}
	o.Path = "/" + strings.TrimPrefix(o.Path, "/")
	if o.MaxEvent == 0 {
		o.MaxEvent = defaultMax
	}
	if o.Party == nil {
		o.Party = func(n int) string { return fmt.Sprintf("T%d", n) }
	}
	tcp, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		port.Release()
		return nil, err
	}
	l := &Listener{o: o, addr: tcp.Addr().String(), port: port, patience: patience, tcp: tcp, conns: map[net.Conn]*conn{},
		queue: make(chan *accepted, maxUnaccepted), shaking: make(chan struct{}, maxShaking), gone: make(chan struct{})}
	l.work.Go(func() { l.acceptConns(tcp) })
	return l, nil
}

// URL returns the URL to give to a target. It stays the same until Close.
func (l *Listener) URL() string {
	host, port, _ := net.SplitHostPort(l.addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "ws://" + net.JoinHostPort(host, port) + l.o.Path
}

// Accept returns the next connection whose handshake is done, in the order of the transcript. It may already have
// ended, as its records show. Accept waits for one until ctx ends, and then returns its error; after Close the error
// is driver.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (driver.Conn, error) {
	select {
	case <-l.gone:
		return nil, driver.ErrClosed
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.gone:
		return nil, driver.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Pause refuses every further connection with HTTP status 503, like a server that is up but does not serve. Open
// connections stay.
func (l *Listener) Pause() {
	l.turn.Lock() // a pending handshake is completed or refused before Pause returns
	defer l.turn.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = true
}

// Leave closes the port until Resume. Open connections stay.
func (l *Listener) Leave() {
	l.Pause()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tcp != nil {
		_ = l.tcp.Close()
		l.tcp = nil
	}
}

// Resume ends Pause and Leave. After Leave it opens the same port again. If another process has taken it, Resume
// returns an error and may be retried.
func (l *Listener) Resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return driver.ErrClosed
	}
	if l.tcp == nil {
		tcp, err := freeport.Relisten(l.addr)
		if err != nil {
			return err
		}
		l.tcp = tcp
		l.work.Go(func() { l.acceptConns(tcp) })
	}
	l.paused = false
	return nil
}

// Close closes the port and every connection, allowing each a second for the closing handshake, and waits until
// nothing more can reach the sink. Closing twice is harmless.
func (l *Listener) Close() error {
	var ends sync.WaitGroup
	for _, c := range l.closeListening() {
		ends.Go(func() { _ = c.Close(driver.Graceful) })
	}
	ends.Wait()
	l.work.Wait()
	l.port.Release()
	l.sending.Lock() // waits for a Send on a connection that had ended by itself
	defer l.sending.Unlock()
	return nil
}

// closeListening stops accepting, drops connections in the handshake, and returns the open ones.
func (l *Listener) closeListening() []*conn {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.gone)
	if l.tcp != nil {
		_ = l.tcp.Close()
	}
	var stand []*conn
	for raw, c := range l.conns {
		if c == nil {
			_ = raw.Close()
			continue
		}
		stand = append(stand, c)
	}
	return stand
}

// acceptConns accepts connections until the port is closed.
func (l *Listener) acceptConns(tcp net.Listener) {
	for {
		select {
		case l.shaking <- struct{}{}:
		case <-l.gone:
			return
		}
		raw, err := tcp.Accept()
		switch {
		case err == nil:
			l.work.Go(func() { l.serveConn(raw) })
			continue
		case errors.Is(err, net.ErrClosed):
			<-l.shaking
			return
		}
		<-l.shaking
		l.recordFailure("a connection could not be accepted: "+err.Error(), nil)
		select { // temporary, such as a lack of file descriptors
		case <-time.After(50 * time.Millisecond):
		case <-l.gone:
			return
		}
	}
}

// serveConn handles a connection from its handshake to its end.
func (l *Listener) serveConn(raw net.Conn) {
	defer l.forgetConn(raw)
	var c *conn
	if l.registerConn(raw) {
		c = l.shakeHands(raw)
	}
	<-l.shaking
	if c == nil {
		return
	}
	defer close(c.done)
	c.readMessages()
	// Before done, so that its slot is free by then; also, the library leaves it open after some faults.
	l.forgetConn(raw)
}

// registerConn registers a connection, so that Close can end it; false after Close.
func (l *Listener) registerConn(raw net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.conns[raw] = nil
	}
	return !l.closed
}

func (l *Listener) forgetConn(raw net.Conn) {
	_ = raw.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, raw)
}

// recordFailure records a failure without a party. Failures after Close began are the harness's own doing, and not
// recorded.
func (l *Listener) recordFailure(what string, head []byte) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.isClosed() {
		return
	}
	if what, ok := l.mayRecord(what); ok {
		l.o.Sink(transcript.Record{Dir: transcript.Received, Kind: transcript.Failure, Label: what, Bytes: head})
	}
}

// mayRecord bounds the records about connections that were never accepted. The caller holds turn.
func (l *Listener) mayRecord(label string) (string, bool) {
	l.refused++
	if l.refused == maxRefusals {
		label += " (and no more of what is refused is recorded)"
	}
	return label, l.refused <= maxRefusals
}

func (l *Listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// accepted is a connection accepted by a Listener.
type accepted struct {
	*conn
	l *Listener
}

// Send implements driver.Conn. After the Listener's Close nothing reaches its sink, even if the connection had ended
// by itself and was never closed.
func (a *accepted) Send(ctx context.Context, m driver.Message) (int, error) {
	a.l.sending.RLock()
	defer a.l.sending.RUnlock()
	if a.l.isClosed() {
		return 0, driver.ErrClosed
	}
	return a.conn.Send(ctx, m)
}
