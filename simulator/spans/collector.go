package spans

import (
	"maps"
	"slices"
	"sync"

	"parley/features/verdict"
	"parley/simulator/exchange"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// Bounds of what a Collector keeps.
const (
	maxWaiting = 20_000  // exchanges that wait to be judged; the oldest is written without its judgement
	maxSaid    = 100_000 // records about which something was said before their exchange has ended
)

// Collector writes what a proxy records and judges: its methods Record and Checked are those of proxy.Options. It is
// safe for concurrent use.
type Collector struct {
	mu      sync.Mutex
	w       *Writer
	decode  func(*transcript.Record)
	pair    *exchange.Pairing
	ended   []*exchange.Exchange // that wait to be judged
	said    map[int]*saidOfRecord
	oldest  int                 // number of the oldest record whose exchange was not written
	closed  []transcript.Record // the last records of connections that wait to be judged
	written map[failureKey]bool
}

// saidOfRecord is what was said about a record.
type saidOfRecord struct {
	held   map[string]bool
	broken map[failureKey]proxy.Broken
}

// failureKey tells failures apart: rounds of judging repeat them.
type failureKey struct {
	n                           int
	conn, role, monitor, clause string
	step                        int
}

// NewCollector returns a Collector for a protocol. decode decodes the records of the client's end, in their order.
func NewCollector(w *Writer, protocol string, decode func(*transcript.Record)) *Collector {
	c := &Collector{w: w, decode: decode, said: map[int]*saidOfRecord{}, written: map[failureKey]bool{}}
	c.pair = exchange.New(protocol, func(x *exchange.Exchange) {
		if c.ended = append(c.ended, x); len(c.ended) > maxWaiting {
			c.write(c.ended[0])
			c.ended = c.ended[1:]
		}
	})
	return c
}

// Record takes a record.
func (c *Collector) Record(r transcript.Record, redact *transcript.Redactor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decode(&r)
	r.Bytes, r.Label, r.Type = redact.Bytes(r.Bytes), redact.String(r.Label), redact.String(r.Type)
	c.pair.Add(r)
	if r.Kind == transcript.Closed {
		c.closed = append(c.closed, r)
	}
}

// Checked takes what a round of judging said, and writes the exchanges that are judged.
func (c *Collector) Checked(said proxy.Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, clauses := range said.Held {
		if n < c.oldest {
			continue
		}
		if one := c.saidOf(n); one != nil {
			for _, id := range clauses {
				one.held[id] = true
			}
		}
	}
	for _, f := range said.Broken {
		key := failureKey{f.N, f.Conn, f.Role, f.Monitor, f.Clause, f.Step.Number}
		if c.written[key] || f.Outcome == verdict.NotApplicable {
			continue
		}
		if one := c.saidOf(f.N); one != nil {
			one.broken[key] = f
		}
	}
	c.writeThrough(said.Through)
}

// saidOf returns what was said about a record; nil if that is not kept.
func (c *Collector) saidOf(n int) *saidOfRecord {
	one := c.said[n]
	if one == nil && len(c.said) < maxSaid {
		one = &saidOfRecord{map[string]bool{}, map[failureKey]proxy.Broken{}}
		c.said[n] = one
	}
	return one
}

// writeThrough writes the exchanges whose records are all judged, and then the connections that have ended.
func (c *Collector) writeThrough(n int) {
	c.ended = slices.DeleteFunc(c.ended, func(x *exchange.Exchange) bool {
		if x.Last > n {
			return false
		}
		c.write(x)
		return true
	})
	c.closed = slices.DeleteFunc(c.closed, func(r transcript.Record) bool {
		if r.N > n {
			return false
		}
		c.writeRest(r.N, r.Conn)
		c.w.EndConnection(r.Conn)
		maps.DeleteFunc(c.written, func(key failureKey, _ bool) bool { return key.conn != "" && key.conn == r.Conn })
		return true
	})
	c.oldest = n + 1
	for _, x := range c.ended {
		c.oldest = min(c.oldest, x.Request.N)
	}
	if first := c.pair.Oldest(); first > 0 {
		c.oldest = min(c.oldest, first)
	}
	maps.DeleteFunc(c.said, func(n int, one *saidOfRecord) bool {
		return n < c.oldest && len(one.broken) == 0
	})
}

// write writes an exchange with what was said about its records.
func (c *Collector) write(x *exchange.Exchange) {
	var judged Judged
	for _, r := range x.Records() {
		held, broken := c.take(r.N)
		judged.Held, judged.Broken = append(judged.Held, held...), append(judged.Broken, broken...)
	}
	c.w.Write(x, judged)
}

// take takes what was said about a record.
func (c *Collector) take(n int) (held []string, broken []steps.Failure) {
	one := c.said[n]
	if one == nil {
		return nil, nil
	}
	delete(c.said, n)
	for key, f := range one.broken {
		if !c.written[key] {
			c.written[key] = true
			broken = append(broken, f.Failure)
		}
	}
	return slices.Collect(maps.Keys(one.held)), broken
}

// writeRest writes the failures at a record that is part of no exchange.
func (c *Collector) writeRest(n int, conn string) {
	_, broken := c.take(n)
	for _, f := range broken {
		c.w.WriteFailure(conn, n, f)
	}
}

// End writes all that is left.
func (c *Collector) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pair.End()
	for _, x := range c.ended {
		c.write(x)
	}
	c.ended = nil
	for _, n := range slices.Sorted(maps.Keys(c.said)) {
		for _, f := range c.said[n].broken {
			c.writeRest(n, f.Conn)
			break
		}
	}
	c.w.End()
}

// WriteLife writes the exchanges of a connection that has ended, whose records are decoded and judged. held are the
// clauses that records show to be kept, by the number of the record.
func (w *Writer) WriteLife(conn string, records []transcript.Record, held map[int][]string, broken []steps.Failure,
	redact *transcript.Redactor) {
	c := NewCollector(w, w.about.Protocol, func(*transcript.Record) {})
	said := proxy.Checked{Held: held}
	for _, f := range broken {
		f.Expected, f.Observed = redact.String(f.Expected), redact.String(f.Observed)
		said.Broken = append(said.Broken, proxy.Broken{N: f.At, Conn: conn, Failure: f})
	}
	for _, r := range records {
		c.Record(r, redact)
		said.Through = r.N
	}
	c.Checked(said)
	c.pair.End()
	said.Held, said.Broken = nil, nil
	c.writeThrough(said.Through)
	for _, n := range slices.Sorted(maps.Keys(c.said)) {
		c.writeRest(n, conn)
	}
	w.EndConnection(conn)
}
