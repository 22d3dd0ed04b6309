package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

func TestListenerAcceptsInOrder(t *testing.T) {
	h := hosts(t, ListenOptions{})
	var dials sync.WaitGroup
	for range maxOpen {
		dials.Go(func() { h.exchangeText(ask + "\r\n") })
	}
	dials.Wait()
	for n := range maxOpen {
		c := h.accept()
		mark, err := c.Send(t.Context(), driver.Message{Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		all := h.log.All()
		if got := all[mark-1].Conn; got != fmt.Sprintf("T%d", n+1) || all[2*n].Conn != got || all[2*n+1].Conn != got {
			t.Errorf("connection %d is %s; its records are of %s and %s", n+1, got, all[2*n].Conn, all[2*n+1].Conn)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.l.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept without a connection: %v", err)
	}
}

// TestListenerIsBounded: the seventeenth is refused, until one of the others ends.
func TestListenerIsBounded(t *testing.T) {
	h := hosts(t, ListenOptions{})
	for range maxOpen {
		h.exchangeText(ask + "\r\n")
	}
	c := h.exchangeText(ask + "\r\n")
	body, _ := io.ReadAll(c.answer.Body)
	if c.answer.StatusCode != 503 || !strings.Contains(string(body), "16 connections are open") {
		t.Errorf("the answer is %d %q", c.answer.StatusCode, body)
	}
	_ = h.accept().Close(driver.Reset)
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 101 {
		t.Errorf("with a place free: %d", c.answer.StatusCode)
	}
}

// TestNobodyAccepts: connections that are not accepted wait, up to a limit.
func TestNobodyAccepts(t *testing.T) {
	h := hosts(t, ListenOptions{})
	for n := range maxUnaccepted {
		c := h.exchangeText(ask + "\r\n" + masked(0x88, ""))
		c.awaitEnd()
		if c.answer.StatusCode != 101 {
			t.Fatalf("connection %d: %d", n+1, c.answer.StatusCode)
		}
		h.await("its end", func(r *transcript.Record) bool {
			return r.Kind == transcript.Closed && r.Conn == fmt.Sprintf("T%d", n+1)
		})
		// Its place becomes free shortly after its end is recorded; the sixteenth connection after it finds it free.
	}
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 503 {
		t.Errorf("one more: %d", c.answer.StatusCode)
	}
	h.accept() // it has ended, and its records tell so
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 101 {
		t.Errorf("after one is taken: %d", c.answer.StatusCode)
	}
}

func TestPauseAndResume(t *testing.T) {
	h := hosts(t, ListenOptions{})
	first := h.exchangeText(ask + "\r\n")
	conn := h.accept()
	h.l.Pause()
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 503 {
		t.Errorf("while paused: %d", c.answer.StatusCode)
	}
	if _, err := conn.Send(t.Context(), driver.Message{Body: []byte("still here")}); err != nil ||
		first.next() != "\x81still here" {
		t.Errorf("the connection that stood is gone: %v", err)
	}
	for range 2 { // twice is once
		if err := h.l.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 101 {
		t.Errorf("afterwards: %d", c.answer.StatusCode)
	}
}

func TestLeaveAndResume(t *testing.T) {
	h := hosts(t, ListenOptions{})
	url := h.l.URL()
	first := h.exchangeText(ask + "\r\n")
	conn := h.accept()
	for range 2 {
		h.l.Leave()
	}
	if c, err := net.Dial("tcp", h.l.addr); err == nil {
		c.Close()
		t.Error("somebody listens while the listener is away")
	}
	if _, err := conn.Send(t.Context(), driver.Message{Body: []byte("still here")}); err != nil ||
		first.next() != "\x81still here" {
		t.Errorf("the connection that stood is gone: %v", err)
	}
	other, err := net.Listen("tcp", h.l.addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.l.Resume(); err == nil {
		t.Error("Resume at a port that is taken")
	}
	other.Close()
	if err := h.l.Resume(); err != nil {
		t.Fatal(err)
	}
	if c := h.exchangeText(ask + "\r\n"); c.answer.StatusCode != 101 || h.l.URL() != url {
		t.Errorf("afterwards: %d at %s, which was %s", c.answer.StatusCode, h.l.URL(), url)
	}
}

func TestListenCloses(t *testing.T) {
	rows := []struct {
		reason string
		close  func(*host, driver.Conn)
		frame  string // what the target reads
		want   []string
	}{
		{"a handshake", func(_ *host, c driver.Conn) { _ = c.Close(driver.Graceful) }, "\x88\x03\xe8",
			[]string{"close 1000", "closed closed by the harness"}},
		{"a reset", func(_ *host, c driver.Conn) { _ = c.Close(driver.Reset) }, "EOF",
			[]string{"closed closed by the harness"}},
		{"the listener's close is a handshake", func(h *host, _ driver.Conn) { _ = h.l.Close() }, "\x88\x03\xe8",
			[]string{"close 1000", "closed closed by the harness"}},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			h := hosts(t, ListenOptions{})
			c := h.exchangeText(ask + "\r\n")
			conn := h.accept()
			got := make(chan string, 1)
			go func() {
				first := c.next()
				got <- first
				if strings.HasPrefix(first, "\x88") {
					c.send(masked(0x88, first[1:]))
				}
				c.awaitEnd()
			}()
			r.close(h, conn)
			n := h.log.Len()
			if frame := <-got; frame != r.frame {
				t.Errorf("the target reads %q, want %q", frame, r.frame)
			}
			_ = conn.Close(driver.Graceful)
			if _, err := conn.Send(t.Context(), driver.Message{}); !errors.Is(err, driver.ErrClosed) {
				t.Errorf("Send after it: %v", err)
			}
			if diff := cmp.Diff(r.want, said(h.log.All())); diff != "" || h.log.Len() != n {
				t.Errorf("%d records came after the close; want(-) got(+):\n%s", h.log.Len()-n, diff)
			}
		})
	}
}

// TestListenerCloses: no client delays the close, and nothing reaches the sink afterwards.
func TestListenerCloses(t *testing.T) {
	h := hosts(t, ListenOptions{})
	h.exchangeText(ask + "\r\n") // never answers a close
	h.write(ask)                 // never comes to its end
	h.exchangeText("GET /other HTTP/1.1\r\n\r\n")
	gone := h.exchangeText(ask + "\r\n" + masked(0x88, ""))
	h.accept()
	ended := h.accept()
	gone.awaitEnd()
	h.await("its end", func(r *transcript.Record) bool { return r.Conn == "T2" && r.Kind == transcript.Closed })
	go deadline.Watch(t.Context())
	limit := deadline.In(3 * time.Second)
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			if err := h.l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	if limit.Over() {
		t.Error("Close took three seconds")
	}
	n := h.log.Len()
	if _, err := ended.Send(t.Context(), driver.Message{}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send on a connection that had ended: %v", err)
	}
	if _, err := h.l.Accept(t.Context()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if err := h.l.Resume(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Resume: %v", err)
	}
	h.l.Pause()
	h.l.Leave()
	if c, err := net.Dial("tcp", h.l.addr); err == nil {
		c.Close()
		t.Error("somebody listens still")
	}
	if h.log.Len() != n {
		t.Errorf("recorded afterwards: %s", strings.Join(said(h.log.After(n)), "; "))
	}
}

// TestListenConcurrent: all methods may be called concurrently.
func TestListenConcurrent(t *testing.T) {
	h := hosts(t, ListenOptions{})
	const clients, messages = 8, 50
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			c := h.exchangeText(ask + "\r\n")
			for range messages {
				c.send(masked(0x89, "p"), masked(0x81, "from it"))
			}
			c.awaitEnd()
		})
		all.Go(func() {
			conn := h.accept()
			for range messages {
				if _, err := conn.Send(t.Context(), driver.Message{Body: []byte("to it")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[string]int{}
	whole := 0
	h.await("every message", func(r *transcript.Record) bool {
		if r.Kind == transcript.Frame || r.Label == "ping" {
			if seen[r.Conn]++; seen[r.Conn] == 3*messages {
				whole++
			}
		}
		return whole == clients
	})
	for range 4 { // whatever they do meanwhile
		all.Go(func() { h.l.Pause() })
		all.Go(func() { _ = h.l.Resume() })
		all.Go(func() { h.l.Leave() })
		all.Go(func() { _ = h.l.Close() })
		all.Go(func() { _, _ = h.l.Accept(t.Context()) })
	}
	all.Wait()
}

func TestListenOptions(t *testing.T) {
	log := transcript.New(nil)
	l, err := Listen(t.Context(), ListenOptions{Addr: "0.0.0.0:0", Path: "x/y", Sink: log.Append})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.URL(); !strings.HasPrefix(got, "ws://127.0.0.1:") || !strings.HasSuffix(got, "/x/y") {
		t.Errorf("URL is %s", got)
	}
	c, err := New().Open(t.Context(), driver.OpenOptions{Party: "A", URL: l.URL()}, log.Append)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(driver.Graceful)
	_, port, _ := net.SplitHostPort(l.addr)
	if _, err := Listen(t.Context(), ListenOptions{Addr: "127.0.0.1:" + port}); err == nil {
		t.Error("two listeners at one port")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Listen(ctx, ListenOptions{Addr: "no.such.host.invalid:1"}); err == nil {
		t.Error("a listener at an invalid host")
	}
}
