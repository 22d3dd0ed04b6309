package pack

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"parley/internal/script"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// readPost reads how clients send requests that are answered by JSON or by an event stream.
func (rd *reader) readPost(v script.Value) {
	if !rd.Keys(v, "post", "path", "headers", "requests", "reads", "client") {
		return
	}
	w := &rd.doc.post
	if w.path = rd.pathAt(v.At("path"), "post.path"); w.path == "" {
		rd.Fail(v, "post.path is missing (path: /agent)")
	}
	w.headers, w.requests = rd.readHeaders(v.At("headers")), map[string]bodylessRequest{}
	if of := v.At("reads"); of.There() {
		w.reads = rd.Texts(of, "reads")
	}
	w.reads = append(w.reads, sorted(w.headers)...)
	of := v.At("requests")
	for _, name := range of.Keys() {
		at := of.At(name)
		if rd.Keys(at, "a request", "method", "headers"); !at.At("method").There() {
			rd.Fail(at, "a request without a body is its method, and headers ({method: GET, headers: {}})")
		}
		r := bodylessRequest{rd.Text(at.At("method"), "method"), rd.readHeaders(at.At("headers"))}
		w.requests[name], w.reads = r, append(w.reads, sorted(r.headers)...)
	}
	rd.readPostClient(v.At("client"))
	slices.Sort(w.reads)
	w.reads = slices.Compact(w.reads)
}

// readPostClient reads how traffic of others tells whose request it is.
func (rd *reader) readPostClient(v script.Value) {
	if !v.There() {
		return
	}
	w := &rd.doc.post
	rd.Keys(v, "post.client", "header", "begins")
	w.client = textproto.CanonicalMIMEHeaderKey(rd.Text(v.At("header"), "header"))
	w.begins = rd.Text(v.At("begins"), "begins")
	if !hole.MatchString(w.headers[w.client]) {
		rd.Fail(v, "post.client: no request has the header %s with a value that a client keeps "+
			"(headers: {%[1]s: \"${session}\"})", w.client)
	}
}

func (rd *reader) readHeaders(v script.Value) map[string]string {
	out := map[string]string{}
	for _, name := range v.Keys() {
		out[textproto.CanonicalMIMEHeaderKey(name)] = rd.Text(v.At(name), name)
	}
	return out
}

func (w *postWire) isBodyless(kind string) bool {
	_, is := w.requests[kind]
	return is
}

// header returns the headers of a request of a type. One that cannot be filled is left out.
func (w *postWire) header(kind string, find func(string) (any, error)) http.Header {
	out := http.Header{}
	for _, of := range []map[string]string{w.headers, w.requests[kind].headers} {
		for name, text := range of {
			if v, err := fillText(text, find); err == nil {
				out.Set(name, fmt.Sprint(v))
			}
		}
	}
	return out
}

// bodyless returns the type of a request without a body: of those with its method, the one of which it has the most
// headers, and has all; "" if there is none.
func (w *postWire) bodyless(r transcript.Record) (kind string) {
	method, _, _ := strings.Cut(r.Label, " ")
	has, most := headersOf(r), -1
	for _, name := range sorted(w.requests) {
		of := w.requests[name]
		lacks := slices.ContainsFunc(slices.Collect(maps.Keys(of.headers)), func(header string) bool {
			return has[strings.ToLower(header)] == nil
		})
		if len(r.Bytes) == 0 && of.method == method && !lacks && len(of.headers) > most {
			kind, most = name, len(of.headers)
		}
	}
	return kind
}

// headersOf returns the headers that a record shows, by their names in small letters.
func headersOf(r transcript.Record) map[string]any {
	out := map[string]any{}
	for line := range strings.Lines(r.Headers) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok && out[name] == nil {
			out[name] = value
		}
	}
	return out
}

// noneOpen says that nothing can come to a client any more, as all answers to its requests had ended by a record. If
// something may come, it is empty.
func (s *suite) noneOpen(c *client, last *transcript.Record) string {
	if s.codec.driver != target.Post || driver.AnswerGoesOn(*last) || last.Reply == 0 {
		return ""
	}
	open := map[int]bool{}
	for _, r := range s.T.Page(c.begun, last.N-c.begun) {
		switch {
		case r.Conn != c.name:
		case r.Kind == transcript.Request:
			open[r.N] = true
		case !driver.AnswerGoesOn(r):
			delete(open, r.Reply)
		}
	}
	if len(open) > 0 {
		return ""
	}
	return "all answers have ended"
}

// isUntyped reports whether messages of a type do not have it on the wire.
func (d *document) isUntyped(kind string) bool {
	return slices.ContainsFunc(d.untyped, func(u untyped) bool { return u.name == kind })
}
