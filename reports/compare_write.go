package reports

import (
	"fmt"
	"io"
	"strings"

	"parley/internal/words"
	"parley/reports/lang"
	"parley/verdict"
)

// part is one kind of changes as reports show it.
type part struct {
	Title   string
	Changes []Change
}

// Parts returns the changes of a run by kind, without empty ones.
func (r RunChanges) Parts() (out []part) {
	for _, p := range []part{{"Newly broken", r.Broken}, {"Newly untested", r.Untested}, {"Fixed", r.Fixed},
		{"Suite changed", r.Suite}} {
		if len(p.Changes) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// How says from which outcome to which a clause changed.
func (c Change) How() string {
	word := func(o verdict.Outcome) string {
		if o == "" {
			return "absent"
		}
		return shownLook(o).word
	}
	text := word(c.Old) + " → " + word(c.New)
	if len(c.Drivers) > 0 {
		text += " over " + strings.Join(c.Drivers, ", ")
	}
	return text
}

// How says how much longer a scenario takes.
func (s Slowdown) How() string {
	return duration(s.Old, lang.English) + " → " + duration(s.New, lang.English)
}

// Answer sums a comparison up on one line.
func (c *Comparison) Answer() string {
	broken, fixed, untested, slow := 0, 0, 0, 0
	for _, r := range c.Runs {
		broken, fixed = broken+len(r.Broken), fixed+len(r.Fixed)
		untested, slow = untested+len(r.Untested), slow+len(r.Slower)
	}
	word := "no regression"
	if n := c.Regressions(); n > 0 {
		word = words.Counted(n, "regression")
	}
	text := fmt.Sprintf("%s · %d newly broken, %d newly untested, %d fixed, %d slower", word, broken, untested, fixed,
		slow)
	if c.SuiteChanged {
		text += " · the suite changed"
	}
	return text
}

// WriteComparisonText writes c for a terminal of a width; 0 means 100.
func WriteComparisonText(w io.Writer, c *Comparison, width int, colour bool) error {
	if width == 0 {
		width = 100
	}
	p := &printer{width: max(60, width), paint: paint(colour)}
	for _, side := range []struct {
		name string
		s    Side
	}{{"old  ", c.Old}, {"new  ", c.New}} {
		p.hang(side.name, dim, side.s.text(), "")
	}
	for _, run := range c.Runs {
		if run.Empty() {
			continue
		}
		p.heading("", "%s", run.Name)
		for _, part := range run.Parts() {
			p.heading(partColour(part.Title), "%s: %s", part.Title, words.Counted(len(part.Changes), "clause"))
			for _, x := range part.Changes {
				p.hang("  "+pad(x.Clause+" "+string(x.Level), 16)+" ", bold, x.How(), "")
				p.hang("    ", "", x.Text, dim)
				if x.Reason != "" {
					p.hang("    ", "", x.Reason, "")
				}
				if x.Again != "" {
					p.command("again", x.Again)
				}
			}
		}
		if len(run.Slower) > 0 {
			p.heading(yellow, "Slower: %s", words.Counted(len(run.Slower), "scenario"))
			for _, s := range run.Slower {
				p.hang("  "+pad(s.Scenario, 12)+" ", bold, s.Name+" ("+s.Driver+"): "+s.How(), "")
			}
		}
	}
	p.WriteByte('\n')
	tint := green
	if c.Regressions() > 0 {
		tint = red
	}
	p.hang("", "", c.Answer(), strong(tint))
	_, err := w.Write(p.Bytes())
	return err
}

func (s Side) text() string {
	parts := []string{s.Targets, string(s.Verdict), s.When, "suite " + s.Suite}
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
	m := &markdown{}
	mark := "✓"
	if c.Regressions() > 0 {
		mark = "✗"
	}
	m.line("%s\n## %s Parley: %s\n", MarkdownMark, mark, md(c.Answer()))
	m.line("- old: %s\n- new: %s\n", md(c.Old.text()), md(c.New.text()))
	for _, run := range c.Runs {
		for _, part := range run.Parts() {
			m.line("### %s: %s\n", md(run.Name), strings.ToLower(part.Title))
			m.line("| clause | requirement | change | |\n|---|---|---|---|")
			for i, x := range part.Changes {
				if i == mdFindings {
					m.line("\nand %s more", words.Counted(len(part.Changes)-i, "clause"))
					break
				}
				m.line("| %s %s | %s | %s | %s |", md(x.Clause), x.Level, md(x.Text), md(x.How()), md(shortened(x.Reason, 300)))
			}
			m.line("")
		}
		if len(run.Slower) > 0 {
			m.line("### %s: slower\n\n| scenario | driver | time |\n|---|---|---|", md(run.Name))
			for _, s := range run.Slower {
				m.line("| %s %s | %s | %s |", md(s.Scenario), md(s.Name), md(s.Driver), s.How())
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
	return writePage(w, comparePages(lang.English), struct {
		frame
		*Comparison
	}{newFrame("Parley: " + c.Answer()), c})
}
