package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/reference-server/agentselect"
	"parley/reference-server/sessionchat"
)

// initAt runs parley init at a URL, and returns its exit code, what it printed to stderr, and what it wrote.
func initAt(t *testing.T, url string, flags ...string) (code int, said, profile string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "target.yaml")
	var stdout, stderr bytes.Buffer
	code = runParley(append([]string{"init", url, "--output", out}, flags...), &streams{Out: &stdout, Err: &stderr})
	text, err := os.ReadFile(out)
	if err == nil && len(text) == 0 {
		t.Error("an empty profile was written")
	}
	return code, stderr.String(), string(text)
}

// TestInitWritesNothing: of a server at which no protocol, or more than one, can be found, init writes nothing and says
// why.
func TestInitWritesNothing(t *testing.T) {
	both := http.NewServeMux()
	both.Handle("/chat/ws", handlerOf(t, "session-chat"))
	both.Handle("/", handlerOf(t, "agent-select"))
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html>"))
	})
	for _, tt := range []struct {
		name   string
		server http.Handler
		code   int
		says   []string
	}{
		{"404 everywhere", status(404), 3, []string{"agent-select: no: GET /events is answered by HTTP 404",
			"agent-client: no: GET / serves no page", "session-chat: no: ", "session-runtime: no: ", "external-agent: no: ",
			"no protocol was recognised at http://"}},
		{"401 everywhere", status(401), 3, []string{"wants credentials: GET /events is answered by HTTP 401"}},
		{"two protocols", both, 2, []string{"agent-select: yes: ", "session-chat: yes: ",
			"2 protocols fit what is at http://", "choose one: --protocol agent-select or session-chat"}},
		{"a page alone", page, 3, []string{"agent-client: perhaps: GET / serves a page", "--protocol agent-client?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(tt.server)
			defer srv.Close()
			code, said, profile := initAt(t, srv.URL)
			if code != tt.code || profile != "" {
				t.Errorf("exit code %d, want %d; it wrote %q", code, tt.code, profile)
			}
			for _, want := range tt.says {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
		})
	}
	t.Run("two protocols, of which one is named", func(t *testing.T) {
		srv := httptest.NewServer(both)
		defer srv.Close()
		defer srv.CloseClientConnections()
		code, said, profile := initAt(t, srv.URL, "--protocol", "session-chat")
		if code != 0 || !strings.Contains(profile, "\nprotocol: session-chat\n") {
			t.Errorf("exit code %d\n%s\n%s", code, said, profile)
		}
	})
}

// TestProtocolOfAURL: a URL for which no protocol is named is judged by the one that its server speaks, in every
// command that takes one. Several that fit are wrong usage; a server of which none can be told is met as one of the
// first.
func TestProtocolOfAURL(t *testing.T) {
	url := chatServer(t, "")
	for _, command := range []string{"run --tags @SC-044 -q", "doctor", "connect", "proxy --for 1ms",
		"load --duration 10ms --sessions 1"} {
		args := append(strings.Fields(command), url)
		if !slices.Contains([]string{"doctor", "connect"}, args[0]) {
			args = append(args, "--out", t.TempDir())
		}
		_, said, _ := invoke(t, args...)
		if want := "judged as session-chat, which " + url + " speaks"; strings.Count(said, want) != 1 {
			t.Errorf("%s: says %q, want %q once", command, said, want)
		}
	}
	both := http.NewServeMux()
	both.Handle("/chat/ws", handlerOf(t, "session-chat"))
	both.Handle("/", handlerOf(t, "agent-select"))
	for _, one := range []struct {
		name   string
		server http.Handler
		code   int
		says   string
	}{
		{"two protocols", both, 2, "2 protocols fit what is at "},
		{"none", http.NotFoundHandler(), 3, ""},
		{"the first", handlerOf(t, "agent-select"), 5, ""},
	} {
		srv := httptest.NewServer(one.server)
		_, said, code := invoke(t, "run", srv.URL, "--tags", "@AS-041", "-q", "--out", t.TempDir())
		if code != one.code || !strings.Contains(said, one.says) || strings.Contains(said, "judged as") {
			t.Errorf("%s: exit %d, want %d, says %q, want %q", one.name, code, one.code, said, one.says)
		}
		srv.CloseClientConnections()
		srv.Close()
	}
}

// handlerOf returns a bundled server of a protocol.
func handlerOf(t *testing.T, protocol string) http.Handler {
	t.Helper()
	if protocol == "session-chat" {
		chat, err := sessionchat.New(sessionchat.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = chat.Close(context.Background()) })
		return chat
	}
	choose, err := agentselect.New(agentselect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = choose.Close(context.Background()) })
	return choose
}

// TestInitOfASlowServer: a server that answers after the first look is still recognised.
func TestInitOfASlowServer(t *testing.T) {
	chat := handlerOf(t, "session-chat")
	ready := time.After(2500 * time.Millisecond) // more than the first look, less than the second
	awake := make(chan struct{})
	go func() { <-ready; close(awake) }()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-awake
		chat.ServeHTTP(w, r)
	}))
	defer srv.Close()
	defer srv.CloseClientConnections()
	if code, said, profile := initAt(t, srv.URL); code != 0 || !strings.Contains(profile, "\nprotocol: session-chat\n") {
		t.Errorf("exit code %d\n%s\n%s", code, said, profile)
	}
}

// TestSilentPort: a port that accepts connections and says nothing costs seconds, and gets one line that says so, also
// where it leaves a TLS handshake without an answer.
func TestSilentPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const nothing, noTLS = "accepts connections but sends nothing", "does not answer the TLS handshake"
	var all sync.WaitGroup
	defer all.Wait()
	for _, one := range []struct{ command, scheme, says string }{
		{"init", "http", nothing}, {"init", "https", noTLS}, {"load --protocol agent-select --sessions 1", "https", noTLS},
	} {
		all.Go(func() {
			args := append(strings.Fields(one.command), one.scheme+"://"+l.Addr().String())
			if args[0] == "load" {
				args = append(args, "--out", t.TempDir())
			}
			out, said, code := invoke(t, args...)
			if code != 3 || out != "" || strings.Count(said, "\n") != 1 || !strings.Contains(said, one.says) {
				t.Errorf("%s at %s: exit code %d\n%s\n%s", one.command, one.scheme, code, out, said)
			}
		})
	}
}
