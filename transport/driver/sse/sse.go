// Package sse drives targets over Server-Sent Events with HTTP requests next to the stream. Only transport/wire/sse
// decodes the stream, so that verdicts depend on every byte.
package sse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/unixurl"
	"parley/transport/driver"
	"parley/transport/transcript"
	wire "parley/transport/wire/sse"
)

// Name of the driver on the command line and in results.
const Name = "sse"

// MaxAnswer bounds the body of an HTTP response that is kept as evidence.
const MaxAnswer = 1 << 20

var errNoStream = errors.New("no event stream")

// Driver opens event streams. Close it to release its pooled connections.
type Driver struct {
	client *http.Client
	fresh  *http.Client // without a pool: a new connection for each request
	deaf   atomic.Bool  // the target does not notice when a client leaves

	gateway driver.Gateway

	// Tap, if set, is called for every stream that opens. The writer that it returns receives the stream's bytes as they
	// arrive, after the codec, and is closed at the stream's end before that end is recorded. The interop driver uses
	// it.
	Tap func(o driver.OpenOptions, sink driver.Sink) io.WriteCloser
}

// dialTime bounds how long a target may take to accept a connection.
const dialTime = 5 * time.Second

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	limited, cancel := deadline.WithLimit(ctx, dialTime)
	defer cancel()
	return new(net.Dialer).DialContext(limited, network, addr)
}

// idleTime is how long an idle connection may be reused. Servers close idle connections after five seconds or more,
// and a request that is under way at that moment is reset.
const idleTime = 4 * time.Second

// New makes a driver with its own connection pool. It does not follow redirects: they are responses like others.
func New() *Driver { return NewTLS(nil) }

// NewTLS is New with how to speak TLS with https URLs; nil means Go's defaults.
func NewTLS(conf *tls.Config) *Driver {
	pool := unixurl.Teach(&http.Transport{
		DialContext:         dial,
		MaxIdleConnsPerHost: 256,
		MaxIdleConns:        512,
		IdleConnTimeout:     idleTime,
		DisableCompression:  true,
		TLSClientConfig:     conf.Clone(),
	})
	fresh := unixurl.Teach(&http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: conf.Clone()})
	return &Driver{client: httpclient.New(pool), fresh: httpclient.New(fresh)}
}

// Name implements driver.Driver.
func (d *Driver) Name() string { return Name }

// Gateway returns what the driver has learnt about what stands before the target.
func (d *Driver) Gateway() *driver.Gateway { return &d.gateway }

// Close releases the pooled connections.
func (d *Driver) Close() error {
	d.client.CloseIdleConnections()
	return nil
}

// Open implements driver.Driver: GET with Accept: text/event-stream. It returns as soon as the response headers are
// there. A response other than 200 is recorded, and returned as an *driver.OpenError.
func (d *Driver) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	live, cancel := context.WithCancel(context.Background())
	told := driver.NewTap(sink)
	c := &conn{d: d, o: o, told: told, sink: told.Sink, live: live, cancel: cancel, done: make(chan struct{})}
	req, err := http.NewRequestWithContext(live, http.MethodGet, o.URL, nil)
	if err != nil {
		cancel()
		return nil, &driver.OpenError{URL: o.URL, Err: err}
	}
	c.jar, c.o.Header = o.Jar, o.Header
	if c.jar == nil {
		c.jar = httpclient.NewJar()
	}
	c.o.Header = c.jar.MoveCookies(o.URL, o.Header)
	copyHeader(req.Header, c.o.Header)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Cache-Control", "no-cache")
	n := sink(transcript.Record{Conn: o.Party, Dir: transcript.Sent, Kind: transcript.Open, Label: "GET " +
		unixurl.RequestURI(req.URL), ID: req.Header.Get("Last-Event-ID")})
	resp, err := c.openStream(ctx, req)
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within the limit: %w", context.Cause(ctx))
		}
		sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Failure, Label: err.Error(),
			Reply: n})
		return nil, &driver.OpenError{URL: o.URL, Err: err}
	}
	c.recordOpened(resp, n)
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		defer resp.Body.Close()
		c.recordRefusal(resp, n)
		return nil, &driver.OpenError{URL: o.URL, Status: resp.StatusCode, Err: errNoStream}
	}
	go c.readStream(resp.Body)
	return c, nil
}

// openStream requests the stream, again if a gateway refuses it. ctx bounds the opening only.
func (c *conn) openStream(ctx context.Context, req *http.Request) (*http.Response, error) {
	req = req.WithContext(httptrace.WithClientTrace(c.live, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { c.line = got.Conn },
	}))
	stop := context.AfterFunc(ctx, c.cancel)
	for try := 1; ; try++ {
		if err := driver.AwaitDelay(ctx, c.d.gateway.Reserve(), c.o.Party, c.sink); err != nil {
			return nil, err
		}
		resp, err := c.doWithCookies(c.d.client, req)
		if err == nil && c.d.gateway.WaitAndRetry(ctx, resp, driver.Attempt{Try: try, Safe: true}, c.o.Party, c.sink) {
			resp.Body.Close()
			continue
		}
		if !stop() && err == nil {
			resp.Body.Close()
			err = context.Cause(ctx)
		}
		return resp, err
	}
}

// doWithCookies sends a request with the party's cookies.
func (c *conn) doWithCookies(client *http.Client, req *http.Request) (*http.Response, error) {
	with := *client
	with.Jar = c.jar
	return with.Do(req)
}

// conn is one event stream and the requests of its party.
type conn struct {
	d      *Driver
	o      driver.OpenOptions
	told   *driver.Tap
	sink   driver.Sink // the sink of told
	live   context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the stream has been read to its end
	line   net.Conn      // the connection of the stream
	jar    *httpclient.Jar
	reqs   sync.WaitGroup
	posts  bool // of Posts: there is no stream, and an answer may be one

	unflushed atomic.Bool // it was recorded that the stream's compression is not flushed

	mu     sync.Mutex
	closed bool
	last   int             // record of the last request that was sent
	held   <-chan struct{} // closed when a later request may be sent; nil: at once
}

func (c *conn) recordOpened(resp *http.Response, n int) {
	c.sink(transcript.Record{
		Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Open, Label: "stream", Reply: n,
		Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"),
	})
}

// Bounds on reading the body of a refusal, because a target may refuse with a status and then stream anyway:
// refusalPause from one piece to the next, and refusalTime in all.
const (
	refusalPause = 250 * time.Millisecond
	refusalTime  = 5 * time.Second
)

// recordRefusal records what a target sent instead of a stream.
func (c *conn) recordRefusal(resp *http.Response, n int) {
	stop := deadline.In(refusalTime).AfterFunc(c.cancel)
	defer stop()
	var body []byte
	for piece := make([]byte, 32<<10); len(body) < MaxAnswer; {
		paused := deadline.In(refusalPause).AfterFunc(c.cancel)
		n, err := resp.Body.Read(piece[:min(len(piece), MaxAnswer-len(body))])
		paused()
		if body = append(body, piece[:n]...); err != nil {
			break
		}
	}
	c.sink(transcript.Record{
		Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Response, Label: resp.Status, Reply: n,
		Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Bytes: body,
	})
}

// readSize is the most that is read at once. Each stream has a buffer of that size, and a load has thousands of them.
const readSize = 4 << 10

// readStream feeds the codec until the stream ends.
func (c *conn) readStream(body io.ReadCloser) {
	defer close(c.done)
	defer body.Close()
	max := c.o.MaxEvent
	dec := wire.NewDecoder(wire.Limits{MaxEvent: max, MaxLine: max})
	tap := io.WriteCloser(discard{})
	if c.d.Tap != nil {
		tap = c.d.Tap(c.o, c.sink)
	}
	buf := make([]byte, readSize)
	for {
		stalled := c.remarkUnflushed(body)
		n, err := body.Read(buf)
		stalled()
		for _, it := range dec.Feed(buf[:n]) {
			c.recordItem(it)
		}
		_, _ = tap.Write(buf[:n]) // a tap that fails does not end the stream
		if err != nil {
			for _, it := range dec.Close() {
				c.recordItem(it)
			}
			_ = tap.Close()
			c.recordEnd(err)
			return
		}
	}
}

// flushTime is how long bytes may have been received that cannot be decompressed yet, before that is recorded.
const flushTime = time.Second

// remarkUnflushed has a remark recorded if a compressed stream sends bytes but nothing can be decompressed, until it is
// stopped.
func (c *conn) remarkUnflushed(body io.Reader) (stop func()) {
	packed, ok := body.(*httpclient.Body)
	if !ok || c.unflushed.Load() {
		return func() {}
	}
	return deadline.In(flushTime).AfterFunc(func() {
		if n := packed.Pending(); n > 0 && !c.unflushed.Swap(true) {
			c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Noted, Kind: transcript.Remark,
				Label: fmt.Sprintf("%s%s, and of the %d bytes received none can be decompressed yet: the compression is not "+
					"flushed after each event", driver.Unflushed, packed.Coding(), n)})
		}
	})
}

// discard is the tap of a driver without one.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func (c *conn) recordEnd(err error) {
	label := "the target ended the stream"
	switch {
	case c.live.Err() != nil:
		label = "closed by the harness"
	case !errors.Is(err, io.EOF):
		label = "the stream broke off: " + err.Error()
	}
	c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Closed, Label: label})
}

func (c *conn) recordItem(it wire.Item) { c.sink(ItemRecord(c.o.Party, it)) }

// ItemRecord returns the record of one item of an event stream.
func ItemRecord(party string, it wire.Item) transcript.Record {
	r := transcript.Record{Conn: party, Dir: transcript.Received, Kind: transcript.Comment, Label: it.Kind.String()}
	switch it.Kind {
	case wire.Event:
		typ := strings.Clone(it.Type) // the record shall not keep the whole chunk
		r.Kind, r.Label, r.Type, r.Bytes = transcript.Stream, typ, typ, []byte(it.Data)
		if it.HasID {
			r.ID = strings.Clone(it.ID)
		}
	case wire.Retry:
		r.Label = fmt.Sprintf("retry %d ms", it.Retry)
	case wire.Comment:
		r.Bytes = []byte(it.Data)
	default:
		r.Bytes = it.Raw
	}
	return r
}

// Close implements driver.Conn. An event stream has no closing handshake.
func (c *conn) Close(how driver.CloseMode) error {
	c.told.Close()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if how == driver.Abort {
		driver.Linger(c.line)
	}
	if c.o.Alone || how == driver.Fin {
		c.closeAndAwaitEnd()
	}
	c.cancel()
	<-c.done
	c.reqs.Wait()
	return nil
}

// leaveTime bounds how long a target may take to end a stream after its client has left.
const leaveTime = 2 * time.Second

// closeAndAwaitEnd closes the sending side, and waits until the target has ended the stream: it attributes whatever it
// receives next to its only client. A target that does not notice costs this wait once.
func (c *conn) closeAndAwaitEnd() {
	half, ok := c.line.(interface{ CloseWrite() error })
	if !ok || c.d.deaf.Load() || half.CloseWrite() != nil {
		return
	}
	late := make(chan struct{})
	stop := deadline.In(leaveTime).AfterFunc(func() { close(late) })
	defer stop()
	select {
	case <-c.done:
	case <-late:
		c.d.deaf.Store(true)
	}
}

func copyHeader(to, from http.Header) {
	for k, vs := range from {
		to[k] = append([]string(nil), vs...)
	}
}
