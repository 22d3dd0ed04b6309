// Package jsonwhy says in the words of JSON why a text could not be read as one JSON object. The errors of the decoder
// speak of Go types, which tell the peer of a server nothing.
package jsonwhy

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// longest is the length in bytes at which the name of a member is cut: a peer may send any.
const longest = 80

// Of returns a sentence about an error of json.Unmarshal that says what to send instead, such as "metadata must be an
// object, not a string".
func Of(err error) string {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return fmt.Sprintf("unknown member %s", memberPath(semantic.JSONPointer))
	case errors.As(err, &semantic) && semantic.JSONKind != 0 && semantic.GoType != nil:
		if semantic.JSONPointer == "" {
			return "send one JSON object, not " + Kind(semantic.JSONKind)
		}
		return fmt.Sprintf("%s must be %s, not %s", memberPath(semantic.JSONPointer), kindWanted(semantic.GoType),
			Kind(semantic.JSONKind))
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Sprintf("the member %s is there twice", memberPath(syntax.JSONPointer))
	case errors.As(err, &syntax) && errors.Is(err, io.ErrUnexpectedEOF) && syntax.ByteOffset == 0:
		return "send one JSON object: the text is empty"
	case errors.As(err, &syntax) && errors.Is(err, io.ErrUnexpectedEOF):
		return "send one JSON object: the text ends within it"
	case errors.As(err, &syntax):
		return fmt.Sprintf("send one JSON object: %v at byte %d", syntax.Err, syntax.ByteOffset)
	}
	return fmt.Sprintf("send one JSON object: %.300s", strings.TrimPrefix(err.Error(), "json: "))
}

// InFile returns the end of a sentence about a file of which err is the error of json.Unmarshal, such as "it ends in
// the middle of a JSON object, after byte 6".
func InFile(err error) string {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return Of(err)
	case errors.As(err, &semantic) && (errors.Is(err, json.ErrUnknownName) || semantic.JSONPointer != ""):
		return Of(err)
	case errors.As(err, &syntax) && errors.Is(err, io.ErrUnexpectedEOF) && syntax.ByteOffset == 0:
		return "it is empty"
	case errors.As(err, &syntax) && errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("it ends in the middle of its JSON, after byte %d", syntax.ByteOffset)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON: %v at byte %d", syntax.Err, syntax.ByteOffset)
	case errors.As(err, &semantic) && semantic.JSONKind != 0:
		return "it is " + Kind(semantic.JSONKind) + ", and not an object"
	}
	return fmt.Sprintf("%.300s", strings.TrimPrefix(err.Error(), "json: "))
}

// Kind names a kind of JSON value, with its article.
func Kind(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return "this"
}

// kindWanted names the kind of JSON value that a Go type is read from.
func kindWanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindWanted(t.Elem())
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "something else"
}

// memberPath writes a pointer as people write the path of a member: limits.input_ack_ms.
func memberPath(p jsontext.Pointer) string {
	var parts []string
	for token := range p.Tokens() {
		parts = append(parts, token)
	}
	path := strings.Join(parts, ".")
	if len(path) > longest {
		path = strings.ToValidUTF8(path[:longest], "") + "…"
	}
	if strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c == '"' || c == 0x7f }) || path == "" {
		return fmt.Sprintf("%q", path)
	}
	return path
}
