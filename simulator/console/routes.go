package console

import (
	"bytes"
	"cmp"
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
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
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
	most         int64    // bytes of the body; 0: MaxBody
	do           func(w http.ResponseWriter, r *http.Request) (body any, err error)
}

// listRoutes lists the operations of the API.
func (c *Console) listRoutes() []route {
	all := []route{
		{method: "GET", path: "/openapi.yaml", do: serveOpenAPI},
		{method: "GET", path: "/protocols", do: c.answerProtocols},
		{method: "GET", path: "/clauses", query: []string{"protocol"}, do: c.answerClauses},
		{method: "GET", path: "/mutants", query: []string{"protocol", "role", "q"}, do: c.answerMutants},
		{method: "GET", path: "/scripts", query: []string{"protocol"}, do: c.answerScripts},
		{method: "GET", path: "/schemas", query: []string{"protocol"}, do: c.answerSchemas},
		{method: "GET", path: "/sessions", do: c.listSessions},
		{method: "POST", path: "/sessions", status: http.StatusCreated, most: MaxUpload, do: c.createSession},
	}
	for _, r := range []struct {
		method, path string
		do           func(s *session, w http.ResponseWriter, r *http.Request) (any, error)
		query        []string
	}{
		{"GET", "", (*session).showSession, nil},
		{"GET", "/records", (*session).showRecords, []string{"after", "limit"}},
		{"GET", "/events", (*session).streamEvents, []string{"after"}},
		{"GET", "/recording", c.answerRecording, []string{"format"}},
		{"GET", "/copies", (*session).showCopies, []string{"n"}},
		{"POST", "/wait", (*session).awaitRecord, nil},
		{"POST", "/raw", (*session).sendRaw, nil},
		{"POST", "/hang", (*session).endConnection, nil},
		{"POST", "/steps", (*session).runStep, nil},
		{"DELETE", "/steps/{n}", (*session).cancelStep, nil},
		{"GET", "/next", (*session).nextStep, nil},
		{"POST", "/undo", (*session).undoStep, nil},
		{"POST", "/run", c.runSuite, nil},
		{"GET", "/search", (*session).searchSteps, []string{"q", "n"}},
		{"GET", "/complete", (*session).completeLine, []string{"line"}},
		{"GET", "/outcomes", (*session).answerOutcomes, nil},
		{"GET", "/owed", (*session).showOwed, nil},
		{"GET", "/findings", (*session).showFindings, nil},
		{"GET", "/why", func(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
			return s.explainFailure(c, r)
		}, []string{"clause"}},
		{"GET", "/scenario", (*session).answerFeature, []string{"name"}},
		{"GET", "/script", (*session).answerScript, []string{"name"}},
		{"GET", "/faults", (*session).showFaults, nil},
		{"GET", "/held", (*session).showHeld, nil},
		{"POST", "/held/{n}", (*session).decideHeld, nil},
		{"PUT", "/mind", (*session).setMind, nil},
		{"PUT", "/script", (*session).setScript, nil},
		{"PUT", "/mutant", (*session).setMutant, nil},
		{"POST", "/reset", (*session).resetPlay, nil},
	} {
		all = append(all, route{method: r.method, path: "/sessions/{id}" + r.path, query: r.query,
			do: func(w http.ResponseWriter, req *http.Request) (any, error) {
				s, err := c.findSession(req.PathValue("id"))
				if err != nil {
					return nil, err
				}
				return r.do(s, w, req)
			}})
	}
	return append(all, route{method: "DELETE", path: "/sessions/{id}", status: http.StatusNoContent,
		do: c.removeSession})
}

// ServeHTTP implements http.Handler.
func (o route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(o.most, MaxBody))
	var body any
	err := o.checkQuery(r)
	if err == nil {
		body, err = o.do(w, r)
	}
	switch {
	case err != nil:
		answerError(w, err)
	case o.status == http.StatusNoContent:
		w.WriteHeader(o.status)
	case body != nil:
		answerJSON(w, max(o.status, http.StatusOK), body)
	}
}

// checkQuery refuses a query with members that the operation does not have, which would change nothing.
func (o route) checkQuery(r *http.Request) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return newError(http.StatusBadRequest, "the query is not encoded as a query is: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(o.query, name) {
			continue
		}
		text := fmt.Sprintf("?%s= is not a member of the query of %s %s", name, o.method, o.path)
		if len(o.query) == 0 {
			return newError(http.StatusBadRequest, text+", which has none")
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

// newError returns an *Error.
func newError(status int, text string) error { return &Error{Status: status, Text: text} }

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
	text := oneLine(strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "; ")) // several mistakes
	answerJSON(w, e.Status, errorBody{Error: withoutFlags(text), Similar: e.Similar, Instead: e.Instead})
}

// flagOf matches the command line's way to write the name of an option.
var flagOf = regexp.MustCompile(`(^|[^\w-])--([a-z])`)

// withoutFlags names options as the API and the page do, which have no flags.
func withoutFlags(text string) string {
	return flagOf.ReplaceAllString(text, "$1$2")
}

// answerJSON writes a JSON answer.
func answerJSON(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	if err := jsonform.WriteLine(&b, body, jsonform.Unescaped); err != nil {
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// readBody reads the JSON body of a request, strictly. An empty body is an empty object.
func readBody(r *http.Request, into any) error {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return newError(http.StatusUnsupportedMediaType, "the body is "+kind+" (send application/json)")
		}
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return newError(http.StatusBadRequest, "the body is not what is asked for: "+jsonwhy.Of(err)+
			" (see "+prefix+"/openapi.yaml)")
	}
	return nil
}

// requireMember returns a member that a body must have.
func requireMember(member string, given *string) (string, error) {
	if given == nil {
		return "", newError(http.StatusBadRequest, member+" is missing from the body (see "+prefix+"/openapi.yaml)")
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
		answerError(w, newError(http.StatusMethodNotAllowed, r.URL.Path+" has no "+r.Method+" (it has "+
			strings.Join(allowed, ", ")+")"))
		return
	}
	answerError(w, newError(http.StatusNotFound,
		"there is no "+r.Method+" "+r.URL.Path+" (see "+prefix+"/openapi.yaml)"))
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) (any, error) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI)
	return nil, nil
}

// neverNil returns the list that a function of Options returned, never nil.
func neverNil[T any](list []T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return slices.Concat([]T{}, list), nil
}

func (c *Console) answerProtocols(http.ResponseWriter, *http.Request) (any, error) {
	if c.o.Protocols == nil {
		return []Protocol{}, nil
	}
	all := slices.Clone(c.o.Protocols())
	for i := range all {
		all[i].Clients, all[i].Scripts = append([]string{}, all[i].Clients...), append([]string{}, all[i].Scripts...)
	}
	return neverNil(all, nil)
}

func (c *Console) answerClauses(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Clauses == nil {
		return []Clause{}, nil
	}
	return neverNil(c.o.Clauses(r.FormValue("protocol")))
}

func (c *Console) answerMutants(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Mutants == nil {
		return []Mutant{}, nil
	}
	return neverNil(c.o.Mutants(r.FormValue("protocol"), r.FormValue("role"), r.FormValue("q")))
}

func (c *Console) answerScripts(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Scripts == nil {
		return []Script{}, nil
	}
	return neverNil(c.o.Scripts(r.FormValue("protocol")))
}

func (c *Console) answerSchemas(_ http.ResponseWriter, r *http.Request) (any, error) {
	if c.o.Schemas == nil {
		return []Schema{}, nil
	}
	return neverNil(c.o.Schemas(r.FormValue("protocol")))
}

// policy is the Content-Security-Policy of the page: it loads nothing but its own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// setSecurityHeaders sets the headers that every answer has.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// admitOrigin refuses requests of pages of other origins: those with another Origin, and those to a host name that
// resolves to the console but is not its own (DNS rebinding).
func (c *Console) admitOrigin(r *http.Request) error {
	if !c.o.AnyHost && !c.isOwnHost(r.Host) {
		return newError(http.StatusForbidden, "the console is not called "+r.Host+" (use localhost or an IP address)")
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		from, err := url.Parse(origins[0])
		if err != nil || len(origins) > 1 || !strings.EqualFold(from.Host, r.Host) || from.Scheme != urlScheme(r) {
			return newError(http.StatusForbidden,
				"a page of another origin may not use the console (open the console's own page)")
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return newError(http.StatusForbidden,
			"a page of another site may not use the console (open the console's own page)")
	}
	return nil
}

func urlScheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// isOwnHost reports whether a Host header names the console. Addresses are admitted: a rebound name never looks like
// one.
func (c *Console) isOwnHost(host string) bool {
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
		answerError(w, newError(http.StatusMethodNotAllowed,
			r.URL.Path+" is a file of the page (the API is below "+prefix+")"))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		answerError(w, newError(http.StatusNotFound, "there is no such file (the page is at /)"))
		return
	}
	body, err := fs.ReadFile(c.page, name)
	if err != nil {
		text := "there is no such file (the page is at /)"
		if name == "index.html" && errors.Is(err, fs.ErrNotExist) {
			text = "there is no page in this build (the API is below " + prefix + ")"
		}
		answerError(w, newError(http.StatusNotFound, text))
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
