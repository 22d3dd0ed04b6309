package stdio

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Labels of a connection's last record.
const (
	byHarness = "closed by the harness"
	brokeOff  = "the connection broke off: "
)

// conn is one connection: the use of a process for a time.
type conn struct {
	w     *worker
	party string
	told  *driver.Tap
	sink  driver.Sink // the sink of told
	max   int
	over  chan struct{} // closed with its last record

	turn sync.Mutex // held while a message is recorded and queued, so that both have the same order

	mu     sync.Mutex
	closed bool
	sends  sync.WaitGroup
}

// recordEvent records something that the process did.
func (c *conn) recordEvent(r transcript.Record) {
	r.Conn, r.Dir = c.party, transcript.Received
	c.sink(r)
}

// recordEnd records the end. The worker calls it once, and records nothing afterwards.
func (c *conn) recordEnd(label string) {
	c.recordEvent(transcript.Record{Kind: transcript.Closed, Label: label})
	close(c.over)
}

// Send implements driver.Conn. It writes the message unchanged, followed by a line feed; a message with a line feed,
// or a binary one, is an error. It blocks only if the process is 256 messages behind. A message that cannot be
// written is recorded as a Failure that replies to it.
func (c *conn) Send(ctx context.Context, m driver.Message) (int, error) {
	switch {
	case m.Binary:
		return 0, fmt.Errorf("send over stdio: message %q is binary, but a line is text", m.Label)
	case bytes.IndexByte(m.Body, '\n') >= 0:
		return 0, fmt.Errorf("send over stdio: message %q has a line feed in it", m.Label)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, driver.ErrClosed
	}
	c.sends.Add(1)
	c.mu.Unlock()
	defer c.sends.Done()
	text := append(bytes.Clone(m.Body), '\n')
	c.turn.Lock()
	defer c.turn.Unlock()
	n := c.sink(transcript.Record{Conn: c.party, Dir: transcript.Sent, Kind: transcript.Frame, Label: m.Label,
		Type: "text", Bytes: m.Body})
	if why := c.w.queueLine(ctx, line{text: text, of: c, n: n}); why != "" {
		c.recordEvent(transcript.Record{Kind: transcript.Failure, Label: why, Reply: n})
	}
	return n, nil // the transcript shows what became of it, and callers wait for answers there
}

// Stderr returns the end of the process's stderr, which may include earlier connections.
func (c *conn) Stderr() string { return c.w.proc.Stderr() }

// Close implements driver.Conn. Graceful leaves the process to the next connection, unless the process has exited,
// has closed its stdin or stdout, or does not read the queued messages within a second; Reset kills it. The driver
// cannot tell whether the process still works: reset one that does not answer.
func (c *conn) Close(how driver.CloseMode) error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if !again {
		c.told.Close()
	}
	switch {
	case again:
	case how == driver.Graceful:
		c.giveBack()
	default:
		c.w.endProcess(byHarness, false)
	}
	<-c.over
	c.sends.Wait()
	return nil
}

// giveBack returns the process to the pool. A process that is unfit for that is ended.
func (c *conn) giveBack() {
	stop := deadline.In(c.w.d.times.flush).AfterFunc(func() { c.w.endProcess(byHarness, false) })
	defer stop()
	c.sends.Wait()
	c.w.flushQueue()
	if c.w.detachConn() {
		c.w.d.returnToPool(c.w)
	}
}
