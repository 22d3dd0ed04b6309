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
)

// Host is the host of one relay session. It is safe for concurrent use.
type Host struct {
	store Store
	owned bool // the host closes the store

	mu     sync.Mutex
	m      *machine
	closed bool
	served bool // Serve has been called before

	conn Conn // nil while disconnected
	ctx  context.Context
	end  context.CancelCauseFunc
	idle chan struct{} // closed when the connection has ended
}

// New returns a host without a session. It fails when the log folder can't be used.
func New(o Options) (*Host, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Host{store: o.Store}
	if h.store == nil {
		if h.store, err = OpenStore(o.Logs); err != nil {
			return nil, err
		}
		h.owned = true
	}
	h.m = newMachine(o, h.store)
	return h, nil
}

// Serve runs the host over a connection that has joined a relay session, until the connection, ctx or the host ends.
// It always returns an error, the reason it ended. The session survives, and another connection may be served
// afterwards (EA-076); a concurrent second one gets ErrServing.
func (h *Host) Serve(ctx context.Context, c Conn) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := h.connect(ctx, end, c); err != nil {
		return err
	}
	defer h.disconnect()
	for {
		data, err := c.Read(ctx)
		if err != nil {
			end(fmt.Errorf("read: %w", err))
			return context.Cause(ctx)
		}
		h.step(func(m *machine) { m.receive(data) })
	}
}

func (h *Host) connect(ctx context.Context, end context.CancelCauseFunc, c Conn) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case h.conn != nil:
		return ErrServing
	}
	h.conn, h.ctx, h.end, h.idle = c, ctx, end, make(chan struct{})
	h.m.begin(h.served)
	h.served = true
	h.write()
	return nil
}

func (h *Host) disconnect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m.connected = false
	h.conn = nil
	close(h.idle)
}

// step changes the state and writes the resulting messages in the order of the changes.
func (h *Host) step(f func(m *machine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		f(h.m)
		h.write()
	}
}

// write sends the queued messages. The caller holds the lock.
func (h *Host) write() {
	for _, data := range h.m.sent() {
		if h.conn == nil {
			return
		}
		if err := h.conn.Write(h.ctx, data); err != nil {
			h.end(fmt.Errorf("write: %w", err))
			return
		}
	}
}

// Say delivers the participant's input: it is shown in the history and sent to the agent with the stage of the form
// that is or was last shown. It fails with ErrNoSession, ErrText, ErrFull or ErrClosed.
func (h *Host) Say(text string) (err error) {
	err = ErrClosed
	h.step(func(m *machine) { err = m.userSays(text) })
	return err
}

// Active reports whether a study session is active.
func (h *Host) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m.id != ""
}

// Close ends the active session and completes its log, without sending a message; it ends the connection's Serve and
// waits for it. It may be called again.
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
	if h.conn != nil {
		h.end(ErrClosed)
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
