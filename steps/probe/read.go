package probe

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"parley/internal/cut"
	"parley/target"
	"parley/transport/driver"
	wjson "parley/transport/wire/json"
)

// A target's messages are read by member names regardless of spelling: connection_id matches connectionId. Names are
// given in the form that Plain returns. If several match, the first name wins, and for one name the first key.

// Plain normalises the spelling of a name: currentAgentId and current_agent_id both become currentagentid.
func Plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Member returns the key of an object's member that has one of the names, or "".
func Member(obj map[string]any, names ...string) string {
	return MemberWhere(obj, func(any) bool { return true }, names...)
}

// TextMember is Member restricted to non-empty text.
func TextMember(obj map[string]any, names ...string) string {
	return MemberWhere(obj, func(v any) bool { s, ok := v.(string); return ok && s != "" }, names...)
}

// MemberWhere is Member restricted to values for which is returns true.
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

// Names returns the names that servers use for a field of a struct of places: those of its tag, with that of its key
// before them unless it is one of them. Both arguments are pointers, the second one to the field.
func Names(fields, field any) []string {
	v := reflect.ValueOf(fields).Elem()
	for i := range v.NumField() {
		if v.Field(i).Addr().Interface() == field {
			tag := v.Type().Field(i).Tag
			names, own := strings.Fields(tag.Get("names")), Plain(tag.Get("yaml"))
			if !slices.Contains(names, own) {
				names = slices.Insert(names, 0, own)
			}
			return names
		}
	}
	panic("probe: not a field")
}

// IsObject reports whether a value is an object.
func IsObject(v any) bool { _, ok := v.(map[string]any); return ok }

// PointTo sets a field of a struct of places to an object's member that has one of its names, if there is one.
func PointTo(fields any, field *target.Pointer, obj map[string]any) {
	if key := Member(obj, Names(fields, field)...); key != "" {
		*field = Pointer(key)
	}
}

// FindText finds the first text with one of the names, from the outside in, down to a depth. The pointer begins with
// at, the pointer of the value itself.
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

// Holding finds the place of a text in a value, from the outside in, down to a depth. The pointer begins with at, the
// pointer of the value itself.
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

// Pointer returns the pointer to a member of an object.
func Pointer(key string) target.Pointer { return target.Pointer(wjson.FormatPointer(key)) }

// Text returns the text at a place, or "".
func Text(p target.Pointer, v any) string {
	found, _ := p.Get(v)
	s, _ := found.(string)
	return s
}

// Object decodes a frame that is a JSON object; it returns nil for any other frame.
func Object(b []byte) map[string]any {
	v, _, err := wjson.Decode(b)
	if err != nil {
		return nil
	}
	obj, _ := v.(map[string]any)
	return obj
}

// Brief returns a short form of a message.
func Brief(msg map[string]any) string {
	if msg == nil {
		return "nothing"
	}
	return Shorten(wjson.Compact(msg))
}

// Shorten reduces a target's text to one line.
func Shorten(text string) string { return cut.Line(text, 120) }

// Refusal says briefly why a connection could not be opened.
func Refusal(err error) string {
	var open *driver.OpenError
	if !errors.As(err, &open) {
		return err.Error()
	}
	switch open.Status {
	case 0:
		return open.Err.Error()
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("HTTP %d: it requires credentials (see headers)", open.Status)
	}
	return fmt.Sprintf("HTTP %d", open.Status)
}
