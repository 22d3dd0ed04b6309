package json

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"parley/internal/cut"
)

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
	return fmt.Sprintf("not JSON at byte %d, in %q: %s", e.Offset, short(e.Pointer), what)
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
	return fmt.Sprintf("%s at %q (byte %d)", f.Kind, short(f.Pointer), f.Offset)
}

// short cuts a pointer to fit a message: keys may be of any length.
func short(pointer string) string {
	return cut.Head(pointer, 200)
}

// malformed returns the index of the first malformed byte of s; -1 if none.
func malformed(s []byte) int {
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
		switch unit := escaped(s[i:]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i
		case unit >= 0xD800 && unit <= 0xDBFF:
			if low := escaped(s[i+6:]); low < 0xDC00 || low > 0xDFFF {
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

// escaped returns the code unit of the \u escape that s starts with; -1 if
// none.
func escaped(s []byte) int {
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
