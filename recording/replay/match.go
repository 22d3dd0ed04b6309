package replay

import (
	"bytes"
	"maps"
	"slices"

	wjson "parley/wire/json"
)

// IDs maps recorded ids to those that stand for them now. It is for one goroutine.
type IDs struct{ known *ids }

// NewIDs returns an IDs that knows none.
func NewIDs() *IDs { return &IDs{newIDs()} }

// Clone returns an independent copy.
func (i *IDs) Clone() *IDs {
	return &IDs{&ids{now: maps.Clone(i.known.now), then: maps.Clone(i.known.then), drop: i.known.drop,
		oldest: slices.Clone(i.known.oldest)}}
}

// Renew replaces recorded ids in a message by those that stand for them now.
func (i *IDs) Renew(b []byte) []byte { return i.known.renew(b) }

// Same reports whether a message that came is a recorded one but for what may differ: times, ids, and what is ignored.
// The ids that it learns are added to known, also if the messages are not the same.
func Same(recorded, came []byte, known *IDs, ignore []Ignore) bool {
	c := comparison{ids: known.known, ignore: ignore, kind: typeOf(recorded)}
	if slices.ContainsFunc(ignore, func(i Ignore) bool { return i.whole(c.kind) }) {
		return c.kind == typeOf(came)
	}
	w, _, wrong := wjson.Decode(known.Renew(recorded))
	g, _, broken := wjson.Decode(came)
	if wrong != nil || broken != nil {
		return bytes.Equal(recorded, came)
	}
	c.values(w, g)
	return len(c.found) == 0
}

// TypeOf returns the type of a message, by the first member that usually names it; "" if there is none.
func TypeOf(body []byte) string { return typeOf(body) }

// Shown renders a text for people on one line of bounded length, without times.
func Shown(s string) string { return shown(s) }
