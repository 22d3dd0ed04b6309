package reports

import (
	"path"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/reports/lang"
)

// writeFindings writes the clauses of a list with their evidence: of each cause its first examples.
func (c *console) writeFindings(run *Run, title string, tint colour, list []finding) {
	if len(list) == 0 {
		return
	}
	hits := 0
	for _, f := range list {
		hits += timesFound(f.Hits)
	}
	c.printHeading(tint, "%s: %s, found %s", c.lang.Say(title), c.lang.Count(len(list), "clause"), timesText(hits, c.lang))
	shown := map[string]int{}
	for _, f := range list {
		c.writeFinding(run, f, tint, shown)
	}
}

// shownPerCause is how many examples of a cause a verbose report has: the others say the same.
const shownPerCause = 3

// writeFinding writes a clause with those of its failures whose causes have not been shown often enough.
func (c *console) writeFinding(run *Run, f finding, tint colour, shown map[string]int) {
	c.WriteByte('\n')
	c.clauseLine(f.Clause, tint)
	if len(f.Hits) == 0 {
		c.printField("reason", dim, c.lang.Of(f.Clause.Reason))
	}
	first, left := true, 0
	for _, h := range f.Hits {
		cause := run.causeOf(h.Failure)
		if shown[cause]++; shown[cause] > shownPerCause {
			left += h.timesFound()
			continue
		}
		if !first {
			c.WriteByte('\n')
		}
		first = false
		c.printView(c.withFunction(run, viewOf(h, c.lang)), nil, c.opts.Dir)
	}
	if left > 0 {
		c.printHung("  ", "", c.lang.Say("and %s of %s: %s", c.lang.Count(left, "more failure"), f.Clause.ID,
			path.Join(c.opts.Dir, "report.html")), dim)
	}
}

// clauseLine writes the id, level and text of a clause, with its section at the right edge.
func (p *printer) clauseLine(cl Clause, tint colour) {
	label := cl.ID + " " + string(cl.Level) + "  "
	indent := columnWidth(label)
	lines := p.fitText(cl.Text, indent+columnWidth(cl.Section)+2)
	first := lines[0]
	if cl.Section != "" {
		first = pad(first, p.width-indent-columnWidth(cl.Section)) + p.paint.inColour(dim, cl.Section)
		if p.width == 0 {
			first = lines[0] + "  " + cl.Section
		}
	}
	p.line("%s%s", p.paint.inColour(strong(tint), label), first)
	for _, l := range lines[1:] {
		p.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// withFunction adds the Go function of the step to the view of a failure, if the report is verbose.
func (c *console) withFunction(run *Run, v failureView) failureView {
	at := slices.IndexFunc(v.Rows, func(r viewRow) bool { return slices.Contains(stepLabels, r.Name) })
	if c.opts.Function == nil || !c.opts.Verbose || v.Step == "" || at < 0 {
		return v
	}
	_, text, _ := strings.Cut(v.Step, " ")
	if name := c.opts.Function(run.Protocol, text); name != "" {
		row := viewRow{Name: "function", Label: c.lang.Say("function"), Texts: []string{name}}
		v.Rows = slices.Insert(v.Rows, at+1, row)
	}
	return v
}

// portion is how much of a row a report shows: of each text so many lines, and so many texts; 0 is all.
type portion struct{ lines, texts int }

// portions are those of rows, by name; "file" stands for those of files. A row without a portion is not shown. Nil: all
// of every row.
type portions map[string]portion

// printView writes the rows of a failure. dir is the results folder, as the reader would type it.
func (p *printer) printView(v failureView, show portions, dir string) {
	for _, r := range v.Rows {
		name := r.Name
		if r.File != nil {
			name = "file"
		}
		part, shown := show[name]
		switch {
		case show != nil && !shown:
		case name == "file":
			p.printUncut(r.Label, path.Join(dir, r.Texts[0]))
		case name == "feature", name == "again" && part.lines == 1:
			p.printUncut(r.Label, r.Texts[0])
		case name == "again":
			p.printCommand(r.Label, r.Texts[0])
		case name == "diff":
			p.printDiff(r.Label, cutToLines(r.Texts[0], part.lines))
		case name == "scenario":
			p.printTexts(r, part, "   "+p.lang.Say("(driver %s)", v.Scenario.Driver))
		default:
			p.printTexts(r, part, "")
		}
	}
}

// printTexts writes the texts of a row, each before an end that is not shortened.
func (p *printer) printTexts(r viewRow, part portion, end string) {
	label, look := "  "+pad(r.Label, 10)+" ", r.Look()
	indent := columnWidth(label)
	for _, text := range r.firstTexts(part.texts, p.lang) {
		if part.lines == 1 {
			p.line("%s%s%s", p.paint.inColour(look.tint, label),
				p.paint.inColour(look.text, p.oneLine(text, indent+columnWidth(end))), end)
		} else {
			p.printHung(label, look.tint, p.firstLines(text, part.lines, indent)+end, look.text)
		}
		if r.Noun != "" {
			label = strings.Repeat(" ", indent)
		}
	}
}

// printDiff colours expected and observed lines; without colour their signs distinguish them. Long lines are continued
// under their own text.
func (p *printer) printDiff(label, d string) {
	label = "  " + pad(label, 10) + " "
	for line := range strings.SplitSeq(d, "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		tint, text := diffColour(line), strings.TrimLeft(line, "+- \u00a0")
		p.printHung(label+line[:len(line)-len(text)], tint, text, tint)
		label = strings.Repeat(" ", 13)
	}
}

func diffColour(line string) colour {
	switch {
	case strings.HasPrefix(line, "-"):
		return green
	case strings.HasPrefix(line, "+"):
		return red
	default:
		return ""
	}
}

// timesFound returns how often something was found.
func timesFound(hits []hit) int {
	n := 0
	for _, h := range hits {
		n += h.timesFound()
	}
	return n
}

func timesText(n int, l lang.Lang) string {
	switch n {
	case 1:
		return l.Say("once")
	case 2:
		return l.Say("twice")
	default:
		return l.Count(n, "time")
	}
}

// How much of each list a brief report of a broken target shows.
const (
	shownErrors  = 3  // scenarios without a judgement
	shownReasons = 20 // more than one profile can lack
	shownNotes   = 5
)

// brokenScenarios writes the scenarios that ended in an error not explained by any clause.
func (c *console) brokenScenarios(run *Run) {
	list := brokenScenarios(run)
	if len(list) == 0 {
		return
	}
	c.printHeading(magenta, "Errors: %s without a judgement", c.lang.Count(len(list), "scenario"))
	for i, s := range list {
		if i == shownErrors && !c.opts.Verbose {
			c.WriteByte('\n')
			c.printHung("  ", "", c.lang.Say("and %s: %s", c.lang.Count(len(list)-i, "more scenario"), c.whereRest()), dim)
			return
		}
		c.WriteByte('\n')
		c.printHung(wordOf(s.Outcome, c.lang)+"  ", strong(magenta), s.Name+"   "+c.lang.Say("(driver %s)", s.Driver), "")
		c.printView(c.withFunction(run, viewOfError(s, c.lang)), nil, c.opts.Dir)
	}
}

// writeBaseline writes the rows that need to be fixed, and those that soon will.
func (c *console) writeBaseline(r *Results, run *Run) {
	if rows := troubledRows(run.Baseline); len(rows) > 0 {
		c.printHeading(red, "Baseline: %s to fix", c.lang.Count(len(rows), "row"))
		for _, row := range rows {
			c.printHung("  "+pad(row.Clause, 10)+" ", bold, baselineText(row, c.lang), "")
		}
	}
	if rows := endingRows(r, run); len(rows) > 0 {
		c.printHeading(yellow, oneOr(len(rows), "Baseline: %s expires soon", "Baseline: %s expire soon"),
			c.lang.Count(len(rows), "row"))
		for _, row := range rows {
			c.printHung("  "+pad(row.Clause, 10)+" ", bold, endingText(r, row, c.lang), "")
		}
	}
}

// baselineText says what became of a baseline row.
func baselineText(row BaselineRow, l lang.Lang) string {
	text := l.Say(row.State)
	switch row.State {
	case verdict.RowStale:
		text = l.Say("stale, the clause passes now")
	case verdict.RowExpired:
		text = l.Say("expired %s", row.Expires)
	}
	return rowScope(row, l) + l.Say("%s: %s", text, row.Reason)
}

// writeReasons writes why clauses or scenarios have no result: each reason once, with those that share it; binding says
// how many of them bind. A brief list has each reason on a line.
func (c *console) writeReasons(title string, tint colour, noun, binding string, groups []reasonGroup, brief bool) {
	if len(groups) == 0 {
		return
	}
	n := 0
	for _, g := range groups {
		n += len(g.IDs)
	}
	c.printHeading(tint, "%s: %s", c.lang.Say(title), c.lang.Count(n, noun)+binding)
	for i, g := range groups {
		text := c.lang.Say("%s (%d)", c.lang.Of(g.Reason), len(g.IDs))
		if brief && i == shownReasons {
			c.printHung("  ", "", c.lang.Say("and %s: %s", c.lang.Count(len(groups)-i, "more reason"), c.whereRest()), dim)
			return
		}
		if brief {
			c.line("  %s", c.oneLine(text, 2))
			continue
		}
		c.printHung("  ", "", text, "")
		if g.Reason != c.lang.Of(verdict.NotRun) { // whoever selects knows what was left out
			c.printHung("    ", "", strings.Join(g.IDs, " "), dim)
		}
	}
}

// writeExpected writes the failures expected by the baseline, one per line.
func (c *console) writeExpected(list []finding) {
	if len(list) == 0 {
		return
	}
	c.printHeading(dim, "Expected failures: %s", c.lang.Count(len(list), "clause"))
	for _, f := range list {
		c.printHung("  "+pad(f.Clause.ID, 10)+" ", bold, c.lang.Of(f.Clause.Reason), "")
	}
}

// writeNotes writes remarks that fail nothing. The scenarios' own notes are only in the verbose report.
func (c *console) writeNotes(run *Run, brief bool) {
	notes := slices.Concat(run.Notes, scenarioNotes(run))
	if !c.opts.Verbose {
		notes = c.foldNotes(run.Notes)
	}
	if len(notes) == 0 {
		return
	}
	c.printHeading(cyan, "Notes")
	kinds := 0
	for _, n := range notes {
		kinds = max(kinds, columnWidth(c.lang.Say(n.Kind)))
	}
	for i, n := range notes {
		if brief && i == shownNotes {
			c.printHung("  ", "", c.lang.Say("and %s: %s", c.lang.Count(len(notes)-i, "more note"), c.whereRest()), dim)
			return
		}
		tint := bold
		if n.Kind == "security" {
			tint = red
		}
		text := n.Text
		if n.Scenario != "" {
			text += c.lang.Say(" (%s)", n.Scenario)
		}
		c.printHung("  "+pad(c.lang.Say(n.Kind), kinds)+"  ", tint, text, "")
	}
}

// foldedNote is the kind of the notes that say how scenarios went over one driver and over another: at length, if the
// messages differ.
const foldedNote = "driver-difference"

// foldNotes puts one note in the place of the long ones of the kind foldedNote.
func (c *console) foldNotes(notes []Note) (out []Note) {
	var ids []string
	for _, n := range notes {
		if n.Kind == foldedNote && strings.Contains(n.Text, "\n") {
			ids = append(ids, n.Scenario)
			continue
		}
		out = append(out, n)
	}
	if len(ids) == 0 {
		return out
	}
	return append(out, Note{Kind: foldedNote, Text: c.lang.Say("%s went otherwise over one driver than over another, "+
		"which breaks no clause (%s): %s", c.lang.Count(len(ids), "scenario"), shortList(ids, 3), c.whereRest())})
}

// shortList joins the first n texts of a list.
func shortList(list []string, n int) string {
	if len(list) > n {
		return strings.Join(list[:n], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// scenarioNotes returns the notes of scenarios as notes of the run.
func scenarioNotes(run *Run) []Note {
	var out []Note
	for _, s := range run.Scenarios {
		for _, text := range s.Notes {
			out = append(out, Note{Kind: "scenario", Text: text, Scenario: s.ID + " " + s.Driver})
		}
	}
	return out
}

// shownStderr is how many lines of a target's stderr a report shows that is not verbose.
const shownStderr = 10

// writeStderr shows the end of the target's stderr, if the run ended in an error, if something did not come, if the
// target's process ended during a scenario, or if the report is verbose.
func (c *console) writeStderr(run *Run) {
	ended := func(f Failure) bool { return strings.Contains(f.Observed, processEnded) }
	wanted := c.opts.Verbose || run.Environment != "" || slices.ContainsFunc(run.Scenarios, func(s Scenario) bool {
		return s.Outcome == verdict.EnvError || slices.ContainsFunc(s.Failures, ended)
	})
	text := strings.TrimSpace(run.TargetStderr)
	if text == "" || !wanted {
		return
	}
	c.printHeading(dim, "The target's last output on stderr")
	if !c.opts.Verbose {
		lines := cut.ErrorLines(text, shownStderr)
		for i := range lines {
			lines[i] = cut.Head(lines[i], 4*c.width)
		}
		text = strings.Join(lines, "\n")
	}
	for _, line := range c.fitText(text, 4) {
		c.line("  %s %s", c.paint.inColour(dim, "│"), line)
	}
}
