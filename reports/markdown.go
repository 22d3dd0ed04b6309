package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports/lang"
)

// MarkdownMark is the first line of every Markdown report.
const MarkdownMark = "<!-- a report of parley -->"

// mdFindings is how many clauses of one kind the Markdown report lists; GitHub cuts a summary at 1 MiB.
const mdFindings = 50

// WriteMarkdown writes r as GitHub Flavored Markdown, for a job summary or a comment: the verdict and its grounds, a
// line of counts for each run, what failed with its first evidence, and what was not tested. Texts from a target are
// escaped: they make no links, no HTML and no mentions.
func WriteMarkdown(w io.Writer, r *Results) error { return WriteMarkdownIn(w, r, lang.English) }

// WriteMarkdownIn is WriteMarkdown in a language.
func WriteMarkdownIn(w io.Writer, r *Results, l lang.Lang) error {
	r = makeLocalized(r, l)
	m := &markdown{lang: l}
	m.line("%s", MarkdownMark)
	m.line("## %s Parley: %s\n", verdictMark(r.Verdict), l.Say(string(r.Verdict)))
	m.line("%s%s\n", escapeMD(strings.Join(verdictGrounds(r, l), l.Say("; "))), l.Say(" · exit %d", r.Exit))
	m.writeCounts(r)
	for i := range r.Runs {
		m.writeRun(r, &r.Runs[i])
	}
	m.writeLoad(r.Load)
	m.line("<sub>%s</sub>", escapeMD(r.Suite.program()+" "+aboutRun(r, l)))
	_, err := w.Write(m.Bytes())
	return err
}

// markdown is a Markdown report being written.
type markdown struct {
	bytes.Buffer
	lang lang.Lang
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// writeCounts writes a table with a line for each run.
func (m *markdown) writeCounts(r *Results) {
	head := "|"
	for _, name := range []string{"run", "verdict", "clauses", "passed", "failed", "expected to fail", "warned",
		"not tested"} {
		head += " " + m.lang.Say(name) + " |"
	}
	m.line("%s", head)
	m.line("|---|---|--:|--:|--:|--:|--:|--:|")
	for i := range r.Runs {
		run := &r.Runs[i]
		n := run.Totals.Clauses
		m.line("| %s · %s | %s %s | %d | %d | %d | %d | %d | %d |", escapeMD(runName(run)), escapeMD(run.Target.Name),
			verdictMark(run.Verdict), m.lang.Say(string(run.Verdict)), n.Total, n.ByOutcome[verdict.Passed],
			n.ByOutcome[verdict.Failed]+n.ByOutcome[verdict.UnexpectedPass], n.ByOutcome[verdict.ExpectedFail],
			n.ByOutcome[verdict.Warned], n.ByOutcome[verdict.NotTested]+n.ByOutcome[verdict.EnvError])
	}
	m.line("")
}

func (m *markdown) writeRun(r *Results, run *Run) {
	before := m.Len()
	found := findingsOf(run, r.Strict)
	title := ""
	if len(r.Runs) > 1 {
		title = m.lang.Say("%s: ", escapeMD(runName(run)))
	}
	if run.Environment != "" {
		m.line("### %s%s\n\n%s\n", title, m.lang.Say("the target could not be judged"), escapeMD(run.Environment))
	}
	m.writeFindings(title+m.lang.Say("failures"), found.Failed)
	m.writeBaselineRows(title+m.lang.Say("rows of the baseline to fix"), troubledRows(run.Baseline),
		func(row BaselineRow) string { return baselineText(row, m.lang) })
	m.writeBaselineRows(title+m.lang.Say("rows of the baseline that expire soon"), endingRows(r, run),
		func(row BaselineRow) string { return endingText(r, row, m.lang) })
	m.writeFindings(title+m.lang.Say("warnings"), found.Warned)
	if groups := reasonsFor(run, verdict.NotTested); len(groups) > 0 {
		m.line("### %s%s\n", title, m.lang.Say("not tested"))
		for _, g := range groups {
			m.line("- %s", m.lang.Say("%s: %s", escapeMD(m.lang.Of(g.Reason)), escapeMD(strings.Join(g.IDs, " "))))
		}
		m.line("")
	}
	if len(found.Expected) > 0 {
		m.line("<details><summary>%s</summary>\n", m.lang.Say("%s of the baseline",
			m.lang.Count(len(found.Expected), "expected failure")))
		for _, f := range found.Expected {
			m.line("- %s", m.lang.Say("%s: %s", escapeMD(f.Clause.ID), escapeMD(m.lang.Of(f.Clause.Reason))))
		}
		m.line("\n</details>\n")
	}
	if m.Len() > before {
		return
	}
	m.line("")
}

// writeFindings writes a table of clauses, with the first failure of each.
func (m *markdown) writeFindings(title string, list []finding) {
	if len(list) == 0 {
		return
	}
	m.line("### %s\n", title)
	m.line("| %s | %s | %s | %s | %s | %s |", m.lang.Say("clause"), m.lang.Say("requirement"), m.lang.Say("scenarios"),
		m.lang.Say("step"), m.lang.Say("expected"), m.lang.Say("observed"))
	m.line("|---|---|--:|---|---|---|")
	again := ""
	for i, f := range list {
		if i == mdFindings {
			m.line("\n%s", m.lang.Say("and %s more", m.lang.Count(len(list)-i, "clause")))
			break
		}
		step, expected, observed := "", "", m.lang.Of(f.Clause.Reason)
		if len(f.Hits) > 0 {
			v := viewOf(f.Hits[0], m.lang)
			step, expected, observed = v.firstText(stepLabels...), v.firstText("expected"), v.firstText("observed")
			again = cmp.Or(again, v.firstText("again"))
		}
		m.line("| %s %s | %s | %d | %s | %s | %s |", escapeMD(f.Clause.ID), f.Clause.Level, escapeMD(f.Clause.Text),
			len(f.Hits), escapeMD(step), escapeMD(shortenText(expected, 300)), escapeMD(shortenText(observed, 300)))
	}
	m.line("")
	if again != "" {
		m.line("<details><summary>%s</summary>\n\n%s\n\n</details>\n", m.lang.Say("run the first again"), codeBlock(again))
	}
}

// writeBaselineRows writes rows of the baseline.
func (m *markdown) writeBaselineRows(title string, rows []BaselineRow, text func(BaselineRow) string) {
	if len(rows) == 0 {
		return
	}
	m.line("### %s\n", title)
	for _, row := range rows {
		m.line("- %s %s", escapeMD(row.Clause), escapeMD(text(row)))
	}
	m.line("")
}

// codeBlock returns a text as a code block, whatever backticks it has.
func codeBlock(text string) string {
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

// escapeMD returns a text so that Markdown shows it as it is, on one line.
func escapeMD(text string) string { return mdEscapes.Replace(strings.TrimSpace(text)) }

// ghMost is how many annotations of one kind GitHub shows for a step; the last one counts the rest.
const ghMost = 10

// WriteGitHub writes r as workflow commands of GitHub Actions, a line each: an error for every clause that failed, for
// every row of the baseline to fix and for a target that could not be judged; a warning for every broken SHOULD and
// every row that expires soon; a notice with the verdict. Annotations point to the step in the user's own feature, or
// else to the profile; without either they have no file.
func WriteGitHub(w io.Writer, r *Results) error {
	r = makePresentable(r)
	g := &annotations{}
	for i := range r.Runs {
		g.addRun(r, &r.Runs[i])
	}
	var b bytes.Buffer
	writeCommands(&b, "error", g.errors)
	writeCommands(&b, "warning", g.warnings)
	kind := "notice"
	if len(g.errors) == 0 && r.Exit != verdict.ExitConformant {
		kind = "error"
	}
	writeCommands(&b, kind, []annotation{{title: "parley: " + string(r.Verdict),
		text: strings.Join(verdictGrounds(r, lang.English), "; ")}})
	_, err := w.Write(b.Bytes())
	return err
}

type annotation struct{ file, line, title, text string }

// annotations are those of a report, in order.
type annotations struct{ errors, warnings []annotation }

func (g *annotations) addRun(r *Results, run *Run) {
	at := annotation{file: run.Target.Profile}
	if run.Environment != "" {
		at.title, at.text = runName(run)+": the target could not be judged", run.Environment
		g.errors = append(g.errors, at)
	}
	found := findingsOf(run, r.Strict)
	for _, f := range found.Failed {
		g.errors = append(g.errors, annotationOf(run, f))
	}
	for _, f := range found.Warned {
		g.warnings = append(g.warnings, annotationOf(run, f))
	}
	for _, row := range troubledRows(run.Baseline) {
		at.title, at.text = "baseline "+row.Clause, baselineText(row, lang.English)
		g.errors = append(g.errors, at)
	}
	for _, row := range endingRows(r, run) {
		at.title, at.text = "baseline "+row.Clause, endingText(r, row, lang.English)
		g.warnings = append(g.warnings, at)
	}
}

// ghRows are the rows of a failure that an annotation shows.
var ghRows = append([]string{"scenario", "expected", "observed", "stderr", "again"}, stepLabels...)

// annotationOf returns the annotation of a clause.
func annotationOf(run *Run, f finding) annotation {
	a := annotation{file: run.Target.Profile, title: f.Clause.ID + " " + string(f.Clause.Level) + " " + runName(run),
		text: f.Clause.Text}
	if len(f.Hits) == 0 {
		a.text += "\n" + f.Clause.Reason
		return a
	}
	h := f.Hits[0]
	v := viewOf(h, lang.English)
	for _, r := range v.Rows {
		if slices.Contains(ghRows, r.Name) {
			a.text += "\n" + r.Label + " " + r.Texts[0]
		}
		if r.Name == "scenario" {
			a.text += fmt.Sprintf(" (driver %s)", v.Scenario.Driver)
		}
	}
	if n := timesFound(f.Hits); len(f.Hits) > 1 {
		a.text += fmt.Sprintf("\nfound %d times", n)
	}
	at := cmp.Or(h.Failure.Location, h.Scenario.Location)
	file, line := splitLocation(at)
	if file != at && (run.Folder != "" || !strings.HasPrefix(file, "features/")) {
		a.file, a.line = file, strconv.FormatInt(line, 10)
	}
	return a
}

// writeCommands writes commands of one kind, at most ghMost.
func writeCommands(b *bytes.Buffer, kind string, list []annotation) {
	for i, a := range list {
		if i == ghMost-1 && len(list) > ghMost {
			a = annotation{title: "parley", text: "and " + words.Counted(len(list)-i, kind) + " more: see the report"}
		}
		if i == ghMost {
			return
		}
		var props []string
		for _, p := range [][2]string{{"file", a.file}, {"line", a.line}, {"title", a.title}} {
			if p[1] != "" {
				props = append(props, p[0]+"="+ghProperty.Replace(p[1]))
			}
		}
		fmt.Fprintf(b, "::%s %s::%s\n", kind, strings.Join(props, ","), ghData.Replace(a.text))
	}
}

// What a workflow command escapes in its text, and in its properties.
var (
	ghData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	ghProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
