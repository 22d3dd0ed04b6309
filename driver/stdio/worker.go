package stdio

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"parley/driver"
	"parley/internal/deadline"
	"parley/transcript"
)

// worker is a process and the one connection that has it, or none. Three goroutines are its life: one reads, one
// writes, and live sees to its end.
type worker struct {
	d      *Driver
	of     driver.Starter
	proc   driver.Process
	queue  chan line
	ending chan struct{} // closed when it is to end, or has ended
	silent chan struct{} // closed at the end of its stdout
	mute   chan struct{} // closed when its stdin takes nothing more
	gone   chan struct{} // closed when nothing is left of it

	mu    sync.Mutex
	conn  *conn  // nil: nobody listens
	part  []byte // of a line that has not ended
	idle  int    // bytes that it has said since nobody listens
	over  bool   // nobody can have it any more
	label string // how the connection ended, where the driver has ended it
	grace bool   // its end may take its time
}

func newWorker(d *Driver, of driver.Starter, p driver.Process) *worker {
	return &worker{
		d: d, of: of, proc: p, queue: make(chan line, maxQueue), ending: make(chan struct{}),
		silent: make(chan struct{}), mute: make(chan struct{}), gone: make(chan struct{}),
	}
}

// attach gives the process to a connection; false when it is not there to be had.
func (w *worker) attach(c *conn, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || closed(w.silent) || closed(w.proc.Exited()) {
		return false
	}
	w.conn, c.w = c, w
	c.record(transcript.Record{Kind: transcript.Open, Label: "a process of an earlier connection", Reply: n})
	return true
}

// detach takes the process away from its connection; false when it is not fit for another one.
func (w *worker) detach() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.conn == nil || closed(w.silent) || closed(w.mute) || closed(w.proc.Exited()) {
		return false
	}
	w.conn.ended(byHarness)
	w.conn, w.idle = nil, 0
	return true
}

// end has the process ended, with grace or without; label is what its connection is told.
func (w *worker) end(label string, grace bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked(label, grace)
}

func (w *worker) endLocked(label string, grace bool) {
	if label == byHarness && w.conn != nil {
		w.conn.told.Close()
	}
	if !w.over {
		w.over, w.label, w.grace = true, label, grace
		close(w.ending)
	}
}

// live is the life of the process, until nothing is left of it.
func (w *worker) live() {
	defer close(w.gone)
	var both sync.WaitGroup
	both.Go(w.listen)
	both.Go(w.write)
	select {
	case <-w.ending:
	case <-w.silent:
	case <-w.mute:
	case <-w.proc.Exited():
	}
	// It may have said something before it ended, and it may be about to end.
	ctx, cancel := deadline.WithLimit(context.Background(), w.d.times.end)
	defer cancel()
	for _, sign := range []<-chan struct{}{w.silent, w.proc.Exited()} {
		select {
		case <-sign:
		case <-w.ending:
		case <-ctx.Done():
		}
	}
	exited := closed(w.proc.Exited())
	w.end("", false)
	w.stop()
	both.Wait()
	w.farewell(exited)
	w.d.forget(w)
}

// stop ends the process.
func (w *worker) stop() {
	w.mu.Lock()
	grace := w.grace
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !grace {
		cancel()
	}
	_ = w.proc.Stop(ctx) // what it leaves behind is for its target to end
}

// farewell tells the connection how it has ended.
func (w *worker) farewell(exited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return
	}
	switch {
	case w.label != "":
	case exited:
		w.label = fmt.Sprintf("the target ended: %v", w.proc.ExitErr()) + w.lastWords()
	case closed(w.mute):
		w.label = "the target does not read its stdin any more" + w.lastWords()
	default:
		w.label = "the target closed its stdout" + w.lastWords()
	}
	w.conn.ended(w.label)
	w.conn = nil
}

// lastWords are the last line of what the process wrote to stderr, as the end of a sentence.
func (w *worker) lastWords() string {
	text := strings.TrimSpace(w.proc.Stderr())
	if text == "" {
		return ""
	}
	return ": " + strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
