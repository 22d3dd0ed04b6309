package trafficview

import (
	"context"
	"slices"
	"sync"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

// holder holds messages back while it is on, and lets them pass in the order in which they came. It is safe for
// concurrent use.
type holder struct {
	mu    sync.Mutex
	on    bool
	queue []*waiting
	all   int // that were held back
}

// waiting is a message that is held back.
type waiting struct {
	from gate.Side
	conn string
	typ  string
	free chan struct{} // closes when it may pass
}

// wait blocks while the message must wait: until it is let pass, or nobody waits for it any more.
func (h *holder) wait(ctx context.Context, m gate.Message, typ string) {
	h.mu.Lock()
	if !h.on || m.Kind == transcript.Closed {
		h.mu.Unlock()
		return
	}
	w := &waiting{m.From, m.Conn, typ, make(chan struct{})}
	h.queue = append(h.queue, w)
	h.all++
	h.mu.Unlock()
	select {
	case <-w.free:
		return
	case <-ctx.Done():
	case <-m.Gone:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue = slices.DeleteFunc(h.queue, func(one *waiting) bool { return one == w })
}

// toggle begins to hold messages back, or lets all of them pass.
func (h *holder) toggle() {
	h.mu.Lock()
	on := h.on
	h.on = !on
	h.mu.Unlock()
	if on {
		h.releaseAll()
	}
}

// releaseOne lets the first message pass.
func (h *holder) releaseOne() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) > 0 {
		close(h.queue[0].free)
		h.queue = h.queue[1:]
	}
}

// releaseAll lets all messages pass, and holds no more back.
func (h *holder) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = false
	for _, w := range h.queue {
		close(w.free)
	}
	h.queue = nil
}

// state returns whether messages are held back, how many wait, and the first of them; nil for none.
func (h *holder) state() (on bool, n int, next *waiting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) > 0 {
		next = h.queue[0]
	}
	return h.on, len(h.queue), next
}

func (h *holder) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}
