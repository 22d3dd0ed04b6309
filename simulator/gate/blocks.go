package gate

import "bytes"

// blocks finds the units of an event stream: a block with the blank line that ends it; each comment line before the
// first field of a block. It keeps no bytes.
type blocks struct {
	length  int     // of the current line so far
	start   [4]byte // its first bytes
	begun   bool    // past the stream's first line, which may begin with a byte order mark
	field   bool    // the block has a field
	afterCR bool    // the last line ended with a CR: a following line feed belongs to it
	ended   bool    // that line ended its unit
}

// next returns how many bytes of p, which is not empty, belong to the current unit, and whether the unit ends with
// them. late: they are a line feed that belongs to the previous unit.
func (b *blocks) next(p []byte) (n int, ends, late bool) {
	if b.afterCR && p[0] == '\n' {
		b.afterCR = false
		if b.ended {
			return 1, true, true
		}
		n = 1
	}
	for {
		b.afterCR, b.ended = false, false
		end := bytes.IndexAny(p[n:], "\r\n")
		if end < 0 {
			b.text(p[n:])
			return len(p), false, false
		}
		b.text(p[n : n+end])
		n += end + 1
		b.ended = b.line()
		if p[n-1] == '\r' {
			if n < len(p) && p[n] == '\n' {
				n++
			} else {
				b.afterCR = n == len(p)
			}
		}
		if b.ended || n == len(p) {
			return n, b.ended, false
		}
	}
}

// text takes a part of a line.
func (b *blocks) text(p []byte) {
	if b.length < len(b.start) {
		copy(b.start[b.length:], p)
	}
	b.length += len(p)
}

// line ends a line, and reports whether that ends the unit.
func (b *blocks) line() bool {
	start := b.start[:min(b.length, len(b.start))]
	if !b.begun {
		start = bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF"))
	}
	b.begun, b.length = true, 0
	switch {
	case len(start) == 0:
		b.field = false
		return true
	case start[0] == ':':
		return !b.field
	}
	b.field = true
	return false
}
