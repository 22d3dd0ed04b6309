package model

import (
	"testing"

	"parley/steps/obligation"
	"parley/steps/obligation/obligationtest"
)

// TestDuties: duties.yaml has the obligations that arise in the transcripts of these tests, with their clauses.
func TestDuties(t *testing.T) {
	duties := obligation.Duties{}
	for _, r := range everyRow() {
		b := NewBus(obligation.Ours)
		b.shared.duties = duties
		for _, record := range script(t, r.in) {
			b.Take(record)
		}
	}
	obligationtest.Duties(t, duties.List(), obligationtest.OfChart(Chart))
}

// TestChart: every clause of a life cycle is one that the model judges.
func TestChart(t *testing.T) {
	obligationtest.Moves(t, machines, Clauses())
}
