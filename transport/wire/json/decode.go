// Package json decodes JSON from the wire: strictly, and reporting the defects
// that lenient decoders hide.
//
// A value is nil, bool, [Number], string, []any or [Object], as [Decode]
// returns it:
//
//   - Object keys are case sensitive.
//   - Numbers keep their literal; no precision is lost.
//   - A text that is not JSON is a [SyntaxError], which names the byte and the
//     reason. That includes an empty text, anything but white space after the
//     value, a byte order mark, and nesting deeper than [MaxDepth].
//   - Defects that many decoders accept are tolerated and reported as [Fault]
//     values: duplicate keys, malformed UTF-8 in strings, lone surrogate
//     escapes.
//
// The other functions take such values and also Go's own types: any integer or
// float type, any string or bool type, maps with string keys, slices, arrays
// and pointers, so that an expected value can be written as a Go literal. A nil
// map is an empty object, a nil slice an empty array, a nil pointer null.
// []byte, structs and other types are not values.
//
// All functions are safe for concurrent use. None bounds the size of its input:
// that is up to the caller, who reads it.
package json

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/cut"
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
	return decodeSlowly(b)
}

// decodeSlowly is Decode for a text that may have any defect.
func decodeSlowly(b []byte) (any, []Fault, error) {
	d := decoder{text: b, tokens: jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	v, err := d.readValue(0)
	if err == nil {
		err = d.checkEnd()
	}
	if err != nil {
		return nil, d.faults, d.syntaxError(err)
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

// readValue reads a value nested in depth others.
func (d *decoder) readValue(depth int) (any, error) {
	switch d.tokens.PeekKind() {
	case '{':
		return d.readObject(depth + 1)
	case '[':
		return d.readArray(depth + 1)
	case '"':
		v, _, err := d.readString()
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

func (d *decoder) readObject(depth int) (any, error) {
	if err := d.readOpening(depth); err != nil {
		return nil, err
	}
	object := Object{}
	for d.tokens.PeekKind() != '}' {
		key, start, err := d.readKey()
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			d.recordDefect(DuplicateKey, start)
		}
		if object[key], err = d.readValue(depth); err != nil {
			return nil, err
		}
	}
	_, err := d.tokens.ReadToken()
	return object, err
}

func (d *decoder) readArray(depth int) (any, error) {
	if err := d.readOpening(depth); err != nil {
		return nil, err
	}
	array := []any{}
	for d.tokens.PeekKind() != ']' {
		v, err := d.readValue(depth)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := d.tokens.ReadToken()
	return array, err
}

// readOpening reads the opening bracket of the container at depth.
func (d *decoder) readOpening(depth int) error {
	if _, err := d.tokens.ReadToken(); err != nil {
		return err
	}
	if depth > MaxDepth {
		return d.errorAt(d.tokens.InputOffset()-1, ErrDepth)
	}
	return nil
}

// readKey reads a key, and returns where it starts.
func (d *decoder) readKey() (key string, start int64, err error) {
	if d.tokens.PeekKind() == '"' {
		return d.readString()
	}
	// ReadValue would read a whole container before rejecting it.
	if _, err = d.tokens.ReadToken(); err == nil {
		err = d.errorAt(d.tokens.InputOffset(), errors.New("object key must be a string"))
	}
	return "", 0, err
}

// readString reads a string, and returns where it starts.
func (d *decoder) readString() (text string, start int64, err error) {
	raw, err := d.tokens.ReadValue()
	if err != nil {
		return "", 0, err
	}
	start = d.tokens.InputOffset() - int64(len(raw))
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), start, nil
	}
	if i := malformedIndex(raw); i >= 0 {
		d.recordDefect(InvalidUTF8, start+int64(i))
	}
	if i := loneSurrogate(raw); i >= 0 {
		d.recordDefect(LoneSurrogate, start+int64(i))
	}
	// The error only repeats these faults: raw was already read as a string.
	unquoted, _ := jsontext.AppendUnquote(nil, raw)
	return string(unquoted), start, nil
}

// checkEnd checks that nothing follows the value.
func (d *decoder) checkEnd() error {
	read := d.tokens.InputOffset()
	rest := bytes.TrimLeft(d.text[read:], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	return d.errorAt(int64(len(d.text)-len(rest)), fmt.Errorf("%w: %q", ErrTrailing, rest[:min(len(rest), 20)]))
}

// recordDefect records a defect of the token just read.
func (d *decoder) recordDefect(kind FaultKind, offset int64) {
	if len(d.faults) < MaxFaults {
		d.faults = append(d.faults, Fault{kind, string(d.tokens.StackPointer()), offset})
	}
}

// errorAt returns an error of this package.
func (d *decoder) errorAt(offset int64, err error) error {
	return &SyntaxError{Offset: offset, Pointer: string(d.tokens.StackPointer()), Err: err}
}

// syntaxError converts the error that stopped the decoder to a SyntaxError.
func (d *decoder) syntaxError(err error) error {
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

// Causes of a [SyntaxError]. Other causes are violations of the grammar,
// described by their text. A truncated text is io.ErrUnexpectedEOF.
var (
	// ErrEmpty: the text is empty, or white space.
	ErrEmpty = errors.New("empty text")
	// ErrTrailing: something follows the value.
	ErrTrailing = errors.New("trailing data after the value")
	// ErrDepth: the nesting is deeper than MaxDepth.
	ErrDepth = fmt.Errorf("nested deeper than %d", MaxDepth)
)

// SyntaxError says why a text is not JSON.
type SyntaxError struct {
	Offset  int64  // of the offending byte, counted from 0; the length of the text if it is truncated
	Pointer string // of the enclosing value (RFC 6901)
	Err     error  // what is wrong with it
}

func (e *SyntaxError) Error() string {
	what := e.Err.Error()
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		what = "it ends in the middle"
	}
	if e.Pointer == "" {
		return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, what)
	}
	return fmt.Sprintf("not JSON at byte %d, in %q: %s", e.Offset, shortenPointer(e.Pointer), what)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// FaultKind is a kind of tolerated defect.
type FaultKind string

const (
	// DuplicateKey: an object has a key more than once. The last one wins; each
	// one after the first is a fault.
	DuplicateKey FaultKind = "duplicate key"
	// InvalidUTF8: a string or key is not UTF-8. Each malformed byte is replaced
	// by U+FFFD.
	InvalidUTF8 FaultKind = "invalid UTF-8"
	// LoneSurrogate: a string or key has an escape of half a surrogate pair. It is
	// replaced by U+FFFD.
	LoneSurrogate FaultKind = "lone surrogate"
)

// MaxFaults is the maximum number of faults reported for one text. Pointers can
// be as long as the text, so their total must not grow to its square.
const MaxFaults = 100

// Fault is a tolerated defect of a text.
type Fault struct {
	Kind    FaultKind
	Pointer string // of the value, or of the member with the key (RFC 6901)
	Offset  int64  // of the key, of the first malformed byte, of the first lone escape
}

func (f Fault) String() string {
	return fmt.Sprintf("%s at %q (byte %d)", f.Kind, shortenPointer(f.Pointer), f.Offset)
}

// shortenPointer cuts a pointer to fit a message: keys may be of any length.
func shortenPointer(pointer string) string {
	return cut.Head(pointer, 200)
}

// malformedIndex returns the index of the first malformed byte of s; -1 if none.
func malformedIndex(s []byte) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// loneSurrogate returns the index of the first lone escape in the literal s,
// whose escapes are well formed; -1 if none.
func loneSurrogate(s []byte) int {
	for i := 0; i < len(s); {
		switch unit := escapedCodeUnit(s[i:]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i
		case unit >= 0xD800 && unit <= 0xDBFF:
			if low := escapedCodeUnit(s[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return i
			}
			i += 12
		case s[i] == '\\':
			i += 2 // the rest of a \u escape contains no other
		default:
			i++
		}
	}
	return -1
}

// escapedCodeUnit returns the code unit of the \u escape that s starts with; -1 if
// none.
func escapedCodeUnit(s []byte) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range s[2:6] {
		switch {
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		case c >= '0' && c <= '9':
			c -= '0'
		default:
			return -1
		}
		unit = unit<<4 | int(c)
	}
	return unit
}
