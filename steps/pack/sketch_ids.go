package pack

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SketchedKeep is a value that a client keeps of a message, or of the answer to a request, and sends again.
type SketchedKeep struct {
	On, Name, Value string // a type or http, the name of the hole, and an expression
}

// carried are the ids in a recording: values that the server has told, and clients have sent.
type carried struct {
	told  map[string]*toldID
	names []SketchedKeep // of those that became holes
	asked map[string]int // by these names: the request that was answered with it
}

// toldID is what told an id first.
type toldID struct {
	SketchedKeep
	at, to, sent int  // the record that told it, what it answers, and the record in which a client has sent it first
	placed       bool // a client has sent it in a path
}

// mostIDs bounds the ids that are remembered of a recording.
const mostIDs = 10_000

// carried finds the ids that the server has told.
func (rs *recordSketch) carried() *carried {
	k := &carried{told: map[string]*toldID{}, asked: map[string]int{}}
	for _, m := range rs.seen {
		if m.client || m.kind == "" {
			continue
		}
		eachText(m.body, nil, func(at []string, value string) {
			if isID(strings.TrimRight(at[len(at)-1], `"]`), value) && k.told[value] == nil && len(k.told) < mostIDs {
				keep := SketchedKeep{m.kind, nameOfID(at), "it" + strings.Join(at, "")}
				k.told[value] = &toldID{SketchedKeep: keep, at: m.n, to: m.reply}
			}
		})
	}
	for _, m := range rs.seen {
		if !m.client {
			continue
		}
		sent := func(value string, placed bool) {
			if id := k.told[value]; id != nil {
				id.sent, id.placed = cmp.Or(id.sent, m.n), id.placed || placed
			}
		}
		eachText(m.body, nil, func(_ []string, value string) { sent(value, false) })
		if u := targetOf(m.target); u != nil {
			for segment := range strings.SplitSeq(u.Path, "/") {
				sent(segment, true)
			}
			for _, values := range u.Query() {
				sent(values[0], true)
			}
		}
	}
	return k
}

// eachText visits the texts and numbers in a value, with how an expression names the place of each.
func eachText(v any, at []string, visit func(at []string, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sorted(v) {
			step := "?." + name
			if !plainName.MatchString(name) {
				step = "?.[" + strconv.Quote(name) + "]"
			}
			eachText(v[name], append(slices.Clone(at), step), visit)
		}
	case []any:
		for i, item := range v {
			eachText(item, append(slices.Clone(at), fmt.Sprintf("?.[%d]", i)), visit)
		}
	case nil, bool:
	default:
		if len(at) > 0 {
			visit(at, fmt.Sprint(v))
		}
	}
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	wordOfID  = regexp.MustCompile(`(?i)(id|key|token|session|code|uuid)$`)
	indexStep = regexp.MustCompile(`^\?\.\[\d`)
	notWord   = regexp.MustCompile(`\W+`)
)

// isID reports whether a value, in a member of that name, tells one thing from others of its kind.
func isID(name, value string) bool {
	digits, long := strings.ContainsAny(value, "0123456789"), len(value) >= 8 && len(value) <= 200
	return !strings.ContainsAny(value, " \n/") && (long && digits || (long || digits) && wordOfID.MatchString(name))
}

// nameOfID returns the name of a hole for what is at a place: that of its member, or of what this is the id of.
func nameOfID(at []string) string {
	for _, step := range slices.Backward(at) {
		if name := strings.Trim(notWord.ReplaceAllString(step, "_"), "_"); !strings.EqualFold(name, "id") &&
			!indexStep.MatchString(step) {
			return name
		}
	}
	return "id"
}

// hole returns what stands for an id: what a client keeps, or a text of its own if clients have sent it first; "" for
// what is none.
func (k *carried) hole(value string) string {
	id := k.told[value]
	switch {
	case id == nil:
		return ""
	case id.sent > id.at:
	case id.placed:
		return "${nonce}"
	default:
		return "${new}"
	}
	keep := id.SketchedKeep
	for n := 2; ; n++ {
		i := slices.IndexFunc(k.names, func(o SketchedKeep) bool { return o.Name == keep.Name })
		if i >= 0 && k.names[i] == keep {
			break
		}
		if i < 0 && keep.Name != "new" && keep.Name != "nonce" {
			k.names, k.asked[keep.Name] = append(k.names, keep), id.to
			break
		}
		keep.Name = fmt.Sprint(id.Name, n)
	}
	return "${" + keep.Name + "}"
}

// targetOf returns the target in the label of a request, such as "GET ws://host/ws (upgrade)" or "POST /message"; nil
// if there is none.
func targetOf(label string) *url.URL {
	words := strings.Fields(label)
	if len(words) < 2 {
		return nil
	}
	u, err := url.Parse(words[1])
	if err != nil {
		return nil
	}
	return u
}

// pathOf returns the path in the label of a request.
func pathOf(label string) string {
	if u := targetOf(label); u != nil {
		return u.Path
	}
	return ""
}

// place returns the method and the path of a request, with holes in place of ids, and of its query only what has some.
func (k *carried) place(m *seenMessage) (method, at string) {
	u := targetOf(m.target)
	if u == nil {
		return "", ""
	}
	method, _, _ = strings.Cut(m.target, " ")
	segments := strings.Split(cmp.Or(u.EscapedPath(), "/"), "/")
	for i, segment := range segments {
		if value, err := url.PathUnescape(segment); err == nil {
			segments[i] = cmp.Or(k.hole(value), segment)
		}
	}
	at = strings.Join(segments, "/")
	mark, query := "?", u.Query()
	for _, name := range sorted(query) {
		if h := k.hole(query[name][0]); h != "" {
			at, mark = at+mark+url.QueryEscape(name)+"="+h, "&"
		}
	}
	return method, at
}

// SketchedRequest is a request that is no message of the protocol.
type SketchedRequest struct {
	Request string // method and path
	Body    map[string]any
}

// fillSends finds what clients send, with holes in place of ids, what fills these holes and those of the places, and
// the request whose answer fills those of the place where a client connects.
func (rs *recordSketch) fillSends(s *Sketch, k *carried) {
	opening := s.SSE + s.WS + s.Post
	used := opening + s.Send
	for i := range s.Sends {
		m := &s.Sends[i]
		if m.Sent = rs.typical(m.Type, k); s.Only == "" {
			delete(m.Sent, strings.TrimPrefix(string(s.Sent), "/"))
		}
		used += yamlText(m.Sent)
	}
	for _, keep := range slices.Clone(k.names) {
		if !strings.Contains(used, "${"+keep.Name+"}") {
			continue
		}
		s.Keeps = append(s.Keeps, keep)
		of := rs.asking[k.asked[keep.Name]]
		if of != nil && keep.On == answer && strings.Contains(opening, "${"+keep.Name+"}") {
			method, at := k.place(of)
			s.Before.Request = method + " " + at
			s.Before.Body, _ = k.withHoles("", of.body).(map[string]any)
		}
	}
}

// typical returns what clients send as messages of a type: the members that all have, as the first one has them, with
// holes in place of ids. A text is a new one, unless several messages have the same.
func (rs *recordSketch) typical(kind string, k *carried) map[string]any {
	var all []map[string]any
	for _, m := range rs.seen {
		if m.client && m.kind == kind {
			all = append(all, m.body)
		}
	}
	out := map[string]any{}
	for name, v := range all[0] {
		same := len(all) > 1
		lacks := slices.ContainsFunc(all, func(other map[string]any) bool {
			same = same && reflect.DeepEqual(other[name], v)
			return other[name] == nil
		})
		filled := k.withHoles(name, v)
		if text, is := v.(string); is && !same && filled == any(text) {
			filled = "${new}"
		}
		if !lacks {
			out[name] = filled
		}
	}
	return out
}

// withHoles returns what a client sent in a member of that name with holes in place of ids.
func (k *carried) withHoles(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = k.withHoles(name, member)
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, k.withHoles(name, item))
		}
		return out
	case nil, bool:
		return v
	}
	if text := fmt.Sprint(v); isID(name, text) && k.hole(text) != "" {
		return k.hole(text)
	}
	return v
}
