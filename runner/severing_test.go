package runner

import (
	"testing"

	"parley/features/verdict"
	"parley/steps"
	"parley/transport/transcript"
)

// TestWithoutChance: a few points that a course ends without are none; many are a fault, and stay.
func TestWithoutChance(t *testing.T) {
	ended := &steps.Result{Outcome: verdict.NotTested, Reason: steps.NoCut + "26 records"}
	passed := &steps.Result{Outcome: verdict.Passed}
	failed := &steps.Result{Outcome: verdict.Failed, Reason: "it did not come back"}
	other := &steps.Result{Outcome: verdict.NotTested, Reason: "another reason"}
	for _, row := range []struct {
		reason        string
		points, ended int
		one           *steps.Result // the first point; the others that have not ended passed
		want          int
	}{
		{"all reached", 20, 0, passed, 20},
		{"the last was chance", 20, 1, passed, 19},
		{"two of twenty", 20, 2, passed, 18},
		{"one of a short course", 3, 1, passed, 2},
		{"more than a tenth", 20, 3, passed, 20},
		{"all of them", 2, 2, ended, 2},
		{"one that broke stays", 20, 1, failed, 19},
		{"one that was not tested for another reason stays", 20, 1, other, 19},
	} {
		points := make([]cutPoint, row.points)
		for i := range points {
			points[i].res = passed
			if i >= row.points-row.ended {
				points[i].res = ended
			}
		}
		points[0].res = row.one
		kept, records := withoutChance(points, make([]transcript.Record, row.points))
		if len(kept) != row.want || len(records) != row.want || kept[0].res != row.one {
			t.Errorf("%s: %d points and %d records are left, want %d", row.reason, len(kept), len(records), row.want)
		}
	}
}
