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

	"parley/driver"
	"parley/internal/deadline"
	"parley/transcript"
)

// The handshake is read and answered here and not by net/http: what a target asks is recorded as its bytes came, and
// what is no HTTP at all too. Whether a request is a handshake that can be accepted is the library's to say.

// lingers is how long a refused target may take to read its refusal, and how much more it may send meanwhile: a
// connection that is closed over unread bytes is reset, and the answer lost.
const lingers = time.Second

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

var errTooLong = errors.New("longer than 64 KiB")

// shake reads a connection's request and answers it. The result is nil unless the connection stands; then it is in the
// queue.
func (l *Listener) shake(raw net.Conn) *conn {
	stop := deadline.In(l.patience).AfterFunc(func() { l.giveUp(raw) })
	defer stop()
	in := bufio.NewReader(raw)
	head, err := readHead(in)
	if err != nil && !errors.Is(err, errTooLong) {
		l.fail("a connection that asked for nothing: "+err.Error(), head)
		return nil
	}
	a := &answer{l: l, raw: raw, in: in, header: http.Header{},
		ask: transcript.Record{Dir: transcript.Received, Bytes: head}}
	c := a.decide(head, err)
	if c == nil && a.tap == nil && a.status != 0 {
		a.refuse()
	}
	return c
}

// giveUp ends the wait for a handshake.
func (l *Listener) giveUp(raw net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[raw] == nil { // else it stands by now
		_ = raw.SetDeadline(longAgo)
	}
}

// readHead reads up to the blank line that ends a request's headers.
func readHead(in *bufio.Reader) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return nil, tell(err)
	}
	if first[0] == 0x16 {
		hello, _ := in.Peek(in.Buffered())
		return bytes.Clone(hello), errors.New("it began a TLS handshake (the harness is at ws://, not at wss://)")
	}
	var head []byte
	for {
		line, err := in.ReadSlice('\n')
		if len(head)+len(line) > maxRequest {
			return append(head, line[:maxRequest-len(head)]...), errTooLong
		}
		head = append(head, line...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return head, tell(err)
		}
		if bytes.HasSuffix(head, []byte("\n\n")) || bytes.HasSuffix(head, []byte("\n\r\n")) {
			return head, nil
		}
	}
}

// tell says in words how a connection ended before its request.
func tell(err error) error {
	var late net.Error
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it ended before a request was whole")
	case errors.As(err, &late) && late.Timeout():
		return errors.New("no request was whole in time")
	}
	return err
}

// answer is the answer to a request: the http.ResponseWriter that the library writes it to.
type answer struct {
	l      *Listener
	raw    net.Conn
	in     *bufio.Reader
	ask    transcript.Record
	header http.Header
	status int // 0: there is none yet
	body   bytes.Buffer

	party string // once the connection stands
	tap   *tap
}

// decide accepts a request, or records its refusal and leaves it to the caller to send it.
func (a *answer) decide(head []byte, fault error) *conn {
	l := a.l
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.isClosed() {
		return nil
	}
	if c := a.upgrade(head, fault); c != nil || a.tap != nil {
		return c
	}
	if label, ok := l.tellable(a.ask.Label); ok {
		a.ask.Kind, a.ask.Label = transcript.Request, label
		n := l.o.Sink(a.ask)
		l.o.Sink(transcript.Record{Dir: transcript.Sent, Kind: transcript.Response, Label: http.StatusText(a.status),
			Status: a.status,
			Type:   a.header.Get("Content-Type"), Bytes: a.body.Bytes(), Reply: n})
	}
	return nil
}

// upgrade accepts a request, or fills in a refusal.
func (a *answer) upgrade(head []byte, fault error) *conn {
	l := a.l
	if fault != nil {
		a.ask.Label = "a request " + fault.Error()
		http.Error(a, "the request is "+fault.Error(), http.StatusRequestHeaderFieldsTooLarge)
		return nil
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		a.ask.Label = "no HTTP request: " + err.Error()
		http.Error(a, err.Error(), http.StatusBadRequest)
		return nil
	}
	a.ask.Label = r.Method + " " + r.RequestURI
	if r.URL.Path != l.o.Path {
		http.Error(a, "not the path of this endpoint, which is "+l.o.Path, http.StatusNotFound)
		return nil
	}
	if why := l.full(); why != "" {
		http.Error(a, why, http.StatusServiceUnavailable)
		return nil
	}
	// any origin
	s, err := websocket.Accept(a, r, &websocket.AcceptOptions{Subprotocols: l.o.Subprotocols, InsecureSkipVerify: true,
		CompressionMode: websocket.CompressionDisabled}) // the tap reads bytes as they are
	if err != nil {
		if a.tap != nil { // it stood on our side
			a.tap.closed(transcript.Record{Conn: a.party, Dir: transcript.Received, Kind: transcript.Closed,
				Label: "the connection broke off: " + err.Error()})
		}
		return nil
	}
	return a.stand(s)
}

// full says why no more connections are let in.
func (l *Listener) full() string {
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
		return fmt.Sprintf("%d connections are open, and no more are taken", open)
	case len(l.queue) == cap(l.queue):
		return fmt.Sprintf("%d connections wait to be taken", len(l.queue))
	}
	return ""
}

// stand puts a connection whose handshake is done into the queue.
func (a *answer) stand(s *websocket.Conn) *conn {
	l := a.l
	s.SetReadLimit(int64(l.o.MaxEvent))
	live, cancel := context.WithCancel(context.Background())
	c := &conn{s: s, o: driver.OpenOptions{Party: a.party}, sink: a.tap.sink, tap: a.tap, live: live, cancel: cancel,
		done: make(chan struct{})}
	l.mu.Lock()
	l.conns[a.raw] = c
	l.mu.Unlock()
	l.queue <- &accepted{c, l} // there is room: full saw it, and turn is ours
	return c
}

// Header, WriteHeader, Write and Hijack are the library's side of an answer.

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Hijack is called once the library has found nothing wrong. The connection is recorded as open, and then the answer is
// sent; what the target has said without waiting for it comes after the record.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l := a.l
	l.n++
	a.party = l.o.Party(l.n)
	a.tap = newClientTap(a.party, l.o.MaxEvent, l.o.Sink)
	conn := a.tap.listen(a.raw)
	early, _ := a.in.Peek(a.in.Buffered())
	a.tap.saw(early, nil)

	a.ask.Conn, a.ask.Kind, a.ask.Label = a.party, transcript.Open, a.ask.Label+" (upgrade)"
	n := l.o.Sink(a.ask)
	a.tap.opened(transcript.Record{Conn: a.party, Dir: transcript.Sent, Kind: transcript.Open, Label: "socket", Reply: n,
		Status: a.status})
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = a.header.Write(&b)
	b.WriteString("\r\n")
	_, err := a.raw.Write(b.Bytes())
	return conn, bufio.NewReadWriter(a.in, bufio.NewWriter(conn)), err
}

// refuse sends an answer that is no upgrade, and ends the connection.
func (a *answer) refuse() {
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
