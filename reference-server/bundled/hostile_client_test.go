package bundled_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/reference-server/launch"
	"parley/reference-server/web"
)

// patience bounds every wait of a test; none takes that long unless something is broken.
const patience = time.Minute

// house is an opponent that is being served.
type house struct {
	t  *testing.T
	of opponent
	ln *doors
}

// doors is a listener that remembers its connections by their clients' addresses.
type doors struct {
	net.Listener
	mu   sync.Mutex
	all  map[string]*passage
	more *sync.Cond
}

// passage is the server's side of a connection. It counts what passes, and knows since when a write has been waiting
// for the reader.
type passage struct {
	net.Conn
	read, written, waiting atomic.Int64
	once                   sync.Once
	closed                 chan struct{}
}

// Accept implements net.Listener. Little fits between the server and a client that does not read.
func (d *doors) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	p := &passage{Conn: c, closed: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[c.RemoteAddr().String()] = p
	d.more.Broadcast()
	return p, nil
}

// to returns the server's side of a client's connection.
func (d *doors) to(client net.Addr) *passage {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.all[client.String()] == nil {
		d.more.Wait()
	}
	return d.all[client.String()]
}

// Read implements net.Conn.
func (p *passage) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.read.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (p *passage) Write(b []byte) (int, error) {
	p.waiting.Store(time.Now().UnixNano())
	n, err := p.Conn.Write(b)
	p.waiting.Store(0)
	p.written.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (p *passage) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}

// isOpen reports whether the server has not closed it.
func (p *passage) isOpen() bool {
	select {
	case <-p.closed:
		return false
	default:
		return true
	}
}

// ends fails unless the server closes it.
func (p *passage) ends(t *testing.T) {
	t.Helper()
	select {
	case <-p.closed:
	case <-time.After(patience):
		t.Fatal("the server has not closed the connection")
	}
}

// stuck waits until a write waits for the reader. It fails if the connection ends instead.
func (p *passage) stuck(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		if since := p.waiting.Load(); since > 0 && time.Since(time.Unix(0, since)) > 100*time.Millisecond {
			return
		}
		select {
		case <-tick.C:
		case <-p.closed:
			t.Fatal("the server has closed the connection")
		case <-late:
			t.Fatal("no write waits for the reader")
		}
	}
}

// rests waits until the server has read nothing for a while.
func (p *passage) rests(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for before, same := int64(-1), 0; same < 10; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it reads on and on")
		}
		if same++; p.read.Load() != before {
			before, same = p.read.Load(), 0
		}
	}
}

// open serves an opponent until the test ends.
func (o opponent) open(t *testing.T, l limits) *house {
	t.Helper()
	handler, err := o.make(t, l)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &doors{Listener: ln, all: map[string]*passage{}}
	d.more = sync.NewCond(&d.mu)
	server := l.door.NewServer(handler)
	served := make(chan error, 1)
	go func() { served <- server.Serve(d) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits for those who do not read
		_ = handler.Close(ctx)
		_ = server.Close()
		<-served
	})
	return &house{t, o, d}
}

// limits are those of an opponent.
type limits struct {
	connections int
	write       time.Duration
	door        web.RequestGuard
}

// visitor is a client of an opponent.
type visitor struct {
	h    *house
	conn net.Conn
	in   *bufio.Reader
	ws   *websocket.Conn // nil over SSE and for a page
	id   string          // over SSE, of the connection
}

// errRefused says that a connection was refused with 503.
var errRefused = errors.New("refused")

// visit connects a client, which has joined when visit returns. It fails the test for any error but errRefused.
func (h *house) visit() (*visitor, error) {
	h.t.Helper()
	v := &visitor{h: h}
	var err error
	switch {
	case h.of.sse:
		err = v.streams()
	case h.of.ask == "":
		v.dial()
	default:
		err = v.upgrades()
	}
	if err != nil && !errors.Is(err, errRefused) {
		h.t.Fatal(err)
	}
	return v, err
}

// guest is visit where the visitor must be admitted.
func (h *house) guest() *visitor {
	h.t.Helper()
	v, err := h.visit()
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// dial opens a TCP connection. Its read buffer is left as it is: of a smaller one the kernel discards what no longer
// fits, and with it the acknowledgements that the flood waits for.
func (v *visitor) dial() net.Conn {
	v.h.t.Helper()
	c, err := net.Dial("tcp", v.h.ln.Addr().String())
	if err != nil {
		v.h.t.Fatal(err)
	}
	v.h.t.Cleanup(func() { _ = c.Close() })
	v.conn, v.in = c, bufio.NewReader(c)
	return c
}

// upgrades opens a WebSocket and joins.
func (v *visitor) upgrades() error {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return v.dial(), nil
	}}
	ws, res, err := websocket.Dial(v.h.t.Context(), "ws://"+v.h.ln.Addr().String()+v.h.of.path,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if res != nil && res.StatusCode == http.StatusServiceUnavailable {
		transport.CloseIdleConnections()
		return errRefused
	}
	if err != nil {
		return err
	}
	v.ws = ws
	ws.SetReadLimit(-1)
	v.h.t.Cleanup(func() { _ = ws.CloseNow() })
	if v.h.of.join != "" {
		return v.send(v.h.t.Context(), strings.ReplaceAll(v.h.of.join, "{me}", v.conn.LocalAddr().String()))
	}
	return nil
}

// streams opens an event stream and reads the id of its connection.
func (v *visitor) streams() error {
	fmt.Fprintf(v.dial(), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", v.h.of.path)
	first, err := v.in.ReadString('\n')
	if err == nil && strings.Contains(first, " 503 ") {
		return errRefused
	}
	for v.id == "" && err == nil {
		var line string
		line, err = v.in.ReadString('\n')
		if _, rest, found := strings.Cut(line, `"connectionId":"`); found {
			v.id, _, _ = strings.Cut(rest, `"`)
		}
	}
	return err
}

// send sends a message. Over SSE it returns when the server has written what it answers.
func (v *visitor) send(ctx context.Context, text string) error {
	switch {
	case v.ws != nil:
		return v.ws.Write(ctx, websocket.MessageText, []byte(text))
	case v.id == "":
		_, err := fmt.Fprintf(v.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", v.h.of.path)
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.h.ln.Addr().String()+"/message",
		strings.NewReader(strings.ReplaceAll(text, "{conn}", v.id)))
	if err != nil {
		return err
	}
	res, err := poster.Do(r)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK { // the stream has ended
		err = errors.New(res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

// poster sends the messages of event streams, each on a connection of its own.
var poster = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// next returns the next text that arrives.
func (v *visitor) next() (string, error) {
	_ = v.conn.SetReadDeadline(time.Now().Add(patience))
	switch {
	case v.ws != nil:
		_, data, err := v.ws.Read(context.Background())
		return string(data), err
	case v.id != "":
		return v.in.ReadString('\n')
	}
	res, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", len(data)), err
}

// talks exchanges messages with the server.
func (v *visitor) talks(times int) {
	v.h.t.Helper()
	for n := range times {
		name := fmt.Sprintf("q-%d-%s", n, v.conn.LocalAddr())
		if err := v.send(v.h.t.Context(), strings.ReplaceAll(v.h.of.ask, "{text}", name)); err != nil {
			v.h.t.Fatalf("message %d: %v", n, err)
		}
		if v.h.of.ask == "" {
			name = "200 "
		}
		for {
			text, err := v.next()
			if err != nil {
				v.h.t.Fatalf("answer %d: %v", n, err)
			}
			if strings.Contains(text, name) {
				break
			}
		}
	}
}

// most is what a client sends without reading: more than any limit of an opponent.
const most = 64 << 20

// floods sends messages without reading until sending fails or ctx ends; it returns whether all of them were taken.
// Requests for a page are so short that it cannot tell.
func (v *visitor) floods(ctx context.Context) (all bool) {
	text := strings.ReplaceAll(v.h.of.ask, "{text}", strings.Repeat("x", 16<<10))
	var senders sync.WaitGroup
	var failed atomic.Bool
	count := 1
	if v.id != "" {
		count = 128 // each waits for its answer
	}
	for range count {
		senders.Go(func() {
			for range most / (16 << 10) / count {
				if v.send(ctx, text) != nil {
					failed.Store(true)
					return
				}
			}
		})
	}
	senders.Wait()
	return !failed.Load() && v.h.of.ask != ""
}

// leaves ends the connection.
func (v *visitor) leaves() {
	if v.ws != nil {
		_ = v.ws.Close(websocket.StatusNormalClosure, "")
	}
	_ = v.conn.Close()
}

// ends is a handler that needs no closing.
type ends struct{ http.Handler }

// Close implements launch.Handler.
func (ends) Close(context.Context) error { return nil }

var _ launch.Handler = ends{}
