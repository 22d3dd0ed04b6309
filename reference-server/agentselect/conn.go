package agentselect

import (
	"context"
	"slices"
	"sync"
	"time"
)

// conn is one connection: a bounded queue of events that pump writes in order.
type conn struct {
	info  ConnInfo
	queue chan frame
	ready chan struct{} // closed when agent_list has been written (AS-106)
	gone  chan struct{} // closed when the connection has ended or is to end
	once  sync.Once
}

// frame is an encoded event, or without data the mark behind the greeting.
type frame struct {
	data    []byte
	written chan struct{}
}

func newConn(info ConnInfo, queue int) *conn {
	return &conn{info: info, queue: make(chan frame, queue), ready: make(chan struct{}), gone: make(chan struct{})}
}

// push queues a frame and never waits: a reader who is too slow for the queue loses the connection, not the server its memory.
func (c *conn) push(data []byte) (written <-chan struct{}) {
	f := frame{data: data, written: make(chan struct{})}
	select {
	case c.queue <- f:
	default:
		c.end()
	}
	return f.written
}

func (c *conn) end() { c.once.Do(func() { close(c.gone) }) }

// pump writes queued frames until the connection ends or a write fails. idle is called on a quiet stream.
func (c *conn) pump(ctx context.Context, quiet time.Duration, write func([]byte) error, idle func() error) {
	defer c.end()
	heartbeat := time.NewTicker(quiet)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-c.gone:
			return
		case <-heartbeat.C:
			err = idle()
		case f := <-c.queue:
			err = c.deliver(f, write)
		}
		if err != nil {
			return
		}
	}
}

func (c *conn) deliver(f frame, write func([]byte) error) error {
	if f.data == nil {
		close(c.ready)
	} else if err := write(f.data); err != nil {
		return err
	}
	close(f.written)
	return nil
}

// awaitReady waits until the connection accepts messages; false if it never will.
func (c *conn) awaitReady(ctx context.Context) bool {
	select {
	case <-c.ready:
		return true
	case <-c.gone:
	case <-ctx.Done():
	}
	return false
}

// receipt collects what the handling of one request wrote, so that its HTTP answer can wait for it.
type receipt struct {
	mu      sync.Mutex
	waiting []func(context.Context)
}

func (r *receipt) add(c *conn, written <-chan struct{}) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, func(ctx context.Context) {
		select {
		case <-written:
		case <-c.gone:
		case <-ctx.Done():
		}
	})
}

// wait returns when all of it stands on the streams, or never will.
func (r *receipt) wait(ctx context.Context) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, wait := range waiting {
		wait(ctx)
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

func (r *registry) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
	r.order = slices.DeleteFunc(r.order, func(c *conn) bool { return c.info.ID == id })
}

func (r *registry) get(id string) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *registry) list() []ConnInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]ConnInfo, len(r.order))
	for i, c := range r.order {
		list[i] = c.info
	}
	return list
}

func (r *registry) endAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.order {
		c.end()
	}
}
