// Package agentclient is the bundled target of the agent-client protocol: a page for talking to a server of the
// agent-select protocol, in Chinese and English. It implements agent-client.zh.md over the default binding.
//
// The entry point is New: an http.Handler that serves the embedded files of the page. The page takes these URL
// parameters:
//
//	server=URL   address of the server, for the address field; without it, the page's own origin
//	connect      connect at once, without a click
//	lang=zh|en   language; without it, the one chosen last, else that of the browser
//
// The page is plain ES modules, one concern each: connection.js the stream and the requests, agents.js the main
// agents and their selector, sessions.js, chat.js, requests.js confirmations and questions, log.js, prompts.js;
// app.js wires them. They are served as one script, so that the page loads with four requests. Nothing is deferred:
// the effects of an event are complete when its handler returns. Options.Patch makes faulty clients, so this code
// contains no faults.
package agentclient

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"parley/reference-server/web"
)

//go:embed page
var page embed.FS

const (
	index = "index.html"
	entry = "app.js" // served with all modules in it
)

// kinds lists the content types of the page's files.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml; charset=utf-8",
}

// policy restricts the page to its own files. It may connect anywhere, because the users' servers are elsewhere.
const policy = "default-src 'self'; connect-src *; object-src 'none'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// Options are deviations from the shipped page. The zero value is the shipped page.
type Options struct {
	// Patch returns the replacement of a file, given its name, such as "agents.js", and its content, which it may
	// modify. New calls it once per file and panics if the modules no longer fit together. Nil serves all files as
	// shipped.
	Patch func(name string, body []byte) []byte

	AllowOrigins []string // accepted Origin values besides loopback ones; "null" and "*" stand for themselves
}

// Page serves the page. It is safe for concurrent use.
type Page struct {
	files   map[string]file
	origins []string
}

type file struct {
	kind string
	body []byte
	etag string
}

// New returns a page.
func New(o Options) *Page {
	files := Files()
	if o.Patch != nil {
		for name, body := range files {
			files[name] = o.Patch(name, body)
		}
	}
	script, err := bundle(files, entry)
	if err != nil {
		panic("page: " + err.Error())
	}
	p := &Page{files: map[string]file{}, origins: o.AllowOrigins}
	for name, body := range files {
		switch {
		case name == entry:
			body = script
		case path.Ext(name) == ".js":
			continue
		}
		sum := sha256.Sum256(body)
		p.files[name] = file{kind: kinds[path.Ext(name)], body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	return p
}

// Files returns the files of the page by name, with separate modules. The caller owns the content.
func Files() map[string][]byte {
	files := map[string][]byte{}
	entries, err := page.ReadDir("page")
	if err != nil {
		panic(fmt.Sprintf("embedded page: %v", err))
	}
	for _, e := range entries {
		body, err := fs.ReadFile(page, "page/"+e.Name())
		if err != nil {
			panic(fmt.Sprintf("embedded page: %v", err))
		}
		files[e.Name()] = body
	}
	return files
}

// nameOf returns the name of the file at a path: "/" is index.html.
func nameOf(path string) string {
	if path == "/" {
		return index
	}
	return strings.TrimPrefix(path, "/")
}

// Has reports whether a URL path belongs to the page. All others can be left to the server that the page talks to.
func (p *Page) Has(path string) bool {
	_, found := p.files[nameOf(path)]
	return found && strings.HasPrefix(path, "/")
}

// ServeHTTP answers GET and HEAD for the files: 404 for any other path, 405 for other methods, 304 for a file that
// the browser has cached, 403 to pages of other origins.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !web.Admit(w, r, p.origins) {
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if !p.Has(r.URL.Path) {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	f := p.files[nameOf(r.URL.Path)]
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
