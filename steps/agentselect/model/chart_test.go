package model

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"parley/steps/obligation"
)

var update = flag.Bool("update", false, "write duties.yaml anew")

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
	if *update {
		out, err := yaml.MarshalWithOptions(duties.List(), yaml.Flow(false))
		if err != nil {
			t.Fatal(err)
		}
		out = append([]byte("# What TestDuties has found; -update writes it anew.\n"), out...)
		if err := os.WriteFile("duties.yaml", out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	chart, err := Chart()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(chart.Duties, duties.List()); diff != "" {
		t.Errorf("duties.yaml; want(-) got(+); go test -run TestDuties -update:\n%s", diff)
	}
}

// TestChart: every clause of a life cycle is one that the model judges.
func TestChart(t *testing.T) {
	judges := Clauses()
	for _, m := range machines {
		for _, move := range m.Moves {
			for _, id := range move.Clauses {
				if !slices.Contains(judges, id) {
					t.Errorf("%s: %s is not judged", m.Name, id)
				}
			}
		}
	}
}
