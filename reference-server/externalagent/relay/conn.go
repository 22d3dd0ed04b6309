package relay

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/coder/websocket"
)

// conn is a connection of a party, over a socket or attached: a bounded queue of text frames towards it.
type conn struct {
	number   int
	attached bool
	limits   *Limits

	ctx context.Context // ends with the connection; its cause tells why
	end context.CancelCauseFunc

	in      sync.Mutex // keeps what the party writes in order
	leaving sync.Once

	party Party // guarded by Server.mu
	gone  bool  // it has left, or will do so without having joined; guarded by Server.mu

	mu       sync.Mutex
	queue    [][]byte
	bytes    int // of the queue
	farewell *websocket.CloseError
	wake     chan struct{} // has room for one
}

var (
	errEnded = errors.New("the connection has ended")
	errSlow  = errors.New("the connection was dropped: too much waits to be read")
)

func newConn(ctx context.Context, attached bool, limits *Limits) *conn {
	c := &conn{attached: attached, limits: limits, wake: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c
}

// push queues a frame and never waits: a reader who is too slow loses the connection, and nobody else anything.
func (c *conn) push(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.farewell != nil || c.ctx.Err() != nil {
		return
	}
	if n := len(c.queue); n > 0 && (n >= c.limits.Queue || c.bytes+len(frame) > c.limits.QueueBytes) {
		c.queue = nil
		c.end(errSlow)
		return
	}
	c.queue = append(c.queue, frame)
	c.bytes += len(frame)
	c.ring()
}

func (c *conn) ring() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish ends the connection behind what is queued. The first one counts. An attached party has left at once, as nothing is
// on its way to it that could be waited for.
func (c *conn) finish(bye websocket.CloseError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.farewell != nil || c.ctx.Err() != nil {
		return
	}
	c.farewell = &bye
	c.ring()
	if c.attached {
		c.end(bye)
	}
}

// discard ends the connection and what is queued for it: its reader has gone.
func (c *conn) discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.farewell = nil, nil
	c.end(net.ErrClosed)
}

// over tells whether nothing that the party sends is looked at any more.
func (c *conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.farewell != nil || c.ctx.Err() != nil
}

// next waits for a frame to write. Its error is a websocket.CloseError behind the last frame before a farewell, and otherwise
// why there is none to come.
func (c *conn) next(ctx context.Context) ([]byte, error) {
	for {
		frame, err := c.take()
		if frame != nil || err != nil {
			return frame, err
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *conn) take() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.farewell == nil && c.ctx.Err() != nil:
		return nil, context.Cause(c.ctx)
	case len(c.queue) > 0:
		frame := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.bytes -= len(frame)
		return frame, nil
	case c.farewell != nil:
		return nil, *c.farewell
	}
	return nil, nil
}

// registry holds the connections. It has a lock of its own, so that an Outbound may send at any time.
type registry struct {
	mu       sync.Mutex
	last     int
	byNumber map[int]*conn
	order    []*conn
}

func newRegistry() *registry { return &registry{byNumber: map[int]*conn{}} }

// add admits the connection and numbers it, unless there are max already.
func (r *registry) add(c *conn, max int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) >= max {
		return false
	}
	r.last++
	c.number = r.last
	r.byNumber[c.number] = c
	r.order = append(r.order, c)
	return true
}

func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byNumber, c.number)
	r.order = slices.DeleteFunc(r.order, func(o *conn) bool { return o == c })
}

func (r *registry) get(number int) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byNumber[number]
}

func (r *registry) all() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}
