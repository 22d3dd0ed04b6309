package json

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode returns the value in b, and the tolerated defects in order, at most
// [MaxFaults]. The error is a [*SyntaxError]; the value is then nil, and the
// faults are those before it. b is not retained.
func Decode(b []byte) (any, []Fault, error) {
	if len(b) > largeText {
		large.Lock()
		defer large.Unlock()
	}
	if v, ok := decodeQuick(b); ok {
		return v, nil, nil
	}
	return decode(b)
}

// decode is Decode for a text that may have any defect.
func decode(b []byte) (any, []Fault, error) {
	d := decoder{text: b, tokens: jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	v, err := d.value(0)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, d.faults, d.explain(err)
	}
	return v, d.faults, nil
}

// Long texts are decoded one at a time, because the value of one may take 30 times its bytes.
const largeText = 256 << 10

var large sync.Mutex

type decoder struct {
	text   []byte
	tokens *jsontext.Decoder
	faults []Fault
}

// value reads a value nested in depth others.
func (d *decoder) value(depth int) (any, error) {
	switch d.tokens.PeekKind() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.array(depth + 1)
	case '"':
		v, _, err := d.str()
		return v, err
	}
	raw, err := d.tokens.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return raw.Kind() == 't', nil
	}
	return Number(raw), nil
}

func (d *decoder) object(depth int) (any, error) {
	if err := d.open(depth); err != nil {
		return nil, err
	}
	object := Object{}
	for d.tokens.PeekKind() != '}' {
		key, start, err := d.key()
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			d.fault(DuplicateKey, start)
		}
		if object[key], err = d.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := d.tokens.ReadToken()
	return object, err
}

func (d *decoder) array(depth int) (any, error) {
	if err := d.open(depth); err != nil {
		return nil, err
	}
	array := []any{}
	for d.tokens.PeekKind() != ']' {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := d.tokens.ReadToken()
	return array, err
}

// open reads the opening bracket of the container at depth.
func (d *decoder) open(depth int) error {
	if _, err := d.tokens.ReadToken(); err != nil {
		return err
	}
	if depth > MaxDepth {
		return d.errorAt(d.tokens.InputOffset()-1, ErrDepth)
	}
	return nil
}

// key reads a key, and returns where it starts.
func (d *decoder) key() (key string, start int64, err error) {
	if d.tokens.PeekKind() == '"' {
		return d.str()
	}
	// ReadValue would read a whole container before rejecting it.
	if _, err = d.tokens.ReadToken(); err == nil {
		err = d.errorAt(d.tokens.InputOffset(), errors.New("object key must be a string"))
	}
	return "", 0, err
}

// str reads a string, and returns where it starts.
func (d *decoder) str() (text string, start int64, err error) {
	raw, err := d.tokens.ReadValue()
	if err != nil {
		return "", 0, err
	}
	start = d.tokens.InputOffset() - int64(len(raw))
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), start, nil
	}
	if i := malformed(raw); i >= 0 {
		d.fault(InvalidUTF8, start+int64(i))
	}
	if i := loneSurrogate(raw); i >= 0 {
		d.fault(LoneSurrogate, start+int64(i))
	}
	// The error only repeats these faults: raw was already read as a string.
	unquoted, _ := jsontext.AppendUnquote(nil, raw)
	return string(unquoted), start, nil
}

// end checks that nothing follows the value.
func (d *decoder) end() error {
	read := d.tokens.InputOffset()
	rest := bytes.TrimLeft(d.text[read:], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	return d.errorAt(int64(len(d.text)-len(rest)), fmt.Errorf("%w: %q", ErrTrailing, rest[:min(len(rest), 20)]))
}

// fault records a defect of the token just read.
func (d *decoder) fault(kind FaultKind, offset int64) {
	if len(d.faults) < MaxFaults {
		d.faults = append(d.faults, Fault{kind, string(d.tokens.StackPointer()), offset})
	}
}

// errorAt returns an error of this package.
func (d *decoder) errorAt(offset int64, err error) error {
	return &SyntaxError{Offset: offset, Pointer: string(d.tokens.StackPointer()), Err: err}
}

// explain converts the error that stopped the decoder to a SyntaxError.
func (d *decoder) explain(err error) error {
	var ours *SyntaxError
	var theirs *jsontext.SyntacticError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, io.EOF):
		return &SyntaxError{Offset: int64(len(d.text)), Err: ErrEmpty}
	case !errors.As(err, &theirs):
		return &SyntaxError{Offset: d.tokens.InputOffset(), Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{Offset: int64(len(d.text)), Pointer: string(theirs.JSONPointer), Err: io.ErrUnexpectedEOF}
	}
	return &SyntaxError{Offset: theirs.ByteOffset, Pointer: string(theirs.JSONPointer), Err: theirs.Err}
}
