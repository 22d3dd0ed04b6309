// Package connection has what the bundled servers share about connections: the frames waiting to be written (Outbox),
// the WebSocket that carries them (Outbox.Serve), and the list of open connections (Registry). It knows no protocol.
package connection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Why a connection ended.
var (
	ErrEnded = errors.New("the connection has ended")
	ErrSlow  = errors.New("the connection was dropped: too much waits to be read")
)

// Outbox holds the frames to be written to one connection, in order, and that connection's context. It is safe for
// concurrent use; Next, Pump and Serve are called by one goroutine at a time.
type Outbox struct {
	limits Limits
	ctx    context.Context
	end    context.CancelCauseFunc

	mu       sync.Mutex
	queue    []entry
	frames   int // in the queue
	bytes    int // of the queue and of the current write
	writing  int // of the current write
	farewell *websocket.CloseError
	wake     chan struct{} // buffers one signal
	room     chan struct{} // closed when something has been written; nil while no goroutine waits for that
}

// entry is a frame, or a function to call when the frames before it have been written.
type entry struct {
	frame []byte
	then  func()
}

// Limits bound what may wait for a slow reader. A frame that exceeds them ends the connection; a single frame may
// always wait.
type Limits struct{ Frames, Bytes int } // 0: no limit

// New returns the outbox of a connection, which ends with ctx.
func New(ctx context.Context, l Limits) *Outbox {
	b := &Outbox{limits: l, wake: make(chan struct{}, 1)}
	b.ctx, b.end = context.WithCancelCause(ctx)
	return b
}

// Context ends with the connection; its cause is the reason.
func (b *Outbox) Context() context.Context { return b.ctx }

// End ends the connection at once. Queued frames are dropped, unless a farewell follows them.
func (b *Outbox) End(cause error) { b.end(cause) }

// Push queues frames without waiting: a reader that is too slow loses its connection and delays no other. After a
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
		if b.addEntry(entry{frame: frame}) {
			b.frames++
			b.bytes += len(frame)
		}
	}
}

// Then calls f once everything queued has been written, or never if the connection ends first.
func (b *Outbox) Then(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addEntry(entry{then: f})
}

// addEntry queues an entry; false if it comes too late. The caller holds the lock.
func (b *Outbox) addEntry(e entry) bool {
	if b.farewell != nil || b.ctx.Err() != nil {
		return false
	}
	b.queue = append(b.queue, e)
	b.signalReady()
	return true
}

func (b *Outbox) signalReady() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Finish ends the connection after the queued frames. Only the first farewell counts.
func (b *Outbox) Finish(bye websocket.CloseError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.farewell == nil && b.ctx.Err() == nil {
		b.farewell = &bye
		b.signalReady()
	}
}

// Over reports whether to ignore everything that the other side sends from now on.
func (b *Outbox) Over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.farewell != nil || b.ctx.Err() != nil
}

// Next waits for the next frame; calling it marks the previous frame as written. Its error is a websocket.CloseError
// after the last frame before a farewell, the cause of the connection's end, or ctx's error, after all frames queued
// by then.
func (b *Outbox) Next(ctx context.Context) ([]byte, error) {
	for {
		over := ctx.Err() // checked before the queue, so that frames queued before ctx ended are returned
		e, err := b.takeFirst()
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

// takeFirst returns the first entry; nil if there is none yet.
func (b *Outbox) takeFirst() (*entry, error) {
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

// AwaitRoom waits until at most the given number of bytes wait to be written, or the connection or ctx ends, so that a
// fast writer does not overrun its reader.
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

// Wire is the destination of the frames.
type Wire struct {
	Write func(ctx context.Context, frame []byte) error

	// Beat is called when nothing has been written for the time Quiet. Nil: never.
	Quiet time.Duration
	Beat  func(ctx context.Context) error
}

// Pump writes everything before the farewell and returns that as a websocket.CloseError; it returns earlier if the
// connection ends or a write fails. Writes get the context of the connection.
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
