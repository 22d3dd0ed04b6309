// Package jsonform has the options with which Parley writes JSON, and reads what it does not judge, in one form. The
// library's own defaults are stricter: they are for messages and files in which a duplicate name, a name in another
// case or a byte that is not UTF-8 is a mistake.
package jsonform

import (
	stdjson "encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"
)

// Number is a number's literal. It is the type of encoding/json, which JSON Schema validators know.
type Number = stdjson.Number

// Options to write with, byte for byte as encoding/json: members of maps in the order of their names, nil slices and
// maps as null, a byte that is not UTF-8 as \ufffd, and a [Number] as it is.
var (
	// Escaped also escapes <, > and &, for HTML.
	Escaped = json.JoinOptions(legacy.DefaultOptionsV1(), json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(writeText), json.MarshalToFunc(writeNumber))))
	// Unescaped does not.
	Unescaped = json.JoinOptions(Escaped, jsontext.EscapeForHTML(false))
)

// Options to read with.
var (
	// Lenient tolerates duplicate names, of which the last counts, and what is not UTF-8. After a member of a wrong kind
	// it reads on, and returns the error at the end.
	Lenient = json.JoinOptions(legacy.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))
	// Numbers reads a number without a type as a [Number].
	Numbers = json.WithUnmarshalers(json.UnmarshalFromFunc(readNumber))
)

// WriteLine writes v as JSON, and a line end.
func WriteLine(w io.Writer, v any, form ...json.Options) error {
	b, err := json.Marshal(v, form...)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

func writeText(e *jsontext.Encoder, s string) error {
	if utf8.ValidString(s) {
		return errors.ErrUnsupported
	}
	quoted, one := []byte{'"'}, []byte(nil)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if one, _ = jsontext.AppendQuote(one[:0], s[:n]); r == utf8.RuneError && n == 1 {
			one = []byte(`"\ufffd"`)
		}
		quoted, s = append(quoted, one[1:len(one)-1]...), s[n:]
	}
	return e.WriteValue(append(quoted, '"'))
}

func writeNumber(e *jsontext.Encoder, n Number) error {
	if n == "" {
		n = "0"
	}
	return e.WriteValue(jsontext.Value(n))
}

func readNumber(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	n, err := d.ReadValue()
	*v = Number(n)
	return err
}
