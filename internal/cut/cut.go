// Package cut shortens text for display, never within a character. All shortening is done here.
package cut

import (
	"strings"
	"unicode/utf8"
)

// Text returns s in at most width characters: if longer, its beginning and an ellipsis. A width of 0 or less means no
// limit.
func Text(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return s[:prefixLength(s, width-1)] + "…"
}

// prefixLength returns the length in bytes of the first n characters of s.
func prefixLength(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Line is Text of s on one line: runs of white space, including line breaks, become one blank.
func Line(s string, width int) string { return Text(strings.Join(strings.Fields(s), " "), width) }

// Bytes returns at most the first n bytes of b without splitting a character. Bytes that are not UTF-8 count as
// characters.
func Bytes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if c := b[n-back]; utf8.RuneStart(c) {
			if r, size := utf8.DecodeRune(b[n-back:]); r != utf8.RuneError && size > back {
				return b[:n-back]
			}
			break
		}
	}
	return b[:n]
}

// End returns at most the last n bytes of s without splitting a character.
func End(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Whole(s[len(s)-n:])
}

// Whole returns s without the partial character at its beginning.
func Whole(s string) string {
	at := 0
	for at < utf8.UTFMax-1 && at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// Head returns s, cut to n bytes plus an ellipsis if longer.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(Bytes([]byte(s[:min(len(s), n+utf8.UTFMax)]), n)) + "…"
}

// Tail returns s, cut to its last n bytes with an ellipsis before them if longer.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + End(s, n)
}
