package diagnosis

import (
	"slices"
	"testing"

	"parley/reports"
)

// TestResemble: without scenarios, a failure looks like the faults that break its clause in the same way; the one that
// explains more of all failures is the first, then the one that breaks less besides.
func TestResemble(t *testing.T) {
	same, other := kind("a"), kind("b")
	set := NewSet([]Fault{
		{"wide", "", []Finding{{"s1", "X-1", same}, {"s1", "X-3", same}}},
		{"narrow", "", []Finding{{"s1", "X-1", same}}},
		{"both", "", []Finding{{"s1", "X-1", same}, {"s2", "X-2", other}}},
		{"otherwise", "", []Finding{{"s1", "X-1", other}}},
	})
	fails := func(clause, expected string) reports.Failure {
		return reports.Failure{Clause: clause, Expected: expected, Observed: "another thing"}
	}
	for _, row := range []struct {
		reason   string
		failures []reports.Failure
		want     []string
	}{
		{"one failure", []reports.Failure{fails("X-1", "a")}, []string{"narrow", "both", "wide"}},
		{"two failures", []reports.Failure{fails("X-1", "a"), fails("X-2", "b")}, []string{"both", "narrow", "wide"}},
		{"another way", []reports.Failure{fails("X-1", "b")}, []string{"otherwise"}},
		{"a way that no fault has", []reports.Failure{fails("X-1", "c")}, nil},
		{"another clause alone", []reports.Failure{fails("X-2", "b")}, nil},
	} {
		var got []string
		for _, l := range set.resemble("X-1", row.failures) {
			got = append(got, l.Fault)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
