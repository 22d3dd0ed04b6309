package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/internal/freeport"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Bounds of a Listener: how much a target that keeps sending requests may use of the harness.
const (
	maxStreams = 16      // open event streams; further ones are refused with 503
	maxAsked   = 2000    // recorded requests; further ones are refused with 503 and not recorded
	maxBody    = 1 << 20 // bytes of a request body; longer ones are refused with 413
)

// ListenOptions configure a Listener.
type ListenOptions struct {
	Sink   driver.Sink                // receives the records
	Party  func(*http.Request) string // the party of a request, for the transcript; "": none
	Answer func(Incoming) Answer      // called once for each request except preflights, from many goroutines
	// called when an event stream is open, before anything else is sent on it; may be nil
	Opened func(in Incoming, s *Streamed)
}

// Incoming is a request by a target.
type Incoming struct {
	N       int // number of its record
	Party   string
	Request *http.Request // its body has been read
	Body    []byte
}

// Answer is the response to a request. The zero value is 200 with no body.
type Answer struct {
	Status int           // 0: 200
	Type   string        // media type of Body; "": application/json
	Body   []byte        //
	Stream bool          // an event stream: it stays open until it is ended
	After  <-chan Answer // if not nil, the response is held and comes from here
	Drop   bool          // reset the connection instead of answering
}

// Listener makes the harness an HTTP server with event streams, for targets that are clients of one. It listens on a
// free port of loopback. It accepts every origin, including null, and answers preflights without recording them.
//
// A request is a received record of Kind Request of its party, with Label "POST /message" and its body in Bytes. Its
// response is a sent record of Kind Response that replies to it. An event stream is a connection of its own, named by
// the party and a number ("A 1"): a received record of Kind Open when it is requested, a sent one when it is open, a
// sent one of Kind Stream for each event, and one of Kind Closed at its end: sent if the harness ended it, received
// if the target did.
//
// It is safe for concurrent use.
type Listener struct {
	o    ListenOptions
	http *http.Server
	tcp  net.Listener
	port *freeport.Port // kept during Pause
	gone chan struct{}  // closed by Close
	work sync.WaitGroup

	mu      sync.Mutex
	addr    string
	asked   int
	streams map[*Streamed]struct{}
	opened  map[string]int // party → number of streams so far
	closed  bool
}

// Listen listens on a free port of loopback.
func Listen(o ListenOptions) (*Listener, error) {
	l := &Listener{o: o, gone: make(chan struct{}), streams: map[*Streamed]struct{}{}, opened: map[string]int{}}
	var err error
	if l.port, err = freeport.Lend(); err != nil {
		return nil, fmt.Errorf("listen for the target: %w", err)
	}
	if err := l.listenOn(l.port.Addr()); err != nil {
		l.port.Release()
		return nil, err
	}
	return l, nil
}

func (l *Listener) listenOn(addr string) error {
	tcp, err := freeport.Relisten(addr)
	if err != nil {
		return fmt.Errorf("listen for the target: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(l.serveRequest), ReadHeaderTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ConnContext: func(ctx context.Context, line net.Conn) context.Context {
			return context.WithValue(ctx, lineKey{}, line)
		}}
	l.mu.Lock()
	l.tcp, l.http, l.addr = tcp, server, tcp.Addr().String()
	l.mu.Unlock()
	l.work.Go(func() { _ = server.Serve(tcp) })
	return nil
}

// URL returns where it listens, without a trailing slash.
func (l *Listener) URL() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "http://" + l.addr
}

// Streams returns the open event streams of a party, oldest first.
func (l *Listener) Streams(party string) []*Streamed {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*Streamed
	for s := range l.streams {
		if s.party == party {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *Streamed) int { return a.n - b.n })
	return out
}

// Pause closes the port and every connection, like a stopped server; Resume opens the same port again.
func (l *Listener) Pause() {
	l.mu.Lock()
	server, all := l.http, slices.Collect(maps.Keys(l.streams))
	l.mu.Unlock()
	for _, s := range all {
		s.End(driver.Reset)
	}
	_ = server.Close()
}

// Resume listens on the same port again after Pause.
func (l *Listener) Resume() error {
	l.mu.Lock()
	addr := l.addr
	l.mu.Unlock()
	return l.listenOn(addr)
}

// Close ends every stream and held response, and waits until nothing more can reach the sink.
func (l *Listener) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	close(l.gone)
	server := l.http
	l.mu.Unlock()
	_ = server.Close()
	l.work.Wait()
	l.port.Release()
}

func (l *Listener) endStream() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *Listener) serveRequest(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.work.Add(1)
	l.mu.Unlock()
	defer l.work.Done()
	if l.allowOrigins(w, r) {
		return
	}
	l.mu.Lock()
	l.asked++
	full := l.asked > maxAsked
	l.mu.Unlock()
	if full {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			l.o.Sink(transcript.Record{Conn: l.o.Party(r), Dir: transcript.Received, Kind: transcript.Request, Label: r.Method +
				" " + r.URL.RequestURI(), Bytes: body})
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
		return
	}
	in := Incoming{Party: l.o.Party(r), Request: r, Body: body}
	l.answerRequest(w, in)
}

// allowOrigins allows pages of every origin. It reports whether the request was a preflight, which it answers.
func (l *Listener) allowOrigins(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Allow-Private-Network", "true")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

func (l *Listener) answerRequest(w http.ResponseWriter, in Incoming) {
	label := in.Request.Method + " " + in.Request.URL.RequestURI()
	in.N = l.o.Sink(transcript.Record{Conn: in.Party, Dir: transcript.Received, Kind: transcript.Request, Label: label,
		Bytes: in.Body})
	a := l.o.Answer(in)
	if a.After != nil {
		select {
		case a = <-a.After:
		case <-l.gone:
			a = Answer{Drop: true}
		case <-in.Request.Context().Done():
			return
		}
	}
	switch {
	case a.Drop:
		panic(http.ErrAbortHandler)
	case a.Stream:
		l.serveStream(w, in)
		return
	case a.Status == 0:
		a.Status = http.StatusOK
	}
	if a.Type == "" {
		a.Type = "application/json"
	}
	l.o.Sink(transcript.Record{Conn: in.Party, Dir: transcript.Sent, Kind: transcript.Response, Label: label,
		Status: a.Status, Type: a.Type, Bytes: a.Body, Reply: in.N})
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

// Streamed is an event stream that a target has opened. It is safe for concurrent use.
type Streamed struct {
	l     *Listener
	party string
	conn  string // its name in the transcript
	n     int    // its number among the party's streams, from 1
	out   chan event
	quit  chan struct{} // closed by End
	done  chan struct{} // closed when it has ended

	once sync.Once
	how  driver.CloseMode
}

type event struct {
	bytes []byte
	wrote chan struct{}
}

// Conn returns its name in the transcript.
func (s *Streamed) Conn() string { return s.conn }

// Emit sends bytes unchanged on the stream, and returns the number of the record, which is made before the first byte
// is sent. It waits until the bytes have been passed to the network. driver.ErrClosed: the stream has ended.
func (s *Streamed) Emit(ctx context.Context, label string, b []byte) (int, error) {
	select {
	case <-s.done:
		return 0, driver.ErrClosed
	default:
	}
	n := s.l.o.Sink(transcript.Record{Conn: s.conn, Dir: transcript.Sent, Kind: transcript.Stream, Label: label, Bytes: b})
	e := event{bytes: b, wrote: make(chan struct{})}
	select {
	case s.out <- e:
	case <-s.done:
		return n, driver.ErrClosed
	case <-ctx.Done():
		return n, context.Cause(ctx)
	}
	select {
	case <-e.wrote:
		return n, nil
	case <-s.done:
		return n, driver.ErrClosed
	case <-ctx.Done():
		return n, context.Cause(ctx)
	}
}

// End ends the stream and waits until it has ended: Graceful ends the HTTP response as HTTP has it, Reset and Fin close
// the TCP connection without an end of the response, Abort resets it by RST.
func (s *Streamed) End(how driver.CloseMode) {
	s.end(how)
	<-s.done
}

func (s *Streamed) end(how driver.CloseMode) {
	s.once.Do(func() {
		s.how = how
		close(s.quit)
	})
}

// dropTCP drops the TCP connection of a stream that ends otherwise than as HTTP has it: it panics, which net/http takes
// as the request to close it.
func (s *Streamed) dropTCP(ctx context.Context) {
	if s.how == driver.Graceful {
		return
	}
	if tcp, ok := ctx.Value(lineKey{}).(interface{ SetLinger(sec int) error }); ok && s.how == driver.Abort {
		_ = tcp.SetLinger(0)
	}
	panic(http.ErrAbortHandler)
}

// lineKey is the key of a request's TCP connection in its context.
type lineKey struct{}

// newStream registers a new stream; nil if there are too many.
func (l *Listener) newStream(in Incoming) *Streamed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.streams) >= maxStreams {
		return nil
	}
	l.opened[in.Party]++
	n := l.opened[in.Party]
	s := &Streamed{l: l, party: in.Party, n: n, conn: strings.TrimSpace(fmt.Sprintf("%s %d", in.Party, n)),
		out: make(chan event), quit: make(chan struct{}), done: make(chan struct{})}
	l.streams[s] = struct{}{}
	return s
}

func (l *Listener) serveStream(w http.ResponseWriter, in Incoming) {
	s := l.newStream(in)
	if s == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer func() {
		l.mu.Lock()
		delete(l.streams, s)
		l.mu.Unlock()
		close(s.done)
	}()
	l.o.Sink(transcript.Record{Conn: s.conn, Dir: transcript.Received, Kind: transcript.Open,
		Label: in.Request.URL.RequestURI(), Reply: in.N})
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	l.o.Sink(transcript.Record{Conn: s.conn, Dir: transcript.Sent, Kind: transcript.Open, Label: "200",
		Status: http.StatusOK, Type: "text/event-stream"})
	flush := http.NewResponseController(w)
	if flush.Flush() != nil {
		return
	}
	if l.o.Opened != nil {
		l.work.Go(func() { l.o.Opened(in, s) })
	}
	ended := func(by transcript.Dir, label string) {
		l.o.Sink(transcript.Record{Conn: s.conn, Dir: by, Kind: transcript.Closed, Label: label})
	}
	for {
		select {
		case e := <-s.out:
			_, err := w.Write(e.bytes)
			if err == nil {
				err = flush.Flush()
			}
			close(e.wrote)
			if err != nil {
				ended(transcript.Received, "the target has closed the stream")
				return
			}
		case <-in.Request.Context().Done():
			if l.endStream() {
				return
			}
			ended(transcript.Received, "the target has closed the stream")
			return
		case <-s.quit:
			ended(transcript.Sent, "ended by the harness")
			s.dropTCP(in.Request.Context())
			return
		case <-l.gone:
			return
		}
	}
}
