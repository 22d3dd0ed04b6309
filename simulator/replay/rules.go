package replay

import (
	"net/url"
	"strings"

	"parley/protocol/messages"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Sort is what a message is taken for: only those of the same sort are compared.
type messageSort struct {
	kind transcript.Kind
	name string // type of the message
}

// message is a record with what is known of its content.
type message struct {
	transcript.Record
	messageSort
	value any  // its content, decoded; nil if it is not JSON
	json  bool // it is JSON
	rule  *messages.Message
	set   *messages.Set // the protocol's
}

// rules know the messages of a protocol. A nil Set knows none.
type rules struct {
	set  *messages.Set
	from messages.Side // who sends what is compared
}

// decodeRecord decodes a record of the other side.
func (r rules) decodeRecord(one transcript.Record) message { return r.readFrom(one, r.from) }

func (r rules) readFrom(one transcript.Record, from messages.Side) message {
	m := message{Record: one, messageSort: messageSort{kind: one.Kind}, set: r.set}
	if one.Kind == transcript.Request && len(one.Bytes) == 0 && strings.HasPrefix(one.Label, "GET ") {
		m.messageSort.kind = transcript.Open // it may be answered by a stream without asking for one
	}
	if len(one.Bytes) == 0 || one.Type == "binary" {
		return m
	}
	if v, _, err := wjson.Decode(one.Bytes); err == nil {
		m.value, m.json = v, true
	}
	kind := r.set.Type(m.value)
	if kind == "" && one.Kind == transcript.Stream && one.Type != "message" {
		kind = one.Type
	}
	m.rule = r.set.Find(kind, from)
	switch one.Kind {
	case transcript.Stream, transcript.Frame, transcript.Request:
		m.name = kind
	}
	return m
}

// mayRepeat reports whether the number of such messages depends on a model.
func (m message) mayRepeat() bool { return m.rule != nil && m.rule.Repeats }

// titleFor names a message for people.
func (m message) titleFor() string {
	what := string(m.Kind)
	if m.Kind == transcript.Request || m.Kind == transcript.Open {
		what = placeOf(m.Record)
	}
	return showValue(strings.Join(strings.Fields(m.Conn+" "+what+" "+m.name), " "))
}

// placeOf is the method and path of a request or opening, without host and query.
func placeOf(r transcript.Record) string {
	method, at, _ := strings.Cut(strings.TrimSuffix(r.Label, " (upgrade)"), " ")
	if _, rest, is := strings.Cut(at, "://"); is {
		_, at, _ = strings.Cut(rest, "/")
		at = "/" + at
	}
	at, _, _ = strings.Cut(at, "?")
	return strings.TrimSpace(method + " " + at)
}

// outgoingMessage returns what this side sends in place of a recorded message: ids that the other side has drawn are
// renewed. It notes the ids that this side has drawn.
func (i *ids) outgoingMessage(m message) []byte {
	b, sent := m.Bytes, m.value
	if m.json {
		v, changed := i.renewBySchema(m.set, m.value, m.rule.Node(), nil)
		if changed {
			if again, err := wjson.Encode(v); err == nil {
				b, sent = again, v
			}
		}
	}
	b = i.renewText(b)
	if m.json {
		i.oursIn(b)
		i.noteSentTexts(sent)
	}
	return b
}

// ruledScope returns the scope of the id in a place; false if neither its schema nor its name says that it has one.
func ruledScope(set *messages.Set, n *messages.Node, path []string) (scope string, is bool) {
	name, named := set.IDAt(path)
	switch {
	case n != nil && n.Varies != messages.ID && n.Varies != messages.ClientID, n == nil && !named:
		return "", false
	case !named && len(path) > 0:
		name = path[len(path)-1]
	}
	return scopeOf(name), true
}

// renewBySchema renews the ids that only a schema shows, and notes those of this side.
func (i *ids) renewBySchema(set *messages.Set, v any, n *messages.Node, path []string) (_ any, changed bool) {
	switch v := v.(type) {
	case wjson.Object:
		out := wjson.Object{}
		for member, of := range v {
			again, did := i.renewBySchema(set, of, n.Member(member), append(path, member))
			out[member], changed = again, changed || did
		}
		return out, changed
	case []any:
		out := make([]any, len(v))
		for at, of := range v {
			again, did := i.renewBySchema(set, of, n.Item(), path)
			out[at], changed = again, changed || did
		}
		return out, changed
	}
	scope, is := ruledScope(set, n, path)
	text, ok := idText(v)
	if !is || !ok || isSurelyID(text) {
		return v, false
	}
	if now, known := i.now[idKey(scope, text)]; known && (scope != "message" || path[len(path)-1] != "id") {
		if _, number := v.(wjson.Number); number {
			return wjson.Number(now), now != text
		}
		return now, now != text
	}
	i.noteSentID(scope, text)
	return v, false
}

// idText returns an id as text; false for what is no id.
func idText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case wjson.Number:
		return string(v), true
	}
	return "", false
}

// renewPath renews the ids in a path with its query: words that are ids, whole values of the query, and what stands
// behind the name of its kind, as in /session/1.
func (i *ids) renewPath(recorded string) string {
	at, query, asks := strings.Cut(recorded, "?")
	places := strings.Split(at, "/")
	for n, place := range places[1:] {
		if plain, err := url.PathUnescape(place); err == nil && !isSurelyID(plain) {
			if now, known := i.now[idKey(scopeOf(strings.TrimSuffix(places[n], "s")+"id"), plain)]; known {
				places[n+1] = url.PathEscape(now)
			}
		}
	}
	at = string(i.renewText([]byte(strings.Join(places, "/"))))
	if !asks {
		return at
	}
	all := strings.Split(string(i.renewText([]byte(query))), "&")
	for n, one := range all {
		name, value, _ := strings.Cut(one, "=")
		if plain, err := url.QueryUnescape(value); err == nil {
			if now, known := i.now[idKey(scopeOf(name), plain)]; known && !isSurelyID(plain) {
				all[n] = name + "=" + url.QueryEscape(now)
			}
		}
	}
	return at + "?" + strings.Join(all, "&")
}

// compareQueries reports whether two queries are the same but for ids.
func (i *ids) compareQueries(want, got string) bool {
	if want == got {
		return true
	}
	_, renewed, _ := strings.Cut(i.renewPath("?"+want), "?")
	return renewed == got || i.compareTexts(want, got)
}
