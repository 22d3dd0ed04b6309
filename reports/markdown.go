package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"parley/verdict"
)

// MarkdownMark is the first line of every Markdown report.
const MarkdownMark = "<!-- a report of parley -->"

// mdFindings is how many clauses of one kind the Markdown report lists; GitHub cuts a summary at 1 MiB.
const mdFindings = 50

// WriteMarkdown writes r as GitHub Flavored Markdown, for a job summary or a comment: the verdict and its grounds, a
// line of counts for each run, what failed with its first evidence, and what was not tested. Texts from a target are
// escaped: they make no links, no HTML and no mentions.
func WriteMarkdown(w io.Writer, r *Results) error {
	r = presentable(r)
	m := &markdown{}
	m.line("%s", MarkdownMark)
	m.line("## %s Parley: %s\n", verdictMark(r.Verdict), r.Verdict)
	m.line("%s · exit %d\n", md(strings.Join(grounds(r), "; ")), r.Exit)
	m.counts(r)
	for i := range r.Runs {
		m.run(r, &r.Runs[i])
	}
	m.load(r.Load)
	m.line("<sub>%s</sub>", md("parley "+aboutRun(r)))
	_, err := w.Write(m.Bytes())
	return err
}

// markdown is a Markdown report being written.
type markdown struct{ bytes.Buffer }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// counts writes a table with a line for each run.
func (m *markdown) counts(r *Results) {
	m.line("| run | verdict | clauses | passed | failed | expected to fail | warned | not tested |")
	m.line("|---|---|--:|--:|--:|--:|--:|--:|")
	for i := range r.Runs {
		run := &r.Runs[i]
		n := run.Totals.Clauses
		m.line("| %s · %s | %s %s | %d | %d | %d | %d | %d | %d |", md(runName(run)), md(run.Target.Name),
			verdictMark(run.Verdict), run.Verdict, n.Total, n.ByOutcome[verdict.Passed],
			n.ByOutcome[verdict.Failed]+n.ByOutcome[verdict.UnexpectedPass], n.ByOutcome[verdict.ExpectedFail],
			n.ByOutcome[verdict.Warned], n.ByOutcome[verdict.NotTested]+n.ByOutcome[verdict.EnvError])
	}
	m.line("")
}

func (m *markdown) run(r *Results, run *Run) {
	before := m.Len()
	found := findingsOf(run, r.Strict)
	title := ""
	if len(r.Runs) > 1 {
		title = md(runName(run)) + ": "
	}
	if run.Environment != "" {
		m.line("### %sthe target could not be judged\n\n%s\n", title, md(run.Environment))
	}
	m.findings(title+"failures", found.Failed)
	m.rows(title+"rows of the baseline to fix", troubledRows(run.Baseline), baselineText)
	m.rows(title+"rows of the baseline that expire soon", endingRows(r, run),
		func(row BaselineRow) string { return endingText(r, row) })
	m.findings(title+"warnings", found.Warned)
	if groups := reasonsFor(run, verdict.NotTested); len(groups) > 0 {
		m.line("### %snot tested\n", title)
		for _, g := range groups {
			m.line("- %s: %s", md(g.Reason), md(strings.Join(g.IDs, " ")))
		}
		m.line("")
	}
	if len(found.Expected) > 0 {
		m.line("<details><summary>%s of the baseline</summary>\n", count(len(found.Expected), "expected failure"))
		for _, f := range found.Expected {
			m.line("- %s: %s", md(f.Clause.ID), md(f.Clause.Reason))
		}
		m.line("\n</details>\n")
	}
	if m.Len() > before {
		return
	}
	m.line("")
}

// findings writes a table of clauses, with the first failure of each.
func (m *markdown) findings(title string, list []finding) {
	if len(list) == 0 {
		return
	}
	m.line("### %s\n", title)
	m.line("| clause | requirement | scenarios | expected | observed |")
	m.line("|---|---|--:|---|---|")
	for i, f := range list {
		if i == mdFindings {
			m.line("\nand %s more", count(len(list)-i, "clause"))
			break
		}
		expected, observed := "", md(f.Clause.Reason)
		if len(f.Hits) > 0 {
			expected, observed = md(shortened(f.Hits[0].Failure.Expected, 300)), md(shortened(f.Hits[0].Failure.Observed, 300))
		}
		m.line("| %s %s | %s | %d | %s | %s |", md(f.Clause.ID), f.Clause.Level, md(f.Clause.Text), len(f.Hits), expected,
			observed)
	}
	m.line("")
	for _, f := range list {
		if len(f.Hits) > 0 && f.Hits[0].Failure.Again != "" {
			m.line("<details><summary>run the first again</summary>\n\n%s\n\n</details>\n", fence(f.Hits[0].Failure.Again))
			break
		}
	}
}

// rows writes rows of the baseline.
func (m *markdown) rows(title string, rows []BaselineRow, text func(BaselineRow) string) {
	if len(rows) == 0 {
		return
	}
	m.line("### %s\n", title)
	for _, row := range rows {
		m.line("- %s %s", md(row.Clause), md(text(row)))
	}
	m.line("")
}

// fence returns a text as a code block, whatever backticks it has.
func fence(text string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + "sh\n" + text + "\n" + ticks
}

// mdEscapes are the characters with a meaning in Markdown, also those of automatic links and mentions.
var mdEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\\", "\\\\", "`", "\\`", "*", "\\*",
	"_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~", "#", "&#35;", "@", "&#64;", "://", "&#58;//",
	"www.", "www&#46;", "$", "&#36;", "\r", "", "\n", "<br>")

// md returns a text so that Markdown shows it as it is, on one line.
func md(text string) string { return mdEscapes.Replace(strings.TrimSpace(text)) }
