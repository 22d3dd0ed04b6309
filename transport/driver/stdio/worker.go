package stdio

import (
	"context"
	"fmt"
	"sync"

	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// worker is a process and its present connection, if any. It has three goroutines: one reads, one writes, and
// followProcess handles its end.
type worker struct {
	d      *Driver
	of     driver.Starter
	proc   driver.Process
	queue  chan line
	ending chan struct{} // closed when it must end, or has ended
	silent chan struct{} // closed at the end of its stdout
	mute   chan struct{} // closed when its stdin accepts nothing more
	gone   chan struct{} // closed when nothing is left of it

	mu    sync.Mutex
	conn  *conn  // nil: idle
	part  []byte // the unfinished line
	begun bool   // its first line has come
	idle  int    // bytes received while idle
	over  bool   // no connection can use it any more
	label string // how the connection ended, if the driver ended it
	grace bool   // it may take its time to end
}

func newWorker(d *Driver, of driver.Starter, p driver.Process) *worker {
	return &worker{
		d: d, of: of, proc: p, queue: make(chan line, maxQueue), ending: make(chan struct{}),
		silent: make(chan struct{}), mute: make(chan struct{}), gone: make(chan struct{}),
	}
}

// attachConn gives the process to a connection; false if it is not available.
func (w *worker) attachConn(c *conn, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || isClosed(w.silent) || isClosed(w.proc.Exited()) {
		return false
	}
	w.conn, c.w = c, w
	c.recordEvent(transcript.Record{Kind: transcript.Open, Label: "a process of an earlier connection", Reply: n})
	return true
}

// detachConn takes the process from its connection; false if it is not fit for another one.
func (w *worker) detachConn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.conn == nil || isClosed(w.silent) || isClosed(w.mute) || isClosed(w.proc.Exited()) {
		return false
	}
	w.conn.recordEnd(byHarness)
	w.conn, w.idle = nil, 0
	return true
}

// endProcess makes the process end, with or without grace; label is what its connection records.
func (w *worker) endProcess(label string, grace bool) {
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

// followProcess follows the process until nothing is left of it.
func (w *worker) followProcess() {
	defer close(w.gone)
	var both sync.WaitGroup
	both.Go(w.readStdout)
	both.Go(w.writeQueue)
	select {
	case <-w.ending:
	case <-w.silent:
	case <-w.mute:
	case <-w.proc.Exited():
	}
	// It may have sent something before it ended, and may be about to exit.
	ctx, cancel := deadline.WithLimit(context.Background(), w.d.times.end)
	defer cancel()
	for _, sign := range []<-chan struct{}{w.silent, w.proc.Exited()} {
		select {
		case <-sign:
		case <-w.ending:
		case <-ctx.Done():
		}
	}
	exited := isClosed(w.proc.Exited())
	w.endProcess("", false)
	w.stopProcess()
	both.Wait()
	w.recordFarewell(exited)
	w.d.removeEnded(w)
}

// stopProcess ends the process.
func (w *worker) stopProcess() {
	w.mu.Lock()
	grace := w.grace
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !grace {
		cancel()
	}
	_ = w.proc.Stop(ctx) // the target ends what is left of it
}

// recordFarewell records how the connection ended.
func (w *worker) recordFarewell(exited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return
	}
	switch {
	case w.label != "":
	case exited:
		w.label = fmt.Sprintf("the target ended: %v", w.proc.ExitErr()) + w.lastWords()
	case isClosed(w.mute):
		w.label = "the target no longer reads its stdin" + w.lastWords()
	default:
		w.label = "the target closed its stdout" + w.lastWords()
	}
	w.conn.recordEnd(w.label)
	w.conn = nil
}

// lastWords returns the line of the process's stderr that says most, as the end of a sentence.
func (w *worker) lastWords() string {
	if line := cut.ErrorLine(w.proc.Stderr(), 1, 0); line != "" {
		return ": " + line
	}
	return ""
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
