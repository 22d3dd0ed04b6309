package ws

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"parley/internal/deadline"
	"parley/internal/rawhttp"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// We read and answer the handshake here rather than with net/http, so as to record the request exactly as received,
// even if it is not HTTP at all. The library decides whether a request is an acceptable handshake.

// lingers is how long a refused target may take to read the refusal, and may keep sending meanwhile: closing a
// connection with unread bytes resets it, and the response is lost.
const lingers = time.Second

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// shakeHands reads a connection's request and answers it. It returns nil unless the connection is accepted; then it is
// in the queue.
func (l *Listener) shakeHands(raw net.Conn) *conn {
	stop := deadline.In(l.patience).AfterFunc(func() { l.giveUp(raw) })
	defer stop()
	in := bufio.NewReader(raw)
	head, err := readHead(in)
	if err != nil && !errors.Is(err, rawhttp.ErrTooLong) {
		l.recordFailure("a connection without a request: "+err.Error(), head)
		return nil
	}
	a := &answer{l: l, raw: raw, in: in, header: http.Header{},
		ask: transcript.Record{Dir: transcript.Received, Bytes: head}}
	c := a.decideRequest(head, err)
	if c == nil && a.tap == nil && a.status != 0 {
		a.refuseRequest()
	}
	return c
}

// giveUp ends the wait for a handshake.
func (l *Listener) giveUp(raw net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[raw] == nil { // not accepted yet
		_ = raw.SetDeadline(longAgo)
	}
}

// readHead reads up to the blank line that ends a request's headers.
func readHead(in *bufio.Reader) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return nil, describeEnd(err)
	}
	if first[0] == 0x16 {
		hello, _ := in.Peek(in.Buffered())
		return bytes.Clone(hello), errors.New("it began a TLS handshake (the harness is at ws://, not at wss://)")
	}
	head, err := rawhttp.ReadHead(in, maxRequest)
	if err != nil && !errors.Is(err, rawhttp.ErrTooLong) {
		return head, describeEnd(err)
	}
	return head, err
}

// describeEnd describes how a connection ended before its request.
func describeEnd(err error) error {
	var late net.Error
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it ended before the request was complete")
	case errors.As(err, &late) && late.Timeout():
		return errors.New("the request was not complete in time")
	}
	return err
}

// answer is the http.ResponseWriter to which the library writes its response.
type answer struct {
	l      *Listener
	raw    net.Conn
	in     *bufio.Reader
	ask    transcript.Record
	header http.Header
	status int // 0: none yet
	body   bytes.Buffer

	party string // set when the connection is accepted
	tap   *tap
}

// decideRequest accepts a request, or records its refusal, which the caller must send.
func (a *answer) decideRequest(head []byte, fault error) *conn {
	l := a.l
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.isClosed() {
		return nil
	}
	if c := a.upgradeConn(head, fault); c != nil || a.tap != nil {
		return c
	}
	if label, ok := l.mayRecord(a.ask.Label); ok {
		a.ask.Kind, a.ask.Label = transcript.Request, label
		n := l.o.Sink(a.ask)
		l.o.Sink(transcript.Record{Dir: transcript.Sent, Kind: transcript.Response, Label: http.StatusText(a.status),
			Status: a.status,
			Type:   a.header.Get("Content-Type"), Bytes: a.body.Bytes(), Reply: n})
	}
	return nil
}

// upgradeConn accepts a request, or fills in a refusal.
func (a *answer) upgradeConn(head []byte, fault error) *conn {
	l := a.l
	if fault != nil {
		a.ask.Label = "a request longer than 64 KiB"
		http.Error(a, "the request is longer than 64 KiB", http.StatusRequestHeaderFieldsTooLarge)
		return nil
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		a.ask.Label = "not an HTTP request: " + err.Error()
		http.Error(a, err.Error(), http.StatusBadRequest)
		return nil
	}
	a.ask.Label = r.Method + " " + r.RequestURI
	if r.URL.Path != l.o.Path {
		http.Error(a, "not the path of this endpoint, which is "+l.o.Path, http.StatusNotFound)
		return nil
	}
	if why := l.whyFull(); why != "" {
		http.Error(a, why, http.StatusServiceUnavailable)
		return nil
	}
	// any origin
	s, err := websocket.Accept(a, r, &websocket.AcceptOptions{Subprotocols: l.o.Subprotocols, InsecureSkipVerify: true,
		CompressionMode: websocket.CompressionDisabled}) // the tap needs uncompressed frames
	if err != nil {
		if a.tap != nil { // it was accepted on our side
			a.tap.recordClosed(transcript.Record{Conn: a.party, Dir: transcript.Received, Kind: transcript.Closed,
				Label: "the connection broke off: " + err.Error()})
		}
		return nil
	}
	return a.queueConn(s)
}

// whyFull says why no more connections are accepted.
func (l *Listener) whyFull() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := 0
	for _, c := range l.conns {
		if c != nil {
			open++
		}
	}
	switch {
	case l.paused:
		return "not now: the listener is paused"
	case open >= maxOpen:
		return fmt.Sprintf("%d connections are open, and no more are accepted", open)
	case len(l.queue) == cap(l.queue):
		return fmt.Sprintf("%d connections wait to be accepted", len(l.queue))
	}
	return ""
}

// queueConn queues a connection after its handshake.
func (a *answer) queueConn(s *websocket.Conn) *conn {
	l := a.l
	s.SetReadLimit(int64(l.o.MaxEvent))
	live, cancel := context.WithCancel(context.Background())
	c := &conn{s: s, o: driver.OpenOptions{Party: a.party}, sink: a.tap.sink, tap: a.tap, live: live, cancel: cancel,
		done: make(chan struct{})}
	l.mu.Lock()
	l.conns[a.raw] = c
	l.mu.Unlock()
	l.queue <- &accepted{c, l} // cannot block: full checked it, and we hold turn
	return c
}

// Header, WriteHeader, Write and Hijack serve the library.

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Hijack is called if the library has found no fault. It records the connection as open, and then sends the response.
// What the target sent ahead comes after that record.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l := a.l
	l.n++
	a.party = l.o.Party(l.n)
	a.tap = newClientTap(a.party, l.o.MaxEvent, l.o.Sink)
	conn := a.tap.tapListener(a.raw)
	early, _ := a.in.Peek(a.in.Buffered())
	a.tap.readBytes(early, nil)

	a.ask.Conn, a.ask.Kind, a.ask.Label = a.party, transcript.Open, a.ask.Label+" (upgrade)"
	n := l.o.Sink(a.ask)
	a.tap.recordOpened(transcript.Record{Conn: a.party, Dir: transcript.Sent, Kind: transcript.Open, Label: "socket",
		Reply:  n,
		Status: a.status})
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = a.header.Write(&b)
	b.WriteString("\r\n")
	_, err := a.raw.Write(b.Bytes())
	return conn, bufio.NewReadWriter(a.in, bufio.NewWriter(conn)), err
}

// refuseRequest sends a response other than an upgrade, and ends the connection.
func (a *answer) refuseRequest() {
	r := http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header, Close: true,
		ContentLength: int64(a.body.Len()), Body: io.NopCloser(strings.NewReader(a.body.String()))}
	if r.Write(a.raw) != nil {
		return
	}
	if c, ok := a.raw.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	_ = a.raw.SetReadDeadline(time.Now().Add(lingers))
	_, _ = io.Copy(io.Discard, io.LimitReader(a.raw, 1<<20))
}
