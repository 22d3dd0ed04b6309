package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports/lang"
)

// ghMost is how many annotations of one kind GitHub shows for a step; the last one counts the rest.
const ghMost = 10

// WriteGitHub writes r as workflow commands of GitHub Actions, a line each: an error for every clause that failed, for
// every row of the baseline to fix and for a target that could not be judged; a warning for every broken SHOULD and
// every row that expires soon; a notice with the verdict. Annotations point to the user's own feature, or else to the
// profile; without either they have no file.
func WriteGitHub(w io.Writer, r *Results) error {
	r = presentable(r)
	g := &annotations{}
	for i := range r.Runs {
		g.run(r, &r.Runs[i])
	}
	var b bytes.Buffer
	write(&b, "error", g.errors)
	write(&b, "warning", g.warnings)
	kind := "notice"
	if len(g.errors) == 0 && r.Exit != verdict.ExitConformant {
		kind = "error"
	}
	write(&b, kind, []annotation{{title: "parley: " + string(r.Verdict),
		text: strings.Join(grounds(r, lang.English), "; ")}})
	_, err := w.Write(b.Bytes())
	return err
}

type annotation struct{ file, line, title, text string }

// annotations are those of a report, in order.
type annotations struct{ errors, warnings []annotation }

func (g *annotations) run(r *Results, run *Run) {
	at := annotation{file: run.Target.Profile}
	if run.Environment != "" {
		at.title, at.text = runName(run)+": the target could not be judged", run.Environment
		g.errors = append(g.errors, at)
	}
	found := findingsOf(run, r.Strict)
	for _, f := range found.Failed {
		g.errors = append(g.errors, annotate(run, f))
	}
	for _, f := range found.Warned {
		g.warnings = append(g.warnings, annotate(run, f))
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

// annotate returns the annotation of a clause.
func annotate(run *Run, f finding) annotation {
	a := annotation{file: run.Target.Profile, title: f.Clause.ID + " " + string(f.Clause.Level) + " " + runName(run),
		text: f.Clause.Text}
	if len(f.Hits) == 0 {
		a.text += "\n" + f.Clause.Reason
		return a
	}
	h := f.Hits[0]
	a.text += fmt.Sprintf("\nscenario %s (driver %s)\nexpected %s\nobserved %s\nagain %s", h.Scenario.Name,
		h.Scenario.Driver, h.Failure.Expected, h.Failure.Observed, h.Failure.Again)
	if n := timesFound(f.Hits); len(f.Hits) > 1 {
		a.text += fmt.Sprintf("\nfound %d times", n)
	}
	if file, line, own := strings.Cut(h.Scenario.Location, ":"); own && !strings.HasPrefix(file, "features/") {
		a.file, a.line = file, line
	}
	return a
}

// write writes commands of one kind, at most ghMost.
func write(b *bytes.Buffer, kind string, list []annotation) {
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
