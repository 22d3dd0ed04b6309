// Package defaults fills in the options of a bundled server that are not set.
package defaults

import "reflect"

// Fill sets the zero or nil fields of a struct, such as limits or decisions, to those of fallback, recursively for
// fields that are structs. All fields must be exported.
func Fill[T any](given *T, fallback T) {
	fill(reflect.ValueOf(given).Elem(), reflect.ValueOf(fallback))
}

func fill(to, from reflect.Value) {
	for i := range to.NumField() {
		switch field := to.Field(i); {
		case field.Kind() == reflect.Struct:
			fill(field, from.Field(i))
		case field.IsZero():
			field.Set(from.Field(i))
		}
	}
}
