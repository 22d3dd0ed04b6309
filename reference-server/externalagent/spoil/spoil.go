// Package spoil has edits of messages and objects that the mutants of the bundled parties share.
package spoil

import (
	"strings"
	"unicode"

	"parley/reference-server/externalagent/wire"
)

// Set sets a member of an object.
func Set(name string, v any) func(o wire.Object) { return func(o wire.Object) { o[name] = v } }

// Lose removes a member of an object.
func Lose(name string) func(o wire.Object) { return func(o wire.Object) { delete(o, name) } }

// Rename renames a member of an object, if present.
func Rename(name, other string) func(o wire.Object) {
	return func(o wire.Object) {
		if v, there := o[name]; there {
			o[other] = v
			delete(o, name)
		}
	}
}

// Change changes a member of an object.
func Change(name string, f func(v any) any) func(o wire.Object) {
	return func(o wire.Object) { o[name] = f(o[name]) }
}

// Text is Change for a member that is a string.
func Text(name string, f func(s string) string) func(o wire.Object) {
	return Change(name, func(v any) any { s, _ := v.(string); return f(s) })
}

// Within returns an object with the value as its only member.
func Within(name string) func(v any) any { return func(v any) any { return wire.Object{name: v} } }

// JSON returns the value's JSON as a string.
func JSON(v any) any { return string(wire.Encode(v)) }

// SnakeCase converts a name from camel case to snake case.
func SnakeCase(name string) string {
	var out strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
