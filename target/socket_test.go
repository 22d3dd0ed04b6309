//go:build unix

package target

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSocketURL: the URL of a unix socket is understood, and each mistake says how to mend it.
func TestSocketURL(t *testing.T) {
	const command = "\ncommand: {run: [x]}"
	for _, tt := range []struct{ text, url, want string }{
		{"url: unix:///run/a.sock", "unix:///run/a.sock", ""},
		{"url: unix:/run/a.sock", "unix:///run/a.sock", ""},
		{"url: unix:///run/a.sock:/", "unix:///run/a.sock", ""},
		{"url: unix:///run/a.sock:/base/", "unix:///run/a.sock:/base", ""},
		{"url: 'unix://{dir}/a.sock'" + command, "unix://{dir}/a.sock", ""},
		{"url: 'unix://{profile}/a.sock:/base'", "unix://{profile}/a.sock:/base", ""},
		{"url: 'unix://{dir}/a.sock'", "",
			"url: {dir} is the folder of a command, but there is no command (give the path, or a"},
		{"url: 'unix:///run/{port}'" + command, "", "url: a unix socket has no port (write it like unix:///run/server.sock"},
		{"url: 'unix:///run/{port2}'" + command, "", "url: a unix socket has no port (write it like unix:///run/server.sock"},
		{"url: unix://run/a.sock", "", `url: "unix://run/a.sock" is not the URL of a unix socket (write it like unix:///run`},
		{"url: unix:///run/", "", "is not the URL of a unix socket"},
		{"url: 'unix:///run/a.sock:/x?y'", "", "is more than a base URL (no query; see headers)"},
		{"url: unix:///run/a.sock\ntls: {insecure: true}", "", "does not speak TLS"},
	} {
		p, err := toys.Parse([]byte(tt.text+"\n"), "t.yaml", nil)
		var mistake *ProfileError
		switch {
		case tt.want == "" && (err != nil || p.URL != tt.url):
			t.Errorf("%s: %v, %v", tt.text, p, err)
		case tt.want != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
	p, err := toys[0].ForURL("unix:///run/a.sock")
	if err != nil || p.Name != "a.sock" {
		t.Errorf("its name is %q, %v", p.Name, err)
	}
}

// TestSocketRunning: a running server at a unix socket is found, also by ready.path of a command, and one that does not
// listen is not.
func TestSocketRunning(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-served })

	p, err := toys[0].ForURL("unix://" + dir + "/s")
	if err != nil {
		t.Fatal(err)
	}
	in, err := Start(t.Context(), p, LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Stop(context.Background())
	if want := "unix://" + dir + "/s:"; in.BaseURL() != want || in.fill.url != want[:len(want)-1] || in.fill.port != "" {
		t.Errorf("it is at %s, told %s and port %q", in.BaseURL(), in.fill.url, in.fill.port)
	}
	client := newProber(p)
	defer client.CloseIdleConnections()
	if err := checkAnswers(t.Context(), client, in.BaseURL()+"/health", nil); err != nil {
		t.Error(err)
	}

	none, err := toys[0].ForURL("unix://" + dir + "/none")
	if err != nil {
		t.Fatal(err)
	}
	var unreachable *UnreachableError
	want := "target unix://" + dir + "/none cannot be reached: tried " + dir + "/none: connect: no such file or directory"
	if _, err := Start(t.Context(), none, LaunchOptions{}); !errors.As(err, &unreachable) || err.Error() != want {
		t.Errorf("a socket that is not there: %v", err)
	}
}

// TestSocketTooLong: a socket whose path the system would not allow is refused before anything starts.
func TestSocketTooLong(t *testing.T) {
	p := toys.New("listening")
	p.Dir, p.URL, p.Command = t.TempDir(), "unix://{dir}/"+strings.Repeat("x", 100), NewCommand("true")
	var failed *StartError
	if _, err := Start(t.Context(), p, LaunchOptions{}); !errors.As(err, &failed) ||
		!strings.Contains(failed.Reason, "bytes, and systems allow 107 (set TMPDIR to a shorter folder): /") {
		t.Error(err)
	}
}

// TestSocketPrivate: each instance of a command has a socket of its own if it is in its folder.
func TestSocketPrivate(t *testing.T) {
	for url, want := range map[string]bool{"unix://{dir}/s": true, "unix:///run/s": false,
		"http://127.0.0.1:{port}": true} {
		p := toys.New("listening")
		p.URL, p.Command = url, NewCommand("x")
		if got := NewLauncher(p).Private(); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}
