// Package connection is what the bundled servers share about their connections: the frames that wait to be written to
// one (Outbox), the WebSocket that carries them (Outbox.Serve), and the list of those that are open (Registry). It
// knows no protocol.
package connection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Why a connection has ended.
var (
	ErrEnded = errors.New("the connection has ended")
	ErrSlow  = errors.New("the connection was dropped: too much waits to be read")
)

// Outbox holds the frames that are to be written to one connection, in order, and has the context of that connection.
// It is safe for concurrent use; Next, Pump and Serve are called by one goroutine at a time.
type Outbox struct {
	limits Limits
	ctx    context.Context
	end    context.CancelCauseFunc

	mu       sync.Mutex
	queue    []entry
	frames   int // in the queue
	bytes    int // of the queue, and of what is being written
	writing  int // of what is being written
	farewell *websocket.CloseError
	wake     chan struct{} // has room for one
	room     chan struct{} // closed when something has been written; nil while nobody waits for that
}

// entry is a frame, or what is to be called when the frames before it have been written.
type entry struct {
	frame []byte
	then  func()
}

// Limits bound what waits for a slow reader. A frame that exceeds them ends the connection; a single one may always
// wait.
type Limits struct{ Frames, Bytes int } // 0: no limit

// New returns the outbox of a connection, which ends with ctx.
func New(ctx context.Context, l Limits) *Outbox {
	b := &Outbox{limits: l, wake: make(chan struct{}, 1)}
	b.ctx, b.end = context.WithCancelCause(ctx)
	return b
}

// Context ends with the connection; its cause says why.
func (b *Outbox) Context() context.Context { return b.ctx }

// End ends the connection at once. What is queued is dropped, unless a farewell comes after it.
func (b *Outbox) End(cause error) { b.end(cause) }

// Push queues frames and never waits: a reader who is too slow loses the connection, and nobody else anything. Behind a
// farewell nothing is queued.
func (b *Outbox) Push(frames ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, frame := range frames {
		l := b.limits
		full := l.Frames > 0 && b.frames >= l.Frames || l.Bytes > 0 && b.bytes+len(frame) > l.Bytes
		if full && b.frames > 0 && b.farewell == nil {
			b.queue = nil
			b.end(ErrSlow)
			return
		}
		if b.add(entry{frame: frame}) {
			b.frames++
			b.bytes += len(frame)
		}
	}
}

// Then has f called once everything that is queued has been written; never, if the connection ends before.
func (b *Outbox) Then(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(entry{then: f})
}

// add queues an entry; false if it comes too late. Locked.
func (b *Outbox) add(e entry) bool {
	if b.farewell != nil || b.ctx.Err() != nil {
		return false
	}
	b.queue = append(b.queue, e)
	b.ring()
	return true
}

func (b *Outbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Finish ends the connection after what is queued. The first farewell counts.
func (b *Outbox) Finish(bye websocket.CloseError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.farewell == nil && b.ctx.Err() == nil {
		b.farewell = &bye
		b.ring()
	}
}

// Over reports whether nothing that the other side sends counts any more.
func (b *Outbox) Over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.farewell != nil || b.ctx.Err() != nil
}

// Next waits for the next frame; with the call the one before it counts as written. Its error is a websocket.CloseError
// behind the last frame before a farewell, the cause of the connection's end, or the error of ctx, before which what
// has been queued by then is returned.
func (b *Outbox) Next(ctx context.Context) ([]byte, error) {
	for {
		over := ctx.Err() // asked before the queue: what was queued before ctx ended is there by now
		e, err := b.take()
		switch {
		case err != nil:
			return nil, err
		case e != nil && e.then != nil:
			e.then()
			continue
		case e != nil:
			return e.frame, nil
		case over != nil:
			return nil, over
		}
		select {
		case <-b.wake:
		case <-b.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// take returns the first entry; nil where there is none yet.
func (b *Outbox) take() (*entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes, b.writing = b.bytes-b.writing, 0
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
	switch {
	case b.farewell == nil && b.ctx.Err() != nil:
		return nil, context.Cause(b.ctx)
	case len(b.queue) > 0:
		e := b.queue[0]
		b.queue[0] = entry{}
		b.queue = b.queue[1:]
		if e.then == nil {
			b.frames, b.writing = b.frames-1, len(e.frame)
		}
		return &e, nil
	case b.farewell != nil:
		return nil, *b.farewell
	}
	return nil, nil
}

// AwaitRoom waits until no more than so many bytes wait to be written, or the connection or ctx ends: who speaks fast
// does not make a slow reader of the other side.
func (b *Outbox) AwaitRoom(ctx context.Context, bytes int) {
	for {
		b.mu.Lock()
		if b.bytes <= bytes {
			b.mu.Unlock()
			return
		}
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		select {
		case <-room:
		case <-b.ctx.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// Wire is where frames are written to.
type Wire struct {
	Write func(ctx context.Context, frame []byte) error

	// Beat is called when nothing has been written for as long as Quiet says. Nil: never.
	Quiet time.Duration
	Beat  func(ctx context.Context) error
}

// Pump writes until everything before the farewell is written, which it returns as a websocket.CloseError; or until the
// connection ends, or a write fails. A write gets the context of the connection.
func (b *Outbox) Pump(w Wire) error {
	for {
		frame, err := b.nextWithin(w)
		switch {
		case err == nil:
			err = w.Write(b.ctx, frame)
		case errors.Is(err, errQuiet):
			err = w.Beat(b.ctx)
		default:
			return err
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
}

var errQuiet = errors.New("nothing to write")

func (b *Outbox) nextWithin(w Wire) ([]byte, error) {
	if w.Beat == nil {
		return b.Next(b.ctx)
	}
	ctx, cancel := context.WithTimeoutCause(b.ctx, w.Quiet, errQuiet)
	defer cancel()
	frame, err := b.Next(ctx)
	if err != nil && b.ctx.Err() == nil && context.Cause(ctx) == errQuiet {
		err = errQuiet
	}
	return frame, err
}
