package reports

import (
	"bytes"
	"fmt"
	"strings"

	"parley/reports/lang"
)

// printer lays out text for a terminal of a given width. Width 0 never wraps.
type printer struct {
	bytes.Buffer
	width int
	paint paint
	lang  lang.Lang // of headings and labels
	whole bool      // not for a terminal: texts of one line are not shortened to its width
}

// line writes one line without wrapping.
func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.WriteByte('\n')
}

// heading starts a new part with an empty line and its title.
func (p *printer) heading(c colour, format string, args ...any) {
	p.WriteByte('\n')
	p.hang("", "", p.lang.Say(format, args...), strong(c))
}

// hang writes label and text; what does not fit on the line continues below, under the text.
func (p *printer) hang(label string, lc colour, text string, tc colour) {
	lead := p.paint.text(lc, label)
	for _, part := range p.fit(text, columns(label)) {
		p.line("%s%s", lead, p.paint.text(tc, part))
		lead = strings.Repeat(" ", columns(label))
	}
}

// fit breaks text into lines that leave room for indent columns before them.
func (p *printer) fit(text string, indent int) []string {
	limit := 0
	if p.width > 0 {
		limit = max(20, p.width-indent)
	}
	var out []string
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, wrap(strings.ReplaceAll(part, "\t", "    "), limit)...)
	}
	return out
}

// single writes one labelled line of a failure, shortened to what fits before an end; nothing if text is empty.
func (p *printer) single(label string, c colour, text, end string) {
	if text != "" {
		p.line("%s%s%s", p.paint.text(c, "  "+pad(p.lang.Say(label), 10)+" "), p.oneLine(text, 13+columns(end)), end)
	}
}

// field writes one labelled line of a failure; nothing if text is empty.
func (p *printer) field(label string, c colour, text string) {
	if text != "" {
		p.hang("  "+pad(p.lang.Say(label), 10)+" ", c, text, "")
	}
}

// uncut writes a labelled path on one line of any length, so that it can be copied.
func (p *printer) uncut(label, path string) {
	if path != "" {
		p.line("%s%s", p.paint.text(dim, "  "+pad(p.lang.Say(label), 10)+" "), path)
	}
}

// command writes a shell command that can be copied: a long one continues after a backslash.
func (p *printer) command(label, text string) {
	if text == "" {
		return
	}
	lead := "  " + pad(p.lang.Say(label), 10) + " "
	indent := strings.Repeat(" ", columns(lead)+2)
	lines := commandLines(text, p.width-columns(indent)-2)
	for i, l := range lines {
		if i < len(lines)-1 {
			l += ` \`
		}
		p.line("%s%s", p.paint.text(dim, lead), l)
		lead = indent
	}
}

// commandLines breaks a command into lines of at most limit columns; a flag stays with its value, and no word is
// split. A limit below 1 keeps the command on one line.
func commandLines(text string, limit int) []string {
	var lines []string
	for _, part := range shellFlags(text) {
		last := len(lines) - 1
		if last < 0 || limit > 0 && columns(lines[last])+1+columns(part) > limit {
			lines = append(lines, part)
			continue
		}
		lines[last] += " " + part
	}
	return lines
}

// shellFlags splits a command before each of its flags.
func shellFlags(s string) []string {
	var parts []string
	for _, word := range shellWords(s) {
		if len(parts) == 0 || strings.HasPrefix(word, "-") {
			parts = append(parts, word)
			continue
		}
		parts[len(parts)-1] += " " + word
	}
	return parts
}

// shellWords splits a command at the spaces outside quotes. The words keep their quotes.
func shellWords(s string) []string {
	var words []string
	start, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			i++
		case c == ' ':
			words = append(words, s[start:i])
			start = i + 1
		}
	}
	return append(words, s[start:])
}
