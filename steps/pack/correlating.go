package pack

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// correlation is what the event streams of foreign traffic have shown: which of them keeps which value.
type correlation struct {
	doc    *document
	path   holedPath         // of requests: the values that the streams have kept
	stream holedPath         // of the streams
	owners map[string]string // name=value → party; "": several
	open   map[string]bool
}

// mostOwners bounds what is remembered of streams.
const mostOwners = 10_000

// Correlate implements steps.Correlator: a request belongs to the stream that has kept the values in its path, or to
// the only stream that is open. One that is answered by itself belongs to the client that keeps the value of its
// header.
func (p *Pack) Correlate(of *target.Profile) func(*transcript.Record, http.Header) string {
	k := &correlation{doc: p.doc, owners: map[string]string{}, open: map[string]bool{}}
	_, send, _ := strings.Cut(p.doc.bindingOf(of).SSE.Send, " ")
	k.path, k.stream = pathWithHoles(send), pathWithHoles(p.doc.bindingOf(of).SSE.Open)
	posts := &posters{doc: p.doc, owners: map[string]string{}, kept: map[string]map[string]any{}}
	isPost := len(of.Drivers) == 1 && of.Drivers[0] == target.Post
	post := pathWithHoles(p.doc.bindingOf(of).Post.Path)
	before := 0
	return func(r *transcript.Record, _ http.Header) string {
		switch {
		case p.doc.before.is(*r): // nothing is judged of it
			before++
			return fmt.Sprintf("B%d", before)
		case r.Kind == transcript.Request && (isPost || post.matches(pathOf(r.Label))):
			return posts.partyOf(r)
		case r.Reply > 0 && posts.kept[r.Conn] != nil:
			posts.learn(r)
		case r.Kind == transcript.Open && r.Dir == transcript.Sent && r.Conn != "":
			for _, value := range k.stream.valuesIn(r.Label) {
				k.own(value, r.Conn)
			}
		case r.Kind == transcript.Open && r.Dir == transcript.Received && r.Conn != "":
			k.open[r.Conn] = true
		case r.Kind == transcript.Closed:
			delete(k.open, r.Conn)
		case r.Kind == transcript.Stream:
			k.learn(r)
		case r.Kind == transcript.Request:
			return k.partyOf(r)
		}
		return ""
	}
}

// posters are the clients of requests that are answered by themselves.
type posters struct {
	doc    *document
	n      int                       // clients so far
	owners map[string]string         // value of the header → client
	kept   map[string]map[string]any // by client
}

// partyOf returns whose request it is: that of the client which keeps the value of its header, of a new one if it is
// the first, else of the only one there has been.
func (p *posters) partyOf(r *transcript.Record) string {
	w := &p.doc.post
	if w.client != "" {
		if v, there := headersOf(*r)[strings.ToLower(w.client)]; there {
			return p.owners[textOf(v)]
		}
		if m := p.doc.read(*r); m == nil || m.kind != w.begins {
			if p.n == 1 {
				return "P1"
			}
			return ""
		}
	}
	p.n++
	name := fmt.Sprintf("P%d", p.n)
	if w.client != "" {
		if len(p.kept) >= mostOwners {
			clear(p.kept)
			clear(p.owners)
		}
		p.kept[name] = map[string]any{}
	}
	return name
}

// learn notes what a client keeps of an answer, and the value that its header has from now on.
func (p *posters) learn(r *transcript.Record) {
	kept := p.kept[r.Conn]
	for _, m := range p.doc.messages(*r) {
		p.doc.keep(m, scopeOf(m), kept)
	}
	v, err := fillText(p.doc.post.headers[p.doc.post.client], func(name string) (any, error) {
		if v, is := kept[name]; is {
			return v, nil
		}
		return nil, steps.NotTestedf("the client has no %s", name)
	})
	if err == nil && len(p.owners) < mostOwners {
		p.owners[textOf(v)] = r.Conn
	}
}

// Posts implements steps.Poster.
func (p *Pack) Posts(of *target.Profile) (is func(*http.Request) bool, reads []string) {
	if !slices.Contains(of.Drivers, target.Post) {
		return nil, nil
	}
	only, path := len(of.Drivers) == 1, pathWithHoles(p.doc.bindingOf(of).Post.Path)
	return func(r *http.Request) bool { return only || path.matches(r.URL.Path) }, p.doc.post.reads
}

// holedPath is a path with holes.
type holedPath struct {
	expr  *regexp.Regexp // its groups are the holes; nil: there is no path
	names []string       // of the groups
}

// pathWithHoles reads a path. A query is no part of it, unless it has holes.
func pathWithHoles(path string) (p holedPath) {
	if path == "" {
		return p
	}
	out, query := "^", strings.Contains(path, "?")
	for {
		at := hole.FindStringSubmatchIndex(path)
		if at == nil {
			break
		}
		out += regexp.QuoteMeta(path[:at[0]]) + `([^/?&]+)`
		p.names, path = append(p.names, path[at[2]:at[3]]), path[at[1]:]
	}
	if out += regexp.QuoteMeta(path); !query {
		out += `(?:\?.*)?`
	}
	p.expr = regexp.MustCompile(out + "$")
	return p
}

func (p holedPath) matches(path string) bool { return p.expr != nil && p.expr.MatchString(path) }

// valuesIn returns the values of the holes in the target of a request, as name=value.
func (p holedPath) valuesIn(label string) (out []string) {
	u := targetOf(label)
	if u == nil || p.expr == nil {
		return nil
	}
	for i, text := range p.expr.FindStringSubmatch(u.RequestURI()) {
		if i == 0 {
			continue
		}
		if value, err := url.PathUnescape(text); err == nil {
			out = append(out, p.names[i-1]+"="+value)
		}
	}
	return out
}

// own notes that a stream keeps a value. One that another open stream keeps too tells nothing from then on.
func (k *correlation) own(value, conn string) {
	switch of, known := k.owners[value]; {
	case known && of == "" || !known && len(k.owners) >= mostOwners:
	case known && of != conn && k.open[of]:
		k.owners[value] = ""
	default:
		k.owners[value] = conn
	}
}

// learn notes what a client keeps of an event.
func (k *correlation) learn(r *transcript.Record) {
	m := k.doc.read(*r)
	if m == nil {
		return
	}
	in := scopeOf(m)
	for _, keep := range k.doc.keeps {
		if !keep.on.selects(m, in) {
			continue
		}
		if v, err := keep.value.Value(in); err == nil && v != nil {
			k.own(keep.name+"="+textOf(v), r.Conn)
		}
	}
}

func (k *correlation) partyOf(r *transcript.Record) string {
	for _, value := range k.path.valuesIn(r.Label) {
		if of := k.owners[value]; of != "" {
			return of
		}
	}
	if len(k.open) == 1 {
		for conn := range k.open {
			return conn
		}
	}
	return ""
}
