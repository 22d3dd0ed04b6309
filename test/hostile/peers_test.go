package hostile_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/freeport"
)

// serve starts a peer for a test, and returns its URL.
type serve = func(t *testing.T) string

// web is a peer that answers HTTP requests.
func web(h http.HandlerFunc) serve {
	return func(t *testing.T) string {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Start()
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL
	}
}

// raw is a peer that handles bytes of TCP connections until it returns.
func raw(talk func(c net.Conn)) serve {
	return func(t *testing.T) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		open := map[net.Conn]bool{}
		wg.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				mu.Lock()
				open[c] = true
				mu.Unlock()
				wg.Go(func() {
					talk(c)
					_ = c.Close()
					mu.Lock()
					delete(open, c)
					mu.Unlock()
				})
			}
		})
		t.Cleanup(func() {
			_ = ln.Close()
			mu.Lock()
			for c := range open {
				_ = c.Close()
			}
			mu.Unlock()
			wg.Wait()
		})
		return "http://" + ln.Addr().String()
	}
}

// head reads the head of a request, and returns its first line.
func head(in *bufio.Reader) string {
	first := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return first
		}
		if first == "" {
			first = line
		}
		if strings.TrimSpace(line) == "" {
			return first
		}
	}
}

// answers sends bytes to each request and then waits until the client leaves.
func answers(text string) serve { return replies(func(string, int) string { return text }, true) }

// breaks is answers, but the connection ends behind the bytes.
func breaks(text string) serve { return replies(func(string, int) string { return text }, false) }

// replies answers each connection's request, of which it knows the first line and the number.
func replies(say func(request string, n int) string, waits bool) serve {
	return func(t *testing.T) string {
		var n atomic.Int64
		return raw(func(c net.Conn) {
			in := bufio.NewReader(c)
			request := head(in)
			if _, err := io.WriteString(c, say(request, int(n.Add(1)))); err == nil && waits {
				_, _ = io.Copy(io.Discard, in)
			}
		})(t)
	}
}

// repeats sends bytes to each request, and then a text for ever, with n in it counted up.
func repeats(text string, again func(n int) string) serve {
	return raw(func(c net.Conn) {
		head(bufio.NewReader(c))
		_, err := io.WriteString(c, text)
		for n := 0; err == nil; n++ {
			_, err = io.WriteString(c, again(n))
		}
	})
}

// drips sends bytes to each request, and then a text for ever, one piece after each pause.
func drips(text, piece string, pause time.Duration) serve {
	return raw(func(c net.Conn) {
		gone := make(chan struct{})
		in := bufio.NewReader(c)
		head(in)
		go func() { _, _ = io.Copy(io.Discard, in); close(gone) }()
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for _, err := io.WriteString(c, text); err == nil; {
			select {
			case <-tick.C:
				_, err = io.WriteString(c, piece)
			case <-gone:
				return
			}
		}
	})
}

// chat is a peer that talks over WebSockets, to each until it returns.
func chat(talk func(ctx context.Context, c *websocket.Conn)) serve {
	return func(t *testing.T) string {
		ctx, cancel := context.WithCancel(context.Background())
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = c.CloseNow() }()
			c.SetReadLimit(64 << 20)
			talk(ctx, c)
		}))
		t.Cleanup(func() { cancel(); s.CloseClientConnections(); s.Close() })
		return s.URL
	}
}

// each answers every message of the client.
func each(say func(got []byte) []byte) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		for {
			_, got, err := c.Read(ctx)
			if err != nil || c.Write(ctx, websocket.MessageText, say(got)) != nil {
				return
			}
		}
	}
}

// always answers every message with the same text.
func always(text string) func(context.Context, *websocket.Conn) {
	return each(func([]byte) []byte { return []byte(text) })
}

// floods sends texts for ever, with n in them counted up.
func floods(text func(n int) string) func(context.Context, *websocket.Conn) {
	return func(ctx context.Context, c *websocket.Conn) {
		go func() { // what the client sends is read, so that it is not held up
			for {
				if _, _, err := c.Read(ctx); err != nil {
					return
				}
			}
		}()
		for n := 0; ctx.Err() == nil; n++ {
			if c.Write(ctx, websocket.MessageText, []byte(text(n))) != nil {
				return
			}
		}
	}
}

// ears reads and never says a word.
func ears(ctx context.Context, c *websocket.Conn) {
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
	}
}

// deaf does not even read.
func deaf(ctx context.Context, _ *websocket.Conn) { <-ctx.Done() }

// greeting is the begin of a stream of agent-select.
const greeting = "data: {\"type\":\"connected\",\"data\":{\"connectionId\":%q}}\n\n" +
	`data: {"type":"agent_list","data":{"agents":[` +
	`{"id":"general","name":"G","description":""},{"id":"debugger","name":"D","description":""},` +
	`{"id":"requirement_analyzer","name":"R","description":""}],"currentAgentId":null}}` + "\n\n"

// stream is the head of an event stream.
const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

// greets connects its clients correctly and leaves the rest to post.
func greets(post http.HandlerFunc) serve {
	return greetsAnd(post, nil)
}

// greetsAnd is greets with something more to say on the stream, again and again until that fails; nil: nothing.
func greetsAnd(post http.HandlerFunc, more func(w io.Writer) error) serve {
	var n atomic.Int64
	return web(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			post(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, greeting, fmt.Sprintf("conn_%d", n.Add(1)))
		w.(http.Flusher).Flush()
		for more != nil {
			if more(w) != nil {
				return
			}
		}
		<-r.Context().Done()
	})
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// session creates sessions correctly and leaves the rest to next.
func session(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/session/") {
			fmt.Fprint(w, `{"success":true,"session":{"id":"s1"}}`)
			return
		}
		next(w, r)
	}
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // net/http notices only after this that the client has disconnected
	<-r.Context().Done()
}

// switching answers with a protocol upgrade, and then sends nothing.
func switching(w http.ResponseWriter, _ *http.Request) {
	c, in, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n")
	_, _ = io.Copy(io.Discard, in)
}

// nobody listens.
func nobody(t *testing.T) string {
	p, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return "http://" + p.Addr()
}
