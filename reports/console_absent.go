package reports

import (
	"strings"

	"parley/internal/cut"
	"parley/reports/lang"
)

// absentLines is how many lines a target takes that is not there.
const absentLines = 5

// absent writes the whole report of a target that could not be judged: what was to be judged, the reason, the last
// words of its process, and the verdict. The reason is not shortened: it is broken into lines as far as there are any.
func (c *console) absent(r *Results, run *Run) {
	reason, last := parted(run)
	about := aboutTarget(run, c.lang)
	c.line("%s%s", c.paint.text(bold, r.Suite.program()+" "), c.paint.text(dim, aboutRun(r, c.lang)))
	c.line("%s · %s", c.paint.text(bold, runName(run)), about)
	left := absentLines - 3
	if last != "" {
		left--
	}
	if len(c.fit(reason, 2)) <= left {
		c.hang("  ", "", reason, "")
	} else {
		c.line("  %s", strings.Join(strings.Fields(reason), " "))
	}
	if last != "" {
		c.line("  %s %s", c.paint.text(dim, "stderr"), c.oneLine(last, 9))
	}
	c.width = 0
	c.lastLine(r)
}

// parted returns the reason why a target could not be judged without the output that it quotes, and the last lines of
// the target's stderr.
func parted(run *Run) (reason, last string) {
	reason, quoted, _ := strings.Cut(run.Environment, "\nstderr:\n")
	reason, out, _ := strings.Cut(reason, "\nstdout:\n")
	if quoted, _, _ = strings.Cut(quoted, "\nstdout:\n"); quoted == "" {
		quoted = run.TargetStderr
	}
	if strings.TrimSpace(quoted) == "" {
		quoted = out
	}
	last = cut.TroubleLine(quoted, 3, 0)
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
		parts = append(parts, unchecked(l))
	}
	if len(run.Target.Drivers) > 0 {
		parts = append(parts, driversText(run.Target.Drivers, l))
	}
	if run.Target.Profile != "" {
		parts = append(parts, run.Target.Profile)
	}
	return strings.Join(parts, " · ")
}
