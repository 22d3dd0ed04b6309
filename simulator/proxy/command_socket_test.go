package proxy_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/proxy"
)

// wire starts a command as a WebSocket server.
func wire(t *testing.T, in io.Reader, out io.Writer, script string) *proxy.CommandSocket {
	t.Helper()
	w, err := proxy.StartCommandSocket(proxy.PipeOptions{Command: []string{"sh", "-c", script}, In: in, Out: out,
		Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Kill)
	return w
}

// TestWired: lines pass as they are in both directions, and the end of the input ends that of the command, behind them.
func TestWired(t *testing.T) {
	in := "one\r\n\x00\xff\xfe\n\n" + strings.Repeat("x", 9<<20) + "\nno end"
	var out bytes.Buffer
	w := wire(t, strings.NewReader(in), &out, "cat; exit 7")
	code, err := w.Run(boundedContext(t), w.URL())
	if err != nil || code != 7 || out.String() != in+"\n" {
		t.Errorf("exit %d, %v, %d bytes of %d", code, err, out.Len(), len(in))
	}
}

// TestWiredEnds: a command that ends first, one that is killed, one whose child stays, one that is interrupted, and one
// whose output nobody reads.
func TestWiredEnds(t *testing.T) {
	endless, feed := io.Pipe() // nobody ever writes
	defer feed.Close()
	for _, one := range []struct {
		name, script string
		code         int
	}{
		{"it ends first", "exit 0", 0},
		{"a signal", "kill -9 $$", 128 + 9},
		{"its child stays", "sleep 1000 & exit 3", 3},
		{"it reads no more", "exec <&-; echo told; exit 4", 4},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := wire(t, endless, io.Discard, one.script)
			if code, err := w.Run(boundedContext(t), w.URL()); err != nil || code != one.code {
				t.Errorf("exit %d, %v", code, err)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, stop := context.WithCancel(boundedContext(t))
		w := wire(t, endless, writing(stop), "echo ready; cat; exit 5")
		if code, err := w.Run(ctx, w.URL()); err != nil || code != 5 {
			t.Errorf("exit %d, %v", code, err)
		}
	})
	t.Run("nobody reads", func(t *testing.T) {
		w := wire(t, endless, broken{}, "while :; do echo y || exit 1; done")
		if code, err := w.Run(boundedContext(t), w.URL()); err == nil || code == 0 {
			t.Errorf("exit %d, %v", code, err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, err := proxy.StartCommandSocket(proxy.PipeOptions{Command: []string{"no-such-command"}, In: endless,
			Out: io.Discard, Err: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "no-such-command") {
			t.Errorf("%v", err)
		}
	})
}

// writing is a writer that calls a function.
type writing func()

// Write implements io.Writer.
func (w writing) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

// TestWiredDoor: who does not know the address does not reach the command.
func TestWiredDoor(t *testing.T) {
	endless, feed := io.Pipe()
	var out bytes.Buffer
	w := wire(t, endless, &out, "read line; echo got $line")
	at, _, _ := strings.Cut(strings.TrimPrefix(w.URL(), "ws://"), "/")
	refused := func(url string) {
		c, res, err := websocket.Dial(t.Context(), url, nil)
		if err == nil {
			_ = c.CloseNow()
		}
		if err == nil || res == nil || res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %v, %v", url, res, err)
		}
	}
	refused("ws://" + at + "/")
	done := make(chan error, 1)
	go func() {
		_, err := w.Run(boundedContext(t), w.URL())
		done <- err
	}()
	_, _ = io.WriteString(feed, "a\n")
	if err := <-done; err != nil || out.String() != "got a\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	_ = feed.Close()
}
