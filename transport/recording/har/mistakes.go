package har

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	legacy "github.com/go-json-experiment/json/v1"

	"parley/internal/cut"
)

// Error is a mistake in a HAR file.
type Error struct {
	At   string // JSON Pointer; "" for the whole file
	Text string
}

func (e *Error) Error() string {
	if e.At == "" {
		return e.Text
	}
	return e.At + ": " + e.Text
}

// describeShape says where a text has another shape.
func describeShape(text []byte, at string, err error) error {
	var syntax *legacy.SyntaxError
	var kind *legacy.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return &Error{at, "it is empty"}
	case errors.As(err, &syntax):
		before := text[:min(int(syntax.Offset), len(text))]
		where := fmt.Sprintf("line %d, byte %d of it", bytes.Count(before, []byte("\n"))+1,
			len(before)-bytes.LastIndexByte(before, '\n')-1)
		if len(before) == len(text) {
			return &Error{at, "it is not whole: its JSON ends in the middle, at " + where}
		}
		return &Error{at, fmt.Sprintf("it is not JSON: %v (%s)", syntax, where)}
	case errors.As(err, &kind):
		if kind.Field != "" {
			at += "/" + strings.ReplaceAll(kind.Field, ".", "/")
		}
		if strings.HasPrefix(kind.Value, "number ") && kind.Type.Kind() == reflect.Float64 {
			return &Error{at, "it is " + kindOf(kind.Value) + ", which is too large"}
		}
		return &Error{at, fmt.Sprintf("it is %s, want %s", kindOf(kind.Value), nameWanted(kind.Type))}
	}
	return &Error{at, err.Error()}
}

// kindOf names the kind of a value; numbers come with their digits.
func kindOf(value string) string {
	kind, digits, _ := strings.Cut(value, " ")
	switch {
	case digits != "":
		return "the number " + cut.Text(digits, 30)
	case kind == "null":
		return kind
	case kind == "object" || kind == "array":
		return "an " + kind
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}

// nameWanted names what a type of Go is read from.
func nameWanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "an object"
}
