package reports

import (
	"io"
	"strings"

	"parley/features/verdict"
	"parley/reports/lang"
)

// part is one kind of changes as reports show it. Title is in English.
type part struct {
	Title   string
	Changes []Change
}

// partTitles are the kinds of changes.
var partTitles = []string{"Newly broken", "Newly untested", "Fixed", "Suite changed"}

// Parts returns the changes of a run by kind, without empty ones.
func (r RunChanges) Parts() (out []part) {
	for i, changes := range [][]Change{r.Broken, r.Untested, r.Fixed, r.Suite} {
		if len(changes) > 0 {
			out = append(out, part{partTitles[i], changes})
		}
	}
	return out
}

// How says in a language from which outcome to which a clause changed.
func (c Change) How(l lang.Lang) string {
	word := func(o verdict.Outcome) string {
		if o == "" {
			return l.Say("absent")
		}
		return wordOf(o, l)
	}
	text := word(c.Old) + " → " + word(c.New)
	if len(c.Drivers) > 0 {
		text += l.Say(" over %s", strings.Join(c.Drivers, l.Say(", ")))
	}
	return text
}

// How says in a language how much longer a scenario takes.
func (s Slowdown) How(l lang.Lang) string {
	return formatDuration(s.Old, l) + " → " + formatDuration(s.New, l)
}

// Answer sums a comparison up on one line.
func (c *Comparison) Answer() string {
	broken, fixed, untested, slow := 0, 0, 0, 0
	for _, r := range c.Runs {
		broken, fixed = broken+len(r.Broken), fixed+len(r.Fixed)
		untested, slow = untested+len(r.Untested), slow+len(r.Slower)
	}
	word := c.lang.Say("no regression")
	if n := c.Regressions(); n > 0 {
		word = c.lang.Count(n, "regression")
	}
	text := c.lang.Say("%s · %d newly broken, %d newly untested, %d fixed, %d slower", word, broken, untested, fixed,
		slow)
	if n := broken + untested - c.Regressions(); n > 0 {
		text += c.lang.Say(" · %d of these changes are no regression, as they are excused or do not bind", n)
	}
	if c.SuiteChanged {
		text += c.lang.Say(" · the suite changed")
	}
	return text
}

// WriteComparisonText writes c for a terminal of a width; 0 means 100.
func WriteComparisonText(w io.Writer, c *Comparison, width int, colour bool) error {
	if width == 0 {
		width = 100
	}
	p := &printer{width: max(60, width), paint: paint(colour), lang: c.lang}
	for _, side := range []struct {
		name string
		s    Side
	}{{c.lang.Say("old"), c.Old}, {c.lang.Say("new"), c.New}} {
		p.printHung(pad(side.name, 5), dim, side.s.describeSide(c.lang), "")
	}
	if text := c.Narrowed(); text != "" {
		p.WriteByte('\n')
		p.printHung("", "", text, yellow)
	}
	for _, run := range c.Runs {
		if run.Empty() {
			continue
		}
		p.printHeading("", "%s", run.Name)
		for _, part := range run.Parts() {
			p.printHeading(partColour(part.Title), "%s: %s", c.lang.Say(part.Title), c.lang.Count(len(part.Changes), "clause"))
			for _, g := range part.Groups(c.lang) {
				p.printChanges(g)
			}
		}
		if len(run.Unbound) > 0 {
			p.printHeading(dim, "Not tested now, and never a failure: %s", c.lang.Count(len(run.Unbound), "clause"))
			p.printHung("  ", "", changeGroup{Changes: run.Unbound}.IDs(), dim)
		}
		if len(run.Slower) > 0 {
			p.printHeading(yellow, "Slower: %s", c.lang.Count(len(run.Slower), "scenario"))
			for _, s := range run.Slower {
				p.printHung("  "+pad(s.Scenario, 12)+" ", bold, s.Name+" ("+s.Driver+"): "+s.How(c.lang), "")
			}
		}
	}
	p.WriteByte('\n')
	tint := green
	if c.Regressions() > 0 {
		tint = red
	}
	p.printHung("", "", c.Answer(), strong(tint))
	_, err := w.Write(p.Bytes())
	return err
}

// printChanges writes a group of changes: one clause with what it says, or several by their ids.
func (p *printer) printChanges(g changeGroup) {
	if x := g.First(); len(g.Changes) == 1 {
		p.printHung("  "+pad(x.Clause+" "+string(x.Level), 16)+" ", bold, g.How, "")
		p.printHung("    ", "", x.Text, dim)
	} else {
		p.printHung("  ", "", p.lang.Say("%s: %s", p.lang.Count(len(g.Changes), "clause"), g.How), bold)
		p.printHung("    ", "", g.IDs(), "")
	}
	if g.First().Reason != "" {
		p.printHung("    ", "", g.First().Reason, "")
	}
	if g.First().Again != "" {
		p.printCommand("again", g.First().Again)
	}
}

func (s Side) describeSide(l lang.Lang) string {
	parts := []string{s.Targets, l.Say(string(s.Verdict)), s.When, l.Say("suite") + " " + s.Suite}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, " · ")
}

func partColour(title string) colour {
	switch title {
	case "Newly broken":
		return red
	case "Fixed":
		return green
	case "Newly untested":
		return yellow
	}
	return cyan
}

// WriteComparisonMarkdown writes c as Markdown.
func WriteComparisonMarkdown(w io.Writer, c *Comparison) error {
	m := &markdown{lang: c.lang}
	l := c.lang
	mark := "✓"
	if c.Regressions() > 0 {
		mark = "✗"
	}
	m.line("%s\n## %s Parley: %s\n", MarkdownMark, mark, escapeMD(c.Answer()))
	m.line("- %s", escapeMD(l.Say("%s: %s", l.Say("old"), c.Old.describeSide(l))))
	m.line("- %s\n", escapeMD(l.Say("%s: %s", l.Say("new"), c.New.describeSide(l))))
	if text := c.Narrowed(); text != "" {
		m.line("%s\n", escapeMD(text))
	}
	for _, run := range c.Runs {
		for _, part := range run.Parts() {
			m.line("### %s\n", escapeMD(l.Say("%s: %s", run.Name, strings.ToLower(l.Say(part.Title)))))
			m.line("| %s | %s | %s | |\n|---|---|---|---|", l.Say("clause"), l.Say("requirement"), l.Say("change"))
			left := len(part.Changes)
			for i, g := range part.Groups(l) {
				if i == mdFindings {
					m.line("\n%s", l.Say("and %s more", l.Count(left, "clause")))
					break
				}
				left -= len(g.Changes)
				m.line("| %s | %s | %s | %s |", escapeMD(g.IDs()), escapeMD(g.Text()), escapeMD(g.How),
					escapeMD(shortenText(g.First().Reason, 300)))
			}
			m.line("")
		}
		if len(run.Slower) > 0 {
			m.line("### %s\n", escapeMD(l.Say("%s: %s", run.Name, l.Say("slower"))))
			m.line("| %s | %s | %s |\n|---|---|---|", l.Say("scenario"), l.Say("driver"), l.Say("time"))
			for _, s := range run.Slower {
				m.line("| %s %s | %s | %s |", escapeMD(s.Scenario), escapeMD(s.Name), escapeMD(s.Driver), s.How(l))
			}
			m.line("")
		}
	}
	_, err := w.Write(m.Bytes())
	return err
}

var comparePages = pagesOf("compare.gohtml")

// WriteComparisonHTML writes c as one self-contained page.
func WriteComparisonHTML(w io.Writer, c *Comparison) error {
	return writePage(w, comparePages(c.lang), struct {
		frame
		*Comparison
	}{newFrame("Parley: " + c.Answer()), c})
}
