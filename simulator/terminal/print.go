package terminal

import (
	"fmt"
	"regexp"
	"strings"

	"parley/internal/cut"
	"parley/transport/transcript"
)

// paint colours text if it is true.
type paint bool

func (p paint) paintIn(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) red(text string) string    { return p.paintIn("31", text) }
func (p paint) green(text string) string  { return p.paintIn("32", text) }
func (p paint) yellow(text string) string { return p.paintIn("33", text) }
func (p paint) bold(text string) string   { return p.paintIn("1", text) }
func (p paint) dim(text string) string    { return p.paintIn("2", text) }
func (p paint) cyan(text string) string   { return p.paintIn("36", text) }

// renderRecord renders a record.
func (t *Terminal) renderRecord(r transcript.Record) string {
	line := t.o.Session.Redact(r.Line(0))
	if !t.o.Times {
		_, line, _ = strings.Cut(line, " ms  ")
		line = t.steady.steadyText(line)
	}
	line = cut.Text(line, t.o.Width)
	switch r.Dir {
	case transcript.Sent:
		return t.paint.cyan(line)
	case transcript.Noted:
		return t.paint.dim(line)
	}
	return line
}

// steadyNames replaces what differs from run to run, so that two outputs can be compared: ids by their order of
// appearance, times and ports.
type steadyNames struct {
	nonce string
	names map[string]string // the replacement of an id
}

var (
	instant  = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b1\d{12}\b`)
	loopback = regexp.MustCompile(`\b(127\.0\.0\.1|localhost):\d+`)
	took     = regexp.MustCompile(`\+?\b\d+(?:\.\d+)? ?(?:ms|µs|s)\b`)
	token    = regexp.MustCompile(`[A-Za-z0-9_-]{10,}`)
)

func (s *steadyNames) steadyText(line string) string {
	line = strings.ReplaceAll(line, s.nonce, "<nonce>")
	line = instant.ReplaceAllString(line, "<time>")
	line = loopback.ReplaceAllString(line, "$1:<port>")
	line = took.ReplaceAllString(line, "<duration>")
	return token.ReplaceAllStringFunc(line, func(word string) string {
		if !looksRandom(word) {
			return word
		}
		name, ok := s.names[word]
		if !ok {
			name = fmt.Sprintf("<id %d>", len(s.names)+1)
			s.names[word] = name
		}
		return name
	})
}

// looksRandom reports whether a word looks random: a long part of it has letters and digits, or only capitals.
func looksRandom(word string) bool {
	for _, part := range strings.FieldsFunc(word, func(c rune) bool { return c == '-' || c == '_' }) {
		digits := strings.ContainsAny(part, "0123456789")
		letters := strings.ToLower(part) != strings.ToUpper(part)
		if len(part) >= 6 && digits && letters || len(part) >= 12 && part == strings.ToUpper(part) {
			return true
		}
	}
	return false
}
