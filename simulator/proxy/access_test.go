package proxy_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/reports"
	"parley/runner"
	"parley/simulator/proxy"
)

// secured returns the options of a proxy in front of a server, with TLS on both sides, and a client that trusts it.
func secured(t *testing.T, up *httptest.Server) (proxy.Options, *http.Client) {
	t.Helper()
	trust := x509.NewCertPool()
	trust.AddCert(up.Certificate())
	o := options(t, "session-chat", up.URL)
	o.TLS, o.ToTLS = up.TLS.Clone(), &tls.Config{RootCAs: trust}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return o, &http.Client{Transport: transport}
}

// TestTLS: TLS on both sides, over HTTP and WebSocket; an untrusted certificate is not accepted.
func TestTLS(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			echo(w, r)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer up.Close()
	o, client := secured(t, up)
	s := openProxy(t, o, "")
	if !strings.HasPrefix(s.URL(), "https://") {
		t.Errorf("it is at %s", s.URL())
	}
	if status, text := get(t, client, s.URL(), nil); status != 200 || text != "hello" {
		t.Errorf("%d %q", status, text)
	}
	c, _, err := websocket.Dial(boundedContext(t), s.URL()+"/ws", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	sendText(t, c, "over TLS")
	readUntil(t, c, "over TLS")
	o.ToTLS = nil
	distrusts := openProxy(t, o, "")
	if status, text := get(t, client, distrusts.URL(), nil); status != 502 || !strings.Contains(text, "certificate") {
		t.Errorf("%d %q", status, text)
	}
}

// get returns the status and the text of an answer.
func get(t *testing.T, client *http.Client, url string, h http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(boundedContext(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range h {
		req.Header[name] = values
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestToken: with a token configured, requests without it are refused, and the server does not see the token.
func TestToken(t *testing.T) {
	seen := make(chan *http.Request, 9)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r }))
	defer up.Close()
	o := options(t, "session-chat", up.URL)
	o.Token = "s3cret+/token"
	s := openProxy(t, o, "")
	for _, h := range []http.Header{nil, {"Authorization": {"Bearer other"}}} {
		if status, text := get(t, unpooledClient(t), s.URL()+"/?token=s3cret", h); status != 401 ||
			!strings.Contains(text, "token") {
			t.Errorf("%v: %d %q", h, status, text)
		}
	}
	if len(seen) > 0 {
		t.Error("a request without the token was passed on")
	}
	for _, one := range []struct {
		path string
		h    http.Header
		want string
	}{
		{"/a?x=1&token=s3cret%2B%2Ftoken&y=2", nil, "/a?x=1&y=2"},
		{"/a?token=s3cret%2B%2Ftoken", nil, "/a"},
		{"/a?token=other", http.Header{"Authorization": {"Bearer s3cret+/token"}}, "/a?token=other"},
	} {
		if status, text := get(t, unpooledClient(t), s.URL()+one.path, one.h); status != 200 {
			t.Errorf("%s: %d %q", one.path, status, text)
			continue
		}
		if r := <-seen; r.RequestURI != one.want || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: the server got %s, %v", one.path, r.RequestURI, r.Header)
		}
	}
}

// TestSecrets: credentials pass, but are kept neither in the transcript nor in any report.
func TestSecrets(t *testing.T) {
	secrets := []string{"bearer-secret-1", "cookie-secret-2", "query-secret-3", "api-secret-4", "body-secret-5",
		"dXNlcjpwYXNz"}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" || r.URL.Query().Get("access_token") != "query-secret-3" ||
			r.Header.Get("Cookie") != "sid=cookie-secret-2" {
			http.Error(w, "not passed on", http.StatusForbidden)
			return
		}
		echo(w, r)
	}))
	defer up.Close()
	out := t.TempDir()
	if err := runner.PrepareOut(out); err != nil {
		t.Fatal(err)
	}
	s := openProxy(t, options(t, "session-chat", up.URL), out)
	for _, auth := range []string{"Bearer bearer-secret-1", "Basic dXNlcjpwYXNz"} {
		url := s.URL() + "/chat/ws?access_token=query-secret-3&plain=stays"
		c, _, err := websocket.Dial(boundedContext(t), url, &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {auth}, "Cookie": {"sid=cookie-secret-2"}, "X-Api-Key": {"api-secret-4"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets { // a malformed message, which appears in evidence
			sendText(t, c, `{"type":"assistant","agent_id":7,"token":"body-secret-5","message":"`+secret+`"}`)
			readUntil(t, c, secret)
		}
		_ = c.CloseNow()
	}
	awaitEvent(t, s.ends, "C2")
	res := s.close()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, res); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{"results.json": b.String(), "lines": strings.Join(s.lines, "\n")}
	paths, _ := filepath.Glob(filepath.Join(out, "transcripts", "*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kept[path] = string(text)
	}
	if len(paths) == 0 || !s.hasLine("plain=stays") || !s.hasLine("«redacted»") {
		t.Errorf("%d transcripts: %.2000q", len(paths), s.lines)
	}
	for place, text := range kept {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s", place, secret)
			}
		}
	}
}
