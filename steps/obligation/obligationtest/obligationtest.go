// Package obligationtest checks the charts of models in their tests.
package obligationtest

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

// Duties checks that duties.yaml of the current folder has the duties that arose in the transcripts of a model's tests:
// a list of obligation.Duty, or one for each role. With -update it writes them there instead. has returns what
// the file has.
func Duties[T any](t *testing.T, arose T, has func() (T, error)) {
	t.Helper()
	if *update {
		out, err := yaml.MarshalWithOptions(arose, yaml.Flow(false))
		if err != nil {
			t.Fatal(err)
		}
		out = append([]byte("# What TestDuties has found; -update writes it anew.\n"), out...)
		if err := os.WriteFile("duties.yaml", out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := has()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, arose); diff != "" {
		t.Errorf("duties.yaml; want(-) got(+); go test -run TestDuties -update:\n%s", diff)
	}
}

// OfChart returns what Duties compares for a model with one chart.
func OfChart(chart func() (obligation.Chart, error)) func() ([]obligation.Duty, error) {
	return func() ([]obligation.Duty, error) {
		c, err := chart()
		return c.Duties, err
	}
}

// Moves checks that every clause of a life cycle is one that the model judges.
func Moves(t *testing.T, machines []obligation.Machine, judged []string) {
	t.Helper()
	for _, m := range machines {
		for _, move := range m.Moves {
			for _, id := range move.Clauses {
				if !slices.Contains(judged, id) {
					t.Errorf("%s: %s is not judged", m.Name, id)
				}
			}
		}
	}
}
