package stdio

import (
	"context"
	"fmt"
	"sync/atomic"

	"parley/internal/deadline"
	"parley/transport/transcript"
)

// maxQueue bounds the lines that wait to be written to a process.
const maxQueue = 256

// line is a message to the process. One without a connection is not a message: it only signals its turn.
type line struct {
	text []byte // with its line feed
	of   *conn
	n    int // number of its record
	turn chan<- struct{}
}

// queueLine queues a line for the process. It returns "", or why it did not.
func (w *worker) queueLine(ctx context.Context, l line) (why string) {
	const over = "not sent: the connection has ended"
	if isClosed(w.ending) {
		return over
	}
	select {
	case w.queue <- l:
		return ""
	default:
	}
	select {
	case w.queue <- l:
		return ""
	case <-w.ending:
		return over
	case <-ctx.Done():
		return "not sent: the target has not read earlier messages"
	}
}

// flushQueue waits until everything queued has been written, or the process must end.
func (w *worker) flushQueue() {
	turn := make(chan struct{})
	select {
	case w.queue <- line{turn: turn}:
	case <-w.ending:
		return
	}
	select {
	case <-turn:
	case <-w.ending:
	}
}

// writeQueue writes queued lines. It ends a process that does not read.
func (w *worker) writeQueue() {
	limit := w.d.times.write
	var deaf atomic.Bool
	late := func() {
		deaf.Store(true)
		w.endProcess(brokeOff+"the target does not read its stdin", false)
	}
	var broken error
	for {
		select {
		case l := <-w.queue:
			if l.of == nil {
				close(l.turn)
				continue
			}
			if broken == nil {
				stop := deadline.In(limit).AfterFunc(late)
				_, broken = w.proc.Stdin().Write(l.text)
				stop()
				if broken != nil {
					close(w.mute)
				}
			}
			switch {
			case deaf.Load():
				w.recordUnwritten(l, fmt.Sprintf("the target has not read it within %s", limit))
			case broken != nil:
				w.recordUnwritten(l, broken.Error())
			}
		case <-w.ending:
			return
		}
	}
}

// recordUnwritten records that a line was not written.
func (w *worker) recordUnwritten(l line, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == l.of {
		w.conn.recordEvent(transcript.Record{Kind: transcript.Failure, Label: why, Reply: l.n})
	}
}
