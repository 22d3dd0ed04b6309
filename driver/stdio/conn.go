package stdio

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"parley/driver"
	"parley/internal/deadline"
	"parley/transcript"
)

// How a connection ends, in its last record.
const (
	byHarness = "closed by the harness"
	brokeOff  = "the connection broke off: "
)

// conn is one connection: a process for a time.
type conn struct {
	w     *worker
	party string
	told  *driver.Tap
	sink  driver.Sink // that of told
	max   int
	over  chan struct{} // closed with its last record

	turn sync.Mutex // held from a message's record to its place in the queue: they have one order

	mu     sync.Mutex
	closed bool
	sends  sync.WaitGroup
}

// record records what the process did.
func (c *conn) record(r transcript.Record) {
	r.Conn, r.Dir = c.party, transcript.Received
	c.sink(r)
}

// ended records the end. The worker sees to it that it comes once, and that nothing comes after it.
func (c *conn) ended(label string) {
	c.record(transcript.Record{Kind: transcript.Closed, Label: label})
	close(c.over)
}

// Send implements driver.Conn. The message is written as it is, with a line feed after it; one that has a line feed in
// it, or that is binary, is a mistake of the caller. It waits only for a process that is 256 messages behind. What
// cannot be written is recorded as a Failure that replies to the message.
func (c *conn) Send(ctx context.Context, m driver.Message) (int, error) {
	switch {
	case m.Binary:
		return 0, fmt.Errorf("send over stdio: message %q is binary, and a line is text", m.Label)
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
	if why := c.w.put(ctx, line{text: text, of: c, n: n}); why != "" {
		c.record(transcript.Record{Kind: transcript.Failure, Label: why, Reply: n})
	}
	return n, nil // what became of it is on the record; the caller waits for answers there
}

// Stderr is the last of what the process wrote to stderr so far, for earlier connections too.
func (c *conn) Stderr() string { return c.w.proc.Stderr() }

// Close implements driver.Conn. Graceful leaves the process to the next connection, unless it has ended, has closed its
// stdin or stdout, or does not take what is on its way within a second; Reset kills it. Whether it still makes sense is
// not known here: one that does not answer is better reset.
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
		c.w.end(byHarness, false)
	}
	<-c.over
	c.sends.Wait()
	return nil
}

// giveBack gives the process back to the pool. One that is not fit for that is at its end already, or is ended.
func (c *conn) giveBack() {
	stop := deadline.In(c.w.d.times.flush).AfterFunc(func() { c.w.end(byHarness, false) })
	defer stop()
	c.sends.Wait()
	c.w.flush()
	if c.w.detach() {
		c.w.d.give(c.w)
	}
}
