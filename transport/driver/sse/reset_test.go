package sse

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// resets runs a server whose connections serve a number of requests and are reset by the next one, before any
// response. A stream has its own connection.
func resets(t *testing.T, served int) (url string, posts func() int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	seen, open := 0, []net.Conn{}
	one := func(c net.Conn) {
		defer c.Close()
		in := bufio.NewReader(c)
		for n := 0; ; n++ {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if req.Method == http.MethodGet {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
				_, _ = io.Copy(io.Discard, in)
				return
			}
			mu.Lock()
			seen++
			mu.Unlock()
			if n >= served {
				_ = c.(*net.TCPConn).SetLinger(0)
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() { one(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + ln.Addr().String(), func() int { mu.Lock(); defer mu.Unlock(); return seen }
}

// asks sends a message and returns the record of its result.
func (p *party) asks() transcript.Record {
	p.Helper()
	n, err := p.conn.Send(p.Context(), driver.Message{URL: p.url + "/message", Body: []byte(`{}`), Label: "m"})
	if err != nil {
		p.Fatal(err)
	}
	return p.await("an answer", func(r *transcript.Record) bool { return r.Reply == n })
}

func (p *party) remarks() (n int) {
	for _, r := range p.log.All() {
		if r.Kind == transcript.Remark && strings.HasPrefix(r.Label, driver.Repeated) {
			n++
		}
	}
	return n
}

// TestReset: if a reused connection fails, the request is sent again on a new one, with a remark.
func TestReset(t *testing.T) {
	url, posts := resets(t, 1)
	p := connect(t, url, driver.OpenOptions{})
	for i := range 3 {
		if r := p.asks(); r.Kind != transcript.Response || r.Status != http.StatusOK {
			t.Fatalf("request %d: %s %s", i, r.Kind, r.Label)
		}
	}
	if got := p.remarks(); got != posts()-3 || got == 0 {
		t.Errorf("%d requests were repeated and told; the server has had %d for 3", got, posts())
	}
}

// TestResetTwice: if the new connection is reset too, the request fails with a label of its own.
func TestResetTwice(t *testing.T) {
	url, posts := resets(t, 0)
	p := connect(t, url, driver.OpenOptions{})
	if r := p.asks(); r.Kind != transcript.Failure || !strings.HasPrefix(r.Label, driver.ResetTwice) {
		t.Errorf("%s %q", r.Kind, r.Label)
	}
	if p.remarks() != 1 || posts() != 2 {
		t.Errorf("%d remarks, and the server has had %d requests; want 1 and 2", p.remarks(), posts())
	}
}
