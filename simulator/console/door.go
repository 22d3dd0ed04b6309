package console

import (
	"errors"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy of the page: it loads nothing but its own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// secure sets the headers that every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// admit refuses requests of pages of other origins: those with another Origin, and those to a host name that resolves
// to the console but is not its own (DNS rebinding).
func (c *Console) admit(r *http.Request) error {
	if !c.o.AnyHost && !c.known(r.Host) {
		return fail(http.StatusForbidden, "the console is not called "+r.Host+" (use localhost or an IP address)")
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		from, err := url.Parse(origins[0])
		if err != nil || len(origins) > 1 || !strings.EqualFold(from.Host, r.Host) || from.Scheme != scheme(r) {
			return fail(http.StatusForbidden, "a page of another origin may not use the console (open the console's own page)")
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return fail(http.StatusForbidden, "a page of another site may not use the console (open the console's own page)")
	}
	return nil
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// known reports whether a Host header names the console. Addresses are admitted: a rebound name never looks like one.
func (c *Console) known(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.ToLower(name)
	return name != "" && (name == "localhost" || net.ParseIP(name) != nil ||
		slices.ContainsFunc(c.o.Hosts, func(h string) bool { return strings.EqualFold(h, name) }))
}

// types are the media types of the page's files, independent of the system's configuration.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png"}

// servePage serves a file of the page.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		answerError(w, fail(http.StatusMethodNotAllowed, r.URL.Path+" is a file of the page (the API is below "+prefix+")"))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		answerError(w, fail(http.StatusNotFound, "there is no such file (the page is at /)"))
		return
	}
	body, err := fs.ReadFile(c.page, name)
	if err != nil {
		text := "there is no such file (the page is at /)"
		if name == "index.html" && errors.Is(err, fs.ErrNotExist) {
			text = "there is no page in this build (the API is below " + prefix + ")"
		}
		answerError(w, fail(http.StatusNotFound, text))
		return
	}
	kind, known := types[path.Ext(name)]
	if !known {
		kind = mime.TypeByExtension(path.Ext(name))
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body)
}
