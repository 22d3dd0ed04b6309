package steps

import (
	"slices"

	"parley/verdict"
)

// Doubt is what the verdict of a scenario depends on that later scenarios of the run may find out, such as which parts
// of a state change by themselves. While it may, its failures are held back.
type Doubt struct {
	Clauses []string    // whose failures may vanish
	Shown   []string    // that may fail although they have passed
	Settled func() bool // reports that the scenario must be judged again, by what is known now
}

// Doubt makes the scenario's failures of some clauses preliminary.
func (w *World) Doubt(d *Doubt) { w.doubt = d }

// Doubtful reports whether a failure of the result is preliminary.
func (r Result) Doubtful() bool {
	return r.Doubt != nil && slices.ContainsFunc(r.Failures, func(f Failure) bool {
		return slices.Contains(r.Doubt.Clauses, f.Clause)
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
