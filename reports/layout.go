package reports

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// columnWidth returns the terminal columns that s takes: wide characters (Chinese, most emoji) two, combining marks
// none.
func columnWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Pad pads s on the right to n columns of a terminal, of which a Chinese character takes two.
func Pad(s string, n int) string { return pad(s, n) }

// Wrap breaks a line into lines of at most limit columns of a terminal, between words or Chinese characters.
func Wrap(s string, limit int) []string { return wrap(s, limit) }

// pad pads s on the right to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columnWidth(s))) }

// padLeft pads s on the left to n columns.
func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-columnWidth(s))) + s }

// shorten cuts s to at most n columns; a cut text ends in "…".
func shorten(s string, n int) string {
	if columnWidth(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used >= n {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks one line into lines of at most limit columns: at a space if there is one, else between wide characters
// or after a comma, else anywhere. Leading spaces stay. A limit below 1 never breaks.
func wrap(s string, limit int) []string {
	if limit < 1 {
		return []string{s}
	}
	var lines []string
	for {
		head, rest := breakLine(s, limit)
		lines = append(lines, head)
		if rest == "" {
			return lines
		}
		s = rest
	}
}

// breakLine cuts s at the last good place within limit columns; it leaves s whole if it fits.
func breakLine(s string, limit int) (head, rest string) {
	used, cut, prev, text := 0, 0, ' ', false
	for i, r := range s {
		if text && mayBreak(prev, r) {
			cut = i
		}
		if used += runeColumns(r); used > limit && i > 0 && r != ' ' {
			if cut == 0 {
				cut = i
			}
			return strings.TrimRight(s[:cut], " "), s[cut:]
		}
		prev, text = r, text || r != ' '
	}
	return s, ""
}

// mayBreak reports whether a line may end between two characters.
func mayBreak(before, after rune) bool {
	switch {
	case after == ' ':
		return false
	case before == ' ':
		return true
	case strings.ContainsRune("，。、；：！？）》」』】”’…", after), strings.ContainsRune("（《「『【“‘", before):
		return false
	case before == ',':
		return strings.ContainsRune(`"{['`, after)
	default:
		return runeColumns(before) == 2 || runeColumns(after) == 2
	}
}
