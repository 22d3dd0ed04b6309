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
	if *update {
		out, err := yaml.MarshalWithOptions(found.List(), yaml.Flow(false))
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
	if diff := cmp.Diff(chart.Duties, found.List()); diff != "" {
		t.Errorf("duties.yaml; want(-) got(+); go test -run TestDuties -update:\n%s", diff)
	}
}

// TestChart: every clause of a life cycle is one that the model judges, and everything owed has a name.
func TestChart(t *testing.T) {
	var judged []string
	for _, m := range slices.Concat(All(), Foreign()) {
		judged = append(judged, m.Clauses...)
	}
	judged = slices.Concat(judged, preselected, unsent, sending)
	for _, m := range machines {
		for _, move := range m.Moves {
			for _, id := range move.Clauses {
				if !slices.Contains(judged, id) {
					t.Errorf("%s: %s is not judged", m.Name, id)
				}
			}
		}
	}
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
