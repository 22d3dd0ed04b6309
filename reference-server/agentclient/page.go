// Package agentclient is the bundled target of the agent-client protocol: a page by which people talk to a server of
// the agent-select protocol, in Chinese and English. It does what agent-client.zh.md says, over the default binding.
//
// The door is New: an http.Handler that serves the files of the page, which are part of the program. The page takes
// these URL parameters:
//
//	server=URL   address of the server, for the address field; without it, the page's own origin
//	connect      connect at once, without a click
//	lang=zh|en   language; without it, the one chosen last, else that of the browser
//
// The page is plain ES modules, one concern each: connection.js the stream and the requests, agents.js the main agents
// and their selector, sessions.js, chat.js, requests.js confirmations and questions, log.js, prompts.js; app.js wires
// them. They are served as one script, so that the page loads with four requests. Nothing in it waits: what an event
// changes is changed when its handler returns. A faulty client is made by Options.Patch, so that no fault stands inside
// this code.
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
)

//go:embed page
var page embed.FS

const (
	index = "index.html"
	entry = "app.js" // with all modules in it
)

// kinds are the types of the page's files.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml; charset=utf-8",
}

// policy lets the page run nothing but its own files. It may connect anywhere, because its users' servers are
// elsewhere.
const policy = "default-src 'self'; connect-src *; object-src 'none'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// Options are how a page differs from the one that is shipped. The zero value is the shipped one.
type Options struct {
	// Patch returns what takes the place of a file, given its name, such as "agents.js", and its content, which is the
	// callee's to keep. It is called once per file, by New, which panics if modules no longer fit together. Nil serves all
	// files as shipped.
	Patch func(name string, body []byte) []byte
}

// Page serves the page. It is safe for concurrent use.
type Page struct {
	files map[string]file
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
	p := &Page{files: map[string]file{}}
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

// Files returns the files of the page by name, each module for itself. The content is the caller's to keep.
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

// nameOf is the name of the file at a path: "/" is index.html.
func nameOf(path string) string {
	if path == "/" {
		return index
	}
	return strings.TrimPrefix(path, "/")
}

// Has reports whether a URL path is one of the page's. All others can be given to the server that the page talks to.
func (p *Page) Has(path string) bool {
	_, found := p.files[nameOf(path)]
	return found && strings.HasPrefix(path, "/")
}

// ServeHTTP answers GET and HEAD for the files below "/": 404 for anything else, 405 for other methods, 304 for a file
// that the browser has.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
