package catalogue

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/faultrule"
	"parley/internal/jsonform"
)

// Faults is what a mutant does to messages, in the language of docs/faults.md: in a row one fault, or a list of them;
// here a file of faults.
type Faults string

// UnmarshalYAML reads the value of a row.
func (f *Faults) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	if _, several := v.([]any); !several {
		v = []any{v}
	}
	text, err := json.Marshal(map[string]any{"faults": v}, jsonform.Escaped)
	if err == nil {
		*f = Faults(text)
		_, err = faultrule.Parse(string(text), text)
	}
	return err
}

// Inside makes faults ready for a program whose messages are of type M. It panics if a program cannot have them.
func Inside[M any](f Faults, as faultrule.Form[M]) *faultrule.Inside[M] {
	set, err := faultrule.Parse(string(f), []byte(f))
	if err == nil {
		var x *faultrule.Inside[M]
		if x, err = faultrule.NewInside(string(f), set, as); err == nil {
			return x
		}
	}
	panic(fmt.Errorf("catalogue of mutants: %w", err))
}

// Form is how messages that are objects are written and read. Their types are at these pointers, of which the first
// counts that there is, and their numbers are of type N.
func Form[M ~map[string]any, N ~string](types ...string) faultrule.Form[M] {
	return faultrule.Form[M]{
		TypeOf: faultrule.TypeAt(types...),
		Write:  func(m M) faultrule.Content { return faultrule.Content{Body: Encode(m)} },
		Read: func(_ M, c faultrule.Content) (m M) {
			Decode[N](c.Body, &m)
			return m
		},
	}
}

// Number is a JSON number as it is written, for programs that have no such type of their own.
type Number string

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// Encode writes a message as JSON.
func Encode(m any) []byte {
	body, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // it came from a decoder, or goes to an encoder
	}
	return body
}

// Decode reads a message that Encode has written and a fault has changed. Its numbers are of type N.
func Decode[N ~string](body []byte, m any) {
	numbers := json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		if d.PeekKind() != '0' {
			return errors.ErrUnsupported // the default
		}
		number, err := d.ReadValue()
		*v = N(number)
		return err
	})
	if err := json.Unmarshal(body, m, json.WithUnmarshalers(numbers)); err != nil {
		panic(fmt.Errorf("a fault has made %s: %w", body, err))
	}
}
