package replay

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"

	"parley/protocol/messages"
	"parley/transcript"
)

// Message is a message of a client, read once to be compared many times.
type Message struct {
	m message
	b []byte
}

// Read reads a message that a client sends. set is the protocol's, or nil.
func Read(set *messages.Set, r transcript.Record) Message {
	return Message{m: rules{set: set}.readFrom(r, messages.Client), b: r.Bytes}
}

// Type returns the type of the message; "" if it has none.
func (m Message) Type() string { return m.m.name }

// IDs maps recorded ids to those that stand for them now. It is for one goroutine.
type IDs struct{ known *ids }

// NewIDs returns an IDs that knows none.
func NewIDs() *IDs { return &IDs{newIDs()} }

// Clone returns an independent copy.
func (i *IDs) Clone() *IDs {
	k := i.known
	return &IDs{&ids{now: maps.Clone(k.now), then: maps.Clone(k.then),
		sent: maps.Clone(k.sent), said: maps.Clone(k.said),
		oldest: k.oldest.clone(), mine: k.mine.clone(), spoken: k.spoken.clone()}}
}

func (r ring) clone() ring { return ring{keys: slices.Clone(r.keys), drop: r.drop} }

// Renew replaces recorded ids in a message that the server sends by those that stand for them now.
func (i *IDs) Renew(set *messages.Set, r transcript.Record) []byte {
	return i.known.outgoing(rules{set: set}.readFrom(r, messages.Server))
}

// Compare returns the places at which a message that came is not a recorded one, apart from what may differ: times,
// ids, and what is ignored. The ids that it learns are added to known, also if there are such places. A model's words
// may not differ.
func Compare(recorded, came Message, known *IDs, ignore []Ignore) []Place {
	c := comparison{ids: known.known, ignore: ignore, exact: true, kind: recorded.m.name}
	if w, g := queryOf(recorded.m), queryOf(came.m); !known.known.queries(w, g) {
		c.found = append(c.found, Place{At: "query", Recorded: w, Came: g})
	}
	switch {
	case recorded.m.sort != came.m.sort:
		c.differ(string(recorded.m.kind)+" "+recorded.m.name, string(came.m.kind)+" "+came.m.name)
	case recorded.m.name != "" && slices.ContainsFunc(ignore, func(i Ignore) bool { return i.whole(c.kind) }):
	case recorded.m.json && came.m.json:
		c.values(recorded.m.value, came.m.value, recorded.m.rule.Node())
	case !bytes.Equal(recorded.b, came.b):
		c.differ(shown(string(recorded.b)), shown(string(came.b)))
	}
	return c.found
}

// Like returns the number of places that Compare would return. It learns nothing.
func Like(recorded, came Message, known *IDs, ignore []Ignore) (places int) {
	known.known.try(func() { places = len(Compare(recorded, came, known, ignore)) })
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
		if end-at <= maxID && unmistakable(string(b[at:end])) {
			found(string(b[at:end]))
		}
	}
}

// Fresh draws new ids for those in a message of the server that it has drawn.
func (i *IDs) Fresh(b []byte, byServer func(id string) bool) {
	EachID(b, func(was string) {
		if _, known := i.known.now[was]; known || !byServer(was) {
			return
		}
		is := redrawn(was)
		i.known.learn(was, was, is, is)
	})
}

// redrawn draws an id of the same form as another.
func redrawn(id string) string {
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
func Shown(s string) string { return shown(s) }
