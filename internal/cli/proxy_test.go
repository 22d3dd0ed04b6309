package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps/protocols"
	"parley/target"
)

// proxying is a parley proxy that runs.
type proxying struct {
	t      *testing.T
	stop   func()
	done   chan int
	lines  *bufio.Reader // of stdout
	mu     sync.Mutex
	stderr bytes.Buffer
	news   chan struct{} // gets something when stderr has more
}

// Write takes what it prints on stderr.
func (p *proxying) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
	return p.stderr.Write(b)
}

func (p *proxying) stderrText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// startProxy runs parley proxy until it ends, or until stop, which is Ctrl-C.
func startProxy(t *testing.T, args ...string) *proxying {
	t.Helper()
	return startProxyReading(t, strings.NewReader(""), args...)
}

// startProxyReading is startProxy with something on stdin.
func startProxyReading(t *testing.T, stdin io.Reader, args ...string) *proxying {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	p := &proxying{t: t, stop: cancel, done: make(chan int, 1), lines: bufio.NewReader(out),
		news: make(chan struct{}, 1)}
	go func() {
		s := &streams{In: stdin, Out: in, Err: p}
		root := rootCommand(s)
		root.SetArgs(append([]string{"proxy"}, args...))
		code := s.exitWith(root.ExecuteContext(ctx))
		_ = in.CloseWithError(io.EOF)
		p.done <- code
	}()
	t.Cleanup(func() {
		cancel()
		_, _ = io.Copy(io.Discard, p.lines)
	})
	return p
}

// awaitStderr waits for something on stderr.
func (p *proxying) awaitStderr(what *regexp.Regexp) string {
	p.t.Helper()
	for {
		if got := what.FindString(p.stderrText()); got != "" {
			return got
		}
		select {
		case code := <-p.done:
			p.t.Fatalf("exit %d: %s", code, p.stderrText())
		case <-p.news:
		}
	}
}

// url returns the first line of stdout.
func (p *proxying) url() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no URL: %v\n%s", err, p.stderrText())
	}
	return strings.TrimSpace(line)
}

// awaitEnd waits for its end, and returns the rest of stdout and the exit code.
func (p *proxying) awaitEnd() (string, int) {
	p.t.Helper()
	rest, err := io.ReadAll(p.lines)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(rest), <-p.done
}

// chatServer starts the bundled server of session-chat, with a fault or none.
func chatServer(t *testing.T, fault string) string {
	t.Helper()
	b := bundle.For(suite.Kinds(), "session-chat", "server")
	l := b.Launcher
	for _, m := range bundle.Mutants(protocols.Kinds(), "session-chat", "server") {
		if m.ID == fault {
			l = m.Launch(b.Brain)
		}
	}
	running, err := l.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
	return running.BaseURL()
}

// runChatTurn holds a turn of session-chat.
func runChatTurn(t *testing.T, client *http.Client, url string) {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+"/chat/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	chat := []byte(`{"type":"chat","agent_id":"a","content":"hi"}`)
	if err := c.Write(t.Context(), websocket.MessageText, chat); err != nil {
		t.Fatal(err)
	}
	for {
		_, text, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"result"`)) {
			_ = c.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// TestProxy: what can be judged is said before; Ctrl-C ends it; results and reports are like those of a run.
func TestProxy(t *testing.T) {
	for _, one := range []struct {
		name, fault string
		exit        int
		verdict     verdict.Verdict
		text        string
	}{
		{"conforming", "", 0, verdict.Incomplete, "only traffic between others was judged"},
		{"broken", "no-timestamp", 1, verdict.NonConformant, "SC-044"},
	} {
		t.Run(one.name, func(t *testing.T) {
			out := t.TempDir()
			p := startProxy(t, "--protocol", "session-chat", "--target", chatServer(t, one.fault), "--out", out)
			url := p.url()
			if said := p.stderrText(); !strings.Contains(said, "session-chat: judges ") || strings.Contains(said, "SC-038") ||
				!strings.Contains(said, "need the harness to act") {
				t.Errorf("before it starts it says %q", said)
			}
			runChatTurn(t, quickClient(t), url)
			p.stop()
			text, code := p.awaitEnd()
			if code != one.exit || !strings.Contains(text, one.text) {
				t.Errorf("exit %d\n%s\n%s", code, text, p.stderrText())
			}
			f, err := os.Open(filepath.Join(out, "results.json"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			res, err := reports.ReadJSON(f)
			if err != nil || !res.Passive || res.Verdict != one.verdict || res.Exit != one.exit {
				t.Errorf("%v, %+v", err, res)
			}
			for _, name := range []string{"junit.xml", "report.html", "transcripts/proxy-SC-proxy-01.txt"} {
				if b, _ := os.ReadFile(filepath.Join(out, name)); bytes.Contains(b, []byte("by the harness")) {
					t.Errorf("%s names a harness", name)
				}
				if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// TestProxyFor: it ends by itself, and nothing that passed is no success.
func TestProxyFor(t *testing.T) {
	p := startProxy(t, "--protocol", "session-chat", "--target", "http://127.0.0.1:1", "--for", "1ms", "--out",
		t.TempDir())
	p.url()
	if text, code := p.awaitEnd(); code != verdict.ExitIncomplete {
		t.Errorf("exit %d\n%s\n%s", code, text, p.stderrText())
	}
}

// TestProxyTLS: https on both sides, with a token.
func TestProxyTLS(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer up.Close()
	cert, key := selfSigned(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pemOf(up.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, trust := range [][]string{{"--ca", ca}, {"--insecure"}} {
		p := startProxy(t, append([]string{"--target", up.URL, "--tls-cert", cert, "--tls-key", key, "--token", "s3cret",
			"--out",
			t.TempDir()}, trust...)...)
		url := p.url()
		if !strings.HasPrefix(url, "https://") {
			t.Errorf("it is at %s", url)
		}
		for path, want := range map[string]int{"/": 401, "/?token=s3cret": 200} {
			res, err := quickClient(t).Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
		}
		p.stop()
		p.awaitEnd()
	}
}

// TestProxyMistakes: one line says what is wrong, and how to mend it.
func TestProxyMistakes(t *testing.T) {
	cert, key := selfSigned(t)
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	to := []string{"--target", "http://localhost:3000"}
	for _, one := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "--target is missing"},
		{[]string{"ftp://localhost:3000"}, 2, "is not the URL of a server (write it like http://localhost:3000)"},
		{append(to, "extra"), 2, "--target: extra is a target already"},
		{append(to, "--", "cat"), 2, "--"},
		{[]string{"--protocol", "session-runtime", "--"}, 2, "--: which command?"},
		{[]string{"--protocol", "session-runtime", "--target", "http://x", "--", "cat"}, 2, "not to both"},
		{[]string{"--protocol", "session-chat", "--", "cat"}, 2, "is not spoken on stdin and stdout"},
		{[]string{"--protocol", "session-runtime", "--token", "x", "--", "cat"}, 2, "nobody listens"},
		{append(to, "--protocol", "session-chap"), 2, "session-chat"},
		{append(to, "--role", "king"), 2, "king"},
		{append(to, "--for", "0s"), 2, "--for: 0s is no time to listen"},
		{append(to, "--listen", "nowhere"), 2, "write it like 127.0.0.1:8124"},
		{append(to, "--listen", "0.0.0.0:0"), 2, "other machines could reach it"},
		{append(to, "--tls-cert", cert), 2, "there is no --tls-key"},
		{append(to, "--tls-key", key), 2, "there is no --tls-cert"},
		{append(to, "--tls-cert", key, "--tls-key", key), 2, "do not make a pair: the first has no certificate"},
		{append(to, "--ca", "none.pem"), 2, "--ca: "},
		{append(to, "--ca", key), 2, "has no certificate in PEM"},
		{append(to, "--ca", cert, "--insecure"), 2, "leave one out"},
		{append(to, "--out", ""), 2, "--out is empty"},
		{append(to, "--format", "pdf"), 2, "pdf"},
		{append(to, "--listen", strings.TrimPrefix(taken.URL, "http://")), 3, "is in use (port 0 takes a free one)"},
		{[]string{"--protocol", "session-runtime", "--", "no-such-command"}, 3, "no-such-command"},
	} {
		args := one.args
		if !strings.Contains(strings.Join(args, " "), "--out") {
			args = append([]string{"--out", t.TempDir()}, args...)
		}
		p := startProxy(t, args...)
		_, code := p.awaitEnd()
		if said := p.stderrText(); code != one.code || !strings.Contains(said, one.want) {
			t.Errorf("%v: exit %d, %q; want %d and %q", one.args, code, said, one.code, one.want)
		}
	}
}

// TestProxyCommand: a command between stdin and stdout, which has nothing but its output; its exit code counts.
func TestProxyCommand(t *testing.T) {
	p := startProxy(t, "--protocol", "session-runtime", "--out", t.TempDir(), "--", "sh", "-c", "echo '{}'; exit 9")
	text, code := p.awaitEnd()
	if text != "{}\n" || code != 9 || !strings.Contains(p.stderrText(), "session-runtime: judges ") {
		t.Errorf("exit %d, %q\n%s", code, text, p.stderrText())
	}
}

// pemOf encodes a certificate.
func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
