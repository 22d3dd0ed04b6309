package model

import (
	"slices"
	"testing"

	"parley/steps/obligation"
	"parley/steps/obligation/obligationtest"
)

// TestDuties: duties.yaml has the obligations that arise in the transcripts of these tests, with their clauses.
func TestDuties(t *testing.T) {
	found := obligation.Duties{}
	collect := func(in string) {
		m := New(obligation.Ours)
		m.duties = found
		for _, r := range script(t, in) {
			m.Take(r)
		}
	}
	for _, r := range actRows {
		collect(r.in)
	}
	for _, r := range owingRows {
		collect(r.in)
	}
	obligationtest.Duties(t, found.List(), obligationtest.OfChart(Chart))
}

// TestChart: every clause of a life cycle is one that the model judges, and everything owed has a name.
func TestChart(t *testing.T) {
	var judged []string
	for _, m := range slices.Concat(All(), Foreign()) {
		judged = append(judged, m.Clauses...)
	}
	obligationtest.Moves(t, machines, slices.Concat(judged, preselected, unsent, sending))
	chart, err := Chart()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range chart.Duties {
		if d.On == "" || d.Owes == "" {
			t.Errorf("a duty without a name: %+v", d)
		}
	}
}
