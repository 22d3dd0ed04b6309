package sessionruntime

import (
	"context"
	"sync"

	"github.com/coder/websocket"
)

// queue holds the frames that are to be written to one connection.
type queue struct {
	limit int // bytes beyond which awaitRoom waits

	mu       sync.Mutex
	frames   [][]byte
	bytes    int // of frames, and of what is being written
	farewell *farewell
	wake     chan struct{} // has room for one
	room     chan struct{} // closed when bytes falls to limit; nil while nobody waits
}

// farewell is how a connection is ended, once everything queued has been written.
type farewell struct {
	code   websocket.StatusCode
	reason string
}

func newQueue(limit int) *queue { return &queue{limit: limit, wake: make(chan struct{}, 1)} }

// push never waits: awaitRoom does. Behind a farewell nothing is said.
func (q *queue) push(frames [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.farewell != nil {
		return
	}
	for _, data := range frames {
		q.frames = append(q.frames, data)
		q.bytes += len(data)
	}
	q.ring()
}

func (q *queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// finish lets pump end behind what is queued. The first farewell counts.
func (q *queue) finish(bye farewell) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.farewell == nil {
		q.farewell = &bye
		q.ring()
	}
}

func (q *queue) finishing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.farewell != nil
}

// pump writes until ctx ends, a write fails, or everything before the farewell is written, which it returns.
func (q *queue) pump(ctx context.Context, write func(context.Context, []byte) error) (*farewell, error) {
	for {
		data, bye := q.next(ctx)
		if data == nil {
			return bye, nil
		}
		if err := write(ctx, data); err != nil {
			return nil, err
		}
		q.written(len(data))
	}
}

// next waits for a frame; nil if there is none to come.
func (q *queue) next(ctx context.Context) ([]byte, *farewell) {
	for {
		q.mu.Lock()
		if len(q.frames) > 0 {
			data := q.frames[0]
			q.frames[0] = nil
			q.frames = q.frames[1:]
			q.mu.Unlock()
			return data, nil
		}
		bye := q.farewell
		q.mu.Unlock()
		if bye != nil {
			return nil, bye
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

func (q *queue) written(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
	if q.room != nil && q.bytes <= q.limit {
		close(q.room)
		q.room = nil
	}
}

// awaitRoom waits while much is queued, until ctx ends: a party that only sends can't fill the memory.
func (q *queue) awaitRoom(ctx context.Context) {
	q.mu.Lock()
	if q.bytes <= q.limit {
		q.mu.Unlock()
		return
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	room := q.room
	q.mu.Unlock()
	select {
	case <-room:
	case <-ctx.Done():
	}
}
