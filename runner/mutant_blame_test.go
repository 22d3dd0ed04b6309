package runner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
)

func TestBlameOf(t *testing.T) {
	killed := func(id string, n int) Killed {
		k := Killed{ID: id, Besides: []string{}}
		for i := range n {
			k.Besides = append(k.Besides, fmt.Sprint("X-", i))
		}
		return k
	}
	var twenty []Killed
	for i := range 20 { // 0, 1, …, 19
		twenty = append(twenty, killed(fmt.Sprintf("m%02d", 19-i), 19-i))
	}
	for _, tt := range []struct {
		reason string
		list   []Killed
		want   *FaultSpread
	}{
		{"nothing was run through the whole suite", []Killed{{ID: "a"}}, nil},
		{"what could not be run does not count", []Killed{{ID: "a", Besides: []string{"X"}, Error: "no port"}}, nil},
		{"a fault that shows where it is", []Killed{killed("a", 0), {ID: "not run"}}, &FaultSpread{Mutants: 1}},
		{"one of three", []Killed{killed("a", 0), killed("b", 1), killed("c", 0)},
			&FaultSpread{Mutants: 3, P95: 1, Most: 1, Worst: []MutantSpread{{"b", []string{"X-0"}}}}},
	} {
		if diff := cmp.Diff(tt.want, FaultSpreadOf(tt.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	got := FaultSpreadOf(twenty)
	if got.Median != 9 || got.P95 != 18 || got.Most != 19 || len(got.Worst) != worstShown || got.Worst[0].ID != "m19" {
		t.Errorf("of 0 to 19: %+v", got)
	}
}

func TestBesides(t *testing.T) {
	var run reports.Run
	for i, o := range verdict.Outcomes {
		run.Clauses = append(run.Clauses, reports.Clause{ID: fmt.Sprint("X-", i), Outcome: o})
	}
	run.Clauses = append(run.Clauses, reports.Clause{ID: "OWN", Outcome: verdict.Failed})
	want := []string{fmt.Sprint("X-", slices.Index(verdict.Outcomes, verdict.Warned)),
		fmt.Sprint("X-", slices.Index(verdict.Outcomes, verdict.Failed))}
	if got := otherBroken(run, []string{"OWN"}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
