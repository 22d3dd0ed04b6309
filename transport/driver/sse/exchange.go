package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/unixurl"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Send implements driver.Conn: the request runs concurrently with the stream, and its response is recorded when it
// comes.
func (c *conn) Send(_ context.Context, m driver.Message) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, driver.ErrClosed
	}
	method := m.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(c.live, method, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, fmt.Errorf("build request: %w", err)
	}
	copyHeader(req.Header, c.o.Header)
	if len(m.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.posts {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	copyHeader(req.Header, m.Header)
	n := c.sink(transcript.Record{
		Conn: c.o.Party, Dir: transcript.Sent, Kind: transcript.Request, Label: method + " " + unixurl.RequestURI(req.URL),
		Type: m.Label, Bytes: m.Body, Headers: driver.HeadersRead(c.o.Reads, req.Header),
	})
	x := &exchange{c: c, req: req, n: n, before: c.held, delay: c.d.gateway.Reserve()}
	if x.before != nil || x.delay > 0 {
		x.holdLater()
	} else {
		c.last = n
	}
	c.reqs.Add(1)
	go x.awaitResponse()
	return n, nil
}

// exchange is one request.
type exchange struct {
	c       *conn
	req     *http.Request
	n       int             // its record
	before  <-chan struct{} // closed when it may be sent; nil: at once
	delay   time.Duration
	release func() // lets later requests of the connection be sent
	again   bool   // it is sent again
}

// holdLater makes later requests of the connection wait until release is called. The caller holds c.mu.
func (x *exchange) holdLater() {
	ready := make(chan struct{})
	x.c.held, x.release = ready, sync.OnceFunc(func() { close(ready) })
}

// traceRequest returns the request that is about to be sent, with a trace that lets later ones follow it.
func (x *exchange) traceRequest() *http.Request {
	release := x.release
	if release == nil {
		return x.req
	}
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	x.c.last = x.n
	return x.req.WithContext(httptrace.WithClientTrace(x.req.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { release() },
	}))
}

// waitForTurn waits until the request may be sent.
func (x *exchange) waitForTurn() error {
	if x.before != nil {
		select {
		case <-x.before:
		case <-x.c.live.Done():
		}
	}
	return driver.AwaitDelay(x.c.live, x.delay, x.c.o.Party, x.c.sink)
}

// sendRequest sends the request, again if a gateway refuses it and no later one has been sent.
func (x *exchange) sendRequest() (*http.Response, error) {
	if err := x.waitForTurn(); err != nil {
		return nil, err
	}
	c := x.c
	a := driver.Attempt{Safe: x.req.Method == http.MethodGet || x.req.Method == http.MethodHead, Alone: x.isLatest}
	resp, err := c.sendOnceMore(x.traceRequest())
	for a.Try = 1; err == nil && c.d.gateway.WaitAndRetry(c.live, resp, a, c.o.Party, c.sink); a.Try++ {
		resp.Body.Close()
		again := x.req.Clone(x.req.Context())
		if again.Body, err = x.req.GetBody(); err != nil {
			return nil, err
		}
		resp, err = c.sendOnceMore(again)
	}
	return resp, err
}

// isLatest reports whether no later request of the connection has been sent, and makes any wait.
func (x *exchange) isLatest() bool {
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	if x.c.last == x.n && !x.again {
		x.again = true
		x.holdLater()
	}
	return x.c.last == x.n
}

// awaitResponse waits for the response.
func (x *exchange) awaitResponse() {
	c, n := x.c, x.n
	defer c.reqs.Done()
	defer func() {
		if x.release != nil {
			x.release()
		}
	}()
	resp, err := x.sendRequest()
	if err != nil {
		if c.live.Err() == nil {
			c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Failure, Label: err.Error(),
				Reply: n})
		}
		return
	}
	defer resp.Body.Close()
	if x.isStream(resp) {
		x.readAnswer(resp)
		return
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	if err != nil && c.live.Err() == nil {
		c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Failure,
			Label: "answer broke off: " + err.Error(), Reply: n, Status: resp.StatusCode, Bytes: body})
		return
	}
	c.sink(transcript.Record{
		Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Response, Label: resp.Status, Reply: n,
		Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Bytes: body, Flushed: err == nil &&
			len(body) <= MaxAnswer, Headers: driver.HeadersRead(c.o.Reads, resp.Header),
	})
}

// sendOnceMore sends a request. If its connection fails before the first byte of the response, it sends the request
// once more over a new connection: a target may close an idle connection at the very moment it is reused.
func (c *conn) sendOnceMore(req *http.Request) (*http.Response, error) {
	var reused, began atomic.Bool
	resp, err := c.doWithCookies(c.d.client, req.WithContext(httptrace.WithClientTrace(req.Context(),
		&httptrace.ClientTrace{
			GotConn:              func(i httptrace.GotConnInfo) { reused.Store(i.Reused) },
			GotFirstResponseByte: func() { began.Store(true) },
		})))
	if err == nil || c.live.Err() != nil || began.Load() || !reused.Load() && !isReset(err) {
		return resp, err
	}
	again := req.Clone(req.Context())
	if again.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Noted, Kind: transcript.Remark,
		Label: driver.Repeated + req.Method + " " + unixurl.RequestURI(req.URL) +
			", whose connection closed before any answer"})
	resp, err = c.doWithCookies(c.d.fresh, again)
	if err != nil && isReset(err) {
		err = fmt.Errorf(driver.ResetTwice+"%w", err)
	}
	return resp, err
}

// isReset reports whether the peer has reset the connection.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
