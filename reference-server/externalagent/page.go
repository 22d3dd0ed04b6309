package externalagent

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"

	"parley/reference-server/web"
)

//go:embed page
var page embed.FS

// kinds lists the files of the page with their content types.
var kinds = map[string]string{
	"index.html": "text/html; charset=utf-8",
	"booking.js": "text/javascript; charset=utf-8",
	"words.js":   "text/javascript; charset=utf-8",
	"dom.js":     "text/javascript; charset=utf-8",
	"traffic.js": "text/javascript; charset=utf-8",
	"style.css":  "text/css; charset=utf-8",
}

// servePage serves the page. It loads nothing from other origins, runs only its own scripts, and can't be framed.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if r.URL.Path == "/" {
		name = "index.html"
	}
	kind, known := kinds[name]
	data, err := page.ReadFile("page/" + name)
	if !known || err != nil || r.URL.Path != "/" && r.URL.Path != "/"+name {
		web.Refuse(w, http.StatusNotFound, "not found")
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
