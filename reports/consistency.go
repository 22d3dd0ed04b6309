package reports

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/words"
)

// checkConsistency returns an error if parts of results contradict each other, as after an edit by hand. It cannot find
// an edit that changes every part alike.
func checkConsistency(r *Results) error {
	for i := range r.Runs {
		run := &r.Runs[i]
		if err := checkRunConsistency(run); err != nil {
			return fmt.Errorf("the results contradict themselves, as if they were altered: %s: %w", runName(run), err)
		}
		if isBetterVerdict(r.Verdict, run.Verdict) {
			return fmt.Errorf("the results contradict themselves, as if they were altered: the verdict is %s, and that of %s "+
				"is %s", r.Verdict, runName(run), run.Verdict)
		}
	}
	wrong := false
	switch r.Exit {
	case verdict.ExitConformant:
		wrong = r.Fails()
	case verdict.ExitNonConformant:
		wrong = !r.Fails()
	case verdict.ExitIncomplete:
		wrong = r.Verdict != verdict.Incomplete
	}
	if wrong {
		return fmt.Errorf("the results contradict themselves, as if they were altered: the verdict is %s, and the exit code "+
			"%d", r.Verdict, r.Exit)
	}
	return nil
}

// isBetterVerdict reports whether a is a better verdict than b.
func isBetterVerdict(a, b verdict.Verdict) bool {
	order := []verdict.Verdict{verdict.NonConformant, verdict.Incomplete, verdict.AsExpected, verdict.Conformant}
	return slices.Index(order, a) > slices.Index(order, b)
}

// CheckTotals returns an error if the totals of a run do not count the clauses and scenarios that it lists. ReadJSON
// checks clauses alone: results of mutants leave out scenarios that tell nothing.
func CheckTotals(run *Run) error {
	if err := sameCount("clause", run.Totals.Clauses, listedClauses(run)); err != nil {
		return err
	}
	listed := map[verdict.Outcome]int{}
	for _, s := range run.Scenarios {
		listed[s.Outcome]++
	}
	return sameCount("scenario", run.Totals.Scenarios, listed)
}

// sameCount compares a total with what is listed.
func sameCount(noun string, told Count, listed map[verdict.Outcome]int) error {
	total := 0
	for _, o := range verdict.Outcomes {
		total += listed[o]
		if n := told.ByOutcome[o]; n != listed[o] {
			return fmt.Errorf("the totals count %s as %s, and %d are listed", words.Counted(n, noun),
				strings.ReplaceAll(string(o), "-", " "), listed[o])
		}
	}
	if told.Total != total {
		return fmt.Errorf("the totals count %s in all, and %d are listed", words.Counted(told.Total, noun), total)
	}
	return nil
}

// listedClauses counts the clauses that a run lists for its role.
func listedClauses(run *Run) map[verdict.Outcome]int {
	listed := map[verdict.Outcome]int{}
	for _, c := range run.Clauses {
		if !c.Excluded && !c.OtherRole {
			listed[c.Outcome]++
		}
	}
	return listed
}

func checkRunConsistency(run *Run) error {
	listed := listedClauses(run)
	if err := sameCount("clause", run.Totals.Clauses, listed); err != nil {
		return err
	}
	bad := listed[verdict.Failed] + listed[verdict.UnexpectedPass]
	switch {
	case run.Verdict != verdict.NonConformant && bad > 0:
		return fmt.Errorf("it is %s, and %s failed", run.Verdict, words.Counted(bad, "clause"))
	case run.Verdict == verdict.Conformant && (listed[verdict.ExpectedFail] > 0 || wasForgiving(*run)):
		return fmt.Errorf("it is conformant, and a baseline excused %s",
			words.Counted(listed[verdict.ExpectedFail], "clause"))
	}
	return nil
}
