package replay

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"parley/protocol/messages"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Message is a message of either side, read once to be compared many times.
type Message struct {
	m message
	b []byte
}

// Read reads a message that a client sends. set is the protocol's, or nil.
func Read(set *messages.Set, r transcript.Record) Message {
	return Message{m: rules{set: set}.readFrom(r, messages.Client), b: r.Bytes}
}

// ReadServer reads a message that a server sends.
func ReadServer(set *messages.Set, r transcript.Record) Message {
	return Message{m: rules{set: set}.readFrom(r, messages.Server), b: r.Bytes}
}

// FromServer reports whether a record of a recording.ClientView is a message of the server that a client can notice.
func FromServer(r transcript.Record) bool { return isCompared(r, transcript.Received) }

// FromClient reports whether a record of a recording.ClientView is something that the client does.
func FromClient(r transcript.Record) bool {
	return !r.Late && !FromServer(r) && isPlayed(r, transcript.Received)
}

// Type returns the type of the message; "" if it has none.
func (m Message) Type() string { return m.m.name }

// Title names the message for people: its connection, kind or place, and type.
func (m Message) Title() string { return m.m.titleFor() }

// Repeats reports whether the number of such messages depends on a model.
func (m Message) Repeats() bool { return m.m.mayRepeat() }

// SameSort reports whether two messages are of one kind and type: only such ones are compared.
func (m Message) SameSort(other Message) bool { return m.m.messageSort == other.m.messageSort }

// Sort names the kind and the type of the message: only messages of one sort are compared.
func (m Message) Sort() string { return string(m.m.kind) + " " + m.m.messageSort.name }

// SamePlace reports whether two requests or openings go to one place, and have one type.
func (m Message) SamePlace(other Message) bool {
	upgrades := func(m Message) bool { return strings.HasSuffix(m.m.Label, " (upgrade)") }
	return m.SameSort(other) && placeOf(m.m.Record) == placeOf(other.m.Record) && upgrades(m) == upgrades(other)
}

// IDs maps recorded ids to those that stand for them now. It is for one goroutine.
type IDs struct{ known *ids }

// NewIDs returns an IDs that knows none.
func NewIDs() *IDs { return &IDs{newIDs()} }

// Clone returns an independent copy.
func (i *IDs) Clone() *IDs {
	k := i.known
	return &IDs{&ids{now: maps.Clone(k.now), then: maps.Clone(k.then), pair: maps.Clone(k.pair),
		scopes: maps.Clone(k.scopes), sent: maps.Clone(k.sent), said: maps.Clone(k.said),
		oldest: k.oldest.clone(), mine: k.mine.clone(), spoken: k.spoken.clone()}}
}

func (r recentKeys) clone() recentKeys { return recentKeys{keys: slices.Clone(r.keys), drop: r.drop} }

// Renew replaces recorded ids in a message that the server sends by those that stand for them now.
func (i *IDs) Renew(set *messages.Set, r transcript.Record) []byte {
	return i.known.outgoingMessage(rules{set: set}.readFrom(r, messages.Server))
}

// RenewClient is Renew for a message that the client sends.
func (i *IDs) RenewClient(set *messages.Set, r transcript.Record) []byte {
	return i.known.outgoingMessage(rules{set: set}.readFrom(r, messages.Client))
}

// RenewPath renews the ids in a path with its query.
func (i *IDs) RenewPath(recorded string) string { return i.known.renewPath(recorded) }

// Without returns a copy that does not know what stands for some recorded ids, which are given by their keys.
func (i *IDs) Without(keys []string) *IDs {
	c := i.Clone()
	for _, was := range keys {
		c.known.forgetID(was)
	}
	return c
}

// Compare returns the places at which a message that came is not a recorded one, apart from what may differ: times,
// ids, and what is ignored. The ids that it learns are added to known, also if there are such places. A model's words
// may not differ.
func Compare(recorded, came Message, known *IDs, ignore []Ignore) []Place {
	c := comparison{ids: known.known, set: recorded.m.set, ignore: ignore, exact: true, kind: recorded.m.name}
	if w, g := queryOf(recorded.m), queryOf(came.m); !known.known.compareQueries(w, g) {
		c.found = append(c.found, Place{At: "query", Recorded: w, Came: g})
	}
	switch {
	case recorded.m.messageSort != came.m.messageSort:
		c.addDifference(string(recorded.m.kind)+" "+recorded.m.name, string(came.m.kind)+" "+came.m.name)
	case recorded.m.name != "" && slices.ContainsFunc(ignore, func(i Ignore) bool { return i.ignoresWhole(c.kind) }):
	case recorded.m.json && came.m.json:
		c.compareValues(recorded.m.value, came.m.value, recorded.m.rule.Node())
	case !bytes.Equal(recorded.b, came.b):
		c.addDifference(showValue(string(recorded.b)), showValue(string(came.b)))
	}
	return c.found
}

// CountDifferences returns the number of places that Compare would return. It learns nothing.
func CountDifferences(recorded, came Message, known *IDs, ignore []Ignore) (places int) {
	known.known.tryForgetting(func() { places = len(Compare(recorded, came, known, ignore)) })
	return places
}

// CompareServer is Compare for messages of a server, in which a model's words may differ.
func CompareServer(recorded, came Message, known *IDs, ignore []Ignore) []Place {
	c := comparison{ids: known.known, ignore: ignore, kind: recorded.m.name}
	if !recorded.SameSort(came) {
		c.addDifference(recorded.Title(), came.Title())
		return c.found
	}
	return c.compareMessages(recorded.m, came.m)
}

// CountServerDifferences returns the number of places that CompareServer would return. It learns nothing.
func CountServerDifferences(recorded, came Message, known *IDs, ignore []Ignore) (places int) {
	known.known.tryForgetting(func() { places = len(CompareServer(recorded, came, known, ignore)) })
	return places
}

// Knows reports whether a text has an id that the server has drawn for this client.
func (i *IDs) Knows(b []byte) bool {
	for at, end := nextWord(b, 0); at < end; at, end = nextWord(b, end) {
		if _, fresh := i.known.then[string(b[at:end])]; fresh || i.known.sent[string(b[at:end])] {
			return true
		}
	}
	return false
}

// EachID calls found for each word in a text that looks like an id that was drawn, in order.
func EachID(b []byte, found func(id string)) {
	b = timeText.ReplaceAll(b, nil)
	for at, end := nextWord(b, 0); at < end; at, end = nextWord(b, end) {
		if end-at <= maxID && isSurelyID(string(b[at:end])) {
			found(string(b[at:end]))
		}
	}
}

// EachKey calls found with the key of each id in a message: of those that a schema names, and of those that look like
// ids that were drawn, also in the path of a request. A key may come more than once.
func (m Message) EachKey(found func(key string)) {
	EachID(m.b, found)
	if m.m.json {
		eachRuled(m.m.set, m.m.value, m.m.rule.Node(), nil, found)
	}
	if m.m.Kind != transcript.Request && m.m.Kind != transcript.Open || m.m.Dir != transcript.Sent {
		return
	}
	EachID([]byte(m.m.Label), found)
	for one := range strings.SplitSeq(queryOf(m.m), "&") {
		name, value, _ := strings.Cut(one, "=")
		if plain, err := url.QueryUnescape(value); err == nil && plain != "" {
			found(idKey(scopeOf(name), plain))
		}
	}
}

// eachRuled calls found with the key of each id that a schema names.
func eachRuled(set *messages.Set, v any, n *messages.Node, path []string, found func(key string)) {
	switch v := v.(type) {
	case wjson.Object:
		for member, of := range v {
			eachRuled(set, of, n.Member(member), append(path, member), found)
		}
		return
	case []any:
		for _, of := range v {
			eachRuled(set, of, n.Item(), path, found)
		}
		return
	}
	if scope, is := ruledScope(set, n, path); is {
		if text, ok := idText(v); ok {
			found(idKey(scope, text))
		}
	}
}

// RedrawIDs draws new ids for those in a message of the server that it has drawn.
func (i *IDs) RedrawIDs(b []byte, byServer func(id string) bool) {
	EachID(b, func(was string) {
		if _, known := i.known.now[was]; known || !byServer(was) {
			return
		}
		is := redrawID(was)
		i.known.learnID(was, was, is, is)
	})
}

// redrawID draws an id of the same form as another.
func redrawID(id string) string {
	prefix := prefixOf(id)
	out := []byte(id)
	for n := len(prefix); n < len(out); n++ {
		switch c := out[n]; {
		case c >= '0' && c <= '9':
			out[n] = '0' + byte(rand.IntN(10))
		case c >= 'a' && c <= 'f':
			out[n] = 'a' + byte(rand.IntN(6))
		case c >= 'a' && c <= 'z':
			out[n] = 'a' + byte(rand.IntN(26))
		case c >= 'A' && c <= 'Z':
			out[n] = 'A' + byte(rand.IntN(26))
		}
	}
	return string(out)
}

// Shown renders a text for people on one line of bounded length, without times.
func Shown(s string) string { return showValue(s) }
