package reports

import (
	"strings"

	"parley/reports/lang"
)

// Obligation is what the target owes on a message, as the model of the protocol has it, and how often that arose in a
// run.
type Obligation struct {
	On      string   `json:"on"`
	Owes    string   `json:"owes"`
	Clauses []string `json:"clauses"`
	Owed    int      `json:"owed"`    // it arose
	Settled int      `json:"settled"` // and what was owed came, also if it was not owed but permitted
	Missing int      `json:"missing"` // and it did not come
}

// unreached lists the obligations that never arose in a run.
func (r *Run) unreached() (out []Obligation) {
	for _, o := range r.Obligations {
		if o.Owed == 0 {
			out = append(out, o)
		}
	}
	return out
}

// shortlyNamed is how many obligations that never arose a brief report names.
const shortlyNamed = 3

// reachedLine says in one line how many obligations of the model arose, and which did not, unless they are many and the
// report is brief; "" if there is no model.
func (r *Run) reachedLine(l lang.Lang, verbose bool) string {
	never := r.unreached()
	if len(r.Obligations) == 0 {
		return ""
	}
	line := l.Say("%d of %d obligations of the model arose", len(r.Obligations)-len(never), len(r.Obligations))
	if len(never) == 0 || !verbose && len(never) > shortlyNamed {
		return line
	}
	var names []string
	for _, o := range never {
		names = append(names, l.Of(o.On)+" → "+l.Of(o.Owes))
	}
	return line + "; " + l.Say("not: %s", strings.Join(names, ", "))
}
