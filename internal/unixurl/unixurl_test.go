package unixurl

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ raw, socket, rest string }{
		{"unix:///run/a.sock", "/run/a.sock", ""},
		{"unix:/run/a.sock", "/run/a.sock", ""},
		{"unix:///run/a.sock:", "/run/a.sock", ""},
		{"unix:///run/a.sock:/", "/run/a.sock", "/"},
		{"unix:///run/a.sock:/events?x=1&y=:/z", "/run/a.sock", "/events?x=1&y=:/z"},
		{"unix:///run/a.sock:/b:/c", "/run/a.sock", "/b:/c"},
		{"unix:///run/a%20b.sock:/c%20d", "/run/a b.sock", "/c%20d"},
		{"unix:///run/a:b.sock", "/run/a:b.sock", ""},
	} {
		socket, rest, err := Split(tt.raw)
		if err != nil || socket != tt.socket || rest != tt.rest {
			t.Errorf("Split(%q) is %q, %q, %v", tt.raw, socket, rest, err)
		}
	}
	for _, raw := range []string{"unix://host/a.sock", "unix:a.sock", "unix:///", "unix:///run/", "unix:///a.sock#x",
		"unix:",
		"http://a", "unix:///%zz"} {
		if socket, rest, err := Split(raw); err == nil {
			t.Errorf("Split(%q) is %q, %q", raw, socket, rest)
		}
	}
}

func TestBase(t *testing.T) {
	for raw, want := range map[string]string{
		"unix:///run/a.sock": "unix:///run/a.sock:", "unix:/run/a.sock": "unix:///run/a.sock:",
		"unix:///run/a.sock:": "unix:///run/a.sock:", "unix:///run/a.sock:/v1": "unix:///run/a.sock:/v1",
		"http://localhost:1": "http://localhost:1", "unix://host/x": "unix://host/x"} {
		if got := Base(raw); got != want {
			t.Errorf("Base(%q) is %q", raw, got)
		}
	}
	if got := Shown("unix:///run/a.sock:"); got != "unix:///run/a.sock" {
		t.Errorf("Shown is %q", got)
	}
	at, ok := HTTP("unix:///a:/b")
	if !ok || strings.Contains(at, "unix:") || Plain("Get \""+at+"\": no") != `Get "http://localhost/b": no` {
		t.Errorf("HTTP is %q, and Plain %q", at, Plain(at))
	}
	if u, _ := url.Parse("unix:///a:/b?c"); RequestURI(u) != "/b?c" {
		t.Errorf("RequestURI is %q", RequestURI(u))
	}
	if u, _ := url.Parse("http://a/b?c"); RequestURI(u) != "/b?c" {
		t.Errorf("RequestURI is %q", RequestURI(u))
	}
}

// TestTeach: requests go to the socket that is named, each socket has connections of its own, and other URLs
// still work.
func TestTeach(t *testing.T) {
	client := &http.Client{Transport: Teach(&http.Transport{})}
	defer client.CloseIdleConnections()
	get := func(at string) string {
		t.Helper()
		res, err := client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one, two := serve(t, "one"), serve(t, "two")
	tcp := httptest.NewServer(answer("tcp"))
	defer tcp.Close()
	for range 2 { // the second time over connections that are open
		if got := get("unix://" + one + ":/x?y"); got != "one localhost /x?y" {
			t.Errorf("the first socket: %s", got)
		}
		if got := get("unix://" + two); got != "two localhost /" {
			t.Errorf("the second socket: %s", got)
		}
		if got := get(tcp.URL + "/z"); !strings.HasPrefix(got, "tcp 127.0.0.1:") {
			t.Errorf("TCP: %s", got)
		}
	}
	if _, err := client.Get("unix://" + one + "x:/y"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a socket that is not there: %v", err)
	}
	if _, err := Connect(context.Background(), "/"+strings.Repeat("x", 107)); err == nil ||
		!strings.Contains(err.Error(), "has 108 bytes, and systems allow 107") {
		t.Errorf("a long path: %v", err)
	}
}

func answer(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name+" "+r.Host+" "+r.RequestURI)
	}
}

// serve serves on a socket, and returns its path.
func serve(t *testing.T, name string) string {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer(name)}}
	srv.Start()
	t.Cleanup(srv.Close)
	return path
}

// TestDialLocalhost checks that localhost is reached at either address of loopback, whatever the resolver knows, and
// that other hosts are dialled once.
func TestDialLocalhost(t *testing.T) {
	for _, c := range []struct{ addr, listens, tried string }{
		{"localhost:80", "localhost:80", "localhost:80"},
		{"localhost:80", "[::1]:80", "localhost:80 127.0.0.1:80 [::1]:80"},
		{"api.LOCALHOST:80", "127.0.0.1:80", "api.LOCALHOST:80 127.0.0.1:80"},
		{"localhost:80", "", "localhost:80 127.0.0.1:80 [::1]:80"},
		{"example.org:80", "[::1]:80", "example.org:80"},
		{"127.0.0.1:80", "[::1]:80", "127.0.0.1:80"},
	} {
		var tried []string
		conn, _ := net.Pipe()
		_, err := Dial(func(_ context.Context, _, addr string) (net.Conn, error) {
			tried = append(tried, addr)
			if addr == c.listens {
				return conn, nil
			}
			return nil, errors.New("refused: " + addr)
		})(t.Context(), "tcp", c.addr)
		if got := strings.Join(tried, " "); got != c.tried {
			t.Errorf("%s: tried %s, want %s", c.addr, got, c.tried)
		}
		if reached := strings.Contains(c.tried, c.listens) && c.listens != ""; reached != (err == nil) ||
			err != nil && err.Error() != "refused: "+c.addr {
			t.Errorf("%s, where %q listens: %v", c.addr, c.listens, err)
		}
	}
}
