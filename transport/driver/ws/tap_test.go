package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// First bytes of frames.
const (
	textN = 0x01 // more to come
)

var recordsRows = []struct {
	reason string
	max    int
	send   []string // one write each
	want   []string
}{
	{reason: "ping, pong and close are told, with what they carry",
		send: []string{frame(0x89, "are you there"), frame(0x8A, "unasked"), closing(1001, "bye")},
		want: []string{`ping "are you there"`, `pong "unasked"`, `close 1001 "bye"`,
			"closed the target closed the connection"}},
	{reason: "a close may be empty", send: []string{frame(0x88, "")},
		want: []string{"close", "closed the target closed the connection"}},
	{reason: "messages and control frames keep their order, though they come in one chunk",
		send: []string{frame(0x81, "1") + frame(0x89, "a") + frame(0x81, "2") + frame(0x81, "3") + frame(0x8A,
			"b") + frame(0x82, "\xff") + closing(1000, "")},
		want: []string{`text "1"`, `ping "a"`, `text "2"`, `text "3"`, `pong "b"`, `binary "\xff"`, "close 1000",
			"closed the target closed the connection"}},
	{reason: "a fragmented message is one message, and a ping within it comes first",
		send: []string{frame(textN, "one "), frame(0x89, "in between") + frame(0x00, "mess"),
			frame(0x80, "age") + closing(1000, "")},
		want: []string{`ping "in between"`, `text "one message"`, "close 1000", "closed the target closed the connection"}},
	{reason: "a rune that is cut by fragments is no fault",
		send: []string{frame(textN, "\xe4"), frame(0x80, "\xb8\xbb"), closing(1000, "")},
		want: []string{`text "主"`, "close 1000", "closed the target closed the connection"}},
	{reason: "a masked frame is a fault; the library lets it through as it is",
		send: []string{masked(0x81, "abcd"), closing(1000, "")},
		want: []string{"frame fault: masked frame of a server", "text \"````\"", "close 1000",
			"closed the target closed the connection"}},
	{reason: "a reserved bit is a fault, and ends the connection",
		send: []string{frame(0xC1, "a")}, want: []string{"frame fault: reserved bits set: 100",
			"closed the connection broke off"}},
	{reason: "an unknown opcode", send: []string{frame(0x83, "a")},
		want: []string{"frame fault: unknown opcode 0x3", "closed the connection broke off"}},
	{reason: "text that is not UTF-8 is a fault beside its message",
		send: []string{frame(0x81, "ok") + frame(0x81, "a\xff") + frame(0x81, "ok")},
		want: []string{`text "ok"`, "frame fault: text that is not UTF-8", `text "a\xff" (text that is not UTF-8)`,
			`text "ok"`, "closed the connection broke off"}},
	{reason: "over fragments too", send: []string{frame(textN, "\xe4"), frame(0x80, "a")},
		want: []string{"frame fault: text that is not UTF-8", `text "\xe4a" (text that is not UTF-8)`,
			"closed the connection broke off"}},
	{reason: "bytes are no text", send: []string{frame(0x82, "\xff\x00"), closing(1000, "")},
		want: []string{`binary "\xff\x00"`, "close 1000", "closed the target closed the connection"}},
	{reason: "a continuation of nothing", send: []string{frame(0x80, "a")},
		want: []string{"frame fault: continuation of nothing", "closed the connection broke off"}},
	{reason: "a new message inside a fragmented one", send: []string{frame(textN, "a") + frame(0x81, "b")},
		want: []string{"frame fault: new text message inside a fragmented one", "closed the connection broke off"}},
	{reason: "a fragmented ping", send: []string{frame(0x09, "a")},
		want: []string{"frame fault: fragmented ping", `ping "a"`, "closed the connection broke off"}},
	{reason: "a ping of 126 bytes is kept up to what a ping may have",
		send: []string{frame(0x89, strings.Repeat("p", 126))},
		want: []string{"frame fault: ping of 126 bytes, more than 125", `ping "` + strings.Repeat("p", 125) + `"`,
			"closed the connection broke off"}},
	{reason: "half a status", send: []string{frame(0x88, "\x03")},
		want: []string{"frame fault: close payload of 1 byte", "close", "closed the connection broke off"}},
	{reason: "a status that must not be sent", send: []string{closing(1006, "x")},
		want: []string{"frame fault: close with status 1006, which must not be sent", `close 1006 "x"`,
			"closed the connection broke off"}},
	{reason: "a reason that is no UTF-8", send: []string{closing(1000, "\xff")},
		want: []string{"frame fault: close reason that is no UTF-8", `close 1000 "\xff"`,
			"closed the target closed the connection"}},
	{reason: "a length in more bytes than it needs", send: []string{"\x81\x7e\x00\x01a", closing(1000, "")},
		want: []string{"frame fault: length 1 in more bytes than it needs", `text "a"`, "close 1000",
			"closed the target closed the connection"}},
	{reason: "a length that cannot be", send: []string{"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"},
		want: []string{"frame fault: length with its highest bit set", "closed the connection broke off"}},
	{reason: "a message beyond the limit", max: 10, send: []string{frame(0x81, strings.Repeat("a", 11)) + frame(0x89,
		"")},
		want: []string{"frame fault: frame of 11 bytes, more than 10", "ping", "closed the connection broke off"}},
	{reason: "the connection stops inside a frame", send: []string{frame(0x81, "whole") + frame(0x81, "not whole")[:5]},
		want: []string{`text "whole"`, "frame fault: the stream ended inside a text frame, 6 bytes short",
			"closed the connection broke off"}},
	{reason: "the connection stops inside a message", send: []string{frame(textN, "a")},
		want: []string{"frame fault: the stream ended inside a fragmented message", "closed the connection broke off"}},
	{reason: "the connection just stops", send: []string{frame(0x81, "a")},
		want: []string{`text "a"`, "closed the connection broke off"}},
	{reason: "what follows a close is a fault, where it comes with it",
		send: []string{closing(1000, "") + frame(0x81, "late")},
		want: []string{"close 1000", "frame fault: text after a close", "closed the target closed the connection"}},
}

func TestRecords(t *testing.T) {
	rows := recordsRows
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := connect(t, serve(t, func(s *socket) {
				for _, w := range r.send {
					s.send(w)
				}
				_ = s.Conn.(*net.TCPConn).CloseWrite()
				s.drain()
			}), driver.OpenOptions{MaxEvent: r.max})
			p.awaitEnd()
			if diff := cmp.Diff(r.want, said(p.log.All())); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			for _, rec := range p.log.All()[2:] {
				if rec.Conn != "A" || rec.Dir != transcript.Received {
					t.Errorf("record %d is of %q, %s", rec.N, rec.Conn, rec.Dir)
				}
			}
		})
	}
}

func TestAPingIsToldAtOnceAndAnswered(t *testing.T) {
	answered := make(chan string, 1)
	p := connect(t, serve(t, func(s *socket) {
		s.send(frame(0x89, "now"))
		first, payload, _ := s.next()
		answered <- string(first) + payload
		s.drain()
	}), driver.OpenOptions{})
	p.await("the ping", func(r *transcript.Record) bool { return r.Label == "ping" && string(r.Bytes) == "now" })
	if got := <-answered; got != string(rune(0x8A))+"now" && got != "\x8anow" {
		t.Errorf("the ping is answered by %q", got)
	}
}

// TestFramesThatComeWithTheAnswer: such frames are recorded after the open connection.
func TestFramesThatComeWithTheAnswer(t *testing.T) {
	rows := []struct {
		reason string
		answer func(s *socket)
	}{
		{"in one write", func(s *socket) { s.send(s.head, frame(0x89, "early"), frame(0x81, "hi"), closing(1000, "")) }},
		{"after answers that only inform", func(s *socket) {
			s.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", s.head,
				frame(0x89, "early"), frame(0x81, "hi"), closing(1000, ""))
		}},
		{"byte by byte", func(s *socket) {
			for _, b := range []byte(s.head + frame(0x89, "early") + frame(0x81, "hi") + closing(1000, "")) {
				s.send(string([]byte{b}))
			}
		}},
		{"with lines that end in LF alone", func(s *socket) {
			s.send(strings.ReplaceAll(s.head, "\r\n", "\n"), frame(0x89, "early"), frame(0x81, "hi"), closing(1000, ""))
		}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := connect(t, serveRaw(t, func(s *socket) { r.answer(s); s.drain() }), driver.OpenOptions{})
			p.awaitEnd()
			want := []string{`ping "early"`, `text "hi"`, "close 1000", "closed the target closed the connection"}
			if diff := cmp.Diff(want, said(p.log.All())); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
			if second := p.log.All()[1]; second.Kind != transcript.Open || second.Status != 101 {
				t.Errorf("the second record is %s %d; want the open socket", second.Kind, second.Status)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	var scripts sync.WaitGroup
	srv := httptest.NewUnstartedServer(handler(t, &scripts, func(s *socket) {
		s.send(s.head, frame(0x89, "sealed"), frame(0x81, "hi"), frame(0xC1, ""))
		s.drain()
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the second client refuses the certificate
	srv.StartTLS()
	t.Cleanup(func() { srv.Close(); scripts.Wait() })
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	d := &Driver{TLS: &tls.Config{RootCAs: roots}}
	p := &party{T: t, log: transcript.New(nil)}
	c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL}, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(driver.Reset)
	p.awaitEnd()
	want := []string{`ping "sealed"`, `text "hi"`, "frame fault: reserved bits set: 100",
		"closed the connection broke off"}
	if diff := cmp.Diff(want, said(p.log.All())); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}

	_, err = New().Open(t.Context(), driver.OpenOptions{Party: "B", URL: srv.URL}, p.log.Append)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody is accepted: %v", err)
	}
}

// TestFaultsAreNotToldForever: a server that masks does so in every frame.
func TestFaultsAreNotToldForever(t *testing.T) {
	const frames = 3 * maxFaults
	p := connect(t, serve(t, func(s *socket) {
		s.send(strings.Repeat(masked(0x81, "x"), frames), closing(1000, ""))
		s.drain()
	}), driver.OpenOptions{})
	p.awaitEnd()
	faults, messages := 0, 0
	for _, r := range p.log.All() {
		if strings.HasPrefix(r.Label, "frame fault") {
			faults++
		}
		if r.Kind == transcript.Frame {
			messages++
		}
	}
	if faults != maxFaults || messages != frames {
		t.Errorf("%d faults and %d messages are recorded; want %d and %d", faults, messages, maxFaults, frames)
	}
}

// TestEndless: endless messages and frames must not exhaust memory, and the connection can be closed.
func TestEndless(t *testing.T) {
	forever := func(chunk string) func(*socket) {
		return func(s *socket) {
			s.send(frame(textN, ""))
			for {
				if _, err := io.WriteString(s, chunk); err != nil {
					return
				}
			}
		}
	}
	t.Run("a message of many fragments is given up at the limit", func(t *testing.T) {
		p := connect(t, serve(t, forever(frame(0x00, strings.Repeat("a", 4096)))), driver.OpenOptions{MaxEvent: 64 << 10})
		p.awaitEnd()
		if got := said(p.log.All())[0]; got != "frame fault: message of more than 65536 bytes" {
			t.Errorf("the first record is %q", got)
		}
	})
	t.Run("a message of empty fragments can be hung up on", func(t *testing.T) {
		p := connect(t, serve(t, forever(strings.Repeat(frame(0x00, ""), 1000))), driver.OpenOptions{})
		if err := p.conn.Close(driver.Reset); err != nil {
			t.Error(err)
		}
		if got := said(p.log.All()); len(got) != 1 {
			t.Errorf("recorded is %q", got)
		}
	})
}

// TestSpeaksTooEarly: what a server sends before the upgrade does not count.
func TestSpeaksTooEarly(t *testing.T) {
	rows := []struct {
		reason string
		first  string
		then   string // repeated until the client leaves
	}{
		{"frames instead of an answer", frame(0x89, "a") + frame(0x81, "b"), ""},
		{"a line without a line feed", "HTTP/1.1 200 OK\r\nX: ", strings.Repeat("x", 64<<10)},
		{"no line at all", "", strings.Repeat("x", 64<<10)},
		{"headers without an end", "HTTP/1.1 101 Switching Protocols\r\n", "X-More: of it\r\n"},
		{"answers without an end", "", "HTTP/1.1 102 Processing\r\n\r\n"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var served sync.WaitGroup
			served.Go(func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				_, _ = c.Read(make([]byte, 4096)) // net/http logs bytes that precede the request
				_, err = io.WriteString(c, r.first)
				for err == nil && r.then != "" {
					_, err = io.WriteString(c, r.then)
				}
			})
			t.Cleanup(func() { l.Close(); served.Wait() })
			log := transcript.New(nil)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err = New().Open(ctx, driver.OpenOptions{Party: "A", URL: "http://" + l.Addr().String()}, log.Append)
			if err == nil || ctx.Err() != nil {
				t.Errorf("opened: %v, after %v", err, ctx.Err())
			}
			for _, rec := range log.All() {
				if rec.Kind == transcript.Comment || rec.Kind == transcript.Frame {
					t.Errorf("recorded: %s", rec.Line(200))
				}
			}
		})
	}
}

func TestHead(t *testing.T) {
	const up = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
	rows := []struct{ reason, in, want string }{
		{"nothing yet", "", ""},
		{"an answer that has not ended", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n", ""},
		{"frames after the upgrade", up + "\x89\x00", "\x89\x00"},
		{"a frame that looks like a line", up + "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"},
		{"an answer that informs comes first", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + up + "x", "x"},
		{"no reason phrase", "HTTP/1.1 101\r\n\r\nx", "x"},
		{"blanks before the status", "HTTP/1.1   101 OK\r\n\r\nx", "x"},
		{"lines that end in LF", "HTTP/1.1 101 OK\nA: b\n\nx", "x"},
		{"a long line", "HTTP/1.1 101 " + strings.Repeat("y", 9999) + "\r\nA: " + strings.Repeat("z", 9999) + "\r\n\r\nx",
			"x"},
		{"a refusal has no frames", "HTTP/1.1 403 Forbidden\r\n\r\n\x89\x00", ""},
		{"nothing after a refusal counts", "HTTP/1.1 403 Forbidden\r\n\r\n" + up + "x", ""},
		{"anything but HTTP has no frames", "\x89\x00\n" + up + "x", ""},
		{"a status that is not a number", "HTTP/1.1 abc\r\n\r\nx", ""},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			for _, n := range []int{len(r.in) + 1, 1, 2, 7} {
				var h head
				var got bytes.Buffer
				for rest := []byte(r.in); len(rest) > 0; {
					cut := min(n, len(rest))
					got.Write(h.skipResponses(rest[:cut]))
					rest = rest[cut:]
				}
				if got.String() != r.want {
					t.Errorf("in chunks of %d: frames are %q, want %q", n, got.String(), r.want)
				}
				if cap(h.line) > 128 {
					t.Errorf("a line of %d bytes is held", cap(h.line))
				}
			}
		})
	}
}
