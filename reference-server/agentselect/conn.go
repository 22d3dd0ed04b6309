package agentselect

import (
	"context"
	"sync"

	"parley/reference-server/connection"
)

// conn is a connection, including whether it accepts messages.
type conn struct {
	*connection.Outbox
	info  ConnInfo
	ready chan struct{} // closed when agent_list has been written (AS-106)
}

func newConn(ctx context.Context, info ConnInfo, l Limits) *conn {
	out := connection.New(ctx, connection.Limits{Frames: l.Queue, Bytes: l.QueueBytes})
	return &conn{out, info, make(chan struct{})}
}

// awaitReady waits until the connection accepts messages; false if it never will.
func (c *conn) awaitReady(ctx context.Context) bool {
	select {
	case <-c.ready:
		return true
	case <-c.Context().Done():
	case <-ctx.Done():
	}
	return false
}

// receipt collects the events written while handling a request, so that the HTTP response can wait for them.
type receipt struct {
	mu      sync.Mutex
	waiting []func(context.Context)
}

// add adds everything queued for a connection.
func (r *receipt) add(c *conn) {
	if r == nil {
		return
	}
	written := make(chan struct{})
	c.Then(func() { close(written) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, func(ctx context.Context) {
		select {
		case <-written:
		case <-c.Context().Done():
		case <-ctx.Done():
		}
	})
}

// wait returns when all of it has been written, or can't be written any more.
func (r *receipt) wait(ctx context.Context) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, wait := range waiting {
		wait(ctx)
	}
}
