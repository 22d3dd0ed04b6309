package ws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"parley/driver"
	"parley/internal/freeport"
	"parley/transcript"
)

// Bounds of a Listener: what a target that connects in a loop, or never stops asking, may take of the harness.
const (
	maxOpen       = 16       // connections that stand; more are refused
	maxUnaccepted = 256      // connections that wait for Accept, those that have ended meanwhile included
	maxShaking    = 32       // connections that are still asking; more wait to be asked
	maxRequest    = 64 << 10 // bytes of a request
	maxRefusals   = 100      // refusals that are told
)

// shakeTime bounds a handshake, from the connection to the end of its request.
const shakeTime = 10 * time.Second

// ListenOptions say where to listen, and for whom.
type ListenOptions struct {
	Addr         string             // host:port; default 127.0.0.1:0, a free port of loopback
	Path         string             // the only one that is served, whatever the query; default /
	MaxEvent     int                // bytes of one message; 0: 8 MiB
	Sink         driver.Sink        // takes what is observed
	Party        func(n int) string // name of the n-th connection in the transcript, n from 1; default T1, T2, …
	Subprotocols []string           // in order of preference
}

// Listener is the harness as a WebSocket server, for targets that are clients. Whatever they send is recorded as a
// [Driver] records what servers send; only that a client's frames must be masked.
//
// A connection that comes to stand is recorded as a received record of Kind Open, whose Bytes are the request as it
// came, with all of its headers, and as a sent one of Kind Open with status 101. Only then it has a party, and a
// number. The origin is not judged, and no extension is agreed to. A request that is refused is recorded as one of Kind
// Request, with its Bytes, and one of Kind Response, sent, both of no party: 404 for another path, 426, 405 or 400 for
// what is no handshake, 431 for a request beyond 64 KiB, 503 for the connection beyond the sixteenth and for any while
// the listener is paused. A connection that asks nothing for ten seconds is closed; that and one that ends before it
// has asked is a Failure of no party. Refusals and failures are told a hundred times.
//
// Safe for concurrent use.
type Listener struct {
	o        ListenOptions
	addr     string         // with the port that it was given, which stays the same
	port     *freeport.Port // nil: the caller's choice
	patience time.Duration

	queue   chan *accepted
	shaking chan struct{} // a token for each connection that may ask
	gone    chan struct{} // closed by Close
	work    sync.WaitGroup

	// turn is held from the decision about a request to its record, and to the connection that stands in the queue: so
	// connections are numbered, recorded and handed out in one order.
	turn    sync.Mutex
	n       int // connections that have stood
	refused int

	sending sync.RWMutex // held for reading by every Send

	mu     sync.Mutex
	tcp    net.Listener // nil while away
	paused bool
	closed bool
	conns  map[net.Conn]*conn // nil for those that do not stand (yet)
}

// Listen opens a listener. ctx bounds the opening only.
func Listen(ctx context.Context, o ListenOptions) (*Listener, error) {
	return listen(ctx, o, shakeTime)
}

func listen(ctx context.Context, o ListenOptions, patience time.Duration) (*Listener, error) {
	var port *freeport.Port // nil: the caller's choice
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
	l.work.Go(func() { l.take(tcp) })
	return l, nil
}

// URL is what a target is told. It stays the same until Close.
func (l *Listener) URL() string {
	host, port, _ := net.SplitHostPort(l.addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "ws://" + net.JoinHostPort(host, port) + l.o.Path
}

// Accept returns the next connection whose handshake is done, in the order of the transcript. It may have ended
// already, as its records tell. Without one it waits for ctx, whose error it returns then; after Close the error is
// driver.ErrClosed.
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

// Pause refuses every connection from now on with HTTP status 503: a server that is there and does not serve. The
// connections that stand stay.
func (l *Listener) Pause() {
	l.turn.Lock() // what is being accepted stands before Pause returns, or is refused
	defer l.turn.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = true
}

// Leave closes the port: nobody is there, until Resume. The connections that stand stay.
func (l *Listener) Leave() {
	l.Pause()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tcp != nil {
		_ = l.tcp.Close()
		l.tcp = nil
	}
}

// Resume ends Pause and Leave. After Leave it opens the same port again, which somebody else may have taken: that is
// the error, and then Resume may be tried again.
func (l *Listener) Resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return driver.ErrClosed
	}
	if l.tcp == nil {
		tcp, err := new(net.ListenConfig).Listen(context.Background(), "tcp", l.addr)
		if err != nil {
			return err
		}
		l.tcp = tcp
		l.work.Go(func() { l.take(tcp) })
	}
	l.paused = false
	return nil
}

// Close closes the port and every connection, each with a closing handshake that has a second, and waits until nothing
// more can reach the sink. Closing twice is harmless.
func (l *Listener) Close() error {
	var ends sync.WaitGroup
	for _, c := range l.shut() {
		ends.Go(func() { _ = c.Close(driver.Graceful) })
	}
	ends.Wait()
	l.work.Wait()
	l.port.Release()
	l.sending.Lock() // a Send on a connection that had ended by itself
	defer l.sending.Unlock()
	return nil
}

// shut lets nobody in any more, drops who is still asking, and returns the connections that stand.
func (l *Listener) shut() []*conn {
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

// take takes connections until the port is closed.
func (l *Listener) take(tcp net.Listener) {
	for {
		select {
		case l.shaking <- struct{}{}:
		case <-l.gone:
			return
		}
		raw, err := tcp.Accept()
		switch {
		case err == nil:
			l.work.Go(func() { l.serve(raw) })
			continue
		case errors.Is(err, net.ErrClosed):
			<-l.shaking
			return
		}
		<-l.shaking
		l.fail("a connection could not be accepted: "+err.Error(), nil)
		select { // such as for want of file descriptors: it passes
		case <-time.After(50 * time.Millisecond):
		case <-l.gone:
			return
		}
	}
}

// serve is the life of a connection.
func (l *Listener) serve(raw net.Conn) {
	defer l.forget(raw)
	var c *conn
	if l.know(raw) {
		c = l.shake(raw)
	}
	<-l.shaking
	if c == nil {
		return
	}
	defer close(c.done)
	c.read()
	l.forget(raw) // before it counts as done: its place is free then. The library leaves it open after some faults.
}

// know keeps a connection, so that Close can end it; false after that.
func (l *Listener) know(raw net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.conns[raw] = nil
	}
	return !l.closed
}

func (l *Listener) forget(raw net.Conn) {
	_ = raw.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, raw)
}

// fail records what is of no party. Whatever comes after Close began is the harness's doing, and not told.
func (l *Listener) fail(what string, head []byte) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.isClosed() {
		return
	}
	if what, ok := l.tellable(what); ok {
		l.o.Sink(transcript.Record{Dir: transcript.Received, Kind: transcript.Failure, Label: what, Bytes: head})
	}
}

// tellable bounds what is told of connections that never stood. The caller holds turn.
func (l *Listener) tellable(label string) (string, bool) {
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

// accepted is a connection that a Listener accepted.
type accepted struct {
	*conn
	l *Listener
}

// Send implements driver.Conn. After the Listener's Close nothing reaches its sink, also where the connection had ended
// by itself and nobody has closed it.
func (a *accepted) Send(ctx context.Context, m driver.Message) (int, error) {
	a.l.sending.RLock()
	defer a.l.sending.RUnlock()
	if a.l.isClosed() {
		return 0, driver.ErrClosed
	}
	return a.conn.Send(ctx, m)
}
