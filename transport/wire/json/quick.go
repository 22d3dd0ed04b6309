package json

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// quick decodes a text without a defect, or gives up: for a defect of any kind, also a tolerated one, the decoder
// says where and what it is. FuzzQuick compares the two.
type quick struct {
	text []byte
	at   int

	values  []any  // of the arrays that are open
	scratch []byte // of the string being unescaped
	slab    string // a part of text, which starts at from
	from    int
}

// decodeQuick returns the value in b; ok is false if b has a defect.
func decodeQuick(b []byte) (v any, ok bool) {
	q := quick{text: b}
	if v, ok = q.readValue(0); !ok {
		return nil, false
	}
	q.skipSpace()
	return v, q.at == len(b)
}

// skipSpace skips white space, and returns the next byte; 0 at the end, which is no byte of valid JSON either.
func (q *quick) skipSpace() byte {
	for ; q.at < len(q.text); q.at++ {
		switch c := q.text[q.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// readValue reads a value nested in depth others.
func (q *quick) readValue(depth int) (any, bool) {
	switch c := q.skipSpace(); c {
	case '{':
		return q.readObject(depth + 1)
	case '[':
		return q.readArray(depth + 1)
	case '"':
		s, ok := q.readString()
		return s, ok
	case 'n':
		return nil, q.readLiteral("null")
	case 't':
		return true, q.readLiteral("true")
	case 'f':
		return false, q.readLiteral("false")
	default:
		n, ok := q.readNumber()
		return n, ok
	}
}

func (q *quick) readLiteral(word string) bool {
	if !bytes.HasPrefix(q.text[q.at:], []byte(word)) {
		return false
	}
	q.at += len(word)
	return true
}

func (q *quick) readObject(depth int) (any, bool) {
	q.at++
	object := Object{}
	if q.skipSpace() == '}' {
		q.at++
		return object, depth <= MaxDepth
	}
	for depth <= MaxDepth && q.skipSpace() == '"' {
		key, ok := q.readString()
		if !ok || q.skipSpace() != ':' {
			return nil, false
		}
		q.at++
		v, ok := q.readValue(depth)
		if !ok {
			return nil, false
		}
		before := len(object)
		if object[key] = v; len(object) == before { // a key twice
			return nil, false
		}
		switch q.skipSpace() {
		case '}':
			q.at++
			return object, true
		case ',':
			q.at++
		default:
			return nil, false
		}
	}
	return nil, false
}

func (q *quick) readArray(depth int) (any, bool) {
	q.at++
	if q.skipSpace() == ']' {
		q.at++
		return []any{}, depth <= MaxDepth
	}
	for first := len(q.values); depth <= MaxDepth; {
		v, ok := q.readValue(depth)
		if !ok {
			return nil, false
		}
		q.values = append(q.values, v)
		switch q.skipSpace() {
		case ']':
			q.at++
			array := slices.Clone(q.values[first:])
			clear(q.values[first:])
			q.values = q.values[:first]
			return array, true
		case ',':
			q.at++
		default:
			return nil, false
		}
	}
	return nil, false
}

// readNumber reads a number by the grammar of RFC 8259.
func (q *quick) readNumber() (Number, bool) {
	start := q.at
	if q.at < len(q.text) && q.text[q.at] == '-' {
		q.at++
	}
	whole := q.at
	if n := q.skipDigits(); n == 0 || n > 1 && q.text[whole] == '0' {
		return "", false
	}
	if q.at < len(q.text) && q.text[q.at] == '.' {
		q.at++
		if q.skipDigits() == 0 {
			return "", false
		}
	}
	if q.at < len(q.text) && q.text[q.at]|0x20 == 'e' {
		q.at++
		if q.at < len(q.text) && (q.text[q.at] == '+' || q.text[q.at] == '-') {
			q.at++
		}
		if q.skipDigits() == 0 {
			return "", false
		}
	}
	return Number(q.keepPart(start, q.at)), true
}

// skipDigits skips digits, and returns how many.
func (q *quick) skipDigits() int {
	start := q.at
	for q.at < len(q.text) && q.text[q.at]-'0' <= 9 {
		q.at++
	}
	return q.at - start
}

// slabSize is the most memory, in bytes, that strings share. What is longer than a quarter of it has its own.
const slabSize = 4 << 10

// keepPart returns a part of the text. Those near each other share memory, so that a text of many short strings takes
// few allocations, and a string that is kept keeps little else.
func (q *quick) keepPart(start, end int) string {
	if end-start > slabSize/4 {
		return string(q.text[start:end])
	}
	if q.slab == "" || end > q.from+len(q.slab) {
		q.from = start
		q.slab = string(q.text[start:min(start+slabSize, len(q.text))])
	}
	return q.slab[start-q.from : end-q.from]
}

// Masks of eight bytes at once.
const (
	each = 0x0101010101010101
	high = 0x80 * each
)

// readString reads a string.
func (q *quick) readString() (string, bool) {
	q.at++
	start, escaped, seen := q.at, false, uint64(0)
	for {
		for q.at+8 <= len(q.text) {
			x := binary.LittleEndian.Uint64(q.text[q.at:])
			quote, slash := x^'"'*each, x^'\\'*each
			// The lowest bit is that of the first quote, backslash or control character; higher ones may be of other bytes.
			found := ((quote-each)&^quote | (slash-each)&^slash | (x-0x20*each)&^x) & high
			if found == 0 {
				seen |= x
				q.at += 8
				continue
			}
			n := bits.TrailingZeros64(found)
			seen |= x & (1<<n>>7 - 1)
			q.at += n / 8
			break
		}
		if q.at >= len(q.text) {
			return "", false
		}
		switch c := q.text[q.at]; {
		case c == '"':
			return q.endString(start, escaped, seen)
		case c == '\\':
			escaped = true
			q.at += 2
		case c < 0x20:
			return "", false
		default: // within the last eight bytes
			seen |= uint64(c)
			q.at++
		}
	}
}

// endString ends a string at its quote. seen has the bits of its bytes but those of escapes.
func (q *quick) endString(start int, escaped bool, seen uint64) (string, bool) {
	end := q.at
	q.at++
	if seen&high != 0 && !utf8.Valid(q.text[start:end]) {
		return "", false
	}
	if !escaped {
		return q.keepPart(start, end), true
	}
	var ok bool
	if q.scratch, ok = appendUnescaped(slices.Grow(q.scratch[:0], end-start), q.text[start:end]); !ok {
		return "", false
	}
	return string(q.scratch), true
}

// escapes maps the letter of an escape to its character; 0 for none.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnescaped appends s, which ends in no half of an escape, to dst. ok is false if an escape is none, or is half
// of a surrogate pair.
func appendUnescaped(dst, s []byte) (out []byte, ok bool) {
	for len(s) > 0 {
		if s[0] != '\\' {
			n := bytes.IndexByte(s, '\\')
			if n < 0 {
				n = len(s)
			}
			dst, s = append(dst, s[:n]...), s[n:]
			continue
		}
		if c := escapes[s[1]]; c != 0 {
			dst, s = append(dst, c), s[2:]
			continue
		}
		r := rune(escapedCodeUnit(s))
		if s = s[min(6, len(s)):]; utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, rune(escapedCodeUnit(s)))
			if r == utf8.RuneError {
				return nil, false
			}
			s = s[6:]
		}
		if r < 0 {
			return nil, false
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}
