package parley

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/runner"
)

// Test judges a target in a test, with a subtest for each scenario that the options select. The name of a subtest is
// the id of its scenario, so that -run selects scenarios:
//
//	go test -run 'TestConformance/AS-4.1-06' -v
//
// Only what -run selects is run, after the scenarios by which the suite finds out whether the target answers at all. A
// subtest fails if its scenario broke a binding clause over any driver; it shows the step that found it, with its place
// in the .feature file, and the messages around. A broken SHOULD is logged. Scenarios that were not tested or do not
// apply are skipped, with the reason. The test itself fails if the target cannot be reached, if nothing was judged, if
// a row of the baseline is outdated, and if binding clauses were not tested while [RequireComplete] asks for them;
// without it they are logged.
//
// Scenarios run at the same time, against one target, before their subtests report: the subtests are parallel ones, so
// they report once the function that called Test has returned, and the order of their lines is arbitrary. The target is
// no longer used when Test returns. Test stops judging shortly before the deadline of the test binary (-timeout).
func Test(t *testing.T, target Target, opts ...Option) {
	t.Helper()
	s := settingsOf(opts)
	o, err := s.options(target)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planScenarios(o)
	if err != nil {
		t.Fatal(err)
	}
	done := &outcome{complete: s.complete, byID: map[string][]Scenario{}}
	selected := done.declareSubtests(t, plan)
	if len(selected) == 0 {
		return // -run names no scenario of this target
	}
	if len(selected) < len(plan) {
		o.Tags = runner.Only(o.Tags, selected)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if end, bounded := t.Deadline(); bounded {
		left := time.Until(end)
		ctx, cancel = runner.WithDeadline(ctx, max(left-min(left/10, 30*time.Second), time.Second), o)
		defer cancel()
	}
	res, err := s.run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	done.keepResults(t, res, len(selected) == len(plan) && s.tags == "")
}

// outcome is what the subtests of a Test report, once the run is over.
type outcome struct {
	complete bool
	over     bool // the run has ended
	byID     map[string][]Scenario
}

// declareSubtests declares a subtest for each scenario, and returns the scenarios whose subtests the testing package
// runs. These wait until the caller of Test has returned, which orders what they read after what Test writes.
func (d *outcome) declareSubtests(t *testing.T, plan []runner.Planned) (selected []runner.Planned) {
	for _, pl := range plan {
		t.Run(pl.ID, func(t *testing.T) {
			selected = append(selected, pl)
			t.Parallel()
			d.reportScenario(t, pl)
		})
	}
	return selected
}

// keepResults keeps the results of the scenarios, and reports what no subtest can.
func (d *outcome) keepResults(t *testing.T, res *Result, whole bool) {
	t.Helper()
	judged := false
	for _, sc := range res.Scenarios {
		d.byID[sc.ID] = append(d.byID[sc.ID], sc)
		judged = judged || sc.Outcome != NotTested && sc.Outcome != NotApplicable && sc.Outcome != EnvError
	}
	d.over = true
	t.Logf("verdict %s over %d scenarios", res.Verdict, len(res.Scenarios))
	switch {
	case res.Environment != "":
		t.Errorf("the target cannot be judged: %s", res.Environment)
	case res.Exit == verdict.ExitHarness:
		t.Errorf("the harness failed, which says nothing of the target%s", notesOfKind(res, "harness"))
	case !judged:
		t.Error("nothing was judged: every scenario was skipped")
	case res.Exit == verdict.ExitNonConformant:
		t.Errorf("the target does not conform%s", outdatedRows(res))
	}
	if left := describeUntested(res, whole); left != "" && d.complete {
		t.Errorf("parley.RequireComplete: %s", left)
	} else if left != "" {
		t.Log(left)
	}
}

// notesOfKind returns the notes of a kind, a line each.
func notesOfKind(res *Result, kind string) (text string) {
	for _, n := range res.all.Runs[0].Notes {
		if n.Kind == kind {
			text += "\n" + n.Text
		}
	}
	return text
}

// outdatedRows names the rows of the baseline that no longer apply, a line each.
func outdatedRows(res *Result) (text string) {
	for _, row := range res.all.Runs[0].Baseline {
		if row.State == "stale" || row.State == "expired" {
			text += fmt.Sprintf("\nthe baseline's row about %s is %s", row.Clause, row.State)
		}
	}
	return text
}

// describeUntested lists the binding clauses that were not tested, by reason; "" if there are none. Of a selection,
// these are clauses of its scenarios.
func describeUntested(res *Result, whole bool) string {
	var reasons []string
	ids := map[string][]string{}
	total := 0
	for _, c := range res.all.Runs[0].Clauses {
		outside := c.Excluded || c.OtherRole || !whole && len(c.Scenarios) == 0
		if outside || c.Outcome != verdict.NotTested || !c.Level.Binding() {
			continue
		}
		reason, _, _ := strings.Cut(c.Reason, "\n")
		if ids[reason] == nil {
			reasons = append(reasons, reason)
		}
		ids[reason] = append(ids[reason], c.ID)
		total++
	}
	if total == 0 {
		return ""
	}
	text := fmt.Sprintf("%d binding clauses were not tested:", total)
	for _, reason := range reasons {
		text += fmt.Sprintf("\n%s\n    %s", reason, strings.Join(ids[reason], " "))
	}
	return text
}

// reportScenario reports the results of one scenario over all drivers.
func (d *outcome) reportScenario(t *testing.T, pl runner.Planned) {
	t.Helper()
	if !d.over {
		t.Skip("the run did not take place")
	}
	skipped := ""
	ran := false
	for _, sc := range d.byID[pl.ID] {
		text := describeScenario(sc) + "\n  again     " + rerunCommand(t.Name())
		switch sc.Outcome {
		case Failed, HarnessError, EnvError:
			t.Error(text)
		case NotTested, NotApplicable:
			skipped = strings.TrimSpace(fmt.Sprintf("%s\n%s over %s: %s", skipped, sc.Outcome, sc.Driver, sc.Reason))
			continue
		case Passed:
			if len(sc.Findings) > 0 { // of a monitor, about a clause that binds nobody
				t.Log(text)
			}
		default:
			t.Log(text)
		}
		ran = true
	}
	switch {
	case skipped != "" && !ran:
		t.Skip(skipped)
	case skipped != "":
		t.Log(skipped)
	case !ran:
		t.Error("the run has no result of this scenario")
	}
}

// describeScenario describes the result of a scenario. The first line is its place, as editors understand it.
func describeScenario(sc Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s (%s over %s)", absoluteLocation(sc.Location), sc.Name, sc.Outcome, sc.Driver)
	if len(sc.Findings) == 0 {
		writeField(&b, "reason", sc.Reason)
	}
	for _, f := range sc.Findings {
		fmt.Fprintf(&b, "\n%s: %s %s  %s", absoluteLocation(f.Location), f.Clause, f.Level, f.Text)
		during := "step"
		if f.Monitor != "" {
			during = "while"
		}
		writeField(&b, during, f.Step)
		writeField(&b, "monitor", f.Monitor)
		writeField(&b, "expected", f.Expected)
		writeField(&b, "observed", f.Observed)
		writeField(&b, "diff", strings.Trim(f.Diff, "\n"))
		writeField(&b, "at", f.At)
		writeField(&b, "wire", strings.Join(f.Wire, "\n"))
	}
	return b.String()
}

// writeField writes a labelled text, unless it is empty. Further lines are indented.
func writeField(b *strings.Builder, label, text string) {
	if text != "" {
		fmt.Fprintf(b, "\n  %-10s%s", label, strings.ReplaceAll(text, "\n", "\n            "))
	}
}

// rerunCommand returns the command that runs one subtest again.
func rerunCommand(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return "go test -run '" + strings.Join(parts, "/") + "' -v"
}

// absoluteLocation returns the absolute path of a place in the suite's features if the source of this package is at
// hand, so that an editor finds it, and otherwise the place as it is.
func absoluteLocation(place string) string {
	_, self, _, _ := runtime.Caller(0)
	file, line, _ := strings.Cut(place, ".feature:")
	full := filepath.Join(filepath.Dir(self), filepath.FromSlash(file+".feature"))
	if !filepath.IsAbs(self) || !strings.HasPrefix(place, "features/") {
		return place
	}
	if _, err := os.Stat(full); err != nil {
		return place
	}
	return full + ":" + line
}
