package gate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/simulator/gate"
	"parley/transport/transcript"
)

// TestHTTPBytes: everything that the gate does not have to change passes as it was written.
func TestHTTPBytes(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		g, accept := between(t, change)
		c := connectPeer(t, g)
		c.send("POST /x?q=%20 HTTP/1.1\r\nhOsT: a.example\r\nX-odd:  two  \r\norigin: null\r\nAccept-Encoding: gzip\r\n" +
			"transfer-encoding: chunked\r\nX-Odd: 1\n\r\n3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nT: 1\r\n\r\n")
		up := accept()
		host := strings.TrimPrefix(up.LocalAddr().String(), "http://")
		up.readExactly("POST /base/x?q=%20 HTTP/1.1\r\nHost: " + host + "\r\nX-odd:  two  \r\norigin: null\r\n" +
			"transfer-encoding: chunked\r\nX-Odd: 1\n\r\n3;a=b\r\nabc\r\n02\r\nde\r\n0\r\nT: 1\r\n\r\n")
		for _, answer := range []string{
			"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n" +
				"HTTP/1.1 200 Fine\r\nx-A: 1\r\nX-a:  2\r\ncontent-length: 5\r\n\r\nhello",
			"HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n00\r\nTrailer: y\r\n\r\n",
			"HTTP/1.1 204 None\r\n\r\n",
			"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end",
		} {
			up.send(answer)
			last := strings.Contains(answer, "until")
			if last {
				_ = up.Close()
			}
			c.readExactly(answer)
			if last {
				if rest := c.readRest(); rest != "" {
					t.Errorf("after the end %q", rest)
				}
				break
			}
			c.send("GET /y HTTP/1.1\r\nHost: b\r\n\r\n")
			up.readExactly("GET /base/y HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		}
		r := g.awaitRecord("the request", func(r transcript.Record) bool { return r.Kind == transcript.Request })
		if string(r.Bytes) != "abcde" || r.Label != "POST /x?q=%20" || r.Dir != transcript.Received {
			t.Errorf("recorded %+v", r)
		}
		a := g.awaitRecord("the answer", func(r transcript.Record) bool {
			return r.Kind == transcript.Response &&
				r.Reply == 1
		})
		if string(a.Bytes) != "hello" || a.Status != 200 || a.Dir != transcript.Sent {
			t.Errorf("recorded %+v", a)
		}
	})
}

func TestHTTPDecisions(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("X-Added"))
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(b))
	})
	g := openGate(t, up, func(o *gate.Options) {
		o.Header = http.Header{"X-Added": {"by the gate"}}
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			switch {
			case m.Path == "/reply":
				return gate.Decision{Reply: &gate.Message{Status: 418, Body: []byte(`{"a":1}`)}}
			case m.Path == "/changed" && m.Kind == transcript.Request:
				return gate.Decision{With: []gate.Message{{Path: "/other", Body: []byte("other body")}}}
			case m.Path == "/answer" && m.Kind == transcript.Response:
				return gate.Decision{With: []gate.Message{{Status: 500, Header: http.Header{"X-Seen": nil},
					Body: []byte("broken")}}}
			}
			return gate.Decision{}
		}
	})
	for _, row := range []struct {
		path, body string
		status     int
		seen       string
	}{
		{"/plain", "POST /plain mine", 200, "by the gate"},
		{"/reply", `{"a":1}`, 418, ""},
		{"/changed", "POST /other other body", 200, "by the gate"},
		{"/answer", "broken", 500, ""},
	} {
		resp, err := http.Post(g.URL()+row.path, "text/plain", strings.NewReader("mine"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(b) != row.body || resp.StatusCode != row.status || resp.Header.Get("X-Seen") != row.seen {
			t.Errorf("%s: %d %q, seen %q", row.path, resp.StatusCode, b, resp.Header.Get("X-Seen"))
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestDroppedRequest: its client gets no answer, and others are served.
func TestDroppedRequest(t *testing.T) {
	g := openGate(t, serve(t, func(http.ResponseWriter, *http.Request) {}), func(o *gate.Options) {
		o.Handle = func(_ context.Context, m gate.Message) gate.Decision {
			return gate.Decision{Drop: m.Path == "/lost"}
		}
	})
	lost := connectPeer(t, g)
	lost.send("GET /lost HTTP/1.1\r\nHost: x\r\n\r\n")
	g.awaitRecord("the request", func(r transcript.Record) bool { return r.Label == "GET /lost" })
	other := connectPeer(t, g)
	other.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if all := other.readRest(); !strings.HasPrefix(all, "HTTP/1.1 200 OK\r\n") {
		t.Errorf("another client got %q", all)
	}
	_ = lost.Conn.(*net.TCPConn).CloseWrite()
	if all := lost.readRest(); all != "" {
		t.Errorf("the dropped request was answered: %q", all)
	}
}

func TestUnreachable(t *testing.T) {
	down := httptest.NewServer(nil)
	down.Close()
	for name, row := range map[string]struct {
		url, want string
	}{
		"nothing listens": {down.URL, "the peer at " + down.URL + " cannot be reached: "},
		"no upstream":     {"", "there is no peer behind this address"},
		"not a URL":       {"ftp://x", `the URL of the peer, "ftp://x", begins with none of http, https, ws, wss and unix`},
	} {
		for _, head := range []string{"", "Accept: text/event-stream\r\n",
			"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
				"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"} {
			t.Run(name, func(t *testing.T) {
				g := openGate(t, nil, func(o *gate.Options) { o.Upstream = func() string { return row.url } })
				c := connectPeer(t, g)
				c.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + head + "\r\n")
				all := c.readRest()
				if !strings.HasPrefix(all, "HTTP/1.1 502 Bad Gateway\r\n") || !strings.Contains(all, row.want) ||
					strings.Count(strings.TrimSpace(all[strings.Index(all, "\r\n\r\n"):]), "\n") > 0 {
					t.Errorf("answer %q", all)
				}
				g.awaitRecord("the failure", func(r transcript.Record) bool {
					return r.Kind == transcript.Failure && strings.HasPrefix(r.Label, row.want) && r.Reply > 0
				})
			})
		}
	}
}

func TestBadRequests(t *testing.T) {
	for name, row := range map[string]struct{ send, want string }{
		"no HTTP":   {"hello\r\n\r\n", "HTTP/1.1 400 "},
		"long head": {"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431 "},
		"TLS":       {"\x16\x03\x01", ""},
		"cut off":   {"GET / HT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := openGate(t, nil, nil)
			c := connectPeer(t, g)
			c.send(row.send)
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			if all := c.readRest(); !strings.HasPrefix(all, row.want) || row.want == "" && all != "" {
				t.Errorf("answer %.80q", all)
			}
			g.awaitRecord("a failure", func(r transcript.Record) bool { return r.Kind == transcript.Failure && r.Label != "" })
		})
	}
}

// TestLongBodies: bodies longer than the maximum of a message pass completely, and are not held.
func TestLongBodies(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(b)
		})
		g := openGate(t, up, func(o *gate.Options) {
			change(o)
			o.MaxMessage = 1000
		})
		long := strings.Repeat("0123456789", 5000)
		resp, err := http.Post(g.URL(), "text/plain", strings.NewReader(long))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); string(b) != long {
			t.Errorf("%d bytes came back: %v", len(b), err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// TestExpectContinue: the gate itself requests the body.
func TestExpectContinue(t *testing.T) {
	g, accept := between(t, nil)
	c := connectPeer(t, g)
	c.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	c.readExactly("HTTP/1.1 100 Continue\r\n\r\n")
	c.send("ok")
	up := accept()
	if h := up.readHead(); strings.Contains(h, "Expect") {
		t.Errorf("head %q", h)
	}
	up.readExactly("ok")
	up.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	c.readExactly("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

// TestCutOffAnswers: the client sees the same end.
func TestCutOffAnswers(t *testing.T) {
	both(t, func(t *testing.T, change func(*gate.Options)) {
		for _, answer := range []string{"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"} {
			g, accept := between(t, change)
			c := connectPeer(t, g)
			c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			up := accept()
			up.readHead()
			up.send(answer)
			_ = up.Close()
			if all := c.readRest(); all != answer {
				t.Errorf("the client got %q of %q", all, answer)
			}
		}
	})
}

// TestUpstreamComesBack: a connection that the upstream has closed meanwhile is dialled again.
func TestUpstreamComesBack(t *testing.T) {
	g, accept := between(t, nil)
	c := connectPeer(t, g)
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	up := accept()
	up.readHead()
	up.send("HTTP/1.1 204 No Content\r\n\r\n")
	c.readExactly("HTTP/1.1 204 No Content\r\n\r\n")
	_ = up.Conn.(*net.TCPConn).CloseWrite()
	if rest := up.readRest(); rest != "" {
		t.Errorf("the upstream got %q", rest)
	}
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	up = accept()
	up.readHead()
	up.send("HTTP/1.1 205 Again\r\nContent-Length: 0\r\n\r\n")
	c.readExactly("HTTP/1.1 205 Again\r\nContent-Length: 0\r\n\r\n")
}
