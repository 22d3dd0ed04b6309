package sse

import "bytes"

// ends finds the line ends of a text one after the other. Each byte is searched
// once for LFs and once for CRs.
type ends struct{ lf, cr int }

// unknown is where the line ends are before the first search.
var unknown = ends{-1, -1}

// next returns the index of the first line end in p from at; len(p) if none.
func (e *ends) next(p []byte, at int) int {
	if e.lf < at {
		e.lf = indexFrom(p, at, '\n')
	}
	if e.cr < at {
		e.cr = indexFrom(p, at, '\r')
	}
	return min(e.lf, e.cr)
}

func indexFrom(p []byte, at int, c byte) int {
	if i := bytes.IndexByte(p[at:], c); i >= 0 {
		return at + i
	}
	return len(p)
}
