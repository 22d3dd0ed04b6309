// Package defaults fills in what the options of a bundled server leave out.
package defaults

import "reflect"

// Fill sets the fields of a struct that are zero or nil, of limits or of decisions, to those of another; and so within
// fields that are structs. All fields are exported.
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
