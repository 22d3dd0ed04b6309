package gate_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"parley/internal/rawhttp"
	"parley/simulator/gate"
)

// peer is a raw connection of a test.
type peer struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func newPeer(t *testing.T, c net.Conn) *peer {
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(within))
	return &peer{c, t, bufio.NewReader(c)}
}

// rawUpstream listens, and hands each connection to accept, which returns the next one.
func rawUpstream(t *testing.T) (url string, accept func() *peer) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	return "http://" + tcp.Addr().String(), func() *peer {
		t.Helper()
		_ = tcp.(*net.TCPListener).SetDeadline(time.Now().Add(within))
		c, err := tcp.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return newPeer(t, c)
	}
}

// connectPeer connects to a gate.
func connectPeer(t *testing.T, g *stand) *peer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatal(err)
	}
}

// readHead reads a head.
func (p *peer) readHead() string {
	p.t.Helper()
	b, err := rawhttp.ReadHead(p.in, 64<<10)
	if err != nil {
		p.t.Fatalf("no head, but %q: %v", b, err)
	}
	return string(b)
}

// readExactly reads exactly the expected bytes.
func (p *peer) readExactly(want string) {
	p.t.Helper()
	b := make([]byte, len(want))
	n, err := io.ReadFull(p.in, b)
	if string(b[:n]) != want {
		p.t.Fatalf("got %q (%v), want %q", b[:n], err, want)
	}
}

// readRest reads to the end of the connection.
func (p *peer) readRest() string {
	p.t.Helper()
	b, err := io.ReadAll(p.in)
	if err != nil {
		p.t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

// chunks reads the content of a chunked body until it matches the expected content.
func (p *peer) chunks(want string) {
	p.t.Helper()
	got := ""
	for got != want {
		line, err := p.in.ReadString('\n')
		var n int
		for _, c := range strings.TrimSpace(line) {
			n = n<<4 + strings.IndexRune("0123456789abcdef", c)
		}
		b := make([]byte, n+2)
		if err == nil {
			_, err = io.ReadFull(p.in, b)
		}
		if err != nil || n == 0 {
			p.t.Fatalf("content %q ended with %q (%v), want %q", got, line, err, want)
		}
		if got += string(b[:n]); !strings.HasPrefix(want, got) {
			p.t.Fatalf("content %q, want %q", got, want)
		}
	}
}

// pass is a Handler that lets everything pass.
func pass(context.Context, gate.Message) gate.Decision { return gate.Decision{} }

// both runs a test without a Handler and with one that lets everything pass.
func both(t *testing.T, test func(t *testing.T, change func(*gate.Options))) {
	t.Run("without a handler", func(t *testing.T) { test(t, func(*gate.Options) {}) })
	t.Run("with a handler", func(t *testing.T) { test(t, func(o *gate.Options) { o.Handle = pass }) })
}

// between opens a gate in front of a raw upstream.
func between(t *testing.T, change func(*gate.Options)) (*stand, func() *peer) {
	url, accept := rawUpstream(t)
	return openGate(t, nil, func(o *gate.Options) {
		o.Upstream = func() string { return url + "/base" }
		if change != nil {
			change(o)
		}
	}), accept
}
