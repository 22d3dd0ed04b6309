package gate_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// TestHandlerHearsOfEnds: the Handler is told once when a side ends a connection, with the close frame.
func TestHandlerHearsOfEnds(t *testing.T) {
	ends := make(chan string, 10)
	listen := func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if m.Kind == transcript.Closed {
				ends <- fmt.Sprintf("%s by the %v: %d %s", m.Conn, m.From, m.Status, m.Body)
			}
			return gate.Decision{}
		}
	}
	for name, row := range map[string]struct {
		end  func(c, up *peer)
		want string
	}{
		"close of the client": {func(c, _ *peer) { c.send(frame(0x88, "\x03\xe9left", key)) }, "C1 by the client: 1001 left"},
		"close of the server": {func(_, up *peer) { up.send(frame(0x88, "\x03\xf3", "")) }, "C1 by the server: 1011 "},
		"cut by the client":   {func(c, _ *peer) { _ = c.Close() }, "C1 by the client: 0 "},
		"cut by the server":   {func(_, up *peer) { _ = up.Close() }, "C1 by the server: 0 "},
	} {
		t.Run(name, func(t *testing.T) {
			_, c, up := socketBetween(t, listen)
			row.end(c, up)
			other := up
			if strings.HasSuffix(name, "server") {
				other = c
			}
			_, _ = other.in.ReadByte() // it has seen the end
			_ = c.Close()
			_ = up.Close()
			if got := <-ends; got != row.want {
				t.Errorf("heard %q, want %q", got, row.want)
			}
		})
	}
	t.Run("a stream", func(t *testing.T) {
		g, accept := between(t, listen)
		c := connectPeer(t, g)
		c.send(asksStream)
		up := accept()
		up.readHead()
		up.send(isStream + "0\r\n\r\n")
		if got := <-ends; got != "C1 by the server: 0 " {
			t.Errorf("heard %q", got)
		}
	})
	if len(ends) > 0 {
		t.Errorf("heard of one more end: %q", <-ends)
	}
}

// TestCloseWithStatus: a connection is closed with a status by Send, and instead of a message.
func TestCloseWithStatus(t *testing.T) {
	bye := gate.Message{Kind: transcript.Closed, Status: 4005, Body: []byte("because")}
	g := openGate(t, serve(t, echoMessages), func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if string(m.Body) == "provoke" {
				return gate.Decision{With: []gate.Message{{Body: []byte("last")}, bye}}
			}
			return gate.Decision{}
		}
	})
	for name, end := range map[string]func(c *websocket.Conn) error{
		"Send":     func(*websocket.Conn) error { return g.Send(boundedContext(t), "A", gate.Client, bye) },
		"Decision": func(c *websocket.Conn) error { sendText(t, c, "provoke"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, g.URL(), nil)
			on := g.Connections()
			if name == "Send" {
				end = func(*websocket.Conn) error { return g.Send(boundedContext(t), on[0].Name, gate.Client, bye) }
			}
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			_, said, err := c.Read(boundedContext(t))
			if err == nil && string(said) == "last" { // its echo may come before the end
				_, _, err = c.Read(boundedContext(t))
			}
			if websocket.CloseStatus(err) != 4005 || !strings.Contains(err.Error(), "because") {
				t.Errorf("ended with %v", err)
			}
			g.awaitRecord("the end", func(r transcript.Record) bool {
				return r.Kind == transcript.Closed && r.Conn == on[0].Name && r.Label == "closed by the harness"
			})
		})
	}
}

// TestSendBeforeOpen waits for the connection to open, and fails if it does not.
func TestSendBeforeOpen(t *testing.T) {
	sent := make(chan error, 1)
	var g *stand
	g = openGate(t, nil, func(o *gate.Options) {
		o.Handle = func(ctx context.Context, m gate.Message) gate.Decision {
			go func() {
				sent <- g.Send(context.WithoutCancel(ctx), m.Conn, gate.Client, gate.Message{Body: []byte("welcome")})
			}()
			if m.Path == "/refused" {
				return gate.Decision{Reply: &gate.Message{Status: 403}}
			}
			return gate.Decision{Reply: &gate.Message{}}
		}
	})
	c := connectPeer(t, g)
	c.send(asksStream)
	c.readHead()
	c.chunks("data: welcome\n\n")
	if err := <-sent; err != nil {
		t.Error(err)
	}
	refused := connectPeer(t, g)
	refused.send(strings.Replace(asksStream, "/s", "/refused", 1))
	if head := refused.readHead(); !strings.HasPrefix(head, "HTTP/1.1 403 ") {
		t.Errorf("got %q", head)
	}
	if err := <-sent; err == nil {
		t.Error("a message was sent on a stream that did not open")
	}
}

// TestClientLeavesBeforeOpen: a stream without an upstream ends as well.
func TestClientLeavesBeforeOpen(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g := openGate(t, nil, func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			if m.Kind == transcript.Open {
				close(arrived)
				<-release
			}
			return gate.Decision{Reply: &gate.Message{}}
		}
	})
	c := connectPeer(t, g)
	c.send(asksStream)
	<-arrived
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	close(release)
	g.awaitRecord("the end", closedRecord)
	if _, err := io.ReadAll(c.in); err != nil {
		t.Error(err)
	}
}

// TestEndStream: further bytes of the upstream are discarded, and the client can make another request on its
// connection.
func TestEndStream(t *testing.T) {
	g, accept := between(t, nil)
	c := connectPeer(t, g)
	for _, name := range []string{"C1", "C2"} {
		c.send(asksStream)
		up := accept()
		up.readHead()
		up.send(isStream + chunk("data: 1\n\n"))
		c.readExactly(isStream + chunk("data: 1\n\n"))
		if err := g.End(name, driver.Graceful); err != nil {
			t.Fatal(err)
		}
		c.readExactly("0\r\n\r\n")
		if rest := up.readRest(); rest != "" {
			t.Errorf("the upstream got %q", rest)
		}
	}
}
