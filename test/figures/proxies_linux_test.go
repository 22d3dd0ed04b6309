package figures_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Rounds of BenchmarkProxies: each measures all ways in turn, so that what else the machine does meets all of them.
const (
	rounds    = 5
	exchanges = 400    // whose latency is measured in a round
	flood     = 10_000 // messages whose sender does not wait
)

// way is how a client reaches the server.
type way struct {
	name, url string
	latencies []time.Duration
	rates     []float64 // messages a second
}

// BenchmarkProxies compares parley proxy with mitmdump as a reverse proxy, if that is installed, each as a process of
// its own between the same client and server: the latency that each adds, and the rate of messages whose sender does
// not wait, of 200 bytes each.
func BenchmarkProxies(b *testing.B) {
	for _, of := range []struct {
		name, protocol string
		round          func(b *testing.B, w *way)
	}{{"ws", "session-chat", roundOfSocket}, {"sse", "agent-select", roundOfStream}} {
		b.Run(of.name, func(b *testing.B) {
			server := talkative(b)
			p := startProgram(b, 1, "proxy", server, "--protocol", of.protocol, "--listen", "127.0.0.1:0", "--out",
				b.TempDir())
			ways := []*way{{name: "direct", url: server}, {name: "parley", url: p.lines[0]}}
			if url := startMitmproxy(b, server); url != "" {
				ways = append(ways, &way{name: "mitmproxy", url: url})
			}
			for b.Loop() {
				for range rounds {
					for _, w := range ways {
						of.round(b, w)
					}
				}
			}
			for _, w := range ways {
				slices.Sort(w.latencies)
				slices.Sort(w.rates)
				n := len(w.latencies)
				b.Logf("%s %-9s  p50 %8v  p99 %8v  %8.0f messages/s", of.name, w.name, w.latencies[n/2].Round(time.Microsecond),
					w.latencies[n*99/100].Round(time.Microsecond), w.rates[len(w.rates)/2])
			}
			_ = p.cmd.Process.Kill() // its verdict on such messages does not matter
			_ = p.cmd.Wait()
		})
	}
}

// talkative is a server that echoes each message of a WebSocket, or after the message "flood" sends many. As a stream
// it sends the events that are asked for.
func talkative(b *testing.B) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			stream(w, r)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for n := 0; err == nil; {
			var text []byte
			if _, text, err = c.Read(r.Context()); string(text) == "flood" {
				n = flood
			}
			for range max(n, 1) {
				if err == nil {
					err = c.Write(r.Context(), websocket.MessageText, []byte(said))
				}
			}
		}
	}))
	b.Cleanup(web.Close)
	return web.URL
}

// asks has, by the query of its URL, a channel for each stream, which says how many events are sent on it.
var asks sync.Map

func stream(w http.ResponseWriter, r *http.Request) {
	ask, ok := asks.Load(r.URL.RawQuery)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		w.(http.Flusher).Flush()
		select {
		case n := <-ask.(chan int):
			for range n {
				_, _ = fmt.Fprintf(w, "data: %s\n\n", said)
				w.(http.Flusher).Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}

func roundOfSocket(b *testing.B, w *way) {
	c, _, err := websocket.Dial(b.Context(), w.url, nil)
	if err != nil {
		b.Fatal(w.name, err)
	}
	defer c.CloseNow()
	send := func(text string) {
		if err := c.Write(b.Context(), websocket.MessageText, []byte(text)); err != nil {
			b.Fatal(w.name, err)
		}
	}
	w.measure(func(n int) {
		if n == 1 {
			send(said)
		} else {
			send("flood")
		}
	}, func() {
		if _, _, err := c.Read(b.Context()); err != nil {
			b.Fatal(w.name, err)
		}
	})
}

func roundOfStream(b *testing.B, w *way) {
	ctx, leave := context.WithCancel(b.Context())
	defer leave()
	ask, query := make(chan int), fmt.Sprintf("stream=%s-%d", w.name, len(w.rates))
	asks.Store(query, ask)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/events?"+query, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(w.name, err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	w.measure(func(n int) { ask <- n }, func() {
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				b.Fatal(w.name, err)
			}
			if len(line) == 1 {
				return
			}
		}
	})
}

// measure measures messages one by one, and then many at once.
func (w *way) measure(ask func(n int), await func()) {
	for range exchanges {
		began := time.Now()
		ask(1)
		await()
		w.latencies = append(w.latencies, time.Since(began))
	}
	began := time.Now()
	ask(flood)
	for range flood {
		await()
	}
	w.rates = append(w.rates, flood/time.Since(began).Seconds())
}

// startMitmproxy starts mitmdump in front of a server, and returns its URL; "" if it is not installed.
func startMitmproxy(b *testing.B, server string) string {
	path, err := exec.LookPath("mitmdump")
	if err != nil {
		b.Log("mitmproxy was not measured: no program mitmdump is in PATH")
		return ""
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	dir := b.TempDir()
	// without it mitmproxy passes on a stream when it has ended
	const streaming = "def responseheaders(flow):\n    flow.response.stream = True\n"
	script := filepath.Join(dir, "streaming.py")
	if err := os.WriteFile(script, []byte(streaming), 0o644); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(path, "--quiet", "--mode", "reverse:"+server, "--listen-host", "127.0.0.1", "--listen-port",
		at[strings.LastIndexByte(at, ':')+1:], "--scripts", script, "--set", "confdir="+dir)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
			return "http://" + at
		}
		if b.Context().Err() != nil {
			b.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
