package steps

import "slices"

// Doubt is what the verdict of a scenario depends on that later scenarios of the run may find out, such as which parts
// of a state change by themselves. While it may, its failures are held back.
type Doubt struct {
	Clauses []string    // whose failures may vanish
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
