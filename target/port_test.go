//go:build unix

package target

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTwoPorts: a program may listen at both of the ports that were picked for it, and the URL may be that of either.
func TestTwoPorts(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:{port}", "http://127.0.0.1:{port2}/base"} {
		t.Run(url, func(t *testing.T) {
			p := fake(t, "twice")
			p.URL = url
			in := start(t, p, LaunchOptions{})
			if in.fill.port == in.fill.port2 {
				t.Fatalf("both ports are %s", in.fill.port)
			}
			want := strings.NewReplacer("{port}", in.fill.port, "{port2}", in.fill.port2).Replace(url)
			if in.BaseURL() != want {
				t.Errorf("it is at %s, want %s", in.BaseURL(), want)
			}
			for _, port := range []string{in.fill.port, in.fill.port2} {
				awaitsPort(t, port)
			}
			if !NewLauncher(p).Private() {
				t.Error("two instances cannot run side by side")
			}
		})
	}
}

// awaitsPort waits until a program listens at a port: it opens its two one after the other.
func awaitsPort(t *testing.T, port string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := awaitSuccess(ctx, func(ctx context.Context) error {
		return checkListens(ctx, "http://127.0.0.1:"+port, probeWait)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestFixedPort: a command whose port the profile names has a second one all the same.
func TestFixedPort(t *testing.T) {
	p := fake(t, "twice")
	free := start(t, fake(t, "serve"), LaunchOptions{})
	p.URL = free.BaseURL()
	stopTwice(t, free)
	p.Command.Env["PARLEY_PORT"] = free.fill.port
	in := start(t, p, LaunchOptions{})
	if in.fill.port != free.fill.port || in.fill.port2 == "" || in.fill.port2 == in.fill.port {
		t.Errorf("its ports are %q and %q", in.fill.port, in.fill.port2)
	}
	awaitsPort(t, in.fill.port2)
	if getBody(t, "http://127.0.0.1:"+in.fill.port2+"/env?PARLEY_PORT2") != in.fill.port2 {
		t.Error("the second port is not its own")
	}
}

// TestSecondPortClash: a target that ends during its start because its second port was taken is started once more, with
// other ports.
func TestSecondPortClash(t *testing.T) {
	p := fake(t, "clash2")
	mark := filepath.Join(p.Dir, "clashed")
	taken := make(chan net.Listener, 1)
	go func() {
		defer close(taken)
		for t.Context().Err() == nil {
			b, err := os.ReadFile(mark)
			if err != nil || len(b) == 0 {
				time.Sleep(time.Millisecond)
				continue
			}
			l, err := net.Listen("tcp4", "127.0.0.1:"+string(b))
			if err != nil {
				t.Error(err)
			} else {
				taken <- l
			}
			_ = os.WriteFile(mark+"-taken", nil, 0o600)
			return
		}
	}()
	in := start(t, p, LaunchOptions{})
	l, ok := <-taken
	if !ok {
		t.Fatal("the port was not taken")
	}
	defer l.Close()
	if in.fill.port2 == portOf(t, l) {
		t.Errorf("it was started with the port %s that another process has", in.fill.port2)
	}
}

func portOf(t *testing.T, l net.Listener) string {
	t.Helper()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
