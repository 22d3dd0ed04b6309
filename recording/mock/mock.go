// Package mock answers as recorded servers did. What comes is matched by its content, not by its position; what no
// recording shows is refused, and said to be.
package mock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"parley/recording"
	"parley/recording/replay"
	"parley/simulator/gate"
	"parley/transcript"
)

// MaxBytes bounds the payloads of all recordings of a Mock.
const MaxBytes = 256 << 20

// Options configure a Mock.
type Options struct {
	Addr    string          // host:port; default a free port of loopback
	Ignore  []replay.Ignore // members that need not be as recorded for a message to match
	Unknown func(string)    // is told, on one line, of what no recording shows; may be called concurrently
}

// act is something that a recorded client did, and what the server did from then on until the client's next act on
// the connection.
type act struct {
	asked   transcript.Record
	answer  *transcript.Record // to a request, or to the opening of a connection
	follows []transcript.Record
	used    int
}

// Mock is a server. It is safe for concurrent use.
type Mock struct {
	o    Options
	gate *gate.Gate
	work sync.WaitGroup
	live context.Context // ends with Close
	stop context.CancelFunc

	mu   sync.Mutex
	acts []*act
	here map[string]*connection // by name at the gate
	of   map[string]*connection // by name in the recordings: the one that was opened last
}

// connection is one that a client has opened.
type connection struct {
	name string
	like string // its name in the recordings
	ids  *replay.IDs
	next chan struct{} // closed when everything before has been sent
}

// Open reads recordings, and listens. The error names the recording by its place in the list.
func Open(o Options, recordings ...*recording.Reader) (*Mock, error) {
	if o.Unknown == nil {
		o.Unknown = func(string) {}
	}
	m := &Mock{o: o, here: map[string]*connection{}, of: map[string]*connection{}}
	size := 0
	for i, in := range recordings {
		if err := m.read(in, fmt.Sprintf("%d ", i), &size); err != nil {
			return nil, fmt.Errorf("recording %d: %w", i+1, err)
		}
	}
	if len(m.acts) == 0 {
		return nil, errors.New("nothing in it was sent by a client (was it recorded at the other end?)")
	}
	m.live, m.stop = context.WithCancel(context.Background())
	var err error
	m.gate, err = gate.New(gate.Options{Addr: o.Addr, Handle: m.handle})
	return m, err
}

// URL returns where it listens, without a trailing slash.
func (m *Mock) URL() string { return m.gate.URL() }

// Close ends all connections.
func (m *Mock) Close() {
	m.stop()
	m.gate.Close()
	m.work.Wait()
}

// read takes the acts out of a recording. of tells its connections from those of others.
func (m *Mock) read(in *recording.Reader, of string, size *int) error {
	last := map[string]*act{} // by connection
	asked := map[int]*act{}
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if *size += len(r.Bytes); *size > MaxBytes {
			return fmt.Errorf("the recordings hold more than %d MiB", MaxBytes>>20)
		}
		r.Conn = of + r.Conn
		switch {
		case r.Late || r.Cut > 0:
		case r.Dir == transcript.Sent && slices.Contains(clients, r.Kind):
			one := &act{asked: r}
			last[r.Conn], asked[r.N] = one, one
			m.acts = append(m.acts, one)
		case r.Dir != transcript.Received:
		case r.Kind == transcript.Open || r.Kind == transcript.Response:
			if a := asked[r.Reply]; a != nil && (a.answer == nil || r.Kind == transcript.Response) {
				a.answer = &r
			}
		case r.Kind == transcript.Stream || r.Kind == transcript.Frame:
			if a := last[r.Conn]; a != nil {
				a.follows = append(a.follows, r)
			}
		}
	}
}

// clients are the kinds of what a client does.
var clients = []transcript.Kind{transcript.Open, transcript.Request, transcript.Frame}

// place is the method and path of a request or opening, without the query.
func place(r transcript.Record) string {
	method, at, _ := strings.Cut(strings.TrimSuffix(r.Label, " (upgrade)"), " ")
	if _, rest, is := strings.Cut(at, "://"); is {
		_, at, _ = strings.Cut(rest, "/")
		at = "/" + at
	}
	at, _, _ = strings.Cut(at, "?")
	return method + " " + at
}

// handle is the gate's.
func (m *Mock) handle(_ context.Context, in gate.Message) gate.Decision {
	if in.From != gate.Client {
		return gate.Decision{}
	}
	came := transcript.Record{Kind: in.Kind, Label: in.Method + " " + in.Path, Bytes: in.Body}
	switch in.Kind {
	case transcript.Closed:
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.here, in.Conn)
		return gate.Decision{}
	case transcript.Open:
		return m.opened(in, came)
	case transcript.Request:
		a, ids := m.find(came, nil)
		if a == nil {
			return m.unknown(in)
		}
		m.mu.Lock()
		to := m.of[a.asked.Conn]
		m.mu.Unlock()
		if to != nil {
			m.send(to, a, ids)
		}
		if a.answer == nil {
			return gate.Decision{Drop: true} // the recorded server did not answer either
		}
		return gate.Decision{Reply: reply(*a.answer, ids)}
	case transcript.Frame:
		m.mu.Lock()
		on := m.here[in.Conn]
		m.mu.Unlock()
		a, ids := m.find(came, on)
		if a == nil {
			return m.unknown(in)
		}
		m.send(on, a, ids)
	}
	return gate.Decision{Drop: true}
}

// reply makes the gate's answer of a recorded one.
func reply(r transcript.Record, ids *replay.IDs) *gate.Message {
	out := &gate.Message{Status: r.Status, Body: ids.Renew(r.Bytes), Header: http.Header{}}
	if r.Type != "" {
		out.Header.Set("Content-Type", r.Type)
	}
	return out
}

// opened accepts or refuses a stream or socket as it was recorded.
func (m *Mock) opened(in gate.Message, came transcript.Record) gate.Decision {
	a, ids := m.find(came, nil)
	if a == nil || a.answer == nil {
		return m.unknown(in)
	}
	if a.answer.Kind == transcript.Response {
		return gate.Decision{Reply: reply(*a.answer, ids)}
	}
	c := &connection{name: in.Conn, like: a.asked.Conn, ids: ids, next: make(chan struct{})}
	close(c.next)
	m.mu.Lock()
	m.here[c.name], m.of[c.like] = c, c
	m.mu.Unlock()
	m.send(c, a, ids)
	return gate.Decision{Reply: &gate.Message{Status: a.answer.Status}}
}

// unknown refuses what no recording shows.
func (m *Mock) unknown(in gate.Message) gate.Decision {
	what := strings.TrimSpace(cmp.Or(strings.TrimSpace(in.Method+" "+in.Path), in.Conn+" message") + " " +
		replay.TypeOf(in.Body))
	text := "never shown: " + replay.Shown(what+" "+string(in.Body))
	m.o.Unknown(text)
	if in.Kind == transcript.Frame {
		return gate.Decision{Drop: true}
	}
	return gate.Decision{Reply: &gate.Message{Status: http.StatusNotImplemented, Body: []byte(text + "\n"),
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}}
}

// find returns the recorded act that what came is, and the ids of the connection. Of several it prefers one of the
// same connection, and the one that has been used least, in the order of the recordings.
func (m *Mock) find(came transcript.Record, on *connection) (*act, *replay.IDs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var best *act
	var known *replay.IDs
	rank := func(a *act) int {
		if on != nil && a.asked.Conn != on.like {
			return 1<<30 + a.used
		}
		return a.used
	}
	for _, a := range m.acts {
		if a.asked.Kind != came.Kind || came.Kind != transcript.Frame && place(a.asked) != place(came) ||
			best != nil && rank(a) >= rank(best) {
			continue
		}
		ids := replay.NewIDs()
		if on != nil {
			ids = on.ids.Clone()
		}
		if replay.Same(a.asked.Bytes, came.Bytes, ids, m.o.Ignore) {
			best, known = a, ids
		}
	}
	if best != nil {
		best.used++
		if on != nil {
			on.ids = known
		}
	}
	return best, known
}

// send sends what follows an act, behind what the connection still has to send.
func (m *Mock) send(to *connection, a *act, ids *replay.IDs) {
	m.mu.Lock()
	before, done := to.next, make(chan struct{})
	to.next = done
	m.mu.Unlock()
	m.work.Go(func() {
		defer close(done)
		<-before
		for _, r := range a.follows {
			event := r.Type
			if r.Kind == transcript.Stream && event == "message" {
				event = ""
			}
			if m.gate.Send(m.live, to.name, gate.Client, gate.Message{Kind: r.Kind, Event: event, Binary: r.Type == "binary",
				Body: ids.Renew(r.Bytes)}) != nil {
				return
			}
		}
	})
}
