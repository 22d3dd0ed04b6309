package reports

import (
	"io"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/reports/lang"
)

// shownPerClause is how many failures of one clause are shown in full; further ones are only counted unless the
// report is verbose.
const shownPerClause = 3

// ConsoleOptions shape the text report.
type ConsoleOptions struct {
	Color bool // ANSI colours
	// columns of the terminal; the minimum is 60; 0 means that it is a file or a pipe: 100 columns for tables and
	// sentences, and nothing that is told on one line is shortened
	Width int
	// every failure in full with its transcript, observations, what is not applicable, and the notes of all scenarios
	Verbose bool
	Quiet   bool   // only failures and the verdict
	Dir     string // the results folder, as the user would type it; "" if there is none
	Lang    lang.Lang
	// Function returns the Go function of a step of a protocol, for the verbose report; "" if it is unknown. May be nil.
	Function func(protocol, step string) string
}

// console is one text report being written.
type console struct {
	printer
	opts   ConsoleOptions
	broken int // runs with failures or warnings, which share the lines for causes
}

// WriteConsole writes the text report at the end of a run: for each run its tables, then the causes of its failures and
// warnings with an example each, what was not tested and why, and notes. The last line is the verdict in words. Unless
// it is verbose, the report of a broken target is short: the ten causes that explain most are told within 80 lines, and
// lists are cut; the files of the run have all of it. A target that is not there takes five lines.
func WriteConsole(w io.Writer, r *Results, o ConsoleOptions) error {
	whole := o.Width == 0
	if whole {
		o.Width = 100
	}
	r = makeLocalized(r, o.Lang)
	c := &console{printer: printer{width: max(60, o.Width), paint: paint(o.Color), lang: o.Lang, whole: whole}, opts: o}
	if len(r.Runs) == 1 && isUnjudged(&r.Runs[0]) && !o.Verbose {
		c.writeUnjudged(r, &r.Runs[0])
		_, err := w.Write(c.Bytes())
		return err
	}
	for i := range r.Runs {
		if len(causesOf(&r.Runs[i], r.Strict, verdict.Failed, verdict.Warned)) > 0 {
			c.broken++
		}
	}
	if !o.Quiet {
		c.printHung(r.Suite.program()+" ", bold, aboutRun(r, c.lang), dim)
	}
	for i := range r.Runs {
		c.writeRun(r, &r.Runs[i])
	}
	c.writeLoad(r.Load)
	c.writeVerdict(r)
	_, err := w.Write(c.Bytes())
	return err
}

// aboutRun returns the first line: which suite ran, when, for how long, and with which settings.
func aboutRun(r *Results, l lang.Lang) string {
	parts := []string{r.Suite.Version + " (" + shortDigest(r.Suite.Digest) + ")", formatTime(r.Started),
		formatDuration(r.Duration, l)}
	if r.Seed != 0 {
		parts = append(parts, l.Say("seed %d", r.Seed))
	}
	if r.Strict {
		parts = append(parts, l.Say("strict"))
	}
	if r.Passive {
		parts = append(parts, l.Say("passive"))
	}
	if r.Selection != "" {
		parts = append(parts, l.Say("only %s", r.Selection))
	}
	return strings.Join(parts, " · ")
}

// hasTrouble reports whether something besides what was not tested keeps a run from being conformant.
func hasTrouble(run *Run, strict bool) bool {
	return run.Environment != "" || len(findingsOf(run, strict).Failed) > 0 || len(troubledRows(run.Baseline)) > 0 ||
		slices.ContainsFunc(run.Scenarios, func(s Scenario) bool { return s.Outcome == verdict.HarnessError })
}

func (c *console) writeRun(r *Results, run *Run) {
	if c.opts.Quiet && !hasTrouble(run, r.Strict) {
		return
	}
	c.writeTitle(run)
	if run.Environment != "" {
		c.printHeading(magenta, "The target could not be judged")
		c.printHung("  ", "", run.Environment, "")
	}
	found := findingsOf(run, r.Strict)
	if c.opts.Quiet {
		c.writeCauses(r, run)
		c.brokenScenarios(run)
		if len(troubledRows(run.Baseline)) > 0 {
			c.writeBaseline(r, run)
		}
		return
	}
	brief := (len(found.Failed) > 0 || r.Passive) && !c.opts.Verbose
	if !isUnjudged(run) {
		c.writeTables(run, brief)
	}
	c.writeCauses(r, run)
	if c.opts.Verbose {
		c.writeFindings(run, "Every failure", red, found.Failed)
		c.writeFindings(run, "Every warning", yellow, found.Warned)
	}
	c.brokenScenarios(run)
	c.writeBaseline(r, run)
	c.writeReasons("Not tested", yellow, "clause", bindingOf(run, c.lang), reasonsFor(run, verdict.NotTested), brief)
	c.writeReasons("Not tested, but other scenarios judged their clauses", yellow, "scenario", "", leftOut(run), brief)
	c.writeExpected(found.Expected)
	if c.opts.Verbose {
		c.writeFindings(run, "Observations, which do not affect the verdict", cyan, found.Observed)
		c.writeReasons("Not applicable", dim, "clause", "", reasonsFor(run, verdict.NotApplicable), false)
	}
	c.writeNotes(run, brief)
	c.writeStderr(run)
}

// isUnjudged reports whether the target could not be judged at all, so that tables would add nothing.
func isUnjudged(run *Run) bool {
	n := run.Totals.Clauses.ByOutcome
	return run.Environment != "" &&
		n[verdict.EnvError]+n[verdict.NotTested]+n[verdict.NotApplicable] == run.Totals.Clauses.Total
}

// writeTitle names the run, underlined, to separate several in one report.
func (c *console) writeTitle(run *Run) {
	name := runName(run)
	c.printHeading("", "%s", name)
	c.printHung("", "", strings.Repeat("─", min(columnWidth(name), c.width)), dim)
	about := []string{run.Target.Name}
	if run.Target.URL != "" && run.Target.URL != run.Target.Name {
		about = append(about, run.Target.URL)
	}
	if run.Target.Insecure {
		about = append(about, uncheckedNote(c.lang))
	}
	if len(run.Target.Drivers) > 0 {
		about = append(about, driversText(run.Target.Drivers, c.lang))
	}
	if run.Target.Profile != "" {
		about = append(about, run.Target.Profile)
	}
	c.printHung("", "", strings.Join(about, " · "), "")
}

// driversText names drivers.
func driversText(drivers []string, l lang.Lang) string {
	return l.Say(oneOr(len(drivers), "driver %s", "drivers %s"), strings.Join(drivers, ", "))
}

func runName(run *Run) string { return run.Protocol + " " + run.Role }

func verdictColour(v verdict.Verdict) colour {
	switch v {
	case verdict.Conformant:
		return green
	case verdict.AsExpected:
		return cyan
	case verdict.NonConformant:
		return red
	default:
		return yellow
	}
}

// absentLines is how many lines a target takes that is not there.
const absentLines = 5

// writeUnjudged writes the whole report of a target that could not be judged: what was to be judged, the reason, the
// last words of its process, and the verdict. The reason is not shortened: it is broken into lines as far as there are
// any.
func (c *console) writeUnjudged(r *Results, run *Run) {
	reason, last := splitReason(run)
	about := aboutTarget(run, c.lang)
	c.line("%s%s", c.paint.inColour(bold, r.Suite.program()+" "), c.paint.inColour(dim, aboutRun(r, c.lang)))
	c.line("%s · %s", c.paint.inColour(bold, runName(run)), about)
	left := absentLines - 3
	if last != "" {
		left--
	}
	if len(c.fitText(reason, 2)) <= left {
		c.printHung("  ", "", reason, "")
	} else {
		c.line("  %s", strings.Join(strings.Fields(reason), " "))
	}
	if last != "" {
		c.line("  %s %s", c.paint.inColour(dim, "stderr"), c.oneLine(last, 9))
	}
	c.width = 0
	c.lastLine(r)
}

// splitReason returns the reason why a target could not be judged without the output that it quotes, and the last lines
// of the target's stderr.
func splitReason(run *Run) (reason, last string) {
	reason, quoted, _ := strings.Cut(run.Environment, "\nstderr:\n")
	reason, out, _ := strings.Cut(reason, "\nstdout:\n")
	if quoted, _, _ = strings.Cut(quoted, "\nstdout:\n"); quoted == "" {
		quoted = run.TargetStderr
	}
	if strings.TrimSpace(quoted) == "" {
		quoted = out
	}
	last = cut.ErrorLine(quoted, 3, 0)
	if strings.Contains(reason, onStderr) { // it is quoted in a sentence
		last = ""
	}
	return reason, last
}

// aboutTarget says what was to be judged.
func aboutTarget(run *Run, l lang.Lang) string {
	parts := []string{run.Target.Name}
	if run.Target.URL != "" && !strings.Contains(run.Target.URL, run.Target.Name) {
		parts = append(parts, run.Target.URL)
	}
	if run.Target.Insecure {
		parts = append(parts, uncheckedNote(l))
	}
	if len(run.Target.Drivers) > 0 {
		parts = append(parts, driversText(run.Target.Drivers, l))
	}
	if run.Target.Profile != "" {
		parts = append(parts, run.Target.Profile)
	}
	return strings.Join(parts, " · ")
}
