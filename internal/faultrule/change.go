package faultrule

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	"parley/internal/script"
)

// ByteOrderMark is what bom puts before a message.
const ByteOrderMark = "\xEF\xBB\xBF"

// edit is the change of one member of a JSON message.
type edit struct {
	at     []string     // names on the way to the member
	to     []string     // of rename: where it is afterwards
	value  script.Value // to set; absent: the member is removed, renamed, wrapped, or drawn at random
	create bool         // the member is set even if it is absent
	draw   bool
	wrap   string // the name under which it is the only member of an object; "": it is not wrapped
}

// drawable are the values that can be drawn for a member, as JSON.
var drawable = []string{"null", "true", "-1", "1e300", `""`, `"\u0000"`, "[]", "{}", `[[[[{"a":null}]]]]`}

// pointerNames returns the names on the way to what a JSON Pointer refers to.
func pointerNames(pointer string) []string { return slices.Collect(jsontext.Pointer(pointer).Tokens()) }

// Content is what a fault may change of a message.
type Content struct {
	Body  []byte
	Event string // the type of an event, beside its data; "": none
}

// Edit returns content that the fault has changed; ok is false if it has not, for instance because the message is not
// JSON or lacks the member. Changed members are in the order of their names.
func (h Hit) Edit(c Content, typeOf func([]byte) string) (_ Content, ok bool) {
	switch h.Do {
	case "truncate":
		ok = h.N < len(c.Body)
		c.Body = c.Body[:min(h.N, len(c.Body))]
		return c, ok
	case "bom":
		c.Body = append([]byte(ByteOrderMark), c.Body...)
		return c, true
	case "retype":
		return h.changeType(c, typeOf)
	}
	root, ok := decodeExact(c.Body)
	if !ok {
		return c, false
	}
	before, _ := json.Marshal(root, jsonform.Escaped)
	fill := script.Message{Party: h.conn, Body: c.Body}
	for _, e := range h.edits {
		root = e.apply(root, fill, h.draw)
	}
	out, err := json.Marshal(root, jsonform.Escaped)
	if err != nil || bytes.Equal(before, out) {
		return c, false
	}
	c.Body = out
	return c, true
}

// TypeAt returns a function that returns the type of a message: the first text that is not empty at these pointers; ""
// if there is none.
func TypeAt(pointers ...string) func(body []byte) string {
	return func(body []byte) string {
		root, _ := decodeExact(body)
		for _, p := range pointers {
			is, _ := script.At(root, p)
			if text, _ := is.(string); text != "" {
				return text
			}
		}
		return ""
	}
}

// changeType gives a message another type: beside its data, or in the first member whose change does that.
func (h Hit) changeType(c Content, typeOf func([]byte) string) (Content, bool) {
	was := typeOf(c.Body)
	if was == "" {
		ok := c.Event != h.Text
		c.Event = h.Text
		return c, ok
	}
	root, _ := decodeExact(c.Body)
	object, _ := root.(map[string]any)
	for _, in := range append([]any{object}, sortedValues(object)...) {
		o, _ := in.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if o[name] != was {
				continue
			}
			o[name] = h.Text
			if out, err := json.Marshal(root, jsonform.Escaped); err == nil && typeOf(out) == h.Text {
				c.Body = out
				return c, was != h.Text
			}
			o[name] = was
		}
	}
	return c, false
}

// sortedValues returns the values of an object in the order of their names.
func sortedValues(o map[string]any) (out []any) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		out = append(out, o[name])
	}
	return out
}

// decodeExact decodes JSON with exact numbers.
func decodeExact(body []byte) (root any, ok bool) {
	err := json.Unmarshal(body, &root, jsonform.Lenient, jsonform.Numbers)
	return root, err == nil
}

// apply returns a message with the member changed, if that is possible. m is the message to fill values in from.
func (e edit) apply(root any, m script.Message, draw *rand.Rand) any {
	switch {
	case e.wrap != "":
		return updateAt(root, e.at, func(was any, there bool) (any, bool) {
			return map[string]any{e.wrap: was}, there
		})
	case e.to != nil:
		return e.moveMember(root)
	}
	return updateAt(root, e.at, func(_ any, there bool) (any, bool) {
		switch {
		case !there && !e.create:
		case e.draw:
			return jsontext.Value(drawable[draw.IntN(len(drawable))]), true
		case e.value.There():
			id := func() string { return fmt.Sprintf("%016x", draw.Uint64()) }
			b, err := e.value.Fill(m, id)
			return jsontext.Value(b), err == nil
		}
		return nil, false
	})
}

// moveMember moves the member to another place, if it is there.
func (e edit) moveMember(root any) any {
	var moving any
	found := false
	root = updateAt(root, e.at, func(was any, there bool) (any, bool) {
		moving, found = was, there
		return nil, false
	})
	if !found {
		return root
	}
	return updateAt(root, e.to, func(any, bool) (any, bool) { return moving, true })
}

// updateAt returns v with the member at that place replaced by what f returns for it, or removed. It is v as it is if
// there is no such place.
func updateAt(v any, parts []string, f func(was any, there bool) (now any, keep bool)) any {
	if len(parts) == 0 {
		if now, keep := f(v, true); keep {
			return now
		}
		return v
	}
	name, last := parts[0], len(parts) == 1
	switch v := v.(type) {
	case map[string]any:
		was, there := v[name]
		if !last {
			if there {
				v[name] = updateAt(was, parts[1:], f)
			}
		} else if now, keep := f(was, there); keep {
			v[name] = now
		} else {
			delete(v, name)
		}
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return v
		}
		if !last {
			v[i] = updateAt(v[i], parts[1:], f)
		} else if now, keep := f(v[i], true); keep {
			v[i] = now
		} else {
			return append(v[:i], v[i+1:]...)
		}
	}
	return v
}
