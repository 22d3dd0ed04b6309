package mutants

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"
)

// contentFaults ask the model something other than what the user said.
var contentFaults = map[string]fault{
	"content-trimmed":            saying(strings.TrimSpace),
	"content-trimmed-right":      saying(func(s string) string { return strings.TrimRight(s, "\r\n") }),
	"content-lower-case":         saying(strings.ToLower),
	"content-escaped":            saying(html.EscapeString),
	"content-unescaped":          saying(html.UnescapeString),
	"content-without-markup":     saying(func(s string) string { return tag.ReplaceAllString(s, "") }),
	"content-of-64-kib":          saying(func(s string) string { return strings.ToValidUTF8(head(s, 64<<10), "") }),
	"content-of-100000-letters":  saying(func(s string) string { return fmt.Sprintf("%.100000s", s) }),
	"content-up-to-nul":          saying(func(s string) string { head, _, _ := strings.Cut(s, "\x00"); return head }),
	"content-without-nul":        saying(func(s string) string { return strings.ReplaceAll(s, "\x00", "") }),
	"content-without-controls":   saying(func(s string) string { return strings.Map(printable, s) }),
	"content-with-unix-lines":    saying(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }),
	"content-in-one-line":        saying(func(s string) string { return strings.Join(strings.Fields(s), " ") }),
	"content-composed":           saying(norm.NFC.String),
	"content-decomposed":         saying(norm.NFD.String),
	"content-compatible":         saying(norm.NFKC.String),
	"content-of-16-bit":          saying(func(s string) string { return strings.Map(narrow, s) }),
	"content-without-joiners":    saying(func(s string) string { return strings.ReplaceAll(s, "\u200d", "") }),
	"content-without-backslash":  saying(func(s string) string { return strings.ReplaceAll(s, `\`, "") }),
	"content-with-escapes-read":  saying(unquoted),
	"content-as-json":            saying(reencoded),
	"content-with-variables-set": saying(func(s string) string { return os.Expand(s, func(string) string { return "" }) }),
	"content-formatted":          saying(func(s string) string { return strings.ReplaceAll(s, "{0}", "user") }),
	"content-quoted-for-sql":     saying(func(s string) string { return strings.ReplaceAll(s, "'", "''") }),
	"content-in-a-template":      saying(func(s string) string { return "User: " + s }),
	"content-trimmed-later":      trimmedLater,
}

func saying(f func(content string) string) fault {
	return deciding(rules{Content: func(_, content string) string { return f(content) }})
}

// head returns the first n bytes of a text.
func head(s string, n int) string { return s[:min(len(s), n)] }

var tag = regexp.MustCompile(`<[^>]*>`)

// printable drops control characters, except those that occur in any text.
func printable(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
		return -1
	}
	return r
}

// narrow replaces characters outside of UCS-2.
func narrow(r rune) rune {
	if r > 0xffff {
		return unicode.ReplacementChar
	}
	return r
}

// unquoted unescapes a text as if it were a quoted string in a program.
func unquoted(s string) string {
	var b strings.Builder
	for s != "" {
		r, _, rest, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			return b.String() + s
		}
		b.WriteRune(r)
		s = rest
	}
	return b.String()
}

// reencoded treats a text that is JSON as data.
func reencoded(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return text(v)
}

// trimmedLater passes the first content of a session on unchanged, and inserts later ones into a prompt line by line.
func trimmedLater(o *options) {
	begun := map[string]bool{}
	o.Policy.Content = func(key, s string) string {
		if begun[key] {
			return strings.Join(strings.Fields(s), " ")
		}
		begun[key] = true
		return s
	}
}
