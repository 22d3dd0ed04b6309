package sse

import (
	"strings"
	"unicode/utf8"
)

// decodeUTF8 returns b as a string, with U+FFFD for each maximal subpart of a
// malformed sequence, as the Encoding Standard requires. strings.ToValidUTF8
// would write one for a whole run, a range loop one for each byte.
func decodeUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/2)
	from := 0 // of the well-formed bytes before i that are not written yet
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		if _, n := utf8.DecodeRune(b[i:]); n > 1 {
			i += n
			continue
		}
		s.Write(b[from:i])
		s.WriteString("\uFFFD")
		i += subpart(b[i:])
		from = i
	}
	s.Write(b[from:])
	return s.String()
}

// subpart returns the length of the malformed sequence that b starts with: the
// longest prefix of a well-formed one, or a single byte that cannot start any.
func subpart(b []byte) int {
	// The second byte is bounded by the first (Unicode, table 3-7); later ones
	// are 80..BF.
	low, high, length := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		length = 2
	case lead >= 0xE0 && lead <= 0xEF:
		length = 3
	case lead >= 0xF0 && lead <= 0xF4:
		length = 4
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < length && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
