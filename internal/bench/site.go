package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// site is an HTTP server on loopback whose paths have scripts, and a client for it.
type site struct {
	http.Server
	url    string
	client *http.Client
	served chan error

	mu      sync.Mutex
	scripts []*script
}

// script is what the server does on a connection.
type script struct {
	acts []act
	came chan struct{} // over HTTP: a request was read
}

// newSite starts a server whose handler gets the script of the request's path.
func newSite(handle func(http.ResponseWriter, *http.Request, *script)) (*site, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &site{url: "http://" + l.Addr().String() + "/", served: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 10}}}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n, err := strconv.Atoi(r.URL.Path[1:])
		known := err == nil && n >= 0 && n < len(s.scripts)
		var sc *script
		if known {
			sc = s.scripts[n]
		}
		s.mu.Unlock()
		if !known {
			http.NotFound(w, r)
			return
		}
		handle(w, r, sc)
	})
	go func() { s.served <- s.Serve(l) }()
	return s, nil
}

// addScript adds a script, and returns its URL.
func (s *site) addScript(acts []act) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = append(s.scripts, &script{acts, make(chan struct{}, len(acts)+1)})
	return s.url + strconv.Itoa(len(s.scripts)-1)
}

func (s *site) closeSite() error {
	s.client.CloseIdleConnections()
	err := s.Close()
	if end := <-s.served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// fillerMessage returns a message of n bytes, at least one.
func fillerMessage(n int) []byte {
	if n = max(n, 1); n <= len(filling) {
		return filling[:n]
	}
	return bytes.Repeat([]byte{'x'}, n)
}

var filling = bytes.Repeat([]byte{'x'}, 1<<16)

// sockets are WebSocket connections.
type sockets struct{ *site }

func newSockets() (transport, error) {
	s, err := newSite(serveSocket)
	return sockets{s}, err
}

func serveSocket(w http.ResponseWriter, r *http.Request, s *script) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(-1)
	for _, a := range s.acts {
		if a.kind == sends {
			_, _, err = c.Read(r.Context())
		} else {
			err = c.Write(r.Context(), websocket.MessageText, fillerMessage(a.size))
		}
		if err != nil {
			return
		}
	}
	_, _, _ = c.Read(r.Context()) // until the client closes
}

func (s sockets) open(ctx context.Context, acts []act) (link, error) {
	c, _, err := websocket.Dial(ctx, s.addScript(acts), &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(-1)
	return socket{ctx, c}, nil
}

type socket struct {
	ctx context.Context
	c   *websocket.Conn
}

func (s socket) send(a act) error {
	return s.c.Write(s.ctx, websocket.MessageText, fillerMessage(a.size))
}

func (s socket) receive(act) error {
	_, _, err := s.c.Read(s.ctx)
	return err
}

func (s socket) closeSite() error { return s.c.Close(websocket.StatusNormalClosure, "") }

// streams are held answers, each with the requests beside it.
type streams struct{ *site }

func newStreams() (transport, error) {
	s, err := newSite(serveStream)
	return streams{s}, err
}

func serveStream(w http.ResponseWriter, r *http.Request, s *script) {
	if r.Method == http.MethodPost {
		_, _ = io.Copy(io.Discard, r.Body)
		s.came <- struct{}{}
		size, _ := strconv.Atoi(r.URL.RawQuery)
		_, _ = w.Write(fillerMessage(size))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for _, a := range s.acts {
		if a.kind == sends {
			select {
			case <-s.came:
			case <-r.Context().Done():
				return
			}
			continue
		}
		if _, err := w.Write(fillerMessage(a.size)); err != nil || flush() != nil {
			return
		}
	}
	<-r.Context().Done() // until the client closes
}

func (s streams) open(ctx context.Context, acts []act) (link, error) {
	at := s.addScript(acts)
	res, err := s.doRequest(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	return stream{s, ctx, at, res.Body}, nil
}

// doRequest sends a request, and returns the answer, whose body is still to be read.
func (s streams) doRequest(ctx context.Context, method, at string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return s.client.Do(req)
}

type stream struct {
	streams
	ctx  context.Context
	at   string
	body io.ReadCloser
}

func (s stream) send(a act) error {
	res, err := s.doRequest(s.ctx, http.MethodPost, s.at+"?"+strconv.Itoa(a.back), fillerMessage(a.size))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

func (s stream) receive(a act) error { return skipMessage(s.body, a.size) }

func (s stream) closeSite() error { return s.body.Close() }

// skipMessage reads a message of n bytes, at least one.
func skipMessage(r io.Reader, n int) error {
	_, err := io.CopyN(io.Discard, r, int64(max(n, 1)))
	return err
}

// pages are empty pages of one browser, in which nothing is done.
type pages struct {
	*site
	browser *browser.Driver
}

func newPages() (transport, error) {
	s, err := newSite(func(w http.ResponseWriter, _ *http.Request, _ *script) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>empty</title>")
	})
	return pages{s, browser.New(browser.Options{})}, err
}

func (p pages) open(ctx context.Context, _ []act) (link, error) {
	c, err := p.browser.Open(ctx, driver.OpenOptions{Party: "A", URL: p.addScript(nil)}, transcript.New(nil).Append)
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return page{c}, nil
}

func (p pages) closeSite() error {
	err := p.browser.Close()
	if end := p.site.closeSite(); err == nil {
		err = end
	}
	return err
}

type page struct{ driver.Conn }

func (page) send(act) error     { return nil }
func (page) receive(act) error  { return nil }
func (p page) closeSite() error { return p.Close(driver.Graceful) }

// plain is an end of a connection of bytes without frames: each side knows how many bytes come.
type plain struct {
	r    io.Reader
	w    io.Writer
	ends []io.Closer
	stop func() bool
}

func (p plain) send(a act) error {
	_, err := p.w.Write(fillerMessage(a.size))
	return err
}

func (p plain) receive(a act) error { return skipMessage(p.r, a.size) }

func (p plain) closeSite() error {
	p.stop()
	for _, c := range p.ends {
		_ = c.Close()
	}
	return nil
}

// newPlain makes an end, which is closed when ctx ends.
func newPlain(ctx context.Context, r io.Reader, w io.Writer, ends ...io.Closer) plain {
	return plain{r, w, ends, context.AfterFunc(ctx, func() {
		for _, c := range ends {
			_ = c.Close()
		}
	})}
}

// serveScript follows a script from the server's side, and closes the connection when the client has.
func (p plain) serveScript(acts []act) {
	defer func() { _ = p.closeSite() }()
	for _, a := range acts {
		do := p.send
		if a.kind == sends {
			do = p.receive
		}
		if do(a) != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, p.r)
}

// pipes are connections of two pipes, as between a program and its child. A line is a message and its end.
type pipes struct{}

func (pipes) open(ctx context.Context, acts []act) (link, error) {
	fromClient, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, toClient, err := os.Pipe()
	if err != nil {
		_, _ = fromClient.Close(), toServer.Close()
		return nil, err
	}
	go newPlain(ctx, fromClient, toClient, fromClient, toClient).serveScript(acts)
	return newPlain(ctx, fromServer, toServer, toServer, fromServer), nil
}

func (pipes) closeSite() error { return nil }

// wires are TCP connections.
type wires struct {
	l  net.Listener
	mu sync.Mutex // from a connection's opening until it is accepted
}

func newWires() (*wires, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	return &wires{l: l}, err
}

func (w *wires) open(ctx context.Context, acts []act) (link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", w.l.Addr().String())
	if err != nil {
		return nil, err
	}
	s, err := w.l.Accept()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	go newPlain(ctx, s, s, s).serveScript(acts)
	return newPlain(ctx, c, c, c), nil
}

func (w *wires) closeSite() error { return w.l.Close() }
