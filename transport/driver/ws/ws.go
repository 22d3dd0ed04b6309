// Package ws drives targets over WebSocket: a [Driver] dials server targets, a [Listener] accepts the connections of
// client targets. The library delivers messages. Package wire/ws reads control frames, and anything that RFC 6455
// forbids, directly from the connection's bytes; they are recorded as records of Kind Comment: "ping", "pong", "close"
// with its status and reason, and "frame fault: …".
package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/unixurl"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/ws"
)

// Name of the driver on the command line and in results.
const Name = "ws"

// defaultMax bounds one message if the options set no limit.
const defaultMax = 8 << 20

// closeTime bounds the closing handshake: the peer may be gone, and the library would wait for ten seconds.
const closeTime = time.Second

// Driver opens WebSocket connections.
type Driver struct {
	Subprotocols []string

	TLS *tls.Config // of https and wss URLs; nil: Go's defaults

	gateway driver.Gateway
}

// Gateway returns what the driver has learnt about what stands before the target.
func (d *Driver) Gateway() *driver.Gateway { return &d.gateway }

// finTime bounds how long a target may take to end a connection whose other side has been ended.
const finTime = 2 * time.Second

// New makes a driver that offers the given subprotocols.
func New(subprotocols ...string) *Driver { return &Driver{Subprotocols: subprotocols} }

// Name implements driver.Driver.
func (d *Driver) Name() string { return Name }

// Close implements io.Closer; the driver keeps nothing between connections.
func (d *Driver) Close() error { return nil }

// Open implements driver.Driver: the opening handshake of RFC 6455.
func (d *Driver) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	url, host := socketURL(o.URL), ""
	at, unix := unixurl.HTTP(o.URL)
	if unix {
		at, host = socketURL(at), unixurl.Host
		url = unixurl.Plain(at)
	} else {
		at = url
	}
	n := sink(transcript.Record{Conn: o.Party, Dir: transcript.Sent, Kind: transcript.Open, Label: "GET " + url +
		" (upgrade)"})
	max := o.MaxEvent
	if max == 0 {
		max = defaultMax
	}
	tap, s, resp, err := d.dialRetrying(ctx, at, host, o, max, sink)
	if err != nil {
		if unix {
			err, url = &plainError{err}, o.URL
		}
		return nil, refusalError(o, url, resp, err, n, sink)
	}
	s.SetReadLimit(int64(max))
	tap.recordOpened(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open, Label: "socket",
		Reply:  n,
		Status: resp.StatusCode})
	live, cancel := context.WithCancel(context.Background())
	c := &conn{s: s, o: o, sink: tap.sink, tap: tap, live: live, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.readMessages()
	}()
	return c, nil
}

// dialRetrying makes the opening handshake, again if a gateway refuses it.
func (d *Driver) dialRetrying(ctx context.Context, at, host string, o driver.OpenOptions, max int,
	sink driver.Sink) (*tap, *websocket.Conn, *http.Response, error) {
	jar := o.Jar
	if jar == nil {
		jar = httpclient.NewJar()
	}
	header := jar.MoveCookies(at, o.Header).Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("Accept-Encoding") == "" {
		header.Set("Accept-Encoding", httpclient.AcceptEncoding)
	}
	subprotocols := d.Subprotocols
	if given := wire.Offered(header); len(given) > 0 { // of --header: the library must know what it may be answered
		subprotocols = given
		header.Del("Sec-WebSocket-Protocol")
	}
	for try := 1; ; try++ {
		tap := newTap(o.Party, max, sink)
		if err := driver.AwaitDelay(ctx, d.gateway.Reserve(), o.Party, sink); err != nil {
			return tap, nil, nil, err
		}
		s, resp, err := websocket.Dial(httpclient.Bounded(ctx), at, &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: tap.newTransport(d.TLS), CheckRedirect: asAnswer,
				Jar: jar}, HTTPHeader: header,
			Host:         host,
			Subprotocols: subprotocols, CompressionMode: websocket.CompressionDisabled, // the tap needs uncompressed frames
		})
		if resp == nil || resp.StatusCode == 0 ||
			!d.gateway.WaitAndRetry(ctx, resp, driver.Attempt{Try: try, Safe: true}, o.Party, sink) {
			return tap, s, resp, err
		}
	}
}

// plainError is an error about a unix socket, in which the host is what the request names.
type plainError struct{ error }

func (e *plainError) Error() string { return unixurl.Plain(e.error.Error()) }
func (e *plainError) Unwrap() error { return e.error }

// asAnswer prevents redirects from being followed: they are responses like others.
func asAnswer(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func refusalError(o driver.OpenOptions, url string, resp *http.Response, err error, n int, sink driver.Sink) error {
	e := &driver.OpenError{URL: url, Err: err}
	r := transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Failure, Label: err.Error(), Reply: n}
	if resp != nil && resp.StatusCode != 0 {
		e.Status, r.Status, r.Kind, r.Label = resp.StatusCode, resp.StatusCode, transcript.Response, resp.Status
		if httpclient.Decode(resp); resp.Body != nil {
			r.Bytes, _ = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		}
	}
	sink(r)
	return e
}

func socketURL(u string) string {
	if rest, ok := strings.CutPrefix(u, "http"); ok {
		return "ws" + rest
	}
	return u
}

type conn struct {
	s      *websocket.Conn
	o      driver.OpenOptions
	sink   driver.Sink
	tap    *tap
	live   context.Context
	cancel context.CancelFunc
	done   chan struct{}
	sends  sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// readMessages pumps messages until the connection ends. Reads have no timeout, since in this library it would close
// the connection; deadlines apply to waits on the transcript.
func (c *conn) readMessages() {
	for {
		kind, p, err := c.s.Read(c.live)
		if err != nil {
			c.recordEnd(err)
			return
		}
		r := transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: p}
		if kind == websocket.MessageBinary {
			r.Type = "binary"
		} else if !utf8.Valid(p) {
			r.Label = "text that is not UTF-8"
		}
		if !c.tap.recordMessage(r) {
			c.recordEnd(io.ErrUnexpectedEOF)
			return
		}
	}
}

func (c *conn) recordEnd(err error) {
	r := transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Closed,
		Label: "the connection broke off: " + err.Error()}
	var ce websocket.CloseError
	c.mu.Lock()
	ours := c.closed
	c.mu.Unlock()
	switch {
	case ours:
		r.Label = "closed by the harness"
	case errors.As(err, &ce):
		r.Label, r.Status = fmt.Sprintf("the target closed the connection: %q", ce.Reason), int(ce.Code)
	}
	c.tap.recordClosed(r)
}

// Send implements driver.Conn.
func (c *conn) Send(ctx context.Context, m driver.Message) (int, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return 0, driver.ErrClosed
	}
	c.sends.Add(1)
	c.mu.Unlock()
	defer c.sends.Done()
	kind, typ := websocket.MessageText, "text"
	if m.Binary {
		kind, typ = websocket.MessageBinary, "binary"
	}
	n := c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Sent, Kind: transcript.Frame, Label: m.Label, Type: typ,
		Bytes: m.Body})
	// A context that ends during the write drops the connection; the limit of the write is for a peer that has stopped
	// reading.
	wctx, cancel := deadline.WithLimit(c.live, 10*time.Second)
	defer cancel()
	if err := c.s.Write(wctx, kind, m.Body); err != nil {
		c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Failure, Label: err.Error(),
			Reply: n})
		return n, nil // the transcript shows what became of the connection, and callers wait for answers there
	}
	return n, nil
}

// Close implements driver.Conn.
func (c *conn) Close(how driver.CloseMode) error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if !again {
		c.tap.told.Close()
		if how == driver.Graceful {
			stop := deadline.In(closeTime).AfterFunc(c.tap.closeTCP)
			_ = c.s.Close(websocket.StatusNormalClosure, "")
			stop()
		}
		switch how {
		case driver.Fin:
			c.tap.closeWrite()
			waited := make(chan struct{})
			stop := deadline.In(finTime).AfterFunc(func() { close(waited) })
			select {
			case <-c.done:
			case <-waited:
			}
			stop()
		case driver.Abort:
			c.tap.resetOnClose()
		}
		c.cancel()
		_ = c.s.CloseNow()
	}
	<-c.done
	c.sends.Wait()
	return nil
}
