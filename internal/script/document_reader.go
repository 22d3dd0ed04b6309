package script

import (
	"errors"
	"slices"
	"strings"
)

// Reader reads YAML documents in another language that shares the matching of scripts. It knows the place of each
// value, and collects mistakes. It is not safe for concurrent use.
type Reader struct{ p parsing }

// Value is a value of a document with its place. The zero value is an absent value.
type Value struct{ n *node }

// Read parses a document of at most MaxText bytes. If it is not YAML, the root is absent, and Err says why. what names
// the kind of document in mistakes, such as "file of faults".
func (r *Reader) Read(text []byte, what string) Value {
	if len(text) > MaxText {
		r.p.errs = append(r.p.errs, &Error{Line: 1, Column: 1, Text: "it is longer than 1 MiB (make it shorter)"})
		return Value{}
	}
	root, errs := readYAML(text)
	for _, e := range errs {
		e.Text = strings.Replace(e.Text, "a script is", "a "+what+" is", 1)
		e.Text = strings.Replace(e.Text, "a script has", "a "+what+" has", 1)
		e.Text = strings.Replace(e.Text, "the script is", "the "+what+" is", 1)
	}
	if r.p.errs = append(r.p.errs, errs...); len(errs) > 0 {
		return Value{}
	}
	return Value{root}
}

// Err joins an *Error for each mistake, in the order of their places; nil if there is none. name stands for the file.
func (r *Reader) Err(name string) error {
	slices.SortStableFunc(r.p.errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	var all []error
	for _, e := range r.p.errs {
		e.Name = name
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Count returns how many mistakes were recorded.
func (r *Reader) Count() int { return len(r.p.errs) }

// Fail records a mistake at a value that is present.
func (r *Reader) Fail(v Value, format string, args ...any) { r.p.failAt(v.n, format, args...) }

// Keys reports whether v is a map, and records a mistake for each unknown key. One that is like a known key that is
// missing is read as that one, so that nothing else is told of it.
func (r *Reader) Keys(v Value, what string, known ...string) bool {
	return r.p.checkKeys(v.n, what, known...)
}

// List returns the items of a list, and records a mistake if v is something else.
func (r *Reader) List(v Value, what string) (out []Value) {
	if r.p.requireKind(v.n, list, what) {
		for _, n := range v.n.list {
			out = append(out, Value{n})
		}
	}
	return out
}

// Text returns a text; "" if v is absent.
func (r *Reader) Text(v Value, what string) string { return r.p.parseText(v.n, what) }

// Texts returns a text, or a list of them.
func (r *Reader) Texts(v Value, what string) []string { return r.p.parseTexts(v.n, what) }

// Match reads a condition on messages: the "on" of a script, without holes.
func (r *Reader) Match(v Value) Match {
	r.NoHoles(v)
	return Match{r.p.parseOn(v.n)}
}

// NoHoles records a mistake for each text with holes.
func (r *Reader) NoHoles(v Value) {
	if v.n == nil {
		return
	}
	for _, n := range slices.Concat(v.n.list, v.n.vals) {
		r.NoHoles(Value{n})
	}
	if text, _ := v.n.scalarText(); strings.Contains(text, "${") {
		r.Fail(v, "nothing is filled in here (write the value itself)")
	}
}

// Holes records a mistake for each hole that Fill does not know.
func (r *Reader) Holes(v Value) {
	for _, n := range slices.Concat(v.n.list, v.n.vals) {
		r.Holes(Value{n})
	}
	text, _ := v.n.scalarText()
	for _, name := range holeNames(text) {
		if !strings.HasPrefix(name, "/") && !slices.Contains(filled, name) {
			r.Fail(v, "${%s} is neither a member of the message, such as ${/agentId}, nor one of %s "+
				"(write $${ for a literal ${)", name, quotedList(filled))
		}
	}
}

// filled are the names that Fill knows besides members.
var filled = []string{"id", "party", "body"}

// There reports whether the value is present.
func (v Value) There() bool { return v.n != nil }

// At returns the value of a key of a map.
func (v Value) At(key string) Value {
	if v.n == nil {
		return v
	}
	return Value{v.n.valueAt(key)}
}

// Line returns the line of the value, from 1.
func (v Value) Line() int { return v.n.line }

// Column returns the column of the value, from 1.
func (v Value) Column() int { return v.n.column }

// Key returns a key of a map, for its place; absent if there is none.
func (v Value) Key(name string) Value {
	if v.n != nil {
		for _, k := range v.n.keys {
			if k.value == name {
				return Value{k}
			}
		}
	}
	return Value{}
}

// Keys returns the keys of a map, in their order; nil if the value is not a map.
func (v Value) Keys() []string {
	if v.n == nil || v.n.kind != mapping {
		return nil
	}
	out := make([]string, 0, len(v.n.keys))
	for _, k := range v.n.keys {
		name, _ := k.value.(string)
		out = append(out, name)
	}
	return out
}

// Items returns the items of a list; ok is false if the value is none.
func (v Value) Items() (out []Value, ok bool) {
	if v.n == nil || v.n.kind != list {
		return nil, false
	}
	for _, n := range v.n.list {
		out = append(out, Value{n})
	}
	return out, true
}

// Scalar returns a single value: nil, bool, int64, uint64, float64 or string; nil for a list or map.
func (v Value) Scalar() any {
	if v.n == nil {
		return nil
	}
	return v.n.value
}

// Number returns a number; ok is false if the value is not a number.
func (v Value) Number() (n float64, ok bool) {
	switch n := v.Scalar().(type) {
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// Fill returns the value as JSON, with the holes filled in from a message. It fails if the message lacks a member.
func (v Value) Fill(m Message, newID func() string) ([]byte, error) {
	return fillingOf(m, newID).writeJSON(v.n)
}

func fillingOf(m Message, newID func() string) *filling {
	return &filling{message: decodeJSON(m.Body), party: m.Party, body: string(m.Body), newID: newID}
}

// Match is a condition on messages.
type Match struct{ on on }

// Matches reports whether m meets the condition.
func (w Match) Matches(m Message) bool {
	f := fillingOf(m, func() string { return "" })
	return (&Engine{}).whyNoMatch(0, &rule{on: w.on}, m, f) == ""
}

// Kind returns the kind of the matching messages: see Message.Kind.
func (w Match) Kind() string { return w.on.kind }

// Types returns the types of the matching messages; nil for any.
func (w Match) Types() []string { return slices.Clone(w.on.types) }

// HasParty reports whether the name of the party matters.
func (w Match) HasParty() bool { return w.on.party != nil }

// Any matches every message of a connection.
func Any() Match { return Match{on{kind: "message"}} }
