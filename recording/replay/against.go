package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/driver"
	"parley/driver/sse"
	"parley/driver/stdio"
	"parley/driver/ws"
	"parley/internal/deadline"
	"parley/protocol/messages"
	"parley/recording"
	"parley/transcript"
)

// client plays the client of a recording.
type client struct {
	*player
	conns  map[string]driver.Conn
	sse    *sse.Driver
	ws     *ws.Driver
	stdio  *stdio.Driver
	http   *http.Client
	live   context.Context // of requests
	cancel context.CancelFunc
	asks   sync.WaitGroup
	marks  map[int]int // recorded number of a request → its number now; those that may still get an answer
	open   bool        // a connection was made
	alone  atomic.Bool // a request found nobody
}

// Against plays the client of a recording against the server at o.URL, or the process that o.Process starts. Memory
// does not depend on the length of the recording. Errors: ErrUnreachable, ErrNothing; those of the recording; the
// context's cause.
func Against(ctx context.Context, in *recording.Reader, o Options) (Result, error) {
	o.defaults()
	p := &player{o: o, ids: newIDs(), rules: rules{set: o.Messages, from: messages.Server}}
	p.came = newWaiting(transcript.Received, p.rules.read)
	pool := &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableCompression: true,
		IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 64}
	c := &client{player: p, conns: map[string]driver.Conn{}, sse: sse.New(), ws: ws.New(o.Subprotocols...),
		stdio: stdio.New(), marks: map[int]int{}, http: &http.Client{Transport: pool,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	p.side = c
	c.live, c.cancel = context.WithCancel(ctx)
	defer c.close()
	err := p.run(ctx, recording.NewClientView(in))
	if err == nil && c.unreached() {
		err = ErrUnreachable
	}
	return p.result, err
}

// unreached reports whether a request found nobody, and nobody was found before.
func (c *client) unreached() bool { return !c.open && c.alone.Load() }

func (c *client) early(context.Context) (bool, error) { return false, nil }

func (c *client) skips(transcript.Record) bool { return false }

func (c *client) paired(_, got message) {
	c.open = c.open || got.Kind != transcript.Failure
}

func (c *client) surplus(message) {}

func (c *client) close() {
	c.came.close()
	c.cancel()
	for _, one := range c.conns {
		_ = one.Close(driver.Graceful)
	}
	c.asks.Wait()
	c.http.CloseIdleConnections()
	_ = c.sse.Close()
	_ = c.stdio.Close()
}

func (c *client) dir() transcript.Dir { return transcript.Received }

func (c *client) first(context.Context) error { return nil }

func (c *client) thread(r transcript.Record) thread {
	key := thread{conn: r.Conn}
	if r.Reply != 0 && r.Dir == transcript.Received {
		key.reply = c.marks[r.Reply]
	}
	return key
}

func (c *client) act(ctx context.Context, r transcript.Record) error {
	if r.Kind == transcript.Closed {
		c.hang(r.Conn)
		return nil
	}
	if c.unreached() {
		return ErrUnreachable
	}
	c.result.Sent++
	m := c.rules.readFrom(r, messages.Client)
	switch r.Kind {
	case transcript.Open:
		return c.connect(ctx, r)
	case transcript.Request:
		return c.request(m)
	}
	conn := c.conns[r.Conn]
	if conn == nil {
		c.unsent(m, "its connection is not open")
		return nil
	}
	_, err := conn.Send(ctx, driver.Message{Label: r.Label, Body: c.ids.outgoing(m), Binary: r.Type == "binary"})
	if err != nil {
		c.unsent(m, "the connection has ended")
	}
	return nil
}

// unsent says that a recorded message cannot be sent.
func (p *player) unsent(m message, why string) {
	p.differs(Difference{N: m.N, Message: m.title(), Missing: true, why: why, recorded: &m})
}

// hang closes a connection.
func (c *client) hang(conn string) {
	if open := c.conns[conn]; open != nil {
		delete(c.conns, conn)
		c.came.leave(conn, true)
		_ = open.Close(driver.Graceful)
		c.came.leave(conn, false)
	}
}

// maxMarks bounds the requests of which an answer may still be in the recording.
const maxMarks = 10_000

func (c *client) mark(recorded, now int) {
	c.marks[recorded] = now
	if len(c.marks) > 2*maxMarks {
		maps.DeleteFunc(c.marks, func(old, _ int) bool { return old < recorded-maxMarks })
	}
}

// address returns where a recorded path, or URL, is now.
func (c *client) address(recorded string) (string, error) {
	was, err := url.Parse(recorded)
	if err != nil {
		return "", fmt.Errorf("%q is no path", recorded)
	}
	return strings.TrimSuffix(c.o.URL, "/") + c.ids.path(was.RequestURI()), nil
}

// connect plays the opening of a stream or socket. That it is refused is recorded like any answer.
func (c *client) connect(ctx context.Context, r transcript.Record) error {
	c.hang(r.Conn) // it has ended, or the recorded client left it
	c.drain(r.Conn, false)
	path, upgrade := strings.CutSuffix(strings.TrimPrefix(r.Label, "GET "), " (upgrade)")
	o := driver.OpenOptions{Party: r.Conn, Header: c.o.Header}
	var d driver.Driver = c.sse
	switch {
	case r.Label == stdio.Name && c.o.Process == nil:
		return fmt.Errorf("record %d: it was recorded over stdio, and the target is not started over stdio", r.N)
	case r.Label == stdio.Name:
		d, o.Process = c.stdio, c.o.Process
	case c.o.URL == "":
		return fmt.Errorf("record %d: it was not recorded over stdio, and the target has no URL", r.N)
	default:
		at, err := c.address(path)
		if err != nil {
			return fmt.Errorf("record %d: %w", r.N, err)
		}
		if o.URL = at; upgrade {
			d = c.ws
		}
	}
	limited, cancel := deadline.WithLimit(ctx, c.o.Within)
	defer cancel()
	first := 0 // the number of the record by which the driver begins
	conn, err := d.Open(limited, o, func(one transcript.Record) int {
		if one.Kind == transcript.Open && one.Dir == transcript.Sent {
			first = c.came.number()
			return first
		}
		return c.came.sink(one)
	})
	c.mark(r.N, first)
	var refused *driver.OpenError
	switch {
	case err == nil:
		c.conns[r.Conn], c.open = conn, true
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.Status != 0:
		c.open = true
	case !c.open:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}

// request plays an HTTP request, whose answer comes later.
func (c *client) request(m message) error {
	method, path, _ := strings.Cut(m.Label, " ")
	path, _, _ = strings.Cut(path, " ") // what follows is for people
	at, err := c.address(path)
	if err != nil {
		return fmt.Errorf("record %d: %w", m.N, err)
	}
	body := c.ids.outgoing(m)
	req, err := http.NewRequestWithContext(c.live, method, at, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("record %d: %w", m.N, err)
	}
	for name, values := range c.o.Header {
		req.Header[name] = values
	}
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header["Idempotency-Key"] = nil // not sent: it may be repeated if a connection of the pool ended before it
	n := c.came.number()
	c.mark(m.N, n)
	c.asks.Go(func() { c.answer(req, m.Conn, n) })
	return nil
}

// maxAnswer bounds what is kept of an answer.
const maxAnswer = 8 << 20

func (c *client) answer(req *http.Request, conn string, n int) {
	r := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Failure, Reply: n}
	resp, err := c.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		r.Status, r.Type = resp.StatusCode, resp.Header.Get("Content-Type")
		r.Bytes, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	var op *net.OpError
	switch {
	case err == nil:
		r.Kind = transcript.Response
	case errors.As(err, &op) && op.Op == "dial":
		c.alone.Store(true)
	}
	if c.live.Err() == nil {
		c.came.sink(r)
	}
}
