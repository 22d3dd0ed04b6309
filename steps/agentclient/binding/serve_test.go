//go:build unix

package binding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"parley/target"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// site makes a folder of files from names and contents, and returns its path.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// page returns the profile of a page in a folder.
func page(folder string, change ...func(*Binding)) *target.Profile {
	p := Kind().New()
	Of(p).Folder = folder
	for _, f := range change {
		f(Of(p))
	}
	return p
}

// launchPage launches a page, and stops it twice at the end of the test.
func launchPage(t *testing.T, p *target.Profile) target.Running {
	t.Helper()
	l := target.NewLauncher(p)
	if !l.Private() {
		t.Error("a page in a folder is everybody's own")
	}
	r, err := l.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := r.Stop(context.Background()); err != nil {
				t.Errorf("stop: %v", err)
			}
		}
	})
	return r
}

// ask sends a GET for a path exactly as written.
func ask(t *testing.T, client *http.Client, base, path string) (status int, header http.Header, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + req.URL.Host + path
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

// linkedSite returns a site with links out of its folder, and the folder that they lead to.
func linkedSite(t *testing.T) (dir, outside string) {
	t.Helper()
	outside = site(t, map[string]string{"secret.txt": "secret", "index.html": "outside"})
	dir = site(t, map[string]string{
		"index.html": "the page", "app.js": "code", "sub/index.html": "below", "bare/a.txt": "listed", "style.css": "p {}",
		"odd/index.html/x": "a folder of this name",
	})
	for name, to := range map[string]string{
		"link.txt": filepath.Join(outside, "secret.txt"), "up.txt": "../" + filepath.Base(outside) + "/secret.txt",
		"linked": outside, "inner.js": "app.js", "loop": "loop", "dangling": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, outside
}

// TestServedPage checks that only what is in the folder is served.
func TestServedPage(t *testing.T) {
	dir, outside := linkedSite(t)
	r := launchPage(t, page(dir))
	if !strings.HasPrefix(r.BaseURL(), "http://127.0.0.1:") || strings.HasSuffix(r.BaseURL(), "/") {
		t.Errorf("the base URL is %s", r.BaseURL())
	}
	client := plainClient()
	for _, tt := range []struct {
		reason, path string
		status       int
		body         string
	}{
		{"the page", "/", 200, "the page"},
		{"with a query", "/?server=x", 200, "the page"},
		{"a file", "/app.js", 200, "code"},
		{"a page in a subfolder", "/sub/", 200, "below"},
		{"a link within the folder", "/inner.js", 200, "code"},
		{"by its name, it is the folder's page", "/index.html?a=b", 301, ""},
		{"a folder without its slash", "/sub", 301, ""},

		{"a missing file", "/none.js", 404, ""},
		{"a listing", "/bare/", 404, ""},
		{"a listing, without the slash", "/bare", 404, ""},
		{"a folder for a page", "/odd/", 404, ""},
		{"the folder above", "/../secret.txt", 404, ""},
		{"a sibling folder", "/../" + filepath.Base(outside) + "/secret.txt", 404, ""},
		{"the same, escaped", "/..%2f" + filepath.Base(outside) + "%2fsecret.txt", 404, ""},
		{"the same, with its dots escaped", "/%2e%2e/" + filepath.Base(outside) + "/secret.txt", 404, ""},
		{"with backslashes", `/..%5c` + filepath.Base(outside) + `%5csecret.txt`, 404, ""},
		{"an absolute path", "/" + outside + "/secret.txt", 404, ""},
		{"a zero byte", "/app.js%00", 404, ""},
		{"a link out of the folder", "/link.txt", 404, ""},
		{"a relative one", "/up.txt", 404, ""},
		{"a linked folder", "/linked/", 404, ""},
		{"a file in a linked folder", "/linked/secret.txt", 404, ""},
		{"a link to itself", "/loop", 404, ""},
		{"a link to nothing", "/dangling", 404, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			status, header, body := ask(t, client, r.BaseURL(), tt.path)
			if status != tt.status || tt.status == 200 && body != tt.body {
				t.Errorf("got %d %q, want %d %q", status, body, tt.status, tt.body)
			}
			if strings.Contains(body, "secret") || strings.Contains(body, "a.txt") {
				t.Errorf("it tells %q", body)
			}
			if got := header.Get("Cache-Control"); status < 400 && got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
			if got := header.Get("Location"); status == 301 && strings.Contains(got, "://") {
				t.Errorf("it leads to %q", got)
			}
		})
	}
	for name, want := range map[string]string{"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css"} {
		if _, header, _ := ask(t, client, r.BaseURL(), name); !strings.HasPrefix(header.Get("Content-Type"), want) {
			t.Errorf("%s is %s", name, header.Get("Content-Type"))
		}
	}
}

// TestPageChanges checks that the current content is served.
func TestPageChanges(t *testing.T) {
	dir := site(t, map[string]string{"index.html": "old"})
	r := launchPage(t, page(dir))
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, body := ask(t, plainClient(), r.BaseURL(), "/"); body != "new" {
		t.Errorf("it serves %q", body)
	}
}

// TestPagesApart checks that every launch has its own server, which ends with it even if clients are connected.
func TestPagesApart(t *testing.T) {
	p := page(site(t, map[string]string{"index.html": "x"}))
	one, other := launchPage(t, p), launchPage(t, p)
	if one.BaseURL() == other.BaseURL() {
		t.Errorf("both are at %s", one.BaseURL())
	}
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(one.BaseURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	if err := one.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // it ends in one way or another
	if conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(one.BaseURL(), "http://")); err == nil {
		_ = conn.Close()
		t.Error("somebody still listens")
	}
	if status, _, _ := ask(t, plainClient(), other.BaseURL(), "/"); status != 200 {
		t.Errorf("the other one answers %d", status)
	}
}

// TestPageAsFile checks that the folder is opened in place.
func TestPageAsFile(t *testing.T) {
	dir := site(t, map[string]string{"a b/index.html": "x"})
	p := page(filepath.Join(dir, "a b"), func(a *Binding) { a.File = true })
	r := launchPage(t, p)
	if want := fileURL(dir) + "/a%20b"; r.BaseURL() != want || !strings.HasPrefix(want, "file:///") {
		t.Errorf("the base URL is %s, want %s", r.BaseURL(), want)
	}
	u, err := url.Parse(Of(p).PageURL(r.BaseURL(), "http://127.0.0.1:9"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filePath(u.Path)); err != nil || !bytes.Equal(b, []byte("x")) {
		t.Errorf("%s has %q, %v", u, b, err)
	}
}

// TestPageCannot checks the operations that a page does not support.
func TestPageCannot(t *testing.T) {
	r := launchPage(t, page(site(t, map[string]string{"index.html": "x"})))
	_, config := r.ConfigBytes()
	for want, err := range map[string]error{
		"the profile declares no hooks.add-agent": r.Hook(t.Context(), target.HookAddAgent,
			target.CustomAgent{}),
		"the profile declares no configuration of a page":                            config,
		"the profile declares no way to restart a page, other than opening it again": r.Restart(t.Context(), true),
	} {
		var none *target.NotDeclaredError
		if !errors.As(err, &none) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if r.Stderr() != "" {
		t.Errorf("it wrote %q", r.Stderr())
	}
}

// TestPageIsNotThere checks that a missing page is an environment error that names the folder.
func TestPageIsNotThere(t *testing.T) {
	dir := site(t, map[string]string{"index.html": "x", "bare/a.txt": "x", "b/index.html/c": "x"})
	if err := os.Symlink("/", filepath.Join(dir, "outside")); err != nil {
		t.Fatal(err)
	}
	at := func(page string) func(*Binding) { return func(a *Binding) { a.Page = page } }
	for _, tt := range []struct {
		reason string
		p      *target.Profile
		want   string
	}{
		{"no folder", page(filepath.Join(dir, "none")), fmt.Sprintf("target %q cannot be opened: no such file or directory",
			filepath.Join(dir, "none"))},
		{"a file", page(filepath.Join(dir, "index.html")), fmt.Sprintf("target %q cannot be opened: not a directory",
			filepath.Join(dir, "index.html"))},
		{"no page", page(dir, at("/chat.html?a=b")), fmt.Sprintf("target %q has no page chat.html: no such file or directory",
			dir)},
		{"no page of a folder", page(dir, at("/bare/")),
			fmt.Sprintf("target %q has no page bare/index.html: no such file or directory", dir)},
		{"a folder for a page", page(dir, at("/b/")), fmt.Sprintf("target %q has no page b/index.html: it is not a regular "+
			"file", dir)},
		{"a page elsewhere", page(dir, at("/outside/")),
			fmt.Sprintf("target %q has no page outside: path escapes from parent", dir)},
		{"no page to open as a file", page(dir, at("/c.html"), func(a *Binding) { a.File = true }),
			fmt.Sprintf("target %q has no page c.html: no such file or directory", dir)},
	} {
		r, err := target.NewLauncher(tt.p).Launch(t.Context(), target.LaunchOptions{})
		var failed *target.StartError
		if r != nil || !errors.As(err, &failed) || err.Error() != tt.want {
			t.Errorf("%s: got %v, %v, want %s", tt.reason, r, err, tt.want)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := target.NewLauncher(page(dir)).Launch(ended, target.LaunchOptions{}); !errors.Is(err, why) {
		t.Errorf("once the run has ended: %v", err)
	}
}

// TestPageRelative checks that a folder is resolved relative to its profile.
func TestPageRelative(t *testing.T) {
	dir := site(t, map[string]string{"profile.yaml": "protocol: agent-client\nagent-client: {folder: dist}\n",
		"dist/index.html": "built"})
	p, err := kinds.Load(filepath.Join(dir, "profile.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, body := ask(t, plainClient(), launchPage(t, p).BaseURL(), "/"); body != "built" {
		t.Errorf("it serves %q", body)
	}
}

func TestForPage(t *testing.T) {
	dir := site(t, map[string]string{
		"dist/index.html": "x", "a b.html": "x", "old.HTM": "x", "dir.html/index.html": "x",
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	files := fileURL(dir)
	for _, tt := range []struct {
		reason, name string
		page         bool // and nothing else
		want         []string
	}{
		{"a folder", in("dist"), true, []string{"dist", "", in("dist"), "/", "served"}},
		{"a folder, with a slash", in("dist") + "/", true, []string{"dist", "", in("dist"), "/", "served"}},
		{"a file", in("a b.html"), true, []string{"a b", "", dir, "/a%20b.html", "served"}},
		{"a file with another extension", in("old.HTM"), true, []string{"old", "", dir, "/old.HTM", "served"}},
		{"a folder named like a page", in("dir.html"), true, []string{"dir.html", "", in("dir.html"), "/",
			"served"}},
		{"a URL", "http://x:80/app/?a=b", false, []string{"x:80", "http://x:80", "", "/app/?a=b", "served"}},
		{"a file's URL", files + "/a%20b.html?a=b#c%20d", true, []string{"a b", "", dir, "/a%20b.html?a=b#c%20d", "opened"}},
		{"a folder's URL", "FILE" + strings.TrimPrefix(files, "file") + "/dist/", true,
			[]string{"dist", "", in("dist"), "/", "opened"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			if got := IsPage(tt.name); got != tt.page {
				t.Errorf("it is a page: %v", got)
			}
			p, err := ForPage(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			how := map[bool]string{false: "served", true: "opened"}[Of(p).File]
			got := []string{p.Name, p.URL, Of(p).Folder, Of(p).Page, how}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("name, URL, folder, page, how (-want +got):\n%s", diff)
			}
			if p.URL == "" {
				launchPage(t, p)
			}
		})
	}
}

func TestForNoPage(t *testing.T) {
	dir := site(t, map[string]string{"empty/a.txt": "x", "notes.txt": "x"})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		reason, name string
		page         bool
		want         string
	}{
		{"nothing", in("none.html"), true, in("none.html") + ": cannot be read: no such file or directory"},
		{"a folder without a page", in("empty"), true,
			in("empty") + ": the folder has no index.html (build the page first, or name its file)"},
		{"another file", in("notes.txt"), false,
			in("notes.txt") + ": is not a page (name a folder that has an index.html, or a file that ends in .html)"},
		{"a file elsewhere", "file://host/a.html", true,
			`"file://host/a.html" is not a file URL (write it like file:///home/me/page.html)`},
		{"another scheme", "ftp://x/", false,
			`url: "ftp://x" is not an http URL (write it like http://localhost:3000, or https://example.org/base)`},
	} {
		_, err := ForPage(tt.name)
		var at *target.ProfileError
		if !errors.As(err, &at) || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.reason, err, tt.want)
		}
		if got := IsPage(tt.name); got != tt.page {
			t.Errorf("%s: it is a page: %v", tt.reason, got)
		}
	}
}

// plainClient keeps no connections and follows no redirects.
func plainClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
