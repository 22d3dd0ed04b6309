package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/verdict"
)

// consistent returns an error if parts of results contradict each other, as after an edit by hand. It cannot find an
// edit that changes every part alike.
func consistent(r *Results) error {
	for i := range r.Runs {
		run := &r.Runs[i]
		if err := consistentRun(run); err != nil {
			return fmt.Errorf("the results contradict themselves, as if they were altered: %s: %w", runName(run), err)
		}
		if better(r.Verdict, run.Verdict) {
			return fmt.Errorf("the results contradict themselves, as if they were altered: the verdict is %s, and that of %s "+
				"is %s", r.Verdict, runName(run), run.Verdict)
		}
	}
	wrong := false
	switch r.Exit {
	case verdict.ExitConformant:
		wrong = r.Verdict == verdict.NonConformant
	case verdict.ExitNonConformant:
		wrong = r.Verdict != verdict.NonConformant
	case verdict.ExitIncomplete:
		wrong = r.Verdict != verdict.Incomplete
	}
	if wrong {
		return fmt.Errorf("the results contradict themselves, as if they were altered: the verdict is %s, and the exit code "+
			"%d", r.Verdict, r.Exit)
	}
	return nil
}

// better reports whether a is a better verdict than b.
func better(a, b verdict.Verdict) bool {
	order := []verdict.Verdict{verdict.NonConformant, verdict.Incomplete, verdict.AsExpected, verdict.Conformant}
	return slices.Index(order, a) > slices.Index(order, b)
}

func consistentRun(run *Run) error {
	listed := map[verdict.Outcome]int{}
	for _, c := range run.Clauses {
		if !c.Excluded && !c.OtherRole {
			listed[c.Outcome]++
		}
	}
	for _, o := range verdict.Outcomes {
		if n := run.Totals.Clauses.ByOutcome[o]; n != listed[o] {
			return fmt.Errorf("the totals count %s as %s, and %d are listed", words.Counted(n, "clause"),
				strings.ReplaceAll(string(o), "-", " "), listed[o])
		}
	}
	bad := listed[verdict.Failed] + listed[verdict.UnexpectedPass]
	switch {
	case run.Verdict != verdict.NonConformant && bad > 0:
		return fmt.Errorf("it is %s, and %s failed", run.Verdict, words.Counted(bad, "clause"))
	case run.Verdict == verdict.Conformant && (listed[verdict.ExpectedFail] > 0 || leniently(*run)):
		return fmt.Errorf("it is conformant, and a baseline excused %s",
			words.Counted(listed[verdict.ExpectedFail], "clause"))
	}
	return nil
}
