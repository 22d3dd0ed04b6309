package connection

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// Why a connection is refused.
var (
	ErrClosing = errors.New("the server closes")
	ErrMany    = errors.New("no more connections")
)

// Registry holds the open connections of a server. It has its own lock, so that they can be looked up at any time.
// NewRegistry makes one.
type Registry[ID comparable, C any] struct {
	max  int
	open sync.WaitGroup

	mu     sync.Mutex
	byID   map[ID]*list.Element // of order
	order  list.List            // of *admitted
	closed bool
}

// admitted is an open connection in the order of a registry.
type admitted[ID comparable, C any] struct {
	id   ID
	conn *C
}

// NewRegistry returns a registry that admits at most max connections.
func NewRegistry[ID comparable, C any](max int) *Registry[ID, C] {
	return &Registry[ID, C]{max: max, byID: map[ID]*list.Element{}}
}

// Add admits a connection, which must later be removed. It fails with ErrMany, and after Close with ErrClosing.
func (r *Registry[ID, C]) Add(id ID, c *C) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosing
	case r.order.Len() >= r.max:
		return ErrMany
	}
	r.byID[id] = r.order.PushBack(&admitted[ID, C]{id, c})
	r.open.Add(1)
	return nil
}

// Remove removes an admitted connection.
func (r *Registry[ID, C]) Remove(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order.Remove(r.byID[id])
	delete(r.byID, id)
	r.open.Done()
}

// Get returns a connection; nil if it is not open.
func (r *Registry[ID, C]) Get(id ID) *C {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.byID[id]; e != nil {
		return e.Value.(*admitted[ID, C]).conn
	}
	return nil
}

// All lists the connections in the order in which they were admitted.
func (r *Registry[ID, C]) All() []*C {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*C, 0, r.order.Len())
	for e := r.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*admitted[ID, C]).conn)
	}
	return all
}

// Close admits no more connections.
func (r *Registry[ID, C]) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// Wait waits until all connections have been removed.
func (r *Registry[ID, C]) Wait() { r.open.Wait() }

// Await waits until f returns, or returns ctx's error.
func Await(ctx context.Context, f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
