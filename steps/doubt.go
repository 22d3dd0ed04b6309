package steps

import (
	"slices"

	"parley/features/verdict"
)

// Doubt is what the verdict of a scenario depends on that later scenarios of the run, or the same one at a slower
// pace, may find out, such as which parts of a state change by themselves. Until then its failures are held back.
type Doubt struct {
	Clauses []string    // whose failures may vanish; nil: all
	Shown   []string    // that may fail although they have passed
	Settled func() bool // reports that the scenario must be judged again, by what is known now
}

// Doubt makes the scenario's failures of some clauses preliminary.
func (w *World) Doubt(d *Doubt) { w.doubt = d }

// Again reports whether the scenario is judged again. What is no part of its subject gets more time then.
func (w *World) Again() bool { return w.again }

// Doubtful reports whether a failure of the result is preliminary.
func (r Result) Doubtful() bool {
	if r.Doubt == nil {
		return false
	}
	all := r.Doubt.Clauses == nil
	return all && r.Outcome == verdict.NotTested || slices.ContainsFunc(r.Failures, func(f Failure) bool {
		return all || slices.Contains(r.Doubt.Clauses, f.Clause)
	})
}

// Hasty reports whether the result has passed by what may prove to be no evidence.
func (r Result) Hasty() bool {
	return r.Doubt != nil && len(r.Failures) == 0 && slices.ContainsFunc(r.Clauses, func(c verdict.Judgement) bool {
		return c.Outcome == verdict.Passed && slices.Contains(r.Doubt.Shown, c.Clause)
	})
}

// RunNoter is an optional interface of what scenarios keep in Env.Learnt. The notes appear once in the report of the
// run.
type RunNoter interface{ RunNotes() []string }
