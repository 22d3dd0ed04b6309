// Package stdio drives targets over the stdin and stdout of a process: a message is a line that ends with a line feed.
// It is recorded as the driver ws records a message, so that one binding reads both: each line that is sent or received
// is a Frame of Type "text", whose Bytes are the line without its line feed, and otherwise as it is.
//
// A process outlives its connections: one that is closed gracefully leaves it to the next. So a connection may hear
// what was asked for over an earlier one.
package stdio

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/driver"
	"parley/transcript"
)

// Name of the driver on the command line and in results.
const Name = "stdio"

// defaultMax bounds one line when the options name no limit.
const defaultMax = 8 << 20

// times bound how long a process may keep the harness waiting.
type times struct {
	write time.Duration // for it to take a line; default 10s
	flush time.Duration // for it to take what is on its way when its connection is closed; default 1s
	// from the first sign of its end to the last: that it has ended, and the end of its stdout; default 1s
	end time.Duration
}

// Driver speaks to processes, and keeps those that no connection has: the pool of a starter is all that a connection
// with an equal one takes them from. Close it to end them. Safe for concurrent use.
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
// Kind Open tells which. A process that cannot be started is an *driver.OpenError; o.Process must not be nil.
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
	for w := d.take(o.Process); w != nil; w = d.take(o.Process) {
		if w.attach(c, n) {
			return c, nil
		}
	}
	if err := d.start(ctx, o.Process, c, n); err != nil {
		c.record(transcript.Record{Kind: transcript.Failure, Label: err.Error(), Reply: n})
		return nil, &driver.OpenError{URL: Name, Err: err}
	}
	return c, nil
}

// start starts a process for a connection.
func (d *Driver) start(ctx context.Context, of driver.Starter, c *conn, n int) error {
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
	c.record(transcript.Record{Kind: transcript.Open, Label: "a new process", Reply: n})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		w.end(byHarness, true)
	}
	d.all[w] = true
	d.work.Go(w.live)
	return nil
}

// take takes a process out of the pool: the one that was given back last. Nil: there is none.
func (d *Driver) take(of driver.Starter) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	pool := d.idle[of]
	if len(pool) == 0 {
		return nil
	}
	w := pool[len(pool)-1]
	d.keep(of, pool[:len(pool)-1])
	return w
}

// give puts a process into the pool.
func (d *Driver) give(w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[w] { // and has not ended meanwhile
		d.keep(w.of, append(d.idle[w.of], w))
	}
}

// forget takes a process that has ended out of everything.
func (d *Driver) forget(w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, w)
	d.keep(w.of, slices.DeleteFunc(d.idle[w.of], func(other *worker) bool { return other == w }))
}

// keep is the pool of a starter from now on. The caller holds mu.
func (d *Driver) keep(of driver.Starter, pool []*worker) {
	if len(pool) == 0 {
		delete(d.idle, of) // whose target may have gone
		return
	}
	d.idle[of] = pool
}

// Close implements io.Closer: it ends all processes with the grace that they have, those of connections included, and
// waits until nothing more can reach a sink. Closing twice is harmless; after it Open fails.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	all := slices.Collect(maps.Keys(d.all))
	d.mu.Unlock()
	d.cancel()
	for _, w := range all {
		w.end(byHarness, true)
	}
	d.work.Wait()
	return nil
}
