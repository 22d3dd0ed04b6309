package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
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

// printHeading starts a new part with an empty line and its title.
func (p *printer) printHeading(c colour, format string, args ...any) {
	p.WriteByte('\n')
	p.printHung("", "", p.lang.Say(format, args...), strong(c))
}

// printHung writes label and text; what does not fit on the line continues below, under the text.
func (p *printer) printHung(label string, lc colour, text string, tc colour) {
	lead := p.paint.inColour(lc, label)
	for _, part := range p.fitText(text, columnWidth(label)) {
		p.line("%s%s", lead, p.paint.inColour(tc, part))
		lead = strings.Repeat(" ", columnWidth(label))
	}
}

// fitText breaks text into lines that leave room for indent columns before them.
func (p *printer) fitText(text string, indent int) []string {
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

// printField writes one labelled line of a failure; nothing if text is empty.
func (p *printer) printField(label string, c colour, text string) {
	if text != "" {
		p.printHung("  "+pad(p.lang.Say(label), 10)+" ", c, text, "")
	}
}

// printUncut writes a labelled path on one line of any length, so that it can be copied.
func (p *printer) printUncut(label, path string) {
	if path != "" {
		p.line("%s%s", p.paint.inColour(dim, "  "+pad(p.lang.Say(label), 10)+" "), path)
	}
}

// printCommand writes a shell command that can be copied: a long one continues after a backslash.
func (p *printer) printCommand(label, text string) {
	if text == "" {
		return
	}
	lead := "  " + pad(p.lang.Say(label), 10) + " "
	indent := strings.Repeat(" ", columnWidth(lead)+2)
	lines := commandLines(text, p.width-columnWidth(indent)-2)
	for i, l := range lines {
		if i < len(lines)-1 {
			l += ` \`
		}
		p.line("%s%s", p.paint.inColour(dim, lead), l)
		lead = indent
	}
}

// commandLines breaks a command into lines of at most limit columns; a flag stays with its value, and no word is
// split. A limit below 1 keeps the command on one line.
func commandLines(text string, limit int) []string {
	var lines []string
	for _, part := range shellFlags(text) {
		last := len(lines) - 1
		if last < 0 || limit > 0 && columnWidth(lines[last])+1+columnWidth(part) > limit {
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

// colour is the parameter of a terminal colour code; the zero value means no colour.
type colour string

const (
	bold    colour = "1"
	dim     colour = "2"
	red     colour = "31"
	green   colour = "32"
	yellow  colour = "33"
	magenta colour = "35"
	cyan    colour = "36"
)

// strong returns c in bold.
func strong(c colour) colour {
	if c == "" {
		return bold
	}
	return bold + ";" + c
}

// paint colours text if true.
type paint bool

func (p paint) inColour(c colour, s string) string {
	if !p || c == "" || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// column is one count of a table. Its head has two lines.
type column struct {
	head    [2]string
	short   [2]string // for terminals too narrow for the heads
	outcome verdict.Outcome
	always  bool // shown even if all its values are zero
}

// totalColumn is the outcome of the first column: the total.
const totalColumn verdict.Outcome = ""

var tableColumns = []column{
	{head: [2]string{"", "total"}, short: [2]string{"", "total"}, outcome: totalColumn, always: true},
	{head: [2]string{"", "passed"}, short: [2]string{"", "passed"}, outcome: verdict.Passed, always: true},
	{head: [2]string{"", "failed"}, short: [2]string{"", "failed"}, outcome: verdict.Failed, always: true},
	{head: [2]string{"", "warned"}, short: [2]string{"", "warned"}, outcome: verdict.Warned, always: true},
	{head: [2]string{"not", "applicable"}, short: [2]string{"not", "appl."}, outcome: verdict.NotApplicable, always: true},
	{head: [2]string{"not", "tested"}, short: [2]string{"not", "tested"}, outcome: verdict.NotTested, always: true},
	{head: [2]string{"expected", "failure"}, short: [2]string{"expect.", "failure"}, outcome: verdict.ExpectedFail},
	{head: [2]string{"unexpected", "pass"}, short: [2]string{"unexp.", "pass"}, outcome: verdict.UnexpectedPass},
	{head: [2]string{"environment", "error"}, short: [2]string{"env.", "error"}, outcome: verdict.EnvError},
	{head: [2]string{"harness", "error"}, short: [2]string{"harness", "error"}, outcome: verdict.HarnessError},
}

// row is one line of a table.
type row struct {
	label string
	count Count
}

// grid is the layout that the tables of one run share.
type grid struct {
	columns []column
	widths  []int
	label   int
	gap     string
}

// writeTables writes the clauses of a run by level and, unless it is to be brief, by section of their source.
func (c *console) writeTables(run *Run, brief bool) {
	t := run.Totals
	levels := levelRows(t.ByLevel)
	levels = append(levels, row{c.lang.Say("all clauses"), t.Clauses}, row{c.lang.Say("scenarios"), t.Scenarios})
	var sections []row
	for _, s := range slices.SortedFunc(maps.Keys(t.BySection), compareSections) {
		sections = append(sections, row{s, t.BySection[s]})
	}
	g := fitGrid(slices.Concat(levels, sections), c.width, c.lang)
	c.writeTable(g, c.lang.Say("level"), levels)
	if len(sections) > 0 && !brief {
		c.writeTable(g, c.lang.Say("section"), sections)
	}
	disputed := t.ByLevel[string(verdict.Conflict)].Total > 0
	if t.Excluded > 0 || t.OtherRole > 0 || disputed {
		c.WriteByte('\n')
	}
	if disputed {
		c.printHung("", "", c.lang.Say("CONFLICT: the source document disagrees with itself; the fair reading is judged "+
			"(parley explain ID)"), dim)
	}
	if t.Excluded > 0 {
		c.printHung("", "", c.lang.Say("%s excluded, which no test from outside could judge (parley list names them)",
			c.lang.Count(t.Excluded, "further clause")), dim)
	}
	if t.OtherRole > 0 {
		c.printHung("", "", c.lang.Say("%s of targets of other roles", c.lang.Count(t.OtherRole, "further clause")), dim)
	}
	if line := run.reachedLine(c.lang, c.opts.Verbose); line != "" && !brief {
		c.printHung("", "", line, dim)
	}
}

func levelRows(by map[string]Count) []row {
	var out []row
	for _, l := range verdict.Levels {
		if n, ok := by[string(l)]; ok && n.Total > 0 {
			out = append(out, row{string(l), n})
		}
	}
	return out
}

// fitGrid chooses the widest layout that fits the terminal.
func fitGrid(rows []row, width int, l lang.Lang) grid {
	g := grid{gap: "  "}
	for _, r := range rows {
		g.label = max(g.label, columnWidth(r.label))
	}
	g.columns = usedColumns(rows, l)
	if g.measure(rows); g.total() > width {
		g.gap = " "
	}
	if g.total() > width {
		for i := range g.columns {
			g.columns[i].head = g.columns[i].short
		}
		g.measure(rows)
	}
	return g
}

// usedColumns drops the rarer columns that are empty.
func usedColumns(rows []row, l lang.Lang) []column {
	var out []column
	for _, col := range tableColumns {
		if col.always || slices.ContainsFunc(rows, func(r row) bool { return col.value(r.count) > 0 }) {
			out = append(out, col.inLanguage(l))
		}
	}
	return out
}

func (g *grid) measure(rows []row) {
	g.widths = g.widths[:0]
	for _, col := range g.columns {
		w := max(columnWidth(col.head[0]), columnWidth(col.head[1]))
		for _, r := range rows {
			w = max(w, len(strconv.Itoa(col.value(r.count))))
		}
		g.widths = append(g.widths, w)
	}
}

func (g *grid) total() int {
	n := g.label
	for _, w := range g.widths {
		n += len(g.gap) + w
	}
	return n
}

// inLanguage returns the column with its head in a language. Chinese heads are short enough for one line.
func (col column) inLanguage(l lang.Lang) column {
	if l == lang.Chinese {
		col.head = [2]string{"", l.Say(col.Title())}
		col.short = col.head
	}
	return col
}

// Title returns the head on one line.
func (col column) Title() string { return strings.TrimSpace(col.head[0] + " " + col.head[1]) }

func (col column) value(n Count) int {
	if col.outcome == totalColumn {
		return n.Total
	}
	return n.ByOutcome[col.outcome]
}

func (c *console) writeTable(g grid, label string, rows []row) {
	c.WriteByte('\n')
	for i := range 2 {
		line := pad([2]string{"", label}[i], g.label)
		for j, col := range g.columns {
			line += g.gap + padLeft(col.head[i], g.widths[j])
		}
		if line = strings.TrimRight(line, " "); line != "" { // heads of one line leave the first one empty
			c.line("%s", c.paint.inColour(dim, line))
		}
	}
	for _, r := range rows {
		line := pad(r.label, g.label)
		for j, col := range g.columns {
			line += g.gap + c.cellText(col, col.value(r.count), g.widths[j])
		}
		c.line("%s", line)
	}
}

// cellText shows a zero as a dash, so that the numbers that matter stand out.
func (c *console) cellText(col column, n, width int) string {
	if n == 0 && col.outcome != totalColumn {
		return c.paint.inColour(dim, padLeft("-", width))
	}
	var tint colour
	if col.outcome != totalColumn {
		tint = lookOf(col.outcome).colour
	}
	return c.paint.inColour(tint, padLeft(strconv.Itoa(n), width))
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
