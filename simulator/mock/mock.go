// Package mock answers as recorded servers did. What comes is matched by its content, not by its position; what no
// recording shows is refused, and said to be.
package mock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/protocol/messages"
	"parley/simulator/gate"
	"parley/simulator/replay"
	"parley/transport/driver"
	"parley/transport/driver/stdio"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// MaxBytes bounds the payloads of all recordings of a Mock.
const MaxBytes = 256 << 20

// maxJobs bounds what a connection has to send; the client is not read while there is more.
const maxJobs = 16

// Options configure a Mock.
type Options struct {
	Addr     string          // host:port; default a free port of loopback
	Messages *messages.Set   // the protocol's; nil: none is known
	Ignore   []replay.Ignore // members that need not be as recorded for a message to match
	// 2: twice as fast as recorded; 0: all that follows what came is sent at once
	Speed   float64
	Unknown func(string) // gets, on one line, what no recording shows; may be called concurrently
}

// Mock is a server. It is safe for concurrent use.
type Mock struct {
	o    Options
	gate *gate.Gate
	work sync.WaitGroup
	live context.Context // ends with Close
	stop context.CancelFunc

	mu    sync.Mutex
	acts  []*act
	index map[string][]*act      // by what an act is and where
	here  map[string]*connection // by name at the gate
	of    map[string]*connection // by name in the recordings: the one that was opened last
	loose int                    // place of the last request of a client without a connection
	last  int                    // place of the last opening
	drawn map[string]bool        // ids by whether the server has drawn them: no client has said them before
}

// connection is one that a client has opened.
type connection struct {
	name string
	like string // its name in the recordings
	at   int    // place of its last act in the recordings
	ids  *replay.IDs
	// draws ids anew: another one that was opened alike has the recorded ones
	fresh bool
	jobs  chan []outgoing
	gone  chan struct{} // closed when the client has left
}

// Recording is one that a Mock answers from.
type Recording struct {
	Name string // for people
	In   *recording.Reader
}

// Open reads recordings, and listens. The error is that of a recording, with its name, or of the address.
func Open(o Options, recordings ...Recording) (*Mock, error) {
	if o.Unknown == nil {
		o.Unknown = func(string) {}
	}
	m := &Mock{o: o, index: map[string][]*act{}, here: map[string]*connection{},
		of: map[string]*connection{}, drawn: map[string]bool{}}
	size := 0
	for i, one := range recordings {
		if one.In.Header().Driver == stdio.Name {
			return nil, fmt.Errorf("%s: it was recorded over stdio, and a mock listens (parley replay --serve stdio plays it)",
				one.Name)
		}
		before := len(m.acts)
		if err := m.read(recording.NewClientView(one.In), one.Name, i, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		if len(m.acts) == before {
			return nil, fmt.Errorf("%s: there is no connection or request in it that could be answered", one.Name)
		}
	}
	if len(recordings) == 0 {
		return nil, errors.New("there is no recording")
	}
	m.live, m.stop = context.WithCancel(context.Background())
	m.mu.Lock() // a client may be faster
	defer m.mu.Unlock()
	var err error
	if m.gate, err = gate.New(gate.Options{Addr: o.Addr, Handle: m.handle, Streams: m.streams}); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// URL returns where it listens, without a trailing slash.
func (m *Mock) URL() string { return m.gate.URL() }

// Close ends all connections.
func (m *Mock) Close() {
	m.stop()
	m.gate.Close()
	m.work.Wait()
}

// handle is the gate's.
func (m *Mock) handle(ctx context.Context, in gate.Message) gate.Decision {
	if in.From != gate.Client {
		return gate.Decision{}
	}
	if d, is := preflight(in); is {
		return d
	}
	switch in.Kind {
	case transcript.Closed:
		m.closed(in.Conn)
	case transcript.Open:
		return m.opened(ctx, in)
	case transcript.Request:
		return m.asked(ctx, in)
	case transcript.Frame:
		return m.said(ctx, in)
	}
	return gate.Decision{Drop: true}
}

// closed forgets a connection.
func (m *Mock) closed(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.here[name]
	if c == nil {
		return
	}
	delete(m.here, name)
	close(c.gone)
	if m.of[c.like] == c {
		delete(m.of, c.like)
		for _, other := range m.here { // it may have been opened alike
			if other.like == c.like {
				m.of[c.like] = other
			}
		}
	}
}

// opened accepts or refuses a stream or socket as it was recorded.
func (m *Mock) opened(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	a := m.find(in, nil, replay.NewIDs())
	if a.act == nil || a.answer == nil {
		m.mu.Unlock()
		return m.unknown(in, a.act)
	}
	if a.answer.Kind != transcript.Open {
		d := m.reply(in, a.act, a.ids)
		m.mu.Unlock()
		return d
	}
	c := &connection{name: in.Conn, like: a.asked.Conn, at: a.place, ids: a.ids, jobs: make(chan []outgoing, maxJobs),
		gone: make(chan struct{}), fresh: m.of[a.asked.Conn] != nil}
	m.here[c.name], m.of[c.like], m.last = c, c, a.place
	m.work.Go(func() { m.deliver(c) })
	jobs := m.follow(a, c)
	m.mu.Unlock()
	m.give(ctx, jobs)
	return gate.Decision{Reply: accepted(in, a.answer.Status)}
}

// asked answers a request as it was recorded.
func (m *Mock) asked(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	by := m.byID(in)
	known := replay.NewIDs()
	if by != nil {
		known = by.ids
	}
	a := m.find(in, by, known)
	if a.act == nil {
		m.mu.Unlock()
		return m.unknown(in, nil)
	}
	if by == nil {
		by = m.of[a.asked.Conn]
	}
	m.did(by, a)
	m.loose = a.place
	d := gate.Decision{}
	if a.answer != nil {
		d = m.reply(in, a.act, a.ids)
	}
	jobs := m.follow(a, by)
	m.mu.Unlock()
	m.give(ctx, jobs)
	if a.answer == nil {
		return m.unknown(in, a.act)
	}
	if due := m.due(a.act, *a.answer); !due.IsZero() {
		m.wait(ctx, due, nil)
	}
	return d
}

// byID returns the connection whose ids are in a request; nil if there is none, or only one connection at all.
func (m *Mock) byID(in gate.Message) *connection {
	text := append([]byte(in.Path+" "), in.Body...)
	for _, c := range m.here {
		if c.ids.Knows(text) {
			return c
		}
	}
	return nil
}

// said answers a WebSocket message as it was recorded.
func (m *Mock) said(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	on := m.here[in.Conn]
	if on == nil {
		m.mu.Unlock()
		return gate.Decision{Drop: true}
	}
	a := m.find(in, on, on.ids)
	if a.act == nil {
		m.mu.Unlock()
		return m.unknown(in, nil)
	}
	m.did(on, a)
	jobs := m.follow(a, on)
	m.mu.Unlock()
	m.give(ctx, jobs)
	return gate.Decision{Drop: true}
}

// did notes what a client has done. The caller holds m.mu.
func (m *Mock) did(on *connection, a found) {
	if on != nil && !a.foreign {
		on.ids, on.at = a.ids, a.place
	}
}

// job is what a connection is to send.
type job struct {
	to   *connection
	what []outgoing
}

// follow returns what the recorded server sent then. by is the connection of who acts. The caller holds m.mu.
func (m *Mock) follow(a found, by *connection) []job {
	var jobs []job
	for _, r := range a.follows {
		to := m.of[r.Conn]
		if by != nil && (by.like == r.Conn || a.foreign && r.Conn == a.asked.Conn) {
			to = by
		}
		if to == nil { // it is not here
			continue
		}
		body := m.body(to, r)
		if to == by && a.foreign {
			body = a.ids.Renew(m.o.Messages, r)
		}
		one := sent(r, body)
		one.due = m.due(a.act, r)
		if n := len(jobs); n > 0 && jobs[n-1].to == to {
			jobs[n-1].what = append(jobs[n-1].what, one)
			continue
		}
		jobs = append(jobs, job{to, []outgoing{one}})
	}
	return jobs
}

// due returns when what followed an act that comes now is to be sent; zero: at once.
func (m *Mock) due(a *act, r transcript.Record) time.Time {
	if m.o.Speed <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(float64(r.At-a.asked.At) / m.o.Speed))
}

// wait waits until something is due. It reports false if the mock, the client or ctx ends before.
func (m *Mock) wait(ctx context.Context, due time.Time, gone <-chan struct{}) bool {
	left := time.NewTimer(time.Until(due))
	defer left.Stop()
	select {
	case <-left.C:
		return true
	case <-gone:
	case <-ctx.Done():
	case <-m.live.Done():
	}
	return false
}

// body is what a recorded message of the server is for a connection. The caller holds m.mu.
func (m *Mock) body(to *connection, r transcript.Record) []byte {
	if to.fresh {
		to.ids.Fresh(r.Bytes, func(id string) bool { return m.drawn[id] })
	}
	return to.ids.Renew(m.o.Messages, r)
}

// give queues what is to be sent.
func (m *Mock) give(ctx context.Context, jobs []job) {
	for _, j := range jobs {
		select {
		case j.to.jobs <- j.what:
		case <-j.to.gone:
		case <-ctx.Done():
			return
		case <-m.live.Done():
			return
		}
	}
}

// deliver sends what a connection has to send, until either side ends it.
func (m *Mock) deliver(c *connection) {
	for {
		select {
		case what := <-c.jobs:
			for _, one := range what {
				if !one.due.IsZero() && !m.wait(m.live, one.due, c.gone) {
					return
				}
				if one.Kind == transcript.Closed {
					m.closed(c.name)
				}
				if one.broken {
					_ = m.gate.End(c.name, driver.Reset)
					return
				}
				if m.gate.Send(m.live, c.name, gate.Client, one.Message) != nil {
					m.closed(c.name)
					return
				}
			}
		case <-c.gone:
			return
		case <-m.live.Done():
			return
		}
	}
}
