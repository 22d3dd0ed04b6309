// Package stdio drives targets over the stdin and stdout of a process: a message is a line that ends with a line
// feed. It is recorded like a message of the ws driver, so that one binding reads both: each line sent or received is
// a Frame of Type "text", whose Bytes are the line, unchanged, without its line feed.
//
// A process outlives its connections: one that is closed gracefully leaves it to the next. So a connection may
// receive answers to an earlier one.
package stdio

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// Name of the driver on the command line and in results.
const Name = "stdio"

// defaultMax bounds one line if the options set no limit.
const defaultMax = 8 << 20

// times bound how long a process may keep the harness waiting.
type times struct {
	write time.Duration // to take a line; default 10s
	flush time.Duration // to take the queued lines when its connection is closed; default 1s
	// between the two signs of its end, its exit and the end of its stdout; default 1s
	end time.Duration
}

// Driver uses processes, and keeps those without a connection in pools: a connection takes its process only from the
// pool of its starter, or of an equal one. Close it to end them. It is safe for concurrent use.
type Driver struct {
	times times

	live   context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // a start, or the life of a process

	mu     sync.Mutex
	closed bool
	all    map[*worker]bool
	idle   map[driver.Starter][]*worker
}

// New makes a driver with an empty pool.
func New() *Driver {
	d := &Driver{
		times: times{write: 10 * time.Second, flush: time.Second, end: time.Second},
		all:   map[*worker]bool{}, idle: map[driver.Starter][]*worker{},
	}
	d.live, d.cancel = context.WithCancel(context.Background())
	return d
}

// Name implements driver.Driver.
func (d *Driver) Name() string { return Name }

// Open implements driver.Driver: it takes a process of o.Process from the pool, or starts one. The received record of
// Kind Open says which. If a process cannot be started, the error is an *driver.OpenError; o.Process must not be nil.
func (d *Driver) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	if o.Process == nil {
		return nil, errors.New("stdio: nothing to start: OpenOptions.Process is nil")
	}
	told := driver.NewTap(sink)
	c := &conn{party: o.Party, told: told, sink: told.Sink, max: o.MaxEvent, over: make(chan struct{})}
	if c.max == 0 {
		c.max = defaultMax
	}
	n := sink(transcript.Record{Conn: o.Party, Dir: transcript.Sent, Kind: transcript.Open, Label: Name})
	for w := d.takePooled(o.Process); w != nil; w = d.takePooled(o.Process) {
		if w.attachConn(c, n) {
			return c, nil
		}
	}
	if err := d.startProcess(ctx, o.Process, c, n); err != nil {
		c.recordEvent(transcript.Record{Kind: transcript.Failure, Label: err.Error(), Reply: n})
		return nil, &driver.OpenError{URL: Name, Err: err}
	}
	return c, nil
}

// startProcess starts a process for a connection.
func (d *Driver) startProcess(ctx context.Context, of driver.Starter, c *conn, n int) error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return driver.ErrClosed
	}
	d.work.Add(1)
	d.mu.Unlock()
	defer d.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.live, cancel)()
	p, err := of.Start(ctx)
	if err != nil {
		return err
	}
	w := newWorker(d, of, p)
	w.conn, c.w = c, w
	c.recordEvent(transcript.Record{Kind: transcript.Open, Label: "a new process", Reply: n})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		w.endProcess(byHarness, true)
	}
	d.all[w] = true
	d.work.Go(w.followProcess)
	return nil
}

// takePooled takes the process out of the pool that was returned last; nil if there is none.
func (d *Driver) takePooled(of driver.Starter) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	pool := d.idle[of]
	if len(pool) == 0 {
		return nil
	}
	w := pool[len(pool)-1]
	d.usePool(of, pool[:len(pool)-1])
	return w
}

// returnToPool puts a process into the pool.
func (d *Driver) returnToPool(w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[w] { // it has not ended meanwhile
		d.usePool(w.of, append(d.idle[w.of], w))
	}
}

// removeEnded removes an ended process from the driver.
func (d *Driver) removeEnded(w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, w)
	d.usePool(w.of, slices.DeleteFunc(d.idle[w.of], func(other *worker) bool { return other == w }))
}

// usePool sets the pool of a starter. The caller holds mu.
func (d *Driver) usePool(of driver.Starter, pool []*worker) {
	if len(pool) == 0 {
		delete(d.idle, of) // its target may be gone
		return
	}
	d.idle[of] = pool
}

// Close implements io.Closer: it ends all processes, with their grace periods and including those with a connection,
// and waits until nothing more can reach a sink. Closing twice is harmless; Open fails afterwards.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	all := slices.Collect(maps.Keys(d.all))
	d.mu.Unlock()
	d.cancel()
	for _, w := range all {
		w.endProcess(byHarness, true)
	}
	d.work.Wait()
	return nil
}
