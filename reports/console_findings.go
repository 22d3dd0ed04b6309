package reports

import (
	"path"
	"strings"

	"parley/reports/lang"
)

// findings writes the clauses of a list with their evidence: of each cause its first examples.
func (c *console) findings(run *Run, title string, tint colour, list []finding) {
	if len(list) == 0 {
		return
	}
	hits := 0
	for _, f := range list {
		hits += timesFound(f.Hits)
	}
	c.heading(tint, "%s: %s, found %s", c.lang.Say(title), c.lang.Count(len(list), "clause"), times(hits, c.lang))
	shown := map[string]int{}
	for _, f := range list {
		c.finding(run, f, tint, shown)
	}
}

// shownPerCause is how many examples of a cause a verbose report has: the others say the same.
const shownPerCause = 3

// finding writes a clause with those of its failures whose causes have not been shown often enough.
func (c *console) finding(run *Run, f finding, tint colour, shown map[string]int) {
	c.WriteByte('\n')
	c.clauseLine(f.Clause, tint)
	if len(f.Hits) == 0 {
		c.field("reason", dim, c.lang.Of(f.Clause.Reason))
	}
	first, left := true, 0
	for _, h := range f.Hits {
		cause := run.causeOf(h.Failure)
		if shown[cause]++; shown[cause] > shownPerCause {
			left += h.times()
			continue
		}
		if !first {
			c.WriteByte('\n')
		}
		first = false
		c.hit(h, c.opts.Dir, true)
	}
	if left > 0 {
		c.hang("  ", "", c.lang.Say("and %s of %s: %s", c.lang.Count(left, "more failure"), f.Clause.ID,
			path.Join(c.opts.Dir, "report.html")), dim)
	}
}

// clauseLine writes the id, level and text of a clause, with its section at the right edge.
func (p *printer) clauseLine(cl Clause, tint colour) {
	label := cl.ID + " " + string(cl.Level) + "  "
	indent := columns(label)
	lines := p.fit(cl.Text, indent+columns(cl.Section)+2)
	first := lines[0]
	if cl.Section != "" {
		first = pad(first, p.width-indent-columns(cl.Section)) + p.paint.text(dim, cl.Section)
		if p.width == 0 {
			first = lines[0] + "  " + cl.Section
		}
	}
	p.line("%s%s", p.paint.text(strong(tint), label), first)
	for _, l := range lines[1:] {
		p.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// hit writes one failure: where it occurred, what was expected and observed, and how to reproduce it.
func (p *printer) hit(h hit, dir string, excerpt bool) {
	f := h.Failure
	p.field("scenario", dim, h.Scenario.Name+"   "+p.lang.Say("(driver %s)", h.Scenario.Driver))
	if excerpt {
		p.uncut("feature", h.Scenario.Location)
	}
	p.field("expected", green, f.Expected)
	p.field("observed", red, f.Observed)
	p.diff(f.Diff)
	p.field("at", dim, f.At)
	p.field("alike", dim, alike(f, p.lang))
	p.field("monitor", dim, f.Monitor)
	p.following(f, excerpt)
	if excerpt {
		p.excerpt(f.Excerpt)
	}
	p.kept(h.Scenario, dir)
	p.command("again", f.Again)
}

// shownFollowing is how many following failures a brief report shows.
const shownFollowing = 2

// following writes what follows from a failure.
func (p *printer) following(f Failure, all bool) {
	label := pad("  "+p.lang.Say("following"), 13)
	for i, next := range f.Following {
		if i == shownFollowing && !all {
			p.hang(label, dim, p.lang.Say("and %s of a model that had no further instructions",
				p.lang.Count(len(f.Following)+f.MoreFollowing-i, "more finding")), dim)
			return
		}
		p.hang(label, dim, p.lang.Say("%s: %s", next.Clause, next.Observed), dim)
		label = strings.Repeat(" ", 13)
	}
	if f.MoreFollowing > 0 {
		p.hang(label, dim, p.lang.Say("and %s", p.lang.Count(f.MoreFollowing, "more finding")), dim)
	}
}

// diff colours expected and observed lines; without colour their signs distinguish them. Long lines are continued
// under their own text.
func (p *printer) diff(d string) {
	if d == "" {
		return
	}
	label := pad("  "+p.lang.Say("diff"), 13)
	for line := range strings.SplitSeq(strings.Trim(d, "\n"), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		tint, text := diffColour(line), strings.TrimLeft(line, "+- \u00a0")
		p.hang(label+line[:len(line)-len(text)], tint, text, tint)
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

func (p *printer) excerpt(lines []string) {
	label := pad("  "+p.lang.Say("wire"), 13)
	for _, line := range lines {
		p.hang(label, dim, line, dim)
		label = strings.Repeat(" ", 13)
	}
}

// timesFound returns how often something was found.
func timesFound(hits []hit) int {
	n := 0
	for _, h := range hits {
		n += h.times()
	}
	return n
}

func times(n int, l lang.Lang) string {
	switch n {
	case 1:
		return l.Say("once")
	case 2:
		return l.Say("twice")
	default:
		return l.Count(n, "time")
	}
}
