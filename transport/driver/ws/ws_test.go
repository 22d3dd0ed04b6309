package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/internal/freeport"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func TestSend(t *testing.T) {
	got := make(chan string, 2)
	p := connect(t, serve(t, func(s *socket) {
		for range 2 {
			first, payload, err := s.next()
			if err != nil {
				return
			}
			got <- string([]byte{first}) + payload
		}
		s.drain()
	}), driver.OpenOptions{})
	mark, err := p.conn.Send(t.Context(), driver.Message{Label: "switch_agent", Body: []byte(`{"a":1}`)})
	if err != nil || mark != 3 {
		t.Errorf("Send = %d, %v; want the third record", mark, err)
	}
	if _, err := p.conn.Send(t.Context(), driver.Message{Body: []byte("\xff"), Binary: true}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"\x81" + `{"a":1}`, "\x82\xff"}, []string{<-got, <-got}); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if r := p.log.All()[2]; r.Label != "switch_agent" || r.Type != "text" || r.Dir != transcript.Sent ||
		r.Kind != transcript.Frame {
		t.Errorf("the message is recorded as %+v", r)
	}
	_ = p.conn.Close(driver.Reset)
	if _, err := p.conn.Send(t.Context(), driver.Message{}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
}

func TestNotOpened(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("a redirect was followed")
	}))
	defer other.Close()
	rows := []struct {
		reason string
		answer http.HandlerFunc
		status int
		body   string
	}{
		{"a refusal is told with its status and body", func(w http.ResponseWriter,
			_ *http.Request) {
			http.Error(w, "not you", http.StatusForbidden)
		}, 403, "not you\n"},
		{"an answer without an upgrade", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
			200, "hello"},
		{"a redirect is an answer", func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusFound)
		}, 302, ""},
		{"an upgrade without a proof", func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "+
				"Upgrade\r\n\r\n"+frame(0x89, ""))
		}, 101, ""},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			srv := httptest.NewServer(r.answer)
			defer srv.Close()
			log := transcript.New(nil)
			_, err := New().Open(t.Context(), driver.OpenOptions{Party: "A", URL: srv.URL}, log.Append)
			var open *driver.OpenError
			if !errors.As(err, &open) || open.Status != r.status {
				t.Fatalf("Open: %v; want an OpenError with status %d", err, r.status)
			}
			all := log.All()
			last := all[len(all)-1]
			if len(all) != 2 || last.Kind != transcript.Response || last.Status != r.status || last.Reply != 1 {
				t.Errorf("recorded is %s", strings.Join(said(all), "; "))
			}
			if r.body != "" && string(last.Bytes) != r.body {
				t.Errorf("the body is recorded as %q", last.Bytes)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	p, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	log := transcript.New(nil)
	_, err = New().Open(t.Context(), driver.OpenOptions{Party: "A", URL: "ws://" + p.Addr()}, log.Append)
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("Open: %v; want what a dial says", err)
	}
	if last := log.All()[log.Len()-1]; last.Kind != transcript.Failure || last.Status != 0 {
		t.Errorf("recorded is %s", last.Line(200))
	}
}

func TestOpenIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := serveRaw(t, func(s *socket) {
		cancel() // instead of a response
		s.drain()
	})
	_, err := New().Open(ctx, driver.OpenOptions{Party: "A", URL: url}, transcript.New(nil).Append)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

// TestOpenEndsWithItsContextOnly: ctx ends only the opening, and the connection outlives it.
func TestOpenEndsWithItsContextOnly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	goOn := make(chan struct{})
	url := serve(t, func(s *socket) {
		<-goOn
		s.send(frame(0x81, "still here"))
		s.drain()
	})
	p := &party{T: t, log: transcript.New(nil)}
	c, err := New().Open(ctx, driver.OpenOptions{Party: "A", URL: url}, p.log.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(driver.Reset)
	cancel()
	close(goOn)
	p.await("the message", func(r *transcript.Record) bool { return string(r.Bytes) == "still here" })
}

func TestClose(t *testing.T) {
	const soon = 3 * time.Second // the handshake takes one second of it
	answers := func(s *socket) {
		if first, payload, err := s.next(); err == nil && first == 0x88 {
			s.send(frame(0x88, payload))
		}
		s.drain()
	}
	silent := func(s *socket) { s.drain() }
	rows := []struct {
		reason string
		how    driver.CloseMode
		script func(*socket)
		want   []string
	}{
		{"a handshake that is answered", driver.Graceful, answers, []string{"close 1000", "closed closed by the harness"}},
		{"a handshake that is never answered", driver.Graceful, silent, []string{"closed closed by the harness"}},
		{"a handshake that is answered by more messages, without an end", driver.Graceful, func(s *socket) {
			for {
				if _, err := io.WriteString(s, frame(0x89, "x")); err != nil {
					return
				}
			}
		}, nil},
		{"a reset does not need the peer", driver.Reset, silent, []string{"closed closed by the harness"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			p := connect(t, serve(t, r.script), driver.OpenOptions{})
			go deadline.Watch(t.Context())
			limit := deadline.In(soon)
			if err := p.conn.Close(r.how); err != nil {
				t.Errorf("Close: %v", err)
			}
			if limit.Over() {
				t.Errorf("Close took %v", soon)
			}
			n := p.log.Len()
			if err := p.conn.Close(r.how); err != nil {
				t.Errorf("Close again: %v", err)
			}
			if r.want != nil {
				if diff := cmp.Diff(r.want, said(p.log.All())); diff != "" {
					t.Errorf("want(-) got(+):\n%s", diff)
				}
			}
			if last := p.log.All()[n-1]; last.Kind != transcript.Closed || p.log.Len() != n {
				t.Errorf("the last record is %s, and %d came after Close", last.Line(200), p.log.Len()-n)
			}
		})
	}
}

// TestLastWords: what a server sends while its connection is being closed is recorded as late.
func TestLastWords(t *testing.T) {
	p := connect(t, serve(t, func(s *socket) {
		s.send(frame(0x81, "hello"))
		if first, payload, err := s.next(); err == nil && first == 0x88 {
			s.send(frame(0x81, "goodbye"), frame(0x88, payload))
		}
		s.drain()
	}), driver.OpenOptions{})
	p.await("hello", func(r *transcript.Record) bool { return string(r.Bytes) == "hello" })
	if err := p.conn.Close(driver.Graceful); err != nil {
		t.Error(err)
	}
	for _, r := range p.log.All() {
		if late := r.Dir == transcript.Received && r.Label == "close" || string(r.Bytes) == "goodbye"; r.Late != late {
			t.Errorf("late is %v: %s", r.Late, r.Line(0))
		}
	}
}

// TestServerThatNeverReads: a blocked write does not prevent closing.
func TestServerThatNeverReads(t *testing.T) {
	for _, how := range []driver.CloseMode{driver.Graceful, driver.Reset} {
		gone := make(chan struct{})
		p := connect(t, serve(t, func(s *socket) { <-gone }), driver.OpenOptions{})
		var sending sync.WaitGroup
		sending.Go(func() {
			// More than both sides' buffers hold.
			if _, err := p.conn.Send(t.Context(), driver.Message{Body: make([]byte, 64<<20)}); err != nil {
				t.Error(err)
			}
		})
		p.await("the message", func(r *transcript.Record) bool {
			return r.Dir == transcript.Sent &&
				r.Kind == transcript.Frame
		})
		go deadline.Watch(t.Context())
		limit := deadline.In(3 * time.Second)
		_ = p.conn.Close(how)
		if limit.Over() {
			t.Errorf("Close(%d) took three seconds", how)
		}
		sending.Wait()
		close(gone)
		p.await("the write that nobody took", func(r *transcript.Record) bool {
			return r.Kind == transcript.Failure &&
				r.Reply == 3
		})
	}
}

// TestConcurrent: all methods are safe for concurrent use.
func TestConcurrent(t *testing.T) {
	p := connect(t, serve(t, func(s *socket) {
		for {
			_, payload, err := s.next()
			if err != nil {
				return
			}
			s.send(frame(0x89, "p"), frame(0x81, payload))
		}
	}), driver.OpenOptions{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if _, err := p.conn.Send(t.Context(), driver.Message{Body: []byte("x")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	echoes := 0
	p.await("400 echoes", func(r *transcript.Record) bool {
		if r.Kind == transcript.Frame && r.Dir == transcript.Received {
			echoes++
		}
		return echoes == 400
	})
	all.Go(func() { _ = p.conn.Close(driver.Graceful) })
	all.Go(func() { _ = p.conn.Close(driver.Reset) })
	all.Wait()
}
