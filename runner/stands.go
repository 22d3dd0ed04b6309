package runner

import (
	"slices"

	"parley/features/verdict"
	"parley/steps"
)

// A scenario that missed something beside others is judged by its rerun alone. But what arrived wrong in the first
// run is wrong whatever the rerun shows: those failures stand.

const (
	whileBeside = "the faults were found while it ran in parallel; the rest was judged by a run of its own"
	whenAlone   = "; that was in the repeated run of its own"
)

// standing returns the result of a scenario's rerun alone, with the failures of its first run that stand. If there
// are any, the first run's transcript is kept.
func standing(first, alone steps.Result) steps.Result {
	wrong := slices.DeleteFunc(slices.Clone(first.Failures),
		func(f steps.Failure) bool { return !f.Stands(first.Records) })
	if len(wrong) == 0 {
		first.Release()
		return alone
	}
	alone.Release()
	res := first
	res.Failures, res.Clauses, res.Monitors = wrong, slices.Clone(alone.Clauses), slices.Clone(alone.Monitors)
	res.Notes = append(slices.Clone(first.Notes), whileBeside)
	res.Outcome, res.Reason = alone.Outcome, alone.Reason
	if bySteps := slices.DeleteFunc(slices.Clone(wrong), byMonitor); res.Outcome != verdict.Failed && len(bySteps) > 0 {
		res.Outcome, res.Reason = steps.WorstOf(bySteps), bySteps[0].Observed
	}
	for _, f := range wrong {
		about := func(j verdict.Judgement) bool { return j.Clause == f.Clause && j.Monitor == f.Monitor }
		if i := slices.IndexFunc(res.Clauses, about); i >= 0 && res.Clauses[i].Outcome != verdict.Failed {
			res.Clauses[i].Outcome, res.Clauses[i].Reason = f.Outcome, f.Observed
		}
		if byMonitor(f) {
			res.Monitors = append(slices.DeleteFunc(res.Monitors, about),
				verdict.Judgement{Clause: f.Clause, Outcome: f.Outcome, Reason: f.Observed, Monitor: f.Monitor})
		}
	}
	for _, f := range alone.Failures {
		if !byMonitor(f) || !slices.ContainsFunc(wrong, func(g steps.Failure) bool {
			return g.Monitor == f.Monitor &&
				g.Clause == f.Clause
		}) {
			res.Failures = append(res.Failures, ofAnother(f))
		}
	}
	return res
}

func byMonitor(f steps.Failure) bool { return f.Monitor != "" }

// ofAnother adapts a failure of the rerun to the first run's transcript, which does not show it.
func ofAnother(f steps.Failure) steps.Failure {
	f.At = 0
	f.Observed += whenAlone
	f.Following = slices.Clone(f.Following)
	for i := range f.Following {
		f.Following[i].At = 0
	}
	return f
}
