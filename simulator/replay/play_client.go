package replay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
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

	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/unixurl"
	"parley/protocol/messages"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// client plays the client of a recording.
type client struct {
	*player
	*Caller
	marks map[int]int // recorded number of a request → its number now; those that may still get an answer
}

// PlayClient plays the client of a recording against the server at o.URL, or the process that o.Process starts. Memory
// does not depend on the length of the recording. Errors: ErrUnreachable, ErrNothing; those of the recording; the
// context's cause.
func PlayClient(ctx context.Context, in *recording.Reader, o Options) (Result, error) {
	o.setDefaults()
	p := &player{o: o, ids: newIDs(), rules: rules{set: o.Messages, from: messages.Server}}
	p.came = newWaiting(transcript.Received, p.rules.decodeRecord)
	c := &client{player: p, marks: map[int]int{}}
	c.Caller = NewCaller(ctx, Dial{URL: o.URL, Header: o.Header, TLS: o.TLS, Subprotocols: o.Subprotocols,
		Process: o.Process, Within: o.Within}, p.came.sinkRecord)
	p.side = c
	defer c.close()
	err := p.playRecording(ctx, recording.NewClientView(in))
	if err == nil && c.Unreached() {
		err = ErrUnreachable
	}
	return p.result, err
}

func (c *client) playEarly(context.Context, []message, bool) (bool, error) { return false, nil }

func (c *client) mayThink() bool { return false }

func (c *client) skipsRecord(transcript.Record) bool { return false }

func (c *client) notePaired(_, got message) {
	if got.Kind != transcript.Failure {
		c.Found()
	}
}

func (c *client) noteSurplus(message) {}

func (c *client) close() {
	c.came.stopWaiting()
	c.Close()
}

func (c *client) otherDir() transcript.Dir { return transcript.Received }

func (c *client) awaitFirst(context.Context) error { return nil }

func (c *client) threadOf(r transcript.Record) thread {
	key := thread{conn: r.Conn}
	if r.Reply != 0 && r.Dir == transcript.Received {
		key.reply = c.marks[r.Reply]
	}
	return key
}

func (c *client) playAct(ctx context.Context, r transcript.Record) error {
	if r.Kind == transcript.Closed {
		c.closeConn(r.Conn)
		return nil
	}
	if c.Unreached() {
		return ErrUnreachable
	}
	c.result.Sent++
	m := c.rules.readFrom(r, messages.Client)
	switch r.Kind {
	case transcript.Open:
		return c.playOpening(ctx, r)
	case transcript.Request:
		return c.playRequest(m)
	}
	if err := c.Send(ctx, r, c.ids.outgoingMessage(m)); err != nil {
		c.reportUnsent(m, err.Error())
	}
	return nil
}

// reportUnsent says that a recorded message cannot be sent.
func (p *player) reportUnsent(m message, why string) {
	p.reportDifference(Difference{N: m.N, Message: m.titleFor(), Missing: true, why: why, recorded: &m})
}

// closeConn closes a connection.
func (c *client) closeConn(conn string) {
	if open, is := c.Hang(conn); is {
		c.came.connEnds(conn, true)
		_ = open.Close(driver.Graceful)
		c.came.connEnds(conn, false)
	}
}

// maxMarks bounds the requests of which an answer may still be in the recording.
const maxMarks = 10_000

func (c *client) markConn(recorded, now int) {
	c.marks[recorded] = now
	if len(c.marks) > 2*maxMarks {
		maps.DeleteFunc(c.marks, func(old, _ int) bool { return old < recorded-maxMarks })
	}
}

// playOpening plays the opening of a stream or socket. That it is refused is recorded like any answer.
func (c *client) playOpening(ctx context.Context, r transcript.Record) error {
	c.closeConn(r.Conn) // it has ended, or the recorded client left it
	c.drainSurplus(r.Conn, false)
	n, err := c.Open(ctx, r, c.ids.renewPath)
	c.markConn(r.N, n)
	return err
}

// playRequest plays an HTTP request, whose answer comes later.
func (c *client) playRequest(m message) error {
	body := c.ids.outgoingMessage(m)
	n, err := c.Ask(m.Record, body, c.ids.renewPath)
	if err == nil {
		c.markConn(m.N, n)
	}
	return err
}

// Dial says how a server is reached.
type Dial struct {
	URL          string         // base URL of the server, http or https
	Header       http.Header    // sent with every request
	TLS          *tls.Config    // nil: Go's defaults
	Subprotocols []string       // offered by sockets
	Process      driver.Starter // what a recording over stdio is played against
	Within       time.Duration  // limit for the opening of a connection
}

// Caller does what a recorded client did: it opens connections and sends messages and requests. What it sends and
// receives goes to a Sink, as records of a recording.ClientView. Open, Ask, Send and Hang are for one goroutine.
type Caller struct {
	wire     Dial
	sink     driver.Sink
	conns    map[string]driver.Conn
	sse      *sse.Driver
	ws       *ws.Driver
	stdio    *stdio.Driver
	http     *http.Client               // without a jar: its requests are of several parties
	jars     map[string]*httpclient.Jar // by party
	live     context.Context            // of requests
	cancel   context.CancelFunc
	asks     sync.WaitGroup
	open     bool        // a connection was made
	eventIDs sync.Map    // by party: the last id of an event
	alone    atomic.Bool // a request found nobody
}

// NewCaller returns a Caller, which lives until Close, or until ctx ends.
func NewCaller(ctx context.Context, w Dial, sink driver.Sink) *Caller {
	pool := unixurl.Teach(&http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		DisableCompression: true, IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 64, TLSClientConfig: w.TLS.Clone()})
	c := &Caller{wire: w, sink: sink, conns: map[string]driver.Conn{}, sse: sse.NewTLS(w.TLS),
		ws:    &ws.Driver{Subprotocols: w.Subprotocols, TLS: w.TLS},
		stdio: stdio.New(), http: httpclient.New(pool), jars: map[string]*httpclient.Jar{}}
	c.live, c.cancel = context.WithCancel(ctx)
	return c
}

// cookieJar returns the cookies of a party. As in a run, each is a browser of its own.
func (c *Caller) cookieJar(party string) *httpclient.Jar {
	if c.jars[party] == nil {
		c.jars[party] = httpclient.NewJar()
	}
	return c.jars[party]
}

// lastID returns the last id of an event that a party was sent; "" if there was none.
func (c *Caller) lastID(party string) string {
	id, _ := c.eventIDs.Load(party)
	text, _ := id.(string)
	return text
}

// Close ends all connections and requests. The Sink must not block any more.
func (c *Caller) Close() {
	c.cancel()
	for _, one := range c.conns {
		_ = one.Close(driver.Graceful)
	}
	c.asks.Wait()
	c.http.CloseIdleConnections()
	_ = c.sse.Close()
	_ = c.stdio.Close()
}

// Found notes that the server was found.
func (c *Caller) Found() { c.open = true }

// Unreached reports whether a request found nobody, and nobody was found before.
func (c *Caller) Unreached() bool { return !c.open && c.alone.Load() }

// presentAddress returns where a recorded path, or URL, is now.
func (c *Caller) presentAddress(recorded string, path func(string) string) (string, error) {
	was, err := url.Parse(recorded)
	if err != nil {
		return "", fmt.Errorf("%q is no path", recorded)
	}
	return strings.TrimSuffix(c.wire.URL, "/") + path(was.RequestURI()), nil
}

// Open plays the opening r of a stream or socket; path renews the ids in its path. It returns the number of its record,
// also with ErrUnreachable: nobody was found. That it is refused is recorded like any answer, and no error.
func (c *Caller) Open(ctx context.Context, r transcript.Record, path func(string) string) (n int, _ error) {
	at, upgrade := strings.CutSuffix(strings.TrimPrefix(r.Label, "GET "), " (upgrade)")
	o := driver.OpenOptions{Party: r.Conn, Header: c.wire.Header, Jar: c.cookieJar(r.Conn)}
	var d driver.Driver = c.sse
	switch {
	case r.Label == stdio.Name && c.wire.Process == nil:
		return 0, fmt.Errorf("record %d: it was recorded over stdio, and the target is not started over stdio", r.N)
	case r.Label == stdio.Name:
		d, o.Process = c.stdio, c.wire.Process
	case c.wire.URL == "":
		return 0, fmt.Errorf("record %d: it was not recorded over stdio, and the target has no URL", r.N)
	default:
		var err error
		if o.URL, err = c.presentAddress(at, path); err != nil {
			return 0, fmt.Errorf("record %d: %w", r.N, err)
		}
		if upgrade {
			d = c.ws
		}
		if r.ID != "" { // the server has ids of its own
			o.Header = o.Header.Clone()
			if o.Header == nil {
				o.Header = http.Header{}
			}
			o.Header.Set("Last-Event-ID", cmp.Or(c.lastID(r.Conn), r.ID))
		}
	}
	limited, cancel := deadline.WithLimit(ctx, c.wire.Within)
	defer cancel()
	conn, err := d.Open(limited, o, func(one transcript.Record) int {
		got := c.sink(one)
		if one.Kind == transcript.Stream && one.ID != "" {
			c.eventIDs.Store(one.Conn, one.ID)
		}
		if one.Kind == transcript.Open && one.Dir == transcript.Sent {
			n = got // the record by which the driver begins
		}
		return got
	})
	var refused *driver.OpenError
	switch {
	case err == nil:
		c.conns[r.Conn], c.open = conn, true
	case ctx.Err() != nil:
		return n, context.Cause(ctx)
	case errors.As(err, &refused) && refused.Status != 0:
		c.open = true
	case !c.open:
		return n, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return n, nil
}

// Send sends a message on the connection on which r was sent. Errors: those that say why it cannot be sent.
func (c *Caller) Send(ctx context.Context, r transcript.Record, body []byte) error {
	conn := c.conns[r.Conn]
	if conn == nil {
		return errNotOpen
	}
	if _, err := conn.Send(ctx, driver.Message{Label: r.Label, Body: body, Binary: r.Type == "binary"}); err != nil {
		return errors.New("the connection has ended")
	}
	return nil
}

// Hang forgets a connection, and returns it for the caller to close; false if it is not open.
func (c *Caller) Hang(name string) (driver.Conn, bool) {
	open := c.conns[name]
	delete(c.conns, name)
	return open, open != nil
}

// Ask makes the HTTP request r with another body; path renews the ids in its path. It returns the number of its record;
// the answer comes later.
func (c *Caller) Ask(r transcript.Record, body []byte, path func(string) string) (n int, _ error) {
	method, place, _ := strings.Cut(r.Label, " ")
	place, _, _ = strings.Cut(place, " ") // what follows is for people
	at, err := c.presentAddress(place, path)
	if err != nil {
		return 0, fmt.Errorf("record %d: %w", r.N, err)
	}
	req, err := http.NewRequestWithContext(c.live, method, at, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("record %d: %w", r.N, err)
	}
	for name, values := range c.wire.Header {
		req.Header[name] = values
	}
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header["Idempotency-Key"] = nil // not sent: it may be repeated if a connection of the pool ended before it
	n = c.sink(transcript.Record{Conn: r.Conn, Dir: transcript.Sent, Kind: transcript.Request, Label: r.Label})
	client := *c.http
	client.Jar = c.cookieJar(r.Conn)
	c.asks.Go(func() { c.awaitAnswer(&client, req, r.Conn, n) })
	return n, nil
}

// maxAnswer bounds what is kept of an answer.
const maxAnswer = 8 << 20

func (c *Caller) awaitAnswer(client *http.Client, req *http.Request, conn string, n int) {
	r := transcript.Record{Conn: conn, Dir: transcript.Received, Kind: transcript.Failure, Reply: n}
	resp, err := client.Do(req)
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
		c.sink(r)
	}
}
