package console

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"parley/simulator"
)

// get makes a GET request with headers; "Host" sets the host.
func (c *client) get(path string, headers ...string) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "GET", c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res, string(body)
}

// TestDoor: pages of other origins are refused, whatever host name they use.
func TestDoor(t *testing.T) {
	c, _ := serve(t, func(o *Options) { o.Hosts = []string{"", "my-machine"} })
	own := strings.TrimPrefix(c.url, "http://")
	for _, row := range []struct {
		reason  string
		headers []string
		want    int
	}{
		{"a program", nil, 200},
		{"the console's own page", []string{"Origin", c.url, "Sec-Fetch-Site", "same-origin"}, 200},
		{"localhost", []string{"Host", "localhost:1"}, 200},
		{"an address", []string{"Host", "192.0.2.1"}, 200},
		{"an IPv6 address", []string{"Host", "[::1]:80"}, 200},
		{"a name that it has", []string{"Host", "My-Machine:80"}, 200},
		{"a link from elsewhere", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a name that was rebound", []string{"Host", "evil.example:80", "Origin", "http://evil.example:80"}, 403},
		{"a name that was rebound, without an origin", []string{"Host", "evil.example"}, 403},
		{"a name that begins like an address", []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"a name that ends like localhost", []string{"Host", "evil.localhost.example"}, 403},
		{"no name", []string{"Host", ":80"}, 403},
		{"another origin", []string{"Origin", "http://evil.example"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"another scheme", []string{"Origin", "https://" + own}, 403},
		{"no origin that could be told", []string{"Origin", "null"}, 403},
		{"two origins", []string{"Origin", c.url, "Origin", "http://evil.example"}, 403},
		{"an image on another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"a page on another port", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, 403},
	} {
		t.Run(row.reason, func(t *testing.T) {
			res, body := (&client{t, c.url, c.http}).get(prefix+"/sessions", row.headers...)
			if res.StatusCode != row.want || row.want == 403 && !strings.HasPrefix(body, `{"error":"`) {
				t.Errorf("%d %s, want %d", res.StatusCode, body, row.want)
			}
		})
	}
	c, _ = serve(t, func(o *Options) { o.AnyHost = true })
	if res, _ := c.get(prefix+"/sessions", "Host", "any.example"); res.StatusCode != 200 {
		t.Errorf("with a token, any name: %d", res.StatusCode)
	}
	if res, _ := c.get(prefix+"/sessions", "Host", "any.example", "Origin", c.url); res.StatusCode != 403 {
		t.Errorf("with a token, another origin: %d", res.StatusCode)
	}
}

// TestPage: the page's files are served under a policy that admits nothing else, and no other files are served.
func TestPage(t *testing.T) {
	c, console := serve(t)
	console.page = fstest.MapFS{"index.html": {Data: []byte("<title>x")}, "lib/a.js": {Data: []byte("1")},
		".hidden": {Data: []byte("x")}, "lib/.hidden": {Data: []byte("x")}}
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8",
		"/lib/a.js": "text/javascript; charset=utf-8", "/?session=1": "text/html; charset=utf-8"} {
		res, body := c.get(path)
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != kind || body == "" {
			t.Errorf("%s: %d %s %q", path, res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if res.Header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, res.Header.Get(name))
			}
		}
	}
	for _, path := range []string{"/lib", "/lib/", "/none.js", "/.hidden", "/lib/.hidden", "/../console.go",
		"/%2e%2e/console.go", "/lib/..%2f..%2fconsole.go", "/lib//a.js/..", "/page/index.html", "//etc/passwd",
		"/lib%2fa.js%00", `/lib\a.js`} {
		if res, body := c.get(path); res.StatusCode != 404 || !strings.HasPrefix(body, `{"error":"`) {
			t.Errorf("%s: %d %q", path, res.StatusCode, body)
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") {
		t.Errorf("policy: %s", policy)
	}
	for _, row := range [][2]string{{"GET", prefix + "/none"}, {"PATCH", prefix + "/sessions"}, {"POST", "/index.html"}} {
		req, err := http.NewRequestWithContext(t.Context(), row[0], c.url+row[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 404 && res.StatusCode != 405 || !strings.HasPrefix(string(body), `{"error":"`) {
			t.Errorf("%s %s: %d %q", row[0], row[1], res.StatusCode, body)
		}
	}
}

// TestEmbedded: the embedded page has only files that the console can serve.
func TestEmbedded(t *testing.T) {
	err := fs.WalkDir(page, "page", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		if _, known := types[path[max(0, strings.LastIndex(path, ".")):]]; !known {
			t.Errorf("%s has no media type", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBounds: the limits on the length of a request, its media type, and the number of sessions.
func TestBounds(t *testing.T) {
	c, _ := serve(t, newFake().offer)
	c.wantRefusal(413, "POST", "/sessions", m{"kind": "replay", "recording": strings.Repeat("x", MaxUpload)},
		"the request is longer than 64 MiB")
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p"}).ID
	c.wantRefusal(413, "POST", at+"/raw", m{"text": strings.Repeat("x", MaxBody)}, "longer than 8 MiB")
	do[string](c, 204, "DELETE", at, nil)
	req, err := http.NewRequestWithContext(t.Context(), "POST", c.url+prefix+"/sessions", strings.NewReader(`kind=play`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 415 {
		t.Errorf("a form: %d", res.StatusCode)
	}
	recorded := m{"kind": "replay", "recording": `{"parley":"recording","version":1}` + "\n"}
	for range MaxSessions {
		do[Session](c, 201, "POST", "/sessions", recorded)
	}
	c.wantRefusal(409, "POST", "/sessions", recorded, "there are 64 sessions, which is the most")
	do[string](c, 204, "DELETE", "/sessions/7", nil)
	if s := do[Session](c, 201, "POST", "/sessions", recorded); s.ID == "7" {
		t.Error("an id is given twice")
	}
}

// TestClose: closing the console ends sessions, streams and waits, including those that are being opened.
func TestClose(t *testing.T) {
	opening := make(chan struct{})
	c, console := serve(t, newFake().offer, func(o *Options) {
		o.Open = func(ctx context.Context, _ TestOptions) (*simulator.Session, error) {
			close(opening)
			<-ctx.Done()
			return nil, errors.New("interrupted")
		}
	})
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	next, _ := c.listen(at+"/events", "")
	c.awaitEvent(next, "state", nil)
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		c.wantRefusal(409, "POST", at+"/wait", m{"type": "never", "within": "10m"}, "has ended")
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		c.wantRefusal(400, "POST", "/sessions", m{"kind": "test"}, "interrupted")
	}()
	<-opening
	console.Close()
	console.Close()
	c.awaitEvent(next, "state", func(data []byte) bool { return strings.Contains(string(data), `"state":"ended"`) })
	<-done
	<-done
	c.wantRefusal(409, "POST", "/sessions", m{"kind": "play"}, "the console is ending")
}
