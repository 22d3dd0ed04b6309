package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/reports/lang"
)

// Bounds of the part of a brief report that tells the causes, whatever was found.
const (
	causesShown = 10 // at most, over all runs
	causeLines  = 80 // at most, over all runs, with the headings
)

// What a brief report tells of a cause: in full with the place, the transcript, and what follows; in short a line each
// for what is most needed.
var (
	inFull = portions{"scenario": {1, 0}, "step": {2, 0}, "while": {2, 0}, "feature": {}, "expected": {3, 0},
		"observed": {3, 0}, "stderr": {4, 0}, "also": {1, 3}, "diff": {8, 0}, "at": {}, "monitor": {}, "following": {1, 3},
		"looks like": {1, 0}, "possibly": {1, 0}, otherFaults: {1, 0}, "file": {}, "again": {}}
	inShort = portions{"step": {1, 0}, "while": {1, 0}, "expected": {1, 0}, "observed": {1, 0}, "stderr": {1, 0},
		"looks like": {1, 1}, "possibly": {1, 1}, "again": {1, 0}}
)

// causeGroup is one list of causes with its title.
type causeGroup struct {
	title  string
	tint   colour
	causes []Cause
	told   string // the clauses and findings, in words
	bare   []finding
}

// writeCauses writes what was found, grouped by cause. A brief report shows the first causes within a number of lines;
// a verbose one shows all of them, and then every failure.
func (c *console) writeCauses(r *Results, run *Run) {
	found := findingsOf(run, r.Strict)
	groups := []causeGroup{
		c.causeGroup("Failures", red, found.Failed, causesOf(run, r.Strict, verdict.Failed)),
		c.causeGroup("Warnings", yellow, found.Warned, causesOf(run, r.Strict, verdict.Warned)),
	}
	if c.opts.Quiet {
		groups = groups[:1]
	}
	lines, shown := causeLines/max(1, c.broken), max(2, causesShown/max(1, c.broken))
	for _, g := range groups {
		if len(g.causes)+len(g.bare) == 0 {
			continue
		}
		c.printHeading(g.tint, "%s: %s", g.title, g.told)
		lines -= 2
		if n := besideFailed(run); n > 0 && g.tint == red {
			text := c.lang.Say("Failed by their own clauses: %s. In the traffic of %s a clause was found broken, too: that "+
				"fails the clause, and no scenario.", c.lang.Count(run.Totals.Scenarios.ByOutcome[verdict.Failed], "scenario"),
				c.lang.Count(n, "other scenario"))
			lines -= len(c.fitText(text, 2))
			c.printHung("  ", "", text, dim)
		}
		n := c.causeList(run, g, &shown, &lines)
		if rest := len(g.causes) - n; rest > 0 {
			c.printHung("  ", "", c.lang.Say("and %s: %s", c.lang.Count(rest, "more cause"), c.whereRest()), dim)
		}
		c.bareFindings(g)
	}
}

// besideFailed returns in how many scenarios that did not fail a failed clause was found broken, as by monitors.
func besideFailed(run *Run) (n int) {
	for _, s := range run.Scenarios {
		if s.Outcome != verdict.Failed && slices.ContainsFunc(s.Failures, func(f Failure) bool {
			return countsAsFailed(run, f.Clause, s.Driver)
		}) {
			n++
		}
	}
	return n
}

func (c *console) causeGroup(title string, tint colour, clauses []finding, list []Cause) causeGroup {
	g := causeGroup{title: c.lang.Say(title), tint: tint, causes: list}
	hits := 0
	for _, f := range clauses {
		hits += timesFound(f.Hits)
		if len(f.Hits) == 0 {
			g.bare = append(g.bare, f)
		}
	}
	g.told = c.lang.Say("%s, found %s", c.lang.Count(len(clauses), "clause"), timesText(hits, c.lang))
	if len(list) > 0 {
		g.told += c.lang.Say(", from %s", c.lang.Count(len(list), "cause"))
	}
	return g
}

// whereRest says where the causes are that are not shown.
func (c *console) whereRest() string {
	if c.opts.Dir == "" {
		return c.lang.Say("run it with --verbose")
	}
	return c.lang.Say("%s/report.html, or --verbose", c.opts.Dir)
}

// causeList writes the first causes of a group, each with as much detail as the remaining lines allow, and returns how
// many they are.
func (c *console) causeList(run *Run, g causeGroup, shown, lines *int) int {
	list := g.causes
	if !c.opts.Verbose {
		list = list[:min(len(list), *shown)]
		*shown -= len(list)
	}
	short, full := c.renderCauses(run, list, g.tint, false), c.renderCauses(run, list, g.tint, true)
	need := 1 // where the rest is
	for _, text := range short {
		need += strings.Count(text, "\n")
	}
	more := func(i int) int { return strings.Count(full[i], "\n") - strings.Count(short[i], "\n") }
	first := 0 // what it takes to tell the first in full
	if len(list) > 0 && c.broken <= 1 {
		first = more(0)
	}
	for !c.opts.Verbose && need+first > *lines && len(list) > 1 {
		need -= strings.Count(short[len(list)-1], "\n")
		list = list[:len(list)-1]
	}
	for i := range list {
		if more := more(i); c.opts.Verbose || i == 0 && first > 0 || need+more <= *lines {
			need += more
			c.WriteString(full[i])
			continue
		}
		c.WriteString(short[i])
	}
	*lines -= need
	return len(list)
}

// renderCauses returns each cause as lines of text.
func (c *console) renderCauses(run *Run, list []Cause, tint colour, full bool) []string {
	var out []string
	for i, cause := range list {
		p := printer{width: c.width, paint: c.paint, lang: c.lang, whole: c.whole}
		if full {
			p.WriteByte('\n')
		}
		p.printCause(run, i+1, cause, tint, full, c.opts)
		out = append(out, p.String())
	}
	return out
}

// printCause writes one cause.
func (p *printer) printCause(run *Run, n int, cause Cause, tint colour, full bool, o ConsoleOptions) {
	f := run.failureOfExample(cause.Example).Failure
	label := fmt.Sprintf("%d  ", n)
	p.printHung(label, strong(tint), p.oneLine(causeTitle(run, cause, f, p.lang), columnWidth(label)), "")
	show := inShort
	if full {
		clause := clauseOf(run, f)
		clause.Text = p.firstLines(clause.Text, 2, columnWidth(clause.ID+string(clause.Level)+clause.Section)+5)
		p.clauseLine(clause, tint)
		show = inFull
	}
	p.printView(viewOfCause(run, &cause, p.lang), show, o.Dir)
}

// causeTitle says what a cause explains: clauses, the one of the example first and then the most binding ones, and
// scenarios.
func causeTitle(run *Run, c Cause, f Failure, l lang.Lang) string {
	others := slices.DeleteFunc(slices.Clone(c.Clauses), func(id string) bool { return id == f.Clause })
	rank := func(id string) int { return levelRank(clauseOf(run, Failure{Clause: id}).Level) }
	slices.SortStableFunc(others, func(a, b string) int { return rank(a) - rank(b) })
	title := strings.Join(append([]string{f.Clause}, others[:min(len(others), titled)]...), " ")
	if n := len(others) - titled; n > 0 {
		title += l.Say(" and %d more", n)
	}
	title += " · " + l.Count(len(c.Scenarios), "scenario")
	if len(c.Drivers) > 1 {
		title += l.Say(" over %s", strings.Join(c.Drivers, ", "))
	}
	if c.Findings > len(c.Scenarios) {
		title += l.Say(", found %s", timesText(c.Findings, l))
	}
	return title
}

// titled is how many clauses a title names beside the first.
const titled = 4

// clauseOf returns the clause of a failure.
func clauseOf(run *Run, f Failure) Clause {
	for _, c := range run.Clauses {
		if c.ID == f.Clause {
			return c
		}
	}
	return Clause{ID: f.Clause, Level: f.Level, Section: f.Section, Text: f.Text}
}

// bareFindings writes clauses that failed without a failure record.
func (c *console) bareFindings(g causeGroup) {
	for i, f := range g.bare {
		if i == shownPerClause && !c.opts.Verbose {
			c.printHung("  ", "", c.lang.Say("and %s: %s", c.lang.Count(len(g.bare)-i, "more clause"), c.whereRest()), dim)
			return
		}
		c.WriteByte('\n')
		c.clauseLine(f.Clause, g.tint)
		c.printField("reason", dim, c.lang.Of(f.Clause.Reason))
	}
}

// longest bounds a line that is not shortened to a terminal.
const longest = 2000

// oneLine shortens a text to what fits on a line behind an indent.
func (p *printer) oneLine(text string, indent int) string {
	text = strings.Join(strings.Fields(text), " ")
	if p.whole {
		return shorten(text, longest)
	}
	return shorten(text, max(20, p.width-indent))
}

// firstLines shortens a text to a number of lines behind an indent; 0 is all.
func (p *printer) firstLines(text string, most, indent int) string {
	lines := p.fitText(text, indent)
	if most == 0 || len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most-1], "\n") + "\n" + shorten(lines[most-1]+" "+lines[most], max(20, p.width-indent))
}

// cutToLines returns the first lines of a text; 0 is all.
func cutToLines(text string, most int) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if most == 0 || len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "\n") + "\n…"
}
