package cli

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestRemember: a page opened with the token can load its files, and call from its own origin; others cannot.
func TestRemember(t *testing.T) {
	var seen *http.Request
	at := &net.TCPAddr{Port: 8443}
	srv := httptest.NewServer(rememberToken("s3cret", at, false, requireToken("s3cret",
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))))
	defer srv.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(jar http.CookieJar, path, origin string) int {
		t.Helper()
		seen = nil
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		res, err := (&http.Client{Jar: jar}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	steps := []struct {
		reason, path, origin string
		want                 int
		kept                 bool // the Origin header is passed on
	}{
		{"without a token", "/booking.js", "", 401, false},
		{"with another one", "/?token=x", "", 401, false},
		{"and then", "/booking.js", "", 401, false},
		{"what is no page remembers nothing", "/say?token=s3cret", "", 200, false},
		{"and then", "/booking.js", "", 401, false},
		{"the page", "/?token=s3cret", "", 200, false},
		{"what it loads", "/booking.js", "", 200, false},
		{"its WebSocket", "/agent/ws", srv.URL, 200, false},
		{"that of another page", "/agent/ws", "https://example.org", 200, true},
		{"a wrong token counts before what is remembered", "/booking.js?token=x", "", 401, false},
	}
	for _, s := range steps {
		if got := get(jar, s.path, s.origin); got != s.want || seen != nil && (seen.Header.Get("Origin") != "") != s.kept {
			t.Errorf("%s: HTTP %d, want %d; %v", s.reason, got, s.want, seen)
		}
	}
	if got := get(nil, "/booking.js", ""); got != 401 {
		t.Errorf("another browser: HTTP %d", got)
	}
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range jar.Cookies(u) {
		if c.Name != "parley-8443" || strings.Contains(c.Value, "s3cret") {
			t.Errorf("the cookie is %v", c)
		}
	}
	next := http.NotFoundHandler()
	if w := httptest.NewRecorder(); true {
		rememberToken("", at, false, next).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?token=", nil))
		if len(w.Result().Cookies()) > 0 {
			t.Error("there is something to remember without a token")
		}
	}
}
