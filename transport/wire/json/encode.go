package json

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Encode returns v as JSON without white space, with object keys in byte order
// and numbers by their literals. Equal input gives equal output, except for the
// spelling of numbers. Only characters that must be escaped are.
//
// The error names the JSON pointer of the value that cannot be encoded: a type
// that is not a JSON value, a Number that is not a valid literal, NaN and
// infinities, strings and keys that are not UTF-8, and nesting deeper than
// [MaxDepth], such as a cycle.
func Encode(v any) ([]byte, error) {
	e := encoder{}
	if err := e.writeValue(v); err != nil {
		return nil, fmt.Errorf("encode JSON at %q: %w", shortenPointer(e.currentPointer()), err)
	}
	return e.buf, nil
}

// Compact returns v as [Encode] does, for display. It never fails: a value that
// cannot be encoded is replaced by the reason in angle brackets, and invalid
// UTF-8 by U+FFFD.
func Compact(v any) string {
	e := encoder{lenient: true}
	_ = e.writeValue(v)
	return string(e.buf)
}

type encoder struct {
	buf     []byte
	path    []step // to the value being encoded
	lenient bool
}

// step is a key, or an index if index is not negative.
type step struct {
	key   string
	index int
}

func (e *encoder) currentPointer() string {
	tokens := make([]string, len(e.path))
	for i, s := range e.path {
		if tokens[i] = s.key; s.index >= 0 {
			tokens[i] = strconv.Itoa(s.index)
		}
	}
	return FormatPointer(tokens...)
}

func (e *encoder) writeValue(v any) error {
	viewed, err := viewAsJSON(v)
	if err != nil {
		return e.refuseOrWrite(err)
	}
	switch v := viewed.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case Number:
		if _, _, ok := parseNumber(string(v)); !ok {
			return e.refuseOrWrite(fmt.Errorf("%q is no JSON number", string(v)))
		}
		e.buf = append(e.buf, v...)
	case string:
		return e.writeString(v)
	case []any:
		return e.writeArray(v)
	case Object:
		return e.writeObject(v)
	}
	return nil
}

func (e *encoder) writeArray(array []any) error {
	if len(e.path) == MaxDepth {
		return e.refuseOrWrite(ErrDepth)
	}
	e.buf = append(e.buf, '[')
	for i, v := range array {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.writeMember(step{index: i}, v); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (e *encoder) writeObject(object Object) error {
	if len(e.path) == MaxDepth {
		return e.refuseOrWrite(ErrDepth)
	}
	e.buf = append(e.buf, '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.writeString(key); err != nil {
			return err
		}
		e.buf = append(e.buf, ':')
		if err := e.writeMember(step{key, -1}, object[key]); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// writeMember encodes v, which is at s of the current container. On an error the
// path is left unchanged, for the message.
func (e *encoder) writeMember(s step, v any) error {
	e.path = append(e.path, s)
	if err := e.writeValue(v); err != nil {
		return err
	}
	e.path = e.path[:len(e.path)-1]
	return nil
}

func (e *encoder) writeString(s string) error {
	buf, err := jsontext.AppendQuote(e.buf, s)
	if err != nil && !e.lenient {
		return fmt.Errorf("%q is not UTF-8", shortenPointer(s))
	}
	e.buf = buf
	return nil
}

// refuseOrWrite returns err, or writes it if the encoder is lenient.
func (e *encoder) refuseOrWrite(err error) error {
	if e.lenient {
		e.buf = append(e.buf, "<"+err.Error()+">"...)
		return nil
	}
	return err
}
