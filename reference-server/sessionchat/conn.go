package sessionchat

import (
	"context"
	"slices"
	"sync"

	"github.com/coder/websocket"
)

// conn is one connection: a bounded queue of messages that pump writes in order, and the turns that it asked for.
type conn struct {
	info   ConnInfo
	ctx    context.Context // ends with the connection
	end    context.CancelFunc
	limit  int // bytes that may wait
	smooth int // bytes up to which a turn that streams does not wait

	turns map[*turn]struct{} // guarded by Server.mu

	mu       sync.Mutex
	queue    []Message
	bytes    int // of the queue, and of what is being written
	farewell *farewell
	wake     chan struct{} // has room for one
	room     chan struct{} // closed when bytes falls to smooth; nil while nobody waits
}

// farewell is how the server ends a connection, once everything queued has been written.
type farewell struct {
	code   websocket.StatusCode
	reason string
}

// smooth keeps what a turn streams ahead of the reader small, so that a pong or the result of an interrupt comes soon.
const smooth = 256 << 10

func newConn(ctx context.Context, info ConnInfo, limit int) *conn {
	c := &conn{info: info, limit: limit, smooth: min(smooth, limit/2), turns: map[*turn]struct{}{}, wake: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancel(ctx)
	return c
}

// push queues a message and never waits: a reader who is too slow loses the connection, and nobody else anything.
func (c *conn) push(msg Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.farewell != nil || c.ctx.Err() != nil {
		return
	}
	if c.bytes > c.limit {
		c.end()
		return
	}
	c.queue = append(c.queue, msg)
	c.bytes += msg.weight()
	c.ring()
}

func (c *conn) ring() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish lets pump end behind what is queued. The first one counts.
func (c *conn) finish(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.farewell == nil {
		c.farewell = &farewell{code, reason}
		c.ring()
	}
}

func (c *conn) finishing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.farewell != nil
}

// pump writes until the connection ends, a write fails, or everything before the farewell is written, which it returns.
func (c *conn) pump(write func(Message) error) *farewell {
	for {
		msg, bye := c.next()
		if msg == nil {
			return bye
		}
		if err := write(msg); err != nil {
			return nil
		}
		c.written(msg.weight())
	}
}

// next waits for a message, nil if there is none to come.
func (c *conn) next() (Message, *farewell) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue[0] = nil
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return msg, nil
		}
		bye := c.farewell
		c.mu.Unlock()
		if bye != nil {
			return nil, bye
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			return nil, nil
		}
	}
}

func (c *conn) written(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= bytes
	if c.room != nil && c.bytes <= c.smooth {
		close(c.room)
		c.room = nil
	}
}

// awaitRoom waits while much is queued, until the connection or ctx ends: a model that speaks fast does not make a slow
// reader of everybody.
func (c *conn) awaitRoom(ctx context.Context) {
	c.mu.Lock()
	if c.bytes <= c.smooth {
		c.mu.Unlock()
		return
	}
	if c.room == nil {
		c.room = make(chan struct{})
	}
	room := c.room
	c.mu.Unlock()
	select {
	case <-room:
	case <-c.ctx.Done():
	case <-ctx.Done():
	}
}

// registry holds the open connections. It has a lock of its own, so that an Outbound may send at any time.
type registry struct {
	mu    sync.Mutex
	byID  map[string]*conn
	order []*conn
}

func newRegistry() *registry { return &registry{byID: map[string]*conn{}} }

// add admits the connection unless there are max already.
func (r *registry) add(c *conn, max int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) >= max {
		return false
	}
	r.byID[c.info.ID] = c
	r.order = append(r.order, c)
	return true
}

func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, c.info.ID)
	r.order = slices.DeleteFunc(r.order, func(o *conn) bool { return o == c })
}

func (r *registry) get(id string) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *registry) all() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}
