package model

import (
	"slices"
	"testing"

	"parley/steps/obligation"
	"parley/steps/obligation/obligationtest"
)

// TestDuties: duties.yaml has the obligations that arise in the transcripts of these tests, with their clauses.
func TestDuties(t *testing.T) {
	duties := obligation.Duties{}
	for _, row := range slices.Concat(rows, more) {
		m := New(obligation.Ours)
		m.duties = duties
		for _, r := range script(t, row.in) {
			m.Take(r)
		}
		for _, one := range m.Reached() {
			if one.Owed < one.Settled+one.Missing {
				t.Errorf("%s: %s: owed %d, settled %d, missing %d", row.reason, one.On, one.Owed, one.Settled, one.Missing)
			}
		}
	}
	obligationtest.Duties(t, duties.List(), obligationtest.OfChart(Chart))
}

// TestChart: every clause of a life cycle is one that the model judges.
func TestChart(t *testing.T) {
	obligationtest.Moves(t, machines, Clauses())
}
