package pack

import (
	"maps"
	"slices"
	"strings"

	"parley/internal/script"
	"parley/internal/words"
)

func (rd *reader) readSends(v script.Value) {
	rd.doc.sends = map[string]any{}
	for name := range rd.doc.post.requests {
		rd.doc.sends[name] = map[string]any{}
	}
	if !v.There() {
		return
	}
	for _, name := range v.Keys() {
		rd.doc.sends[name] = valueOf(v.At(name))
		rd.list(name, v.Key(name))
	}
	if len(v.Keys()) == 0 {
		rd.Fail(v, "sends is a map from a type to its message (sends: {ping: {}})")
	}
}

// valueOf returns a value of a document as JSON has it.
func valueOf(v script.Value) any {
	if keys := v.Keys(); keys != nil {
		out := map[string]any{}
		for _, name := range keys {
			out[name] = valueOf(v.At(name))
		}
		return out
	}
	if items, ok := v.Items(); ok {
		out := []any{}
		for _, item := range items {
			out = append(out, valueOf(item))
		}
		return out
	}
	return v.Scalar()
}

func (rd *reader) readReceives(v script.Value) {
	if !v.There() {
		return
	}
	rd.doc.receives = rd.Texts(v, "receives")
	if items, is := v.Items(); is {
		for i, name := range rd.doc.receives {
			rd.list(name, items[i])
		}
		return
	}
	if name, _ := v.Scalar().(string); strings.Contains(name, " ") {
		rd.Fail(v, "several types are a list (receives: [%s])", strings.Join(strings.FieldsFunc(name, func(r rune) bool {
			return r == ' ' || r == ','
		}), ", "))
	} else {
		rd.list(name, v)
	}
}

// list notes a type of messages.
func (rd *reader) list(name string, at script.Value) {
	rd.listed = append(rd.listed, listed{name, rd.placeOf(at)})
}

// allTypes are all known types, and what else a rule may be about.
func (rd *reader) allTypes() []string {
	return slices.Concat(slices.Sorted(maps.Keys(rd.doc.sends)), rd.doc.receives, special)
}

// Messages that are none of the protocol: the request for a connection, its answer, its end, the answer to an HTTP
// request, an event without data, a message that is no JSON object, or of no known type, and a restart of the target by
// the harness.
const (
	connecting = "connecting"
	connected  = "connected"
	ended      = "ended"
	answer     = "http"
	empty      = "empty"
	malformed  = "malformed"
	unknown    = "unknown"
	restarted  = "restarted"
)

var special = []string{connecting, connected, ended, answer, empty, malformed, unknown, restarted}

func (rd *reader) typesOf(v script.Value, types []string) []string {
	known := rd.allTypes()
	for _, name := range types {
		if rd.types.used[name] = true; !slices.Contains(known, name) && name != "" {
			rd.types.add(name, rd.placeOf(v), "%q is not a type of this protocol (%s)", name, words.Suggest(name, known,
				"add it to sends or receives, or write one of "+strings.Join(known, ", ")))
		}
	}
	return types
}
