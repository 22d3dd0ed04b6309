package gate

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// endTime bounds the graceful end of a connection.
const endTime = time.Second

// outlet writes to one side of a stream or socket. Only the holder of its turn may write.
type outlet struct {
	e      *end
	turn   chan struct{}
	shut   bool                 // guarded by turn: no message may follow
	encode func(Message) []byte // for the wire
	wrap   func([]byte) []byte  // frames bytes; nil: they go as they are
	last   []byte               // the regular end of a stream; nil: the end of the connection
}

// writeLocked writes bytes; the caller has the turn.
func (o *outlet) writeLocked(b []byte) error {
	if o.wrap != nil {
		b = o.wrap(b)
	}
	_, err := o.e.Write(b)
	return err
}

func newOutlet(e *end, encode func(Message) []byte) *outlet {
	return &outlet{e: e, turn: make(chan struct{}, 1), encode: encode}
}

func (o *outlet) lock(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *outlet) unlock() { <-o.turn }

// conn is an open stream or socket.
type conn struct {
	g     *Gate
	l     *link
	name  string
	path  string
	kind  string // "sse" or "ws"
	since time.Time
	done  chan struct{} // closed when nothing more can happen on it
	ready chan struct{} // closed when it is open, or will not be
	quit  chan struct{} // closed when the gate has ended it gracefully
	tap   *driver.Tap   // of the program's side

	mu       sync.Mutex
	open     bool
	ending   bool // by the gate
	cut      bool // by the gate, without a farewell
	left     bool // the client of a stream has left
	over     bool
	upstream bool       // there is one
	out      [2]*outlet // nil: no such side, or not open yet
	sends    sync.WaitGroup
	timer    *time.Timer
}

// newConn names a stream or socket that is requested.
func (l *link) newConn(r *http.Request, kind string) *conn {
	g := l.g
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	name := g.o.Party(r, g.n)
	for n, free := 2, name; ; n++ {
		if g.conns[free] == nil {
			name = free
			break
		}
		free = fmt.Sprintf("%s %d", name, n)
	}
	c := &conn{g: g, l: l, name: name, path: r.RequestURI, kind: kind, since: time.Now(), done: make(chan struct{}),
		ready: make(chan struct{}), quit: make(chan struct{}),
		tap: driver.NewTap(g.sinkRecord)}
	g.conns[name] = c
	l.mu.Lock()
	l.conn = c
	l.mu.Unlock()
	return c
}

// markOpened makes the connection available for Send.
func (c *conn) markOpened(client, server *outlet, upstream bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out, c.open, c.upstream = [2]*outlet{client, server}, true, upstream
	close(c.ready)
}

func (c *conn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open && !c.over
}

func (c *conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

func (c *conn) markEnding() {
	c.tap.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
}

// finishConn waits for pending writes, records the end, and forgets the connection. With the zero record, no end is
// recorded.
func (c *conn) finishConn(last transcript.Record) {
	c.mu.Lock()
	c.over = true
	if !c.open {
		close(c.ready)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.sends.Wait()
	if last.Kind != "" {
		last.Conn = c.name
		c.g.sinkRecord(last)
	}
	c.g.mu.Lock()
	delete(c.g.conns, c.name)
	c.g.mu.Unlock()
	c.l.mu.Lock()
	c.l.conn = nil
	c.l.mu.Unlock()
	close(c.done)
}

// sendOwn sends a message of the gate.
func (c *conn) sendOwn(ctx context.Context, to Side, m Message) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	o := c.out[to]
	if c.over || c.ending {
		c.mu.Unlock()
		return driver.ErrClosed
	}
	if o == nil {
		c.mu.Unlock()
		return fmt.Errorf("%q: nothing can be sent to the %v on this connection", c.name, to)
	}
	c.sends.Add(1)
	c.mu.Unlock()
	if m.Kind == transcript.Closed {
		defer c.sends.Done()
		c.endWith(m)
		return nil
	}
	if err := o.lock(ctx); err != nil {
		c.sends.Done()
		return err
	}
	wrote := make(chan error, 1)
	go func() { // a peer that has stopped reading blocks the turn, but not the caller
		defer c.sends.Done()
		defer o.unlock()
		wrote <- c.writeMessage(to, o, m)
	}()
	select {
	case err := <-wrote:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeMessage records and writes a message; the caller has the turn.
func (c *conn) writeMessage(to Side, o *outlet, m Message) error {
	if o.shut {
		return driver.ErrClosed
	}
	c.recordSent(to, m)
	return o.writeLocked(o.encode(m))
}

// recordSent records a message that is sent to the program.
func (c *conn) recordSent(to Side, m Message) {
	if to == c.g.o.Program {
		c.tap.Sink(messageRecord(c.kind, c.name, transcript.Sent, m))
	}
}

// endLabel returns the label for the end of a connection by the gate.
func (c *conn) endLabel(usual string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return "cut off by the harness"
	}
	return usual
}

// beginEnd begins to end the connection towards both sides.
func (c *conn) beginEnd(how driver.CloseMode) {
	if how == driver.Reset {
		c.mu.Lock()
		c.cut = c.cut || !c.ending
		c.mu.Unlock()
		c.markEnding()
		c.l.resetBoth()
		return
	}
	c.endWith(Message{})
}

// endWith begins to end the connection towards both sides, with the status and reason of a message.
func (c *conn) endWith(m Message) { c.endBy(func(o *outlet) { c.writeEnd(o, m) }) }

// endBy begins to end the connection towards both sides; bye is called with the turn of each.
func (c *conn) endBy(bye func(*outlet)) {
	c.markEnding()
	c.mu.Lock()
	out := c.out
	c.mu.Unlock()
	c.dropAfter(endTime)
	ctx, cancel := context.WithTimeout(c.l.ctx, endTime)
	defer cancel()
	for _, o := range out {
		if o == nil || o.lock(ctx) != nil {
			continue
		}
		if !o.shut {
			o.shut = true
			bye(o)
		}
		o.unlock()
	}
	if c.kind == "sse" {
		c.l.closeServer()
		c.mu.Lock()
		defer c.mu.Unlock()
		select {
		case <-c.quit:
		default:
			close(c.quit)
		}
	}
}

// tooMuch ends a connection because the gate has no room for its message.
func (c *conn) tooMuch() error {
	c.g.sinkRecord(transcript.Record{Conn: c.name, Dir: transcript.Noted, Kind: transcript.Failure,
		Label: errTooMuch.Error()})
	c.beginEnd(driver.Reset)
	return errTooMuch
}

// dropAfter drops the connection if it has not ended by then.
func (c *conn) dropAfter(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(limit, c.l.resetBoth)
}

// writeEnd writes the end of the connection towards a side; the caller has the turn.
func (c *conn) writeEnd(o *outlet, m Message) {
	if c.kind == "ws" {
		if m.Status == 0 {
			m.Status = 1000
		}
		_, _ = o.e.Write(closeFrame(uint16(m.Status), string(m.Body), o == c.out[Server]))
	} else if o.last != nil {
		_, _ = o.e.Write(o.last)
	}
}

// pass writes a message unchanged if whole is set; otherwise only the control frames between its parts.
type pass func(o *outlet, whole bool) error

// applyDecision carries out the decision of the Handler. It reports whether the connection continues.
func (c *conn) applyDecision(to Side, m Message, d Decision, p pass) bool {
	c.mu.Lock()
	o := c.out[to]
	c.mu.Unlock()
	ok := o == nil || c.emitMessage(to, o, m, d, p) == nil
	for _, w := range d.With {
		if w.Kind == transcript.Closed {
			c.endWith(w)
		}
	}
	if d.Fin {
		c.endBy(func(o *outlet) { o.e.closeWrite() })
	}
	if d.End != nil {
		c.beginEnd(*d.End)
	}
	return ok
}

func (c *conn) emitMessage(to Side, o *outlet, m Message, d Decision, p pass) error {
	if err := o.lock(c.l.ctx); err != nil {
		return err
	}
	defer o.unlock()
	switch {
	case o.shut:
		return nil
	case d.Drop:
		return p(o, false)
	case d.With == nil:
		if !d.Cut {
			c.recordSent(to, m)
		}
		return p(o, true)
	}
	for _, w := range d.With {
		if w.Kind == transcript.Closed {
			break
		}
		if d.Wire == nil {
			if err := c.writeMessage(to, o, w); err != nil {
				return err
			}
			continue
		}
		if !d.Cut {
			c.recordSent(to, w)
		}
		if err := c.writePieces(o, d.Wire(o.encode(w))); err != nil || o.shut {
			return err
		}
	}
	return p(o, false)
}

// reportEnd tells the Handler that a side has ended the connection.
func (c *conn) reportEnd(by Side, status int, reason string) {
	if c.g.o.Handle != nil && !c.isEnding() {
		c.g.o.Handle(c.l.ctx, Message{Conn: c.name, From: by, Kind: transcript.Closed, Path: c.path, Status: status,
			Body: []byte(reason)})
	}
}

// clientLeft notes that the client of a stream has left, and reports whether that ends the stream: it does if there is
// no upstream to tell.
func (c *conn) clientLeft() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.open && c.kind == "sse"
	return c.left && (c.g.o.Program == Client || !c.upstream)
}
