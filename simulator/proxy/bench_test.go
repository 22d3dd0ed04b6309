package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/simulator/proxy"
	"parley/steps/protocols"
)

// benched is a message such as a server of session-chat sends.
var benched = []byte(`{"agent_id":"a1","session_id":"s-20261121-001","message_type":"stream_event",` +
	`"message":{"delta":{"text":"a few words of an answer, as a model says them"}},` +
	`"timestamp":"2026-11-21T10:00:00.000Z"}`)

// benchOptions are those of a proxy that judges a protocol.
func benchOptions(b *testing.B, protocol, to string) proxy.Options {
	b.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		b.Fatal(err)
	}
	o := proxy.Options{Protocol: p, Profile: p.Kind().New(), To: to}
	o.Profile.Protocol = protocol
	if o.Roles, err = proxy.RolesOf(p, nil); err != nil {
		b.Fatal(err)
	}
	o.Ended = func(proxy.Ended) {}
	return o
}

// bothWays runs a benchmark against a server, and against a proxy in front of it.
func bothWays(b *testing.B, protocol string, h http.HandlerFunc, run func(b *testing.B, url string)) {
	up := httptest.NewServer(h)
	defer up.Close()
	b.Run("direct", func(b *testing.B) { run(b, up.URL) })
	b.Run("proxy", func(b *testing.B) {
		p, err := proxy.Open(benchOptions(b, protocol, up.URL))
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		run(b, p.URL())
	})
}

// medians reports the median time per message; an iteration passes the given number of messages.
func medians(b *testing.B, messages int, one func()) {
	var all []time.Duration
	for b.Loop() {
		began := time.Now()
		one()
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/float64(messages), "median-µs/message")
}

// BenchmarkLatency measures the latency of a message; the proxy adds the difference between its result and that of the
// direct connection.
func BenchmarkLatency(b *testing.B) {
	b.Run("ws", func(b *testing.B) {
		bothWays(b, "session-chat", echo, func(b *testing.B, url string) {
			c := benchDial(b, url)
			medians(b, 2, func() {
				if err := c.Write(b.Context(), websocket.MessageText, benched); err != nil {
					b.Fatal(err)
				}
				if _, _, err := c.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
	b.Run("sse", func(b *testing.B) {
		next := make(chan struct{})
		bothWays(b, "agent-select", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				w.(http.Flusher).Flush()
				select {
				case <-next:
					_, _ = fmt.Fprintf(w, "data: %s\n\n", benched)
				case <-r.Context().Done():
					return
				}
			}
		}, func(b *testing.B, url string) {
			in := benchStream(b, url)
			medians(b, 1, func() {
				next <- struct{}{}
				event(b, in)
			})
		})
	})
	b.Run("stdio", func(b *testing.B) {
		line := append(bytes.Clone(benched), '\n')
		inPipes(b, func(b *testing.B, in io.Writer, out *bufio.Reader) {
			medians(b, 2, func() {
				if _, err := in.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := out.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
}

// BenchmarkThroughput measures messages whose sender does not wait.
func BenchmarkThroughput(b *testing.B) {
	b.Run("ws", func(b *testing.B) {
		bothWays(b, "session-chat", func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer c.CloseNow()
			for c.Write(r.Context(), websocket.MessageText, benched) == nil {
				continue
			}
		}, func(b *testing.B, url string) {
			c := benchDial(b, url)
			b.SetBytes(int64(len(benched)))
			for b.Loop() {
				if _, _, err := c.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("sse", func(b *testing.B) {
		bothWays(b, "agent-select", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := fmt.Fprintf(w, "data: %s\n\n", benched); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}, func(b *testing.B, url string) {
			in := benchStream(b, url)
			b.SetBytes(int64(len(benched)))
			for b.Loop() {
				event(b, in)
			}
		})
	})
	b.Run("stdio", func(b *testing.B) {
		line := append(bytes.Clone(benched), '\n')
		inPipes(b, func(b *testing.B, in io.Writer, out *bufio.Reader) {
			b.SetBytes(int64(len(line)))
			go func() {
				for {
					if _, err := in.Write(line); err != nil {
						return
					}
				}
			}()
			for b.Loop() {
				if _, err := out.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func benchDial(b *testing.B, url string) *websocket.Conn {
	b.Helper()
	c, _, err := websocket.Dial(b.Context(), url, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func benchStream(b *testing.B, url string) *bufio.Reader {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = res.Body.Close() })
	return bufio.NewReader(res.Body)
}

// event reads an event.
func event(b *testing.B, in *bufio.Reader) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if len(line) == 1 {
			return
		}
	}
}

// inPipes runs a benchmark against the command cat, directly and behind the proxy.
func inPipes(b *testing.B, run func(b *testing.B, in io.Writer, out *bufio.Reader)) {
	b.Run("direct", func(b *testing.B) {
		cmd := exec.CommandContext(b.Context(), "cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		run(b, in, bufio.NewReader(out))
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	b.Run("proxy", func(b *testing.B) {
		from, in, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer from.Close()
		out, to, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		defer out.Close()
		done := make(chan error, 1)
		go func() {
			_, err := proxy.Pipe(b.Context(), benchOptions(b, "session-runtime", ""), proxy.PipeOptions{
				Command: []string{"cat"}, In: from, Out: to, Err: io.Discard})
			_ = to.Close()
			done <- err
		}()
		run(b, in, bufio.NewReader(out))
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
}
