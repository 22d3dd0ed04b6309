package llm

import (
	"container/list"
	"context"
	"sync"
)

// gates holds answers until their nonce is released. It remembers at most limit released nonces for later holds; the
// oldest is dropped first.
type gates struct {
	limit int

	mu       sync.Mutex
	held     map[string]*gate
	released map[string]*list.Element // of order
	order    list.List                // of string: the released nonces, oldest first
}

type gate struct {
	open    chan struct{} // closed by the release
	left    chan struct{} // closed once nobody waits
	waiters int
}

func newGates(limit int) *gates {
	return &gates{limit: limit, held: map[string]*gate{}, released: map[string]*list.Element{}}
}

// wait returns when the nonce is released or forgotten, or with the context's error if that ends first.
func (g *gates) wait(ctx context.Context, nonce string) error {
	h := g.enter(nonce)
	if h == nil {
		return nil
	}
	select {
	case <-h.open:
		return nil
	case <-ctx.Done():
		g.leave(nonce, h)
		return ctx.Err()
	}
}

// enter returns the gate to wait at; nil if the nonce has been released.
func (g *gates) enter(nonce string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released[nonce] != nil {
		return nil
	}
	h := g.held[nonce]
	if h == nil {
		h = &gate{open: make(chan struct{}), left: make(chan struct{})}
		g.held[nonce] = h
	}
	h.waiters++
	return h
}

func (g *gates) leave(nonce string, h *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h.waiters--
	if h.waiters == 0 && g.held[nonce] == h {
		delete(g.held, nonce)
		close(h.left)
	}
}

// abandoned waits until no answer of a nonce is held, and reports whether all have gone without a release.
func (g *gates) abandoned(ctx context.Context, nonce string) bool {
	g.mu.Lock()
	h, released := g.held[nonce], g.released[nonce] != nil
	g.mu.Unlock()
	if h == nil {
		return !released
	}
	select {
	case <-h.left:
		return true
	case <-h.open:
	case <-ctx.Done():
	}
	return false
}

func (g *gates) release(nonce string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open(nonce)
	if g.released[nonce] != nil {
		return
	}
	g.released[nonce] = g.order.PushBack(nonce)
	if g.order.Len() > g.limit {
		delete(g.released, g.order.Remove(g.order.Front()).(string))
	}
}

// forget opens the gate of a nonce and forgets its release, so that a later hold waits again.
func (g *gates) forget(nonce string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open(nonce)
	if mark := g.released[nonce]; mark != nil {
		g.order.Remove(mark)
		delete(g.released, nonce)
	}
}

// open frees the current waiters. The caller holds the lock.
func (g *gates) open(nonce string) {
	if h := g.held[nonce]; h != nil {
		close(h.open)
		delete(g.held, nonce)
	}
}
