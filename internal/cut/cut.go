// Package cut shortens what is shown to people, never within a character. It is the one place where that is done.
package cut

import (
	"strings"
	"unicode/utf8"
)

// Text is s in at most width characters: where it is longer, its beginning and an ellipsis. A width of 0 or less sets
// no bound.
func Text(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return s[:prefix(s, width-1)] + "…"
}

// prefix is the length in bytes of the first n characters of s.
func prefix(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Line is Text of s on one line: white space, be it a line's end, becomes one blank.
func Line(s string, width int) string { return Text(strings.Join(strings.Fields(s), " "), width) }

// Bytes is the beginning of b, at most n bytes of it, less what would be a part of a character. Bytes that are no UTF-8
// count as characters of their own.
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

// End is the end of s, at most n bytes of it, less what would be a part of a character.
func End(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Whole(s[len(s)-n:])
}

// Whole is s less the part of a character that it begins with, where its beginning was cut off.
func Whole(s string) string {
	at := 0
	for at < utf8.UTFMax-1 && at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// Head is s in at most n bytes and an ellipsis, where it is longer.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(Bytes([]byte(s[:min(len(s), n+utf8.UTFMax)]), n)) + "…"
}

// Tail is End with an ellipsis before it, where s is longer.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + End(s, n)
}
