package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/deadline"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// Bounds of what a live client may use.
const (
	maxMessage = 8 << 20 // bytes of a request or WebSocket message
	maxAsked   = 256     // requests and connections at once; further ones are refused with 503
)

// closing bounds how long a client may take to read the last answers.
const closing = 5 * time.Second

// web is the door by HTTP.
type web struct {
	s      *server
	url    string
	http   *http.Server
	work   sync.WaitGroup
	live   context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	asked map[int]chan requestDecision
	conns map[string]*joinedClient
}

// requestDecision answers a request or opening.
type requestDecision struct {
	r    transcript.Record
	body []byte
	conn *joinedClient // that it opens
	none bool          // it was not recorded
}

// joinedClient is a stream or socket that was accepted.
type joinedClient struct {
	name  string        // as recorded
	ready chan struct{} // closed once it is open, or the client has gone before; send is nil then
	send  func(ctx context.Context, r transcript.Record, body []byte) error
	end   func(status int, reason string, broken bool)
}

func listenWeb(s *server, addr string) (*web, error) {
	tcp, err := net.Listen("tcp", cmp.Or(addr, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	w := &web{s: s, url: "http://" + tcp.Addr().String(), asked: map[int]chan requestDecision{},
		conns: map[string]*joinedClient{}}
	w.live, w.cancel = context.WithCancel(context.Background())
	w.http = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	w.work.Go(func() { _ = w.http.Serve(tcp) })
	return w, nil
}

// close waits until all answers are written, for a limited time.
func (w *web) close() {
	w.cancel()
	limited, cancel := deadline.WithLimit(context.Background(), closing)
	defer cancel()
	_ = w.http.Shutdown(limited)
	_ = w.http.Close()
	w.work.Wait()
}

func (w *web) decide(asked int, conn string, r transcript.Record, body []byte) {
	d := requestDecision{r: r, body: body}
	if r.Kind == transcript.Open {
		d.conn = &joinedClient{name: conn, ready: make(chan struct{})}
	}
	w.giveEvent(asked, d)
}

func (w *web) refuse(asked int) { w.giveEvent(asked, requestDecision{none: true}) }

func (w *web) giveEvent(asked int, d requestDecision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.asked[asked]; to != nil {
		delete(w.asked, asked)
		to <- d
		if d.conn != nil {
			w.conns[d.conn.name] = d.conn
		}
	}
}

// findConn returns a connection once it is open; nil if it is not.
func (w *web) findConn(ctx context.Context, conn string) (*joinedClient, error) {
	w.mu.Lock()
	c := w.conns[conn]
	w.mu.Unlock()
	if c == nil {
		return nil, errNotOpen
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.send == nil {
		return nil, errNotOpen
	}
	return c, nil
}

func (w *web) send(ctx context.Context, conn string, r transcript.Record, body []byte) error {
	c, err := w.findConn(ctx, conn)
	if err != nil {
		return err
	}
	return c.send(ctx, r, body)
}

func (w *web) end(conn string, status int, reason string, broken bool) {
	limited, cancel := deadline.WithLimit(w.live, closing)
	defer cancel()
	if c, err := w.findConn(limited, conn); err == nil {
		c.end(status, reason, broken)
	}
}

func (w *web) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) > 0
}

// forgetConn forgets a connection.
func (w *web) forgetConn(c *joinedClient) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns[c.name] == c {
		delete(w.conns, c.name)
	}
}

// ServeHTTP implements http.Handler.
func (w *web) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if answerPreflight(to, r) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(to, r.Body, maxMessage))
	if err != nil {
		http.Error(to, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	one := transcript.Record{Kind: transcript.Request, Label: r.Method + " " + r.URL.RequestURI(), Bytes: body}
	socket := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	if socket || r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		one.Kind, one.ID = transcript.Open, r.Header.Get("Last-Event-ID")
	}
	if socket {
		one.Label += " (upgrade)"
	}
	answer := make(chan requestDecision, 1)
	if !w.hasRoom() {
		http.Error(to, "too many requests wait for an answer", http.StatusServiceUnavailable)
		return
	}
	number := 0
	w.s.takeRequest(one, func(n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		number, w.asked[n] = n, answer
	})
	select {
	case d := <-answer:
		w.answerRequest(to, r, d)
		return
	case <-r.Context().Done():
	case <-w.live.Done():
	}
	w.mu.Lock()
	delete(w.asked, number)
	w.mu.Unlock()
	select {
	case d := <-answer: // just now
		w.answerRequest(to, r, d)
	default:
		http.Error(to, "the recording has no answer to it", http.StatusServiceUnavailable)
	}
}

func (w *web) hasRoom() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)+len(w.conns) < maxAsked
}

// answerPreflight lets pages of every origin in, and reports whether a request was only the question whether they may.
func answerPreflight(to http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := to.Header()
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
	to.WriteHeader(http.StatusNoContent)
	return true
}

func (w *web) answerRequest(to http.ResponseWriter, r *http.Request, d requestDecision) {
	switch {
	case d.none:
		http.Error(to, "the recording has no such request", http.StatusNotImplemented)
	case d.r.Kind == transcript.Failure:
		panic(http.ErrAbortHandler)
	case d.r.Kind == transcript.Open && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		w.serveSocket(to, r, d.conn)
	case d.r.Kind == transcript.Open:
		w.serveStream(to, r, d)
	default:
		if d.r.Type != "" {
			to.Header().Set("Content-Type", d.r.Type)
		}
		to.WriteHeader(max(d.r.Status, http.StatusOK))
		_, _ = to.Write(d.body)
	}
}

// event is one that is being sent.
type event struct {
	bytes []byte
	wrote chan error
}

// events is an event stream that is open.
type events struct {
	next chan event
	quit chan bool     // true: it breaks off
	gone chan struct{} // closed when it has ended
}

func (e *events) sendEvent(ctx context.Context, r transcript.Record, body []byte) error {
	one := event{bytes: eventBlock(r, body), wrote: make(chan error, 1)}
	select {
	case e.next <- one:
	case <-e.gone:
		return errNotOpen
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-one.wrote:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *events) endStream(_ int, _ string, broken bool) {
	select {
	case e.quit <- broken:
	default:
	}
	<-e.gone
}

// serveStream serves an event stream until either side ends it.
func (w *web) serveStream(to http.ResponseWriter, r *http.Request, d requestDecision) {
	e := &events{next: make(chan event), quit: make(chan bool, 1), gone: make(chan struct{})}
	c := d.conn
	c.send, c.end = e.sendEvent, e.endStream
	defer close(e.gone)
	defer w.forgetConn(c)
	to.Header().Set("Content-Type", cmp.Or(d.r.Type, "text/event-stream"))
	to.Header().Set("Cache-Control", "no-store")
	to.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(to)
	err := flush.Flush()
	close(c.ready)
	for err == nil {
		select {
		case one := <-e.next:
			_, err = to.Write(one.bytes)
			if err = errors.Join(err, flush.Flush()); err != nil {
				one.wrote <- errNotOpen
				return
			}
			one.wrote <- nil
		case broken := <-e.quit:
			if broken {
				panic(http.ErrAbortHandler)
			}
			return
		case <-r.Context().Done():
			return
		case <-w.live.Done():
			return
		}
	}
}

// eventBlock is an event on the wire.
func eventBlock(r transcript.Record, data []byte) []byte {
	var b bytes.Buffer
	if r.Kind == transcript.Comment {
		return fmt.Appendf(nil, ": %s\n\n", data)
	}
	if r.Type != "" && r.Type != "message" {
		fmt.Fprintf(&b, "event: %s\n", r.Type)
	}
	if r.ID != "" && !strings.ContainsAny(r.ID, "\r\n") {
		fmt.Fprintf(&b, "id: %s\n", r.ID)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// serveSocket serves a WebSocket until either side ends it.
func (w *web) serveSocket(to http.ResponseWriter, r *http.Request, c *joinedClient) {
	s, err := websocket.Accept(to, r, &websocket.AcceptOptions{Subprotocols: wire.Offered(r.Header),
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		close(c.ready)
		w.forgetConn(c)
		return
	}
	s.SetReadLimit(maxMessage)
	c.send = func(ctx context.Context, one transcript.Record, body []byte) error {
		kind := websocket.MessageText
		if one.Type == "binary" {
			kind = websocket.MessageBinary
		}
		if err := s.Write(ctx, kind, body); err != nil && ctx.Err() == nil {
			return errNotOpen
		}
		return ctx.Err()
	}
	c.end = func(status int, reason string, broken bool) {
		if broken {
			_ = s.CloseNow()
			return
		}
		_ = s.Close(websocket.StatusCode(cmp.Or(status, 1000)), reason)
	}
	w.work.Go(func() { w.readSocket(s, c) }) // the handler has returned the connection
	close(c.ready)
}

// readSocket takes what comes on a socket.
func (w *web) readSocket(s *websocket.Conn, c *joinedClient) {
	defer w.forgetConn(c)
	defer s.CloseNow()
	defer context.AfterFunc(w.live, func() { c.end(1000, "", false) })()
	for {
		kind, p, err := s.Read(context.Background())
		if err != nil {
			return
		}
		one := transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: p}
		if kind == websocket.MessageBinary {
			one.Type = "binary"
		}
		w.s.takeMessage(c.name, one)
	}
}
