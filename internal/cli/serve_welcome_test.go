package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	proto "parley/protocol/sessionruntime"
	"parley/reference-server/launch"
)

// served serves an offer on a free port until the test ends, and returns its URL.
func served(t *testing.T, one *offer, o serveOptions) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	o.addr = "127.0.0.1:0"
	go func() { ended <- one.serveUntilDone(ctx, o, &streams{Out: stdout, Err: io.Discard}) }()
	told := bufio.NewReader(out)
	url, err := told.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, told)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		stdout.Close()
	})
	return strings.TrimSpace(url)
}

// fetch gets a URL, and returns the answer with its body.
func fetch(t *testing.T, c *http.Client, url, accept string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// greeters are the roles with a page at /.
func greeters() (all []*offer) {
	for _, one := range offersOf(bundle...) {
		if !one.role.Serve.Page && one.role.Serve.NotServer == "" {
			all = append(all, one)
		}
	}
	return all
}

const browserAccept = "text/html,application/xhtml+xml,*/*;q=0.8"

// TestWelcome: every server without its own page answers / with its name, in HTML for browsers and in plain text for
// others, with endpoints that answer and commands that parley accepts.
func TestWelcome(t *testing.T) {
	found := greeters()
	if len(found) < 4 {
		t.Fatalf("%d roles are served without a page of their own", len(found))
	}
	for _, one := range found {
		t.Run(one.protocol+" "+one.role.Name, func(t *testing.T) {
			url := served(t, one, serveOptions{})
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			for accept, kind := range map[string]string{browserAccept: "text/html", "application/json": "text/plain",
				"*/*": "text/plain"} {
				res, body := fetch(t, c, url+"/", accept)
				if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(got, kind) {
					t.Errorf("%s is answered by %s, %s", accept, res.Status, got)
				}
				for _, want := range []string{one.protocol, one.role.Name, url + "/health", "parley connect", "parley run"} {
					if !strings.Contains(body, want) {
						t.Errorf("%s: %q is not in\n%s", accept, want, body)
					}
				}
				if strings.Contains(body, "<script") || strings.Contains(body, "TOKEN") {
					t.Errorf("%s: a script, or a token although none is needed:\n%s", accept, body)
				}
			}
			if res, _ := fetch(t, c, url+"/none", browserAccept); res.StatusCode != http.StatusNotFound {
				t.Errorf("another path is answered by %s", res.Status)
			}
			for _, e := range one.role.Serve.Endpoints {
				answers(t, c, url, e)
			}
			if one.protocol == "session-runtime" {
				first(t, c, url, one.role.Serve.First)
			}
			g := one.newGreeting("http", strings.TrimPrefix(url, "http://"), false)
			if code := accepted(t, g.Commands[1].Line, t.TempDir()); code != 0 {
				t.Errorf("%s: exit %d", g.Commands[1].Line, code)
			}
			parsed(t, g.Commands[2].Line)
		})
	}
}

// first checks that the page shows what a client sends first, and that the server takes it.
func first(t *testing.T, c *http.Client, url, message string) {
	t.Helper()
	if _, body := fetch(t, c, url+"/", "*/*"); !strings.Contains(body, message) {
		t.Errorf("%s is not in\n%s", message, body)
	}
	conn, _, err := websocket.Dial(t.Context(), url+proto.Path, &websocket.DialOptions{HTTPClient: c})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(got), `"ready"`) {
		t.Errorf("%s is answered by %s, %v", message, got, err)
	}
}

// answers checks that an endpoint answers.
func answers(t *testing.T, c *http.Client, url string, e launch.Endpoint) {
	t.Helper()
	url += regexp.MustCompile(`\{\w+\}`).ReplaceAllString(e.Path, "none")
	if e.Method == launch.Socket {
		conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: c})
		if err != nil {
			t.Error(err)
			return
		}
		conn.CloseNow()
		return
	}
	method := e.Method
	if method == launch.Stream {
		method = http.MethodGet
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	kind := res.Header.Get("Content-Type")
	want := "application/json"
	if e.Method == launch.Stream {
		want = "text/event-stream"
	}
	if !strings.HasPrefix(kind, want) {
		t.Errorf("%s %s is answered by %s, %s", method, url, res.Status, kind)
	}
}

// accepted runs a command line of parley in this process, without input, and returns its exit code.
func accepted(t *testing.T, line, dir string) int {
	t.Helper()
	t.Chdir(dir)
	var said strings.Builder
	code := runParley(shellWords(line)[1:], &streams{In: strings.NewReader(""), Out: &said, Err: &said})
	if code != 0 {
		t.Log(said.String())
	}
	return code
}

// parsed checks that parley accepts the command, flags and target of a command line.
func parsed(t *testing.T, line string) {
	t.Helper()
	s := &streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	c, rest, err := rootCommand(s).Find(shellWords(line)[1:])
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	f := c.Flags()
	protocols, err := f.GetStringArray("protocol")
	if err != nil {
		t.Fatal(err)
	}
	roles, err := f.GetStringSlice("role")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subjectsOf(f.Lookup("target").Value.String(), protocols, roles); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// TestWelcomeWithToken: the page requires the token; with it, the page says so, a browser stays authorised, and
// the commands take the token from the environment.
func TestWelcomeWithToken(t *testing.T) {
	for _, one := range greeters() {
		t.Run(one.protocol+" "+one.role.Name, func(t *testing.T) {
			url := served(t, one, serveOptions{token: "s3cret"})
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			c := &http.Client{Transport: &http.Transport{}, Jar: jar}
			defer c.CloseIdleConnections()
			for _, step := range []struct {
				path string
				want int
			}{{"/", 401}, {"/?token=x", 401}, {"/", 401}, {"/?token=s3cret", 200}, {"/", 200}, {"/health", 200}} {
				res, body := fetch(t, c, url+step.path, browserAccept)
				if res.StatusCode != step.want || strings.Contains(body, "s3cret") {
					t.Errorf("%s: %s, want %d\n%s", step.path, res.Status, step.want, body)
				}
			}
			t.Setenv("TOKEN", "s3cret")
			g, dir := one.newGreeting("http", strings.TrimPrefix(url, "http://"), true), t.TempDir()
			write, line, _ := strings.Cut(g.Commands[1].Line, " && ")
			shell := exec.CommandContext(t.Context(), "sh", "-c", write)
			shell.Dir = dir
			if out, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "served.yaml")); err != nil || strings.Contains(string(b), "s3cret") {
				t.Errorf("the profile is %q, %v", b, err)
			}
			if code := accepted(t, line, dir); code != 0 {
				t.Errorf("%s: exit %d", line, code)
			}
			_, line, _ = strings.Cut(g.Commands[2].Line, " && ")
			parsed(t, line)
		})
	}
}

// TestWelcomeOfAHostileHost: a host that could be harmful in a command line is not repeated, even if any name is
// accepted.
func TestWelcomeOfAHostileHost(t *testing.T) {
	url := served(t, greeters()[0], serveOptions{token: "s3cret"})
	for host, repeated := range map[string]bool{"a$(id).example": false, "a;id": false, "parley.example:80": true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/?token=s3cret", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		said := string(body)
		if err != nil || strings.Contains(said, host) != repeated || !repeated && !strings.Contains(said, url) {
			t.Errorf("%s: %v\n%s", host, err, body)
		}
	}
}
