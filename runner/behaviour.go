package runner

import (
	"parley/reports"
	"parley/steps"
	"parley/steps/obligation"
)

// behaviour is what the scenarios have reached of the protocol's model.
type behaviour struct{ reached obligation.Tally }

// obligations sums up which obligations of the protocol's model arose in the scenarios; nil if it has no chart.
func (r *run) obligations() (out []reports.Obligation) {
	charted, ok := r.protocol.(steps.Charted)
	if !ok {
		return nil
	}
	chart, err := charted.Chart(r.role)
	if err != nil || len(r.reached) == 0 {
		return nil
	}
	for _, d := range chart.Duties {
		o := reports.Obligation{On: d.On, Owes: d.Owes, Clauses: d.Clauses}
		if c := r.reached[[2]string{d.On, d.Owes}]; c != nil {
			o.Owed, o.Settled, o.Missing = c.Owed, c.Settled, c.Missing
		}
		out = append(out, o)
	}
	return out
}

// countReached adds what a scenario has reached.
func (r *run) countReached(all []obligation.Reached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reached == nil {
		r.reached = obligation.Tally{}
	}
	for _, one := range all {
		r.reached.Add(one.On, one.Owes, one.Coverage)
	}
}
