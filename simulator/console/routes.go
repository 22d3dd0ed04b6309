package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"parley/internal/words"
)

// prefix is the beginning of each path of the API.
const prefix = "/api/v1"

// route is an operation of the API. Its function returns the value to answer as JSON, or answers by itself and returns
// a nil body.
type route struct {
	method, path string
	status       int // of success; 0: 200
	do           func(w http.ResponseWriter, r *http.Request) (body any, err error)
}

// routes lists the operations of the API.
func (c *Console) routes() []route {
	all := []route{
		{method: "GET", path: "/openapi.yaml", do: serveOpenAPI},
		{method: "GET", path: "/protocols", do: c.protocols},
		{method: "GET", path: "/clauses", do: c.clauses},
		{method: "GET", path: "/mutants", do: c.mutants},
		{method: "GET", path: "/scripts", do: c.scripts},
		{method: "GET", path: "/schemas", do: c.schemas},
		{method: "GET", path: "/sessions", do: c.list},
		{method: "POST", path: "/sessions", status: http.StatusCreated, do: c.create},
	}
	for _, r := range []struct {
		method, path string
		do           func(s *session, w http.ResponseWriter, r *http.Request) (any, error)
	}{
		{"GET", "", (*session).show},
		{"GET", "/records", (*session).showRecords},
		{"GET", "/events", (*session).events},
		{"GET", "/recording", (*session).recording},
		{"POST", "/wait", (*session).wait},
		{"POST", "/raw", (*session).raw},
		{"POST", "/hang", (*session).hang},
		{"POST", "/steps", (*session).step},
		{"POST", "/undo", (*session).undo},
		{"POST", "/run", c.run},
		{"GET", "/search", (*session).search},
		{"GET", "/complete", (*session).complete},
		{"GET", "/outcomes", (*session).outcomes},
		{"GET", "/findings", (*session).showFindings},
		{"GET", "/scenario", (*session).scenario},
		{"GET", "/script", (*session).script},
		{"GET", "/faults", (*session).showFaults},
		{"GET", "/held", (*session).showHeld},
		{"POST", "/held/{n}", (*session).decide},
		{"PUT", "/mind", (*session).setMind},
		{"PUT", "/script", (*session).setScript},
		{"PUT", "/mutant", (*session).setMutant},
		{"POST", "/reset", (*session).reset},
	} {
		all = append(all, route{method: r.method, path: "/sessions/{id}" + r.path,
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
	body, err := o.do(w, r)
	switch {
	case err != nil:
		answerError(w, err)
	case o.status == http.StatusNoContent:
		w.WriteHeader(o.status)
	case body != nil:
		answer(w, max(o.status, http.StatusOK), body)
	}
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
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil && dec.Decode(new(struct{})) != io.EOF:
		err = errors.New("something follows the object")
	}
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		return err
	}
	if err != nil {
		return fail(http.StatusBadRequest, "the body is not what is asked for: "+
			strings.TrimPrefix(err.Error(), "json: ")+" (see "+prefix+"/openapi.yaml)")
	}
	return nil
}

// notFound answers requests for paths and methods that the API does not have.
func notFound(w http.ResponseWriter, r *http.Request) {
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
