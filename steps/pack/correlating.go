package pack

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"parley/target"
	"parley/transport/transcript"
)

// correlation is what the event streams of foreign traffic have shown: which of them keeps which value.
type correlation struct {
	doc    *document
	path   *regexp.Regexp    // of requests; its groups are the values that the streams have kept
	names  []string          // of the groups
	owners map[string]string // name=value → party
	open   map[string]bool
}

// mostOwners bounds what is remembered of streams.
const mostOwners = 10_000

// Correlate implements steps.Correlator: a request belongs to the stream that has kept the values in its path, or to
// the only stream that is open.
func (p *Pack) Correlate(of *target.Profile) func(*transcript.Record, http.Header) string {
	k := &correlation{doc: p.doc, owners: map[string]string{}, open: map[string]bool{}}
	k.readPath(target.SectionOf[binding](of).SSE.Send)
	return func(r *transcript.Record, _ http.Header) string {
		switch {
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

// readPath makes the expression of the requests' path, whose holes are groups.
func (k *correlation) readPath(send string) {
	_, path, _ := strings.Cut(send, " ")
	out := "^"
	for {
		at := hole.FindStringSubmatchIndex(path)
		if at == nil {
			break
		}
		out += regexp.QuoteMeta(path[:at[0]]) + `([^/?]+)`
		k.names, path = append(k.names, path[at[2]:at[3]]), path[at[1]:]
	}
	k.path = regexp.MustCompile(out + regexp.QuoteMeta(path) + `(?:\?.*)?$`)
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
		if v, err := keep.value.Value(in); err == nil && v != nil && len(k.owners) < mostOwners {
			k.owners[keep.name+"="+textOf(v)] = r.Conn
		}
	}
}

func (k *correlation) partyOf(r *transcript.Record) string {
	_, path, _ := strings.Cut(r.Label, " ")
	path, _, _ = strings.Cut(path, " ")
	if m := k.path.FindStringSubmatch(path); m != nil {
		for i, name := range k.names {
			value, err := url.PathUnescape(m[i+1])
			if of := k.owners[name+"="+value]; err == nil && of != "" {
				return of
			}
		}
	}
	if len(k.open) == 1 {
		for conn := range k.open {
			return conn
		}
	}
	return ""
}
