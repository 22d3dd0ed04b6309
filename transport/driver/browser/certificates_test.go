package browser

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/internal/certtest"
	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// sealed serves pages over TLS, and keeps the token of each request by its path.
func sealed(t *testing.T, conf *tls.Config, html string) (url string, tokens func(path string) string) {
	var mu sync.Mutex
	seen := map[string]string{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path] = r.Header.Get("Authorization")
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, "<!doctype html><p>sealed</p>"+html)
		}
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that the client gives up
	srv.TLS = conf
	srv.StartTLS()
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL, func(path string) string {
		mu.Lock()
		defer mu.Unlock()
		return seen[path]
	}
}

// TestTrust: a page at an https URL opens if its certificate is accepted, and not otherwise.
func TestTrust(t *testing.T) {
	files, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	others, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		conf *tls.Config
		srv  *tls.Config
		want string // part of the error; "": the page opens
	}{
		{"its authority", &tls.Config{RootCAs: files.Pool()}, files.ServerTLS(false), ""},
		{"another authority", &tls.Config{RootCAs: others.Pool()}, files.ServerTLS(false), "unknown authority"},
		{"another name", &tls.Config{RootCAs: files.Pool()}, files.NamedTLS(), "IP SANs"},
		{"unchecked", &tls.Config{InsecureSkipVerify: true}, files.NamedTLS(), ""},
		{"by default", nil, files.ServerTLS(false), "ERR_CERT_AUTHORITY_INVALID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, tokens := sealed(t, tt.srv, "")
			d := New(Options{TLS: tt.conf})
			defer d.Close()
			rec := transcript.New(nil)
			c, err := d.Open(bounded(t), driver.OpenOptions{Party: "A", URL: url + "/"}, rec.Append)
			if err == nil {
				defer c.Close(driver.Reset)
			}
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("Open: %v, want an error with %q", err, tt.want)
			case tt.want == "" && tokens("/") != "":
				t.Errorf("a header was sent that nobody asked for: %q", tokens("/"))
			}
		})
	}
}

// TestHeader: the page's own origin gets the headers with each request, and other origins do not.
func TestHeader(t *testing.T) {
	files, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, others := sealed(t, files.ServerTLS(false), "")
	url, tokens := sealed(t, files.ServerTLS(false), `<script>fetch("/data").then(() => fetch("`+elsewhere+
		`/other", {mode: "no-cors"})).then(() => document.body.append("all came"))</script>`)
	d := New(Options{TLS: &tls.Config{InsecureSkipVerify: true}, Header: http.Header{"Authorization": {"Bearer s3cret"}}})
	defer d.Close()
	u := openPage(t, d, url+"/", driver.Page{})
	u.awaitSnapshot(0, "the end", func(p snapshot.Page) bool { return strings.Contains(p.Text, "all came") })
	if tokens("/") != "Bearer s3cret" || tokens("/data") != "Bearer s3cret" {
		t.Errorf("the page was requested with %q, its data with %q", tokens("/"), tokens("/data"))
	}
	if got := others("/other"); got != "" {
		t.Errorf("another origin was sent %q", got)
	}
}
