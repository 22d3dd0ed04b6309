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
			return nil, fmt.Errorf("%s: it was recorded over stdio, and a mock listens (parley replay --listen stdio plays it)",
				one.Name)
		}
		before := len(m.acts)
		if err := m.readActs(recording.NewClientView(one.In), one.Name, i, &size); err != nil {
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
	if m.gate, err = gate.New(gate.Options{Addr: o.Addr, Handle: m.handleMessage, Streams: m.opensStream}); err != nil {
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

// handleMessage is the gate's.
func (m *Mock) handleMessage(ctx context.Context, in gate.Message) gate.Decision {
	if in.From != gate.Client {
		return gate.Decision{}
	}
	if d, is := answerPreflight(in); is {
		return d
	}
	switch in.Kind {
	case transcript.Closed:
		m.forgetConn(in.Conn)
	case transcript.Open:
		return m.answerOpening(ctx, in)
	case transcript.Request:
		return m.answerRequest(ctx, in)
	case transcript.Frame:
		return m.answerMessage(ctx, in)
	}
	return gate.Decision{Drop: true}
}

// forgetConn forgets a connection.
func (m *Mock) forgetConn(name string) {
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

// answerOpening accepts or refuses a stream or socket as it was recorded.
func (m *Mock) answerOpening(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	a := m.findRecorded(in, nil, replay.NewIDs())
	if a.act == nil || a.answer == nil {
		m.mu.Unlock()
		return m.refuseUnknown(in, a.act)
	}
	if a.answer.Kind != transcript.Open {
		d := m.replyRecorded(in, a.act, a.ids)
		m.mu.Unlock()
		return d
	}
	c := &connection{name: in.Conn, like: a.asked.Conn, at: a.place, ids: a.ids, jobs: make(chan []outgoing, maxJobs),
		gone: make(chan struct{}), fresh: m.of[a.asked.Conn] != nil}
	m.here[c.name], m.of[c.like], m.last = c, c, a.place
	m.work.Go(func() { m.deliverQueue(c) })
	jobs := m.recordedReaction(a, c)
	m.mu.Unlock()
	m.queueMessages(ctx, jobs)
	return gate.Decision{Reply: acceptResponse(in, a.answer.Status)}
}

// answerRequest answers a request as it was recorded.
func (m *Mock) answerRequest(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	by := m.byID(in)
	known := replay.NewIDs()
	if by != nil {
		known = by.ids
	}
	a := m.findRecorded(in, by, known)
	if a.act == nil {
		m.mu.Unlock()
		return m.refuseUnknown(in, nil)
	}
	if by == nil {
		by = m.of[a.asked.Conn]
	}
	m.noteAct(by, a)
	m.loose = a.place
	d := gate.Decision{}
	if a.answer != nil {
		d = m.replyRecorded(in, a.act, a.ids)
	}
	jobs := m.recordedReaction(a, by)
	m.mu.Unlock()
	m.queueMessages(ctx, jobs)
	if a.answer == nil {
		return m.refuseUnknown(in, a.act)
	}
	if due := m.dueTime(a.act, *a.answer); !due.IsZero() {
		m.waitUntilDue(ctx, due, nil)
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

// answerMessage answers a WebSocket message as it was recorded.
func (m *Mock) answerMessage(ctx context.Context, in gate.Message) gate.Decision {
	m.mu.Lock()
	on := m.here[in.Conn]
	if on == nil {
		m.mu.Unlock()
		return gate.Decision{Drop: true}
	}
	a := m.findRecorded(in, on, on.ids)
	if a.act == nil {
		m.mu.Unlock()
		return m.refuseUnknown(in, nil)
	}
	m.noteAct(on, a)
	jobs := m.recordedReaction(a, on)
	m.mu.Unlock()
	m.queueMessages(ctx, jobs)
	return gate.Decision{Drop: true}
}

// noteAct notes what a client has done. The caller holds m.mu.
func (m *Mock) noteAct(on *connection, a matchedAct) {
	if on != nil && !a.foreign {
		on.ids, on.at = a.ids, a.place
	}
}

// job is what a connection is to send.
type job struct {
	to   *connection
	what []outgoing
}

// recordedReaction returns what the recorded server sent then. by is the connection of who acts. The caller holds m.mu.
func (m *Mock) recordedReaction(a matchedAct, by *connection) []job {
	var jobs []job
	for _, r := range a.follows {
		to := m.of[r.Conn]
		if by != nil && (by.like == r.Conn || a.foreign && r.Conn == a.asked.Conn) {
			to = by
		}
		if to == nil { // it is not here
			continue
		}
		body := m.messageBody(to, r)
		if to == by && a.foreign {
			body = a.ids.Renew(m.o.Messages, r)
		}
		one := gateMessage(r, body)
		one.due = m.dueTime(a.act, r)
		if n := len(jobs); n > 0 && jobs[n-1].to == to {
			jobs[n-1].what = append(jobs[n-1].what, one)
			continue
		}
		jobs = append(jobs, job{to, []outgoing{one}})
	}
	return jobs
}

// dueTime returns when what followed an act that comes now is to be sent; zero: at once.
func (m *Mock) dueTime(a *act, r transcript.Record) time.Time {
	if m.o.Speed <= 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(float64(r.At-a.asked.At) / m.o.Speed))
}

// waitUntilDue waits until something is due. It reports false if the mock, the client or ctx ends before.
func (m *Mock) waitUntilDue(ctx context.Context, due time.Time, gone <-chan struct{}) bool {
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

// messageBody is what a recorded message of the server is for a connection. The caller holds m.mu.
func (m *Mock) messageBody(to *connection, r transcript.Record) []byte {
	if to.fresh {
		to.ids.RedrawIDs(r.Bytes, func(id string) bool { return m.drawn[id] })
	}
	return to.ids.Renew(m.o.Messages, r)
}

// queueMessages queues what is to be sent.
func (m *Mock) queueMessages(ctx context.Context, jobs []job) {
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

// deliverQueue sends what a connection has to send, until either side ends it.
func (m *Mock) deliverQueue(c *connection) {
	for {
		select {
		case what := <-c.jobs:
			for _, one := range what {
				if !one.due.IsZero() && !m.waitUntilDue(m.live, one.due, c.gone) {
					return
				}
				if one.Kind == transcript.Closed {
					m.forgetConn(c.name)
				}
				if one.broken {
					_ = m.gate.End(c.name, driver.Reset)
					return
				}
				if m.gate.Send(m.live, c.name, gate.Client, one.Message) != nil {
					m.forgetConn(c.name)
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
