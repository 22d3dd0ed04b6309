package probe

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/driver"
	"parley/internal/cut"
	"parley/target"
	wjson "parley/wire/json"
)

// Messages of a target are read by the names of their members, however these are written: connection_id is
// connectionId. Names are given as Plain has them. Where several match, the first name wins, and of one name the first
// key.

// Plain is a name without its way of writing: currentAgentId and current_agent_id are both currentagentid.
func Plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Member is the key of an object's member that has one of the names; "" where none has.
func Member(obj map[string]any, names ...string) string {
	return MemberWhere(obj, func(any) bool { return true }, names...)
}

// TextMember is Member of those that hold text which is not empty.
func TextMember(obj map[string]any, names ...string) string {
	return MemberWhere(obj, func(v any) bool { s, ok := v.(string); return ok && s != "" }, names...)
}

// MemberWhere is Member of those whose values are of some kind.
func MemberWhere(obj map[string]any, is func(any) bool, names ...string) string {
	for _, name := range names {
		for _, key := range slices.Sorted(maps.Keys(obj)) {
			if Plain(key) == name && is(obj[key]) {
				return key
			}
		}
	}
	return ""
}

// IsObject reports whether a value is an object.
func IsObject(v any) bool { _, ok := v.(map[string]any); return ok }

// PointTo points to an object's member that has one of the names, if there is one.
func PointTo(p *target.Pointer, obj map[string]any, names ...string) {
	if key := Member(obj, names...); key != "" {
		*p = Pointer(key)
	}
}

// FindText finds the first text, from the outside in and so many levels deep, whose name is one of these. The pointer
// begins with at, that of the value itself.
func FindText(v any, at target.Pointer, depth int, names ...string) (target.Pointer, string) {
	obj, ok := v.(map[string]any)
	if !ok || depth == 0 {
		return "", ""
	}
	if key := TextMember(obj, names...); key != "" {
		return at + Pointer(key), obj[key].(string)
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if p, text := FindText(obj[key], at+Pointer(key), depth-1, names...); text != "" {
			return p, text
		}
	}
	return "", ""
}

// Holding finds the place of a text in a value, from the outside in and so many levels deep. The pointer begins with
// at, that of the value itself.
func Holding(v any, text string, at target.Pointer, depth int) (target.Pointer, bool) {
	obj, _ := v.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if obj[key] == any(text) {
			return at + Pointer(key), true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if depth > 1 {
			if p, ok := Holding(obj[key], text, at+Pointer(key), depth-1); ok {
				return p, true
			}
		}
	}
	return "", false
}

// Pointer is the pointer to a member of an object.
func Pointer(key string) target.Pointer { return target.Pointer(wjson.FormatPointer(key)) }

// Text is the text at a place; "" where there is none.
func Text(p target.Pointer, v any) string {
	found, _ := p.Get(v)
	s, _ := found.(string)
	return s
}

// Object reads a frame that is a JSON object; nil where it is not.
func Object(b []byte) map[string]any {
	v, _, err := wjson.Decode(b)
	if err != nil {
		return nil
	}
	obj, _ := v.(map[string]any)
	return obj
}

// Brief is a message in few words.
func Brief(msg map[string]any) string {
	if msg == nil {
		return "nothing"
	}
	return Shorten(wjson.Compact(msg))
}

// Shorten keeps what a target says on one line.
func Shorten(text string) string { return cut.Line(text, 120) }

// Refusal says in few words why a connection could not be opened.
func Refusal(err error) string {
	var open *driver.OpenError
	if !errors.As(err, &open) {
		return err.Error()
	}
	switch open.Status {
	case 0:
		return open.Err.Error()
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("HTTP %d: it wants to know who asks (see headers)", open.Status)
	}
	return fmt.Sprintf("HTTP %d", open.Status)
}
