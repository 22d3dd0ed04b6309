package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Errors of Serve.
var (
	ErrClosed  = errors.New("the host is closed")
	ErrServing = errors.New("the host has a connection already")
	ErrSlow    = errors.New("the connection takes messages too slowly")
)

// Host is the host of one relay session. It is safe for concurrent use.
type Host struct {
	limits Limits
	store  Store
	owned  bool // the store is closed with the host

	mu     sync.Mutex
	m      *machine
	closed bool
	served bool   // there was a connection
	out    *queue // nil while there is no connection
	idle   chan struct{}
}

// New returns a host without a session. It fails when the log folder can't be used.
func New(o Options) (*Host, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{limits: o.Limits, store: o.Store}
	if h.store == nil {
		if h.store, err = OpenStore(o.Logs); err != nil {
			return nil, err
		}
		h.owned = true
	}
	h.m = newMachine(o, h.store)
	return h, nil
}

// Serve plays the host over a connection that has joined a relay session, until the connection, ctx or the host ends: that
// is what the error says, which is never nil. The session outlives it, and another connection may be served then (EA-076);
// while one is, a second gets ErrServing.
func (h *Host) Serve(ctx context.Context, c Conn) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	q, err := h.connect(stop)
	if err != nil {
		return err
	}
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		if err := q.pump(ctx, c.Write); err != nil {
			stop(fmt.Errorf("write: %w", err))
		}
	}()
	err = h.read(ctx, c, q)
	stop(err)
	<-pumped
	h.disconnect()
	return context.Cause(ctx)
}

// read handles messages one by one. Who asks waits until the answers before are written, so that a party that only writes
// can't fill the memory.
func (h *Host) read(ctx context.Context, c Conn, q *queue) error {
	for {
		data, err := c.Read(ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		h.step(func(m *machine) { m.receive(data) })
		if err := q.drained(ctx); err != nil {
			return err
		}
	}
}

// step changes the state, and queues what is said of it in the order of the changes.
func (h *Host) step(f func(m *machine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	f(h.m)
	if out := h.m.sent(); h.out != nil {
		h.out.push(out)
	}
}

func (h *Host) connect(stop context.CancelCauseFunc) (*queue, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if h.out != nil {
		return nil, ErrServing
	}
	h.out, h.idle = newQueue(h.limits.Outgoing, stop), make(chan struct{})
	h.m.begin(h.served)
	h.served = true
	h.out.push(h.m.sent())
	return h.out, nil
}

func (h *Host) disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m.connected = false
	h.out = nil
	close(h.idle)
}

// Say is what the participant says: it is shown in the history, and told to the agent with the stage of the form that is
// shown, or was last. It fails with ErrNoSession, ErrText, ErrFull or ErrClosed.
func (h *Host) Say(text string) (err error) {
	err = ErrClosed
	h.step(func(m *machine) { err = m.userSays(text) })
	return err
}

// Active tells whether a study session is active.
func (h *Host) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m.Active()
}

// Close ends the session that is active, and its log in order, without a word on the connection; it ends the connection's
// Serve, and waits for it. It may be called again.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.m.abandon("the host closed")
	h.m.sent()
	err := h.m.journal.failed
	h.closed = true
	idle := h.idle
	if h.out != nil {
		h.out.end(ErrClosed)
	}
	h.mu.Unlock()
	if idle != nil {
		<-idle
	}
	if h.owned {
		err = errors.Join(err, h.store.Close())
	}
	return err
}
