package ws

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// host is a Listener and what was recorded of it.
type host struct {
	*party
	l *Listener
}

// hosts opens a Listener at /agent/ws; it is closed when the test ends.
func hosts(t *testing.T, o ListenOptions) *host {
	t.Helper()
	return hostsFor(t, o, shakeTime)
}

func hostsFor(t *testing.T, o ListenOptions, patience time.Duration) *host {
	t.Helper()
	h := &host{party: &party{T: t, log: transcript.New(nil)}}
	o.Path, o.Sink = "/agent/ws", h.log.Append
	l, err := listen(t.Context(), o, patience)
	if err != nil {
		t.Fatal(err)
	}
	h.l = l
	t.Cleanup(func() { _ = l.Close() })
	return h
}

// accept waits for the next connection.
func (h *host) accept() driver.Conn {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), within)
	defer cancel()
	c, err := h.l.Accept(ctx)
	if err != nil {
		h.Fatalf("Accept: %v; there is:\n%s", err, strings.Join(said(h.log.All()), "\n"))
	}
	return c
}

// client is a target that writes by hand.
type client struct {
	*socket
	answer *http.Response
}

const ask = "GET /agent/ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: " +
	"Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// write connects and writes; what is sent behind the request's end may come with it.
func (h *host) write(sent string) *socket {
	h.Helper()
	c, err := net.Dial("tcp", h.l.addr)
	if err != nil {
		h.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(within))
	h.Cleanup(func() { _ = c.Close() })
	s := &socket{Conn: c, in: bufio.NewReader(c)}
	s.send(sent)
	return s
}

// exchangeText connects, writes and reads the answer.
func (h *host) exchangeText(sent string) *client {
	h.Helper()
	s := h.write(sent)
	resp, err := http.ReadResponse(s.in, nil)
	if err != nil {
		h.Fatalf("no answer to %.80q: %v", sent, err)
	}
	return &client{s, resp}
}

// next reads a server's frame of up to 125 bytes.
func (c *client) next() string {
	var h [2]byte
	if _, err := io.ReadFull(c.in, h[:]); err != nil {
		return err.Error()
	}
	b := make([]byte, h[1])
	if _, err := io.ReadFull(c.in, b); err != nil {
		return err.Error()
	}
	return string(h[:1]) + string(b)
}

func (c *client) awaitEnd() { _, _ = io.Copy(io.Discard, c.in) }

// TestListenRecords: a client's frames are recorded like those of a server, except that they must be masked.
func TestListenRecords(t *testing.T) {
	const over = "closed the target closed the connection"
	bye := masked(0x88, "\x03\xe8")
	rows := []struct {
		reason string
		max    int
		send   []string // one write each
		want   []string
	}{
		{reason: "text and binary messages", send: []string{masked(0x81, "hi"), masked(0x82, "\xff"), bye},
			want: []string{`text "hi"`, `binary "\xff"`, "close 1000", over}},
		{reason: "ping, pong and close, with what they carry", send: []string{masked(0x89, "a") + masked(0x8A,
			"b") + masked(0x88, "\x03\xe9bye")},
			want: []string{`ping "a"`, `pong "b"`, `close 1001 "bye"`, over}},
		{reason: "messages and control frames keep their order, though they come in one chunk",
			send: []string{masked(0x81, "1") + masked(0x89, "a") + masked(0x81, "2") + masked(0x81, "3") + masked(0x8A,
				"b") + bye},
			want: []string{`text "1"`, `ping "a"`, `text "2"`, `text "3"`, `pong "b"`, "close 1000", over}},
		{reason: "a fragmented message is one, and a ping within it comes first",
			send: []string{masked(textN, "one "), masked(0x89, "p") + masked(0x00, "mess"), masked(0x80, "age") + bye},
			want: []string{`ping "p"`, `text "one message"`, "close 1000", over}},
		{reason: "a frame that is not masked is a fault, and ends the connection",
			send: []string{masked(0x81, "ok") + frame(0x81, "bare")},
			want: []string{`text "ok"`, "frame fault: frame of a client that is not masked", "closed the connection broke off"}},
		{reason: "a ping that is not masked too", send: []string{frame(0x89, "bare")},
			want: []string{"frame fault: frame of a client that is not masked", `ping "bare"`,
				"closed the connection broke off"}},
		{reason: "text that is not UTF-8", send: []string{masked(0x81, "a\xff"), bye},
			want: []string{"frame fault: text that is not UTF-8", `text "a\xff" (text that is not UTF-8)`, "close 1000", over}},
		{reason: "a reserved bit", send: []string{masked(0xC1, "a")},
			want: []string{"frame fault: reserved bits set: 100", "closed the connection broke off"}},
		{reason: "an unknown opcode", send: []string{masked(0x83, "a")},
			want: []string{"frame fault: unknown opcode 0x3", "closed the connection broke off"}},
		{reason: "a continuation of nothing", send: []string{masked(0x80, "a")},
			want: []string{"frame fault: continuation of nothing", "closed the connection broke off"}},
		{reason: "a status that must not be sent", send: []string{masked(0x88, "\x03\xee")},
			want: []string{"frame fault: close with status 1006, which must not be sent", "close 1006",
				"closed the connection broke off"}},
		{reason: "a message beyond the limit", max: 10, send: []string{masked(0x81, strings.Repeat("a", 11))},
			want: []string{"frame fault: frame of 11 bytes, more than 10", "closed the connection broke off"}},
		{reason: "the connection stops inside a frame", send: []string{masked(0x81, "not whole")[:8]},
			want: []string{"frame fault: the stream ended inside a text frame, 7 bytes short",
				"closed the connection broke off"}},
		{reason: "the connection just stops", send: []string{masked(0x81, "a")},
			want: []string{`text "a"`, "closed the connection broke off"}},
		{reason: "what follows a close", send: []string{bye + masked(0x81, "late")},
			want: []string{"close 1000", "frame fault: text after a close", over}},
	}
	for _, r := range rows {
		for _, early := range []bool{false, true} {
			name := r.reason
			if early {
				name += ", without waiting for the answer"
			}
			t.Run(name, func(t *testing.T) {
				h := hosts(t, ListenOptions{MaxEvent: r.max})
				var c *client
				if early {
					c = h.exchangeText(ask + "\r\n" + strings.Join(r.send, ""))
				} else {
					c = h.exchangeText(ask + "\r\n")
					c.send(r.send...)
				}
				_ = c.Conn.(*net.TCPConn).CloseWrite()
				h.accept()
				h.awaitEnd()
				if diff := cmp.Diff(r.want, said(h.log.All())); diff != "" {
					t.Errorf("want(-) got(+):\n%s", diff)
				}
				for _, rec := range h.log.All()[2:] {
					if rec.Conn != "T1" || rec.Dir != transcript.Received {
						t.Errorf("record %d is of %q, %s", rec.N, rec.Conn, rec.Dir)
					}
				}
				c.awaitEnd() // the connection is ended, whatever the fault was
			})
		}
	}
}

// TestListenIsTold: the request as it came, and the answer.
func TestListenIsTold(t *testing.T) {
	h := hosts(t, ListenOptions{Party: func(n int) string { return fmt.Sprintf("agent%d", n) },
		Subprotocols: []string{"b", "a"}})
	request := strings.ReplaceAll(ask, "GET /agent/ws", "GET /agent/ws?x=1") +
		"origin: null\r\nSec-WebSocket-Protocol: a, b\r\n\r\n"
	c := h.exchangeText(request)
	h.accept()
	if got := c.answer.Header; c.answer.StatusCode != 101 || got.Get("Sec-WebSocket-Protocol") != "b" ||
		got.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Errorf("the answer is %d %v", c.answer.StatusCode, got)
	}
	want := []transcript.Record{
		{N: 1, Conn: "agent1", Dir: transcript.Received, Kind: transcript.Open, Label: "GET /agent/ws?x=1 (upgrade)",
			Bytes: []byte(request)},
		{N: 2, Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Open, Label: "socket", Status: 101, Reply: 1},
	}
	if diff := cmp.Diff(want, timeless(h.log.All())); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func timeless(records []transcript.Record) []transcript.Record {
	out := append([]transcript.Record{}, records...)
	for i := range out {
		out[i].At = 0
	}
	return out
}

func TestListenSends(t *testing.T) {
	h := hosts(t, ListenOptions{})
	c := h.exchangeText(ask + "\r\n")
	conn := h.accept()
	mark, err := conn.Send(t.Context(), driver.Message{Label: "state.updated", Body: []byte(`{"a":1}`)})
	if err != nil || mark != 3 {
		t.Errorf("Send = %d, %v; want the third record", mark, err)
	}
	if _, err := conn.Send(t.Context(), driver.Message{Body: []byte("\xff"), Binary: true}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"\x81" + `{"a":1}`, "\x82\xff"}, []string{c.next(), c.next()}); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	c.send(masked(0x89, "p"))
	if got := c.next(); got != "\x8ap" {
		t.Errorf("the ping is answered by %q", got)
	}
	want := []string{`sent text "{\"a\":1}" (state.updated)`, `sent binary "\xff"`, `ping "p"`}
	if diff := cmp.Diff(want, said(h.log.All())); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}

func TestListenRefuses(t *testing.T) {
	rows := []struct {
		reason string
		send   string
		status int
		want   string // the request's record
		body   string // a part of the answer's
	}{
		{"another path", strings.Replace(ask, "/agent/ws", "/other", 1) + "Origin: http://o\r\n\r\n", 404, "GET /other",
			"which is /agent/ws"},
		{"no upgrade", "GET /agent/ws HTTP/1.1\r\nHost: h\r\n\r\n", 426, "GET /agent/ws", "Upgrade"},
		{"an upgrade to something else", strings.Replace(ask, "websocket", "h2c", 1) + "\r\n", 426, "GET /agent/ws", "h2c"},
		{"another method", strings.Replace(ask, "GET", "POST", 1) + "Content-Length: 3\r\n\r\nabc", 405, "POST /agent/ws",
			"POST"},
		{"an older version", strings.Replace(ask, "13", "8", 1) + "\r\n", 400, "GET /agent/ws", "version"},
		{"no key", strings.Replace(ask, "Sec-WebSocket-Key", "X-Key", 1) + "\r\n", 400, "GET /agent/ws",
			"missing Sec-WebSocket-Key"},
		{"a key of another length", strings.Replace(ask, "dGhlIHNhbXBsZSBub25jZQ==", "dGhl", 1) + "\r\n", 400,
			"GET /agent/ws", "Sec-WebSocket-Key"},
		{"no HTTP", "{\"v\":\"mvp-0.2\"}\r\n\r\n", 400, `not an HTTP request: malformed HTTP request "{\"v\":\"mvp-0.2\"}"`,
			"malformed"},
		{"a request without an end", "GET /agent/ws HTTP/1.1\r\nX: " + strings.Repeat("x", maxRequest), 431,
			"a request longer than 64 KiB", "64 KiB"},
		{"headers without an end", "GET /agent/ws HTTP/1.1\r\n" + strings.Repeat("X: x\r\n", maxRequest/6), 431,
			"a request longer than 64 KiB", "64 KiB"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			h := hosts(t, ListenOptions{})
			c := h.exchangeText(r.send)
			body, _ := io.ReadAll(c.answer.Body)
			if c.answer.StatusCode != r.status || !strings.Contains(string(body), r.body) {
				t.Errorf("answered by %d %q; want %d with %q", c.answer.StatusCode, body, r.status, r.body)
			}
			all := h.log.All()
			if len(all) != 2 {
				t.Fatalf("recorded is %s", strings.Join(said(all), "; "))
			}
			req, resp := all[0], all[1]
			head, _, whole := strings.Cut(r.send, "\r\n\r\n")
			if whole {
				head += "\r\n\r\n"
			}
			if req.Conn != "" || req.Dir != transcript.Received || req.Kind != transcript.Request || req.Label != r.want ||
				string(req.Bytes) != head[:min(len(head), maxRequest)] {
				t.Errorf("the request is recorded as %s", req.Line(300))
			}
			if resp.Conn != "" || resp.Dir != transcript.Sent || resp.Kind != transcript.Response || resp.Status != r.status ||
				resp.Reply != 1 || string(resp.Bytes) != string(body) {
				t.Errorf("the answer is recorded as %s", resp.Line(300))
			}
		})
	}
}

// TestListenAsksForNothing: connections that come to no request.
func TestListenAsksForNothing(t *testing.T) {
	rows := []struct {
		reason, send string
		leave        bool
		patience     time.Duration
		want         string
	}{
		{"it only looks whether somebody listens", "", true, within,
			"failure a connection without a request: it ended before the request was complete"},
		{"it ends in the middle", ask, true, within,
			"failure a connection without a request: it ended before the request was complete"},
		{"it never goes on", ask, false, time.Millisecond,
			"failure a connection without a request: the request was not complete in time"},
		{"it wants TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", false, within,
			"failure a connection without a request: it began a TLS handshake (the harness is at ws://, not at wss://)"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			h := hostsFor(t, ListenOptions{}, r.patience)
			s := h.write(r.send)
			if r.leave {
				_ = s.Close()
			}
			got := h.await("the failure", func(r *transcript.Record) bool { return r.Kind == transcript.Failure })
			// what patience ends before has been read may be a part of what was sent, or nothing
			sent := string(got.Bytes) == r.send || r.patience < within && strings.HasPrefix(r.send, string(got.Bytes))
			if diff := cmp.Diff([]string{r.want}, said([]transcript.Record{got})); diff != "" || !sent || got.Conn != "" {
				t.Errorf("%q, want(-) got(+):\n%s", got.Bytes, diff)
			}
		})
	}
}

// TestRefusalsAreNotToldForever: a target may ask in a loop.
func TestRefusalsAreNotToldForever(t *testing.T) {
	h := hosts(t, ListenOptions{})
	h.l.Pause()
	for range maxRefusals + 10 {
		c := h.exchangeText(ask + "\r\n")
		if c.answer.StatusCode != 503 {
			t.Fatalf("answered by %d", c.answer.StatusCode)
		}
		_ = c.Close()
	}
	all := h.log.All()
	if len(all) != 2*maxRefusals || !strings.HasSuffix(all[len(all)-2].Label,
		"(and no more of what is refused is recorded)") {
		t.Errorf("%d records, the last of them %s", len(all), all[len(all)-1].Line(200))
	}
}

// TestListenWithTheLibrary: a third-party client, compression and origin included.
func TestListenWithTheLibrary(t *testing.T) {
	h := hosts(t, ListenOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	s, resp, err := websocket.Dial(ctx, h.l.URL(),
		&websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover,
			HTTPHeader: http.Header{"Origin": {"https://elsewhere"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.CloseNow()
	if ext := resp.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
		t.Errorf("extensions are agreed to: %s", ext)
	}
	conn := h.accept()
	long := strings.Repeat("主", 100_000)
	if err := s.Write(ctx, websocket.MessageText, []byte(long)); err != nil {
		t.Fatal(err)
	}
	h.await("the message", func(r *transcript.Record) bool {
		return r.Kind == transcript.Frame &&
			string(r.Bytes) == long
	})
	if _, err := conn.Send(ctx, driver.Message{Body: []byte("yes")}); err != nil {
		t.Fatal(err)
	}
	s.SetReadLimit(1 << 20)
	if _, p, err := s.Read(ctx); err != nil || string(p) != "yes" {
		t.Errorf("Read = %q, %v", p, err)
	}
	if err := s.Close(websocket.StatusNormalClosure, "done"); err != nil {
		t.Errorf("the closing handshake: %v", err)
	}
	h.awaitEnd()
	if got := said(h.log.All()); !strings.Contains(string(h.log.All()[0].Bytes), "Origin: https://elsewhere\r\n") ||
		got[len(got)-2] != `close 1000 "done"` {
		t.Errorf("recorded is %.300q", got)
	}
}
