package gate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestHeld: later messages in the direction of a held message wait; the other direction, and other connections, do not.
func TestHeld(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g, c, up := socketBetween(t, func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if string(m.Body) == "hold me" {
				close(arrived)
				<-release
			}
			return gate.Decision{}
		}
	})
	c.send(frame(0x81, "hold me", key) + frame(0x89, "later", key))
	<-arrived
	up.send(frame(0x81, "the other direction", ""))
	c.readExactly(frame(0x81, "the other direction", ""))
	if err := g.Send(boundedContext(t), "C1", gate.Server, gate.Message{Body: []byte("overtakes")}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6+len("overtakes"))
	if _, err := io.ReadFull(up.in, b); err != nil || b[0] != 0x81 {
		t.Errorf("got %x, %v", b, err)
	}
	close(release)
	up.readExactly(frame(0x81, "hold me", key) + frame(0x89, "later", key))
}

// TestResetEndsEverything: Reset ends connections in each state, and Handlers that hold messages. The gate keeps
// listening.
func TestResetEndsEverything(t *testing.T) {
	for name, end := range map[string]func(g *stand){
		"Reset": func(g *stand) { g.Reset() },
		"Close": func(g *stand) { g.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var held sync.WaitGroup
			held.Add(3)
			g, c, up := socketBetween(t, func(o *gate.Options) {
				o.Handle = func(ctx context.Context, m gate.Message) gate.Decision {
					if strings.Contains(string(m.Body)+m.Path, "hold") {
						held.Done()
						<-ctx.Done()
					}
					return gate.Decision{Drop: m.Path == "/drop"}
				}
			})
			c.send(frame(0x81, "hold", key))
			up.send(frame(0x81, "hold", ""))
			var idle []*peer
			for _, text := range []string{"", "GET / HT", "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n",
				"GET /drop HTTP/1.1\r\nHost: x\r\n\r\n",
				"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf", asksStream} {
				p := connectPeer(t, g)
				p.send(text)
				idle = append(idle, p)
			}
			held.Wait()
			g.awaitRecord("the dropped request", func(r transcript.Record) bool { return r.Label == "GET /drop" })
			// connections are accepted in order, and Reset does not end those accepted later
			g.awaitRecord("the last one", func(r transcript.Record) bool { return strings.HasPrefix(r.Label, "GET /s") })
			end(g)
			n := g.log.Len()
			for _, p := range append(idle, c) {
				if b, err := io.ReadAll(p.in); err == nil && len(b) > 0 {
					t.Errorf("a connection got %q", b)
				}
			}
			if len(g.Connections()) != 0 {
				t.Errorf("still open: %v", g.Connections())
			}
			if n != g.log.Len() {
				t.Errorf("records came after %s: %v", name, g.lines()[n:])
			}
			g.Close()
			g.Close()
		})
	}
}

// TestAfterReset: new connections are served.
func TestAfterReset(t *testing.T) {
	g := openGate(t, serve(t, echoMessages), nil)
	for range 3 {
		c := dial(t, g.URL(), nil)
		sendText(t, c, "one")
		wantText(t, c, "one")
		g.Reset()
		if _, _, err := c.Read(boundedContext(t)); err == nil {
			t.Error("the connection is still open")
		}
	}
}

// TestSlowSides: a side that does not read stalls only its own connection.
func TestSlowSides(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			_, _ = io.WriteString(w, big)
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: "+big+"\n\n"); err != nil {
					return
				}
			}
		default:
			echoMessages(w, r)
		}
	})
	g := openGate(t, up, func(o *gate.Options) { o.Handle = pass })
	for range 4 {
		p := connectPeer(t, g)
		p.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
		q := connectPeer(t, g)
		q.send("GET /stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	}
	c := dial(t, g.URL()+"/echo", nil)
	sendText(t, c, "quick")
	wantText(t, c, "quick")
	g.Reset()
}

// TestSendToSlowSide returns when its context ends.
func TestSendToSlowSide(t *testing.T) {
	g, _, _ := socketBetween(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body := make([]byte, 1<<20)
	for {
		err := g.Send(ctx, "C1", gate.Client, gate.Message{Binary: true, Body: body})
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("Send: %v", err)
			}
			break
		}
	}
	if err := g.End("C1", driver.Graceful); err != nil {
		t.Error(err)
	}
}

// TestTooManyConnections: connections beyond the limit are refused, and served again when there is room.
func TestTooManyConnections(t *testing.T) {
	g := openGate(t, serve(t, func(http.ResponseWriter, *http.Request) {}), nil)
	var all []*peer
	for range gate.MaxLinks {
		p := connectPeer(t, g)
		p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		p.readHead()
		all = append(all, p)
	}
	more := connectPeer(t, g)
	more.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if got := more.readRest(); !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "too many connections") {
		t.Errorf("one more got %q", got)
	}
	for _, p := range all {
		_ = p.Close()
	}
	ctx := boundedContext(t)
	for ctx.Err() == nil {
		p := connectPeer(t, g)
		p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if strings.HasPrefix(p.readHead(), "HTTP/1.1 200 ") {
			return
		}
	}
	t.Error("no room was made")
}

// TestTooMuchHeld: the total that the gate holds is bounded.
func TestTooMuchHeld(t *testing.T) {
	defer gate.SetMaxHeld(1 << 20)()
	release := make(chan struct{})
	g, c, _ := socketBetween(t, func(o *gate.Options) {
		o.Handle = func(ctx context.Context, m gate.Message) gate.Decision {
			if len(m.Body) > 100 {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return gate.Decision{}
		}
	})
	c.send(frame(0x82, strings.Repeat("x", 900<<10), key))
	g.awaitRecord("the first message", func(r transcript.Record) bool { return r.Kind == transcript.Frame })
	second := connectPeer(t, g)
	second.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
	_, _ = io.WriteString(second, strings.Repeat("x", 300_000))
	if b, err := io.ReadAll(second.in); len(b) > 0 {
		t.Errorf("it was answered: %q, %v", b, err)
	}
	g.awaitRecord("the failure", func(r transcript.Record) bool {
		return r.Kind == transcript.Failure && strings.Contains(r.Label, "are held at once")
	})
	close(release)
}

// TestHeldWhileClientLeaves: the context of a held message ends when its client resets the connection.
func TestHeldWhileClientLeaves(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	_, c, up := socketBetween(t, func(o *gate.Options) {
		o.Handle = func(ctx context.Context, m gate.Message) gate.Decision {
			if m.Kind == transcript.Frame {
				close(arrived)
				<-ctx.Done()
				close(left)
			}
			return gate.Decision{}
		}
	})
	up.send(frame(0x81, "held", ""))
	<-arrived
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	<-left
}
