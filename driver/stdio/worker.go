package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"parley/driver"
	"parley/transcript"
)

// Bounds of a process: how many lines may wait to be written to it, and how many bytes it may say while nobody listens.
const (
	maxQueue = 256
	maxIdle  = 1 << 20
)

// worker is a process and the one connection that has it, or none. Three goroutines are its life: one reads, one writes, and
// live sees to its end.
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

// line is a message on its way to the process. One without a connection is none: it says when it is its turn.
type line struct {
	text []byte // with its line feed
	of   *conn
	n    int // of its record
	turn chan<- struct{}
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
	ctx, cancel := context.WithTimeout(context.Background(), w.d.times.end)
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

// listen reads what the process says, until its stdout ends or there is no use in it.
func (w *worker) listen() {
	defer close(w.silent)
	buf := make([]byte, 64<<10)
	out := w.proc.Stdout()
	for {
		n, err := out.Read(buf)
		if !w.hear(buf[:n]) {
			return
		}
		if err != nil {
			w.heard(err)
			return
		}
	}
}

// hear takes the next bytes; false when there were too many.
func (w *worker) hear(p []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 {
		text, rest, whole := bytes.Cut(p, []byte("\n"))
		if w.conn == nil {
			if w.idle += len(p) - len(rest); w.idle > maxIdle {
				w.endLocked(byHarness, false)
				return false
			}
		} else if room := w.conn.max - len(w.part); len(text) > room {
			w.tooLong(text, max(room, 0))
			return false
		}
		w.part = append(w.part, text...)
		if whole {
			w.message(w.part)
			w.part = nil
		}
		p = rest
	}
	return true
}

// message records a line.
func (w *worker) message(text []byte) {
	if w.conn == nil {
		return
	}
	r := transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: text}
	if !utf8.Valid(text) {
		r.Label = "text that is no UTF-8"
	}
	w.conn.record(r)
}

// tooLong records what fits of a line, and ends the connection. How much is cut counts what has come so far.
func (w *worker) tooLong(text []byte, room int) {
	all := append(w.part, text...)
	fits := min(len(w.part)+room, w.conn.max)
	why := fmt.Sprintf("a line of more than %d bytes", w.conn.max)
	w.conn.record(transcript.Record{Kind: transcript.Frame, Type: "text", Label: why, Bytes: all[:fits:fits], Cut: len(all) - fits})
	w.conn.record(transcript.Record{Kind: transcript.Failure, Label: why})
	w.part = nil
	w.endLocked(brokeOff+why, false)
}

// heard is the end of stdout, maybe in the middle of a line: that is no message.
func (w *worker) heard(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil && len(w.part) > 0 {
		w.conn.record(transcript.Record{Kind: transcript.Comment, Label: "a line without an end", Bytes: w.part})
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		w.endLocked(brokeOff+err.Error(), false)
	}
}

// put queues a line for the process; why not, in words, or "".
func (w *worker) put(ctx context.Context, l line) (why string) {
	const over = "not sent: the connection has ended"
	if closed(w.ending) {
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
		return "not sent: the target does not read what was sent before"
	}
}

// flush waits until all that is queued has been read, or the process is to end.
func (w *worker) flush() {
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

// write writes what is queued. A process that does not read is ended.
func (w *worker) write() {
	limit := w.d.times.write
	var deaf atomic.Bool
	late := time.AfterFunc(limit, func() {
		deaf.Store(true)
		w.end(brokeOff+"the target does not read its stdin", false)
	})
	late.Stop()
	var broken error
	for {
		select {
		case l := <-w.queue:
			if l.of == nil {
				close(l.turn)
				continue
			}
			if broken == nil {
				late.Reset(limit)
				_, broken = w.proc.Stdin().Write(l.text)
				late.Stop()
				if broken != nil {
					close(w.mute)
				}
			}
			switch {
			case deaf.Load():
				w.failed(l, fmt.Sprintf("the target has not read it within %s", limit))
			case broken != nil:
				w.failed(l, broken.Error())
			}
		case <-w.ending:
			return
		}
	}
}

// failed records that a line was not written.
func (w *worker) failed(l line, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == l.of {
		w.conn.record(transcript.Record{Kind: transcript.Failure, Label: why, Reply: l.n})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
