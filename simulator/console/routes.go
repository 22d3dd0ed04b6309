package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	"parley/internal/jsonwhy"
	"parley/internal/words"
)

// prefix is the beginning of each path of the API.
const prefix = "/api/v1"

// route is an operation of the API. Its function returns the value to answer as JSON, or answers by itself and returns
// a nil body.
type route struct {
	method, path string
	query        []string // members that its query may have
	status       int      // of success; 0: 200
	do           func(w http.ResponseWriter, r *http.Request) (body any, err error)
}

// routes lists the operations of the API.
func (c *Console) routes() []route {
	all := []route{
		{method: "GET", path: "/openapi.yaml", do: serveOpenAPI},
		{method: "GET", path: "/protocols", do: c.protocols},
		{method: "GET", path: "/clauses", query: []string{"protocol"}, do: c.clauses},
		{method: "GET", path: "/mutants", query: []string{"protocol", "role", "q"}, do: c.mutants},
		{method: "GET", path: "/scripts", query: []string{"protocol"}, do: c.scripts},
		{method: "GET", path: "/schemas", query: []string{"protocol"}, do: c.schemas},
		{method: "GET", path: "/sessions", do: c.list},
		{method: "POST", path: "/sessions", status: http.StatusCreated, do: c.create},
	}
	for _, r := range []struct {
		method, path string
		do           func(s *session, w http.ResponseWriter, r *http.Request) (any, error)
		query        []string
	}{
		{"GET", "", (*session).show, nil},
		{"GET", "/records", (*session).showRecords, []string{"after", "limit"}},
		{"GET", "/events", (*session).events, []string{"after"}},
		{"GET", "/recording", (*session).recording, nil},
		{"POST", "/wait", (*session).wait, nil},
		{"POST", "/raw", (*session).raw, nil},
		{"POST", "/hang", (*session).hang, nil},
		{"POST", "/steps", (*session).step, nil},
		{"POST", "/undo", (*session).undo, nil},
		{"POST", "/run", c.run, nil},
		{"GET", "/search", (*session).search, []string{"q", "n"}},
		{"GET", "/complete", (*session).complete, []string{"line"}},
		{"GET", "/outcomes", (*session).outcomes, nil},
		{"GET", "/findings", (*session).showFindings, nil},
		{"GET", "/scenario", (*session).scenario, []string{"name"}},
		{"GET", "/script", (*session).script, []string{"name"}},
		{"GET", "/faults", (*session).showFaults, nil},
		{"GET", "/held", (*session).showHeld, nil},
		{"POST", "/held/{n}", (*session).decide, nil},
		{"PUT", "/mind", (*session).setMind, nil},
		{"PUT", "/script", (*session).setScript, nil},
		{"PUT", "/mutant", (*session).setMutant, nil},
		{"POST", "/reset", (*session).reset, nil},
	} {
		all = append(all, route{method: r.method, path: "/sessions/{id}" + r.path, query: r.query,
			do: func(w http.ResponseWriter, req *http.Request) (any, error) {
				s, err := c.session(req.PathValue("id"))
				if err != nil {
					return nil, err
				}
				return r.do(s, w, req)
			}})
	}
	return append(all, route{method: "DELETE", path: "/sessions/{id}", status: http.StatusNoContent, do: c.remove})
}

// ServeHTTP implements http.Handler.
func (o route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	var body any
	err := o.asked(r)
	if err == nil {
		body, err = o.do(w, r)
	}
	switch {
	case err != nil:
		answerError(w, err)
	case o.status == http.StatusNoContent:
		w.WriteHeader(o.status)
	case body != nil:
		answer(w, max(o.status, http.StatusOK), body)
	}
}

// asked refuses a query with members that the operation does not have, which would change nothing.
func (o route) asked(r *http.Request) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fail(http.StatusBadRequest, "the query is not encoded as a query is: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(o.query, name) {
			continue
		}
		text := fmt.Sprintf("?%s= is not a member of the query of %s %s", name, o.method, o.path)
		if len(o.query) == 0 {
			return fail(http.StatusBadRequest, text+", which has none")
		}
		return &Error{Status: http.StatusBadRequest, Similar: words.Near(name, o.query, 1),
			Text: text + " (" + words.Suggest(name, o.query, "it has "+strings.Join(o.query, ", ")) + ")"}
	}
	return nil
}

// Error is an error with the status of its answer.
type Error struct {
	Status  int
	Text    string   // one sentence, which says how to fix it
	Similar []string // suggestions; may be nil
	Instead []Record // the records that came instead of an awaited one; may be nil
}

func (e *Error) Error() string { return e.Text }

// fail returns an *Error.
func fail(status int, text string) error { return &Error{Status: status, Text: text} }

// errorBody is the answer for an error.
type errorBody struct {
	Error   string   `json:"error"`
	Similar []string `json:"similar,omitempty"`
	Instead []Record `json:"instead,omitempty"`
}

// answerError answers with an error; 400 for one without a status.
func answerError(w http.ResponseWriter, err error) {
	e := &Error{Status: http.StatusBadRequest, Text: err.Error()}
	if known, ok := errors.AsType[*Error](err); ok {
		e = known
	}
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e = &Error{Status: http.StatusRequestEntityTooLarge,
			Text: "the request is longer than " + words.Counted(int(tooLong.Limit>>20), "MiB") + " (send less)"}
	}
	text := strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "; ") // several mistakes
	text = strings.TrimPrefix(oneLine(text), "--")                    // of the command line's flags
	answer(w, e.Status, errorBody{Error: text, Similar: e.Similar, Instead: e.Instead})
}

// answer writes a JSON answer.
func answer(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// read reads the JSON body of a request, strictly. An empty body is an empty object.
func read(r *http.Request, into any) error {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return fail(http.StatusUnsupportedMediaType, "the body is "+kind+" (send application/json)")
		}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	if err := strict.Unmarshal(text, into, strict.RejectUnknownMembers(true)); err != nil {
		return fail(http.StatusBadRequest, "the body is not what is asked for: "+jsonwhy.Of(err)+
			" (see "+prefix+"/openapi.yaml)")
	}
	return nil
}

// required returns a member that a body must have.
func required(member string, given *string) (string, error) {
	if given == nil {
		return "", fail(http.StatusBadRequest, member+" is missing from the body (see "+prefix+"/openapi.yaml)")
	}
	return *given, nil
}

// notFound answers requests for paths that the API does not have, and for methods that a path does not have.
func (c *Console) notFound(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "POST", "PUT"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := c.mux.Handler(other); strings.HasPrefix(pattern, method+" ") {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		answerError(w, fail(http.StatusMethodNotAllowed, r.URL.Path+" has no "+r.Method+" (it has "+
			strings.Join(allowed, ", ")+")"))
		return
	}
	answerError(w, fail(http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" (see "+prefix+"/openapi.yaml)"))
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) (any, error) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI)
	return nil, nil
}

// given returns the list that a function of Options returned, never nil.
func given[T any](list []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return slices.Concat([]T{}, list), nil
}

func (c *Console) protocols(http.ResponseWriter, *http.Request) (any, error) {
	if c.o.Protocols == nil {
		return []Protocol{}, nil
	}
	return given(c.o.Protocols(), nil)
}

func (c *Console) clauses(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Clauses == nil {
		return []Clause{}, nil
	}
	return given(c.o.Clauses(r.FormValue("protocol")))
}

func (c *Console) mutants(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Mutants == nil {
		return []Mutant{}, nil
	}
	return given(c.o.Mutants(r.FormValue("protocol"), r.FormValue("role"), r.FormValue("q")))
}

func (c *Console) scripts(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Scripts == nil {
		return []Script{}, nil
	}
	return given(c.o.Scripts(r.FormValue("protocol")))
}

func (c *Console) schemas(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Schemas == nil {
		return []Schema{}, nil
	}
	return given(c.o.Schemas(r.FormValue("protocol")))
}

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
