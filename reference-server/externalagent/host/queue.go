package host

import (
	"context"
	"sync"
)

// queue holds what is to be written to one connection.
type queue struct {
	limit int
	end   context.CancelCauseFunc // ends the connection

	mu    sync.Mutex
	all   [][]byte
	bytes int           // of all, and of what is being written
	wake  chan struct{} // has room for one
	empty chan struct{} // closed when bytes falls to 0; nil while nobody waits
}

func newQueue(limit int, end context.CancelCauseFunc) *queue {
	return &queue{limit: limit, end: end, wake: make(chan struct{}, 1)}
}

// push never waits. Only what the participant says can pile up, as who asks waits for the answer.
func (q *queue) push(messages [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes > q.limit {
		q.end(ErrSlow)
		return
	}
	for _, data := range messages {
		q.all = append(q.all, data)
		q.bytes += len(data)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// pump writes until ctx ends, or a write fails.
func (q *queue) pump(ctx context.Context, write func(context.Context, []byte) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		}
		for data := q.first(); data != nil; data = q.first() {
			if err := write(ctx, data); err != nil {
				return err
			}
			q.written(len(data))
		}
	}
}

func (q *queue) first() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.all) == 0 {
		return nil
	}
	data := q.all[0]
	q.all[0] = nil
	q.all = q.all[1:]
	return data
}

func (q *queue) written(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
	if q.bytes == 0 && q.empty != nil {
		close(q.empty)
		q.empty = nil
	}
}

// drained waits until everything is written, or ctx ends.
func (q *queue) drained(ctx context.Context) error {
	q.mu.Lock()
	if q.bytes == 0 {
		q.mu.Unlock()
		return ctx.Err()
	}
	if q.empty == nil {
		q.empty = make(chan struct{})
	}
	empty := q.empty
	q.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
