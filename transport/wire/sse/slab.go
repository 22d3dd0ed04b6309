package sse

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// slabSize is the most memory, in bytes, that parts of items share. What is
// longer than a quarter of it has its own.
const slabSize = 4 << 10

// slab is memory for the items of one call, so that allocations grow with
// chunks and not with items. Its zero value is ready.
type slab struct {
	ahead int // bytes of the chunk that are not read yet: what is needed is likely to be as long
	texts strings.Builder
	raws  []byte
	spare []Field
}

// text returns b as a string, decoded.
func (s *slab) text(b []byte) string {
	if !utf8.Valid(b) {
		return decodeUTF8(b)
	}
	return s.plain(b)
}

// plain returns b, which is UTF-8, as a string.
func (s *slab) plain(b []byte) string {
	if len(b) > slabSize/4 {
		return string(b)
	}
	if s.texts.Cap()-s.texts.Len() < len(b) {
		s.texts.Reset() // what was returned stays
		s.texts.Grow(s.room(len(b)))
	}
	from := s.texts.Len()
	s.texts.Write(b)
	return s.texts.String()[from:]
}

// bytes returns a copy of b.
func (s *slab) bytes(b []byte) []byte {
	if len(b) > slabSize/4 {
		return bytes.Clone(b)
	}
	if cap(s.raws)-len(s.raws) < len(b) {
		s.raws = make([]byte, 0, s.room(len(b)))
	}
	from := len(s.raws)
	s.raws = append(s.raws, b...)
	return s.raws[from:len(s.raws):len(s.raws)]
}

// room returns the size of a slab that begins with n bytes.
func (s *slab) room(n int) int { return min(n+s.ahead, slabSize) }

// fields returns a slice with room for n fields, to be handed to took.
func (s *slab) fields(n int) []Field {
	if len(s.spare) < n {
		s.spare = make([]Field, max(n, min(s.ahead/16, 64)))
	}
	return s.spare[:0:n]
}

// took returns the fields that were appended to what fields returned.
func (s *slab) took(f []Field) []Field {
	s.spare = s.spare[len(f):]
	return f[:len(f):len(f)]
}
