package ws

import "unicode/utf8"

// text checks that text arriving in pieces is UTF-8. Its zero value is ready.
type text struct {
	cut  [utf8.UTFMax]byte // the start of a rune that the last piece cut off
	have int
}

// checkPiece reports whether p is a valid continuation of the previous pieces.
func (t *text) checkPiece(p []byte) bool {
	for t.have > 0 && len(p) > 0 {
		t.cut[t.have] = p[0]
		t.have++
		p = p[1:]
		if !utf8.FullRune(t.cut[:t.have]) {
			continue
		}
		if _, n := utf8.DecodeRune(t.cut[:t.have]); n != t.have { // a malformed one is 1 byte wide
			return false
		}
		t.have = 0
	}
	whole := len(p)
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				whole = i
			}
			break
		}
	}
	if !utf8.Valid(p[:whole]) {
		return false
	}
	t.have += copy(t.cut[t.have:], p[whole:])
	return true
}

// mayEnd reports whether the text may end here.
func (t *text) mayEnd() bool { return t.have == 0 }
