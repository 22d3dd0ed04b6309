package steps

import (
	"fmt"
	"parley/features/verdict"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGroup: repeated failures are counted on the first of their group, separately for each clause.
func TestGroup(t *testing.T) {
	of := func(group string, clauses ...string) verdict.Finding {
		return verdict.Finding{Clauses: clauses, Expected: "this", Observed: "that of " + group, At: 7, Group: group}
	}
	for _, r := range []struct {
		reason string
		checks []verdict.Finding
		want   []string // clause, what was observed, and the count
	}{
		{"without a group each is kept", []verdict.Finding{of("", "AS-001"), of("", "AS-001")},
			[]string{"AS-001 that of  0", "AS-001 that of  0"}},
		{"a single failure of a group", []verdict.Finding{of("a", "AS-001")}, []string{"AS-001 that of a 0"}},
		{"others of a group are counted on the first", []verdict.Finding{of("a", "AS-001"), of("a", "AS-001"), of("a",
			"AS-001")},
			[]string{"AS-001 that of a 3"}},
		{"each group by itself", []verdict.Finding{of("a", "AS-001"), of("b", "AS-001"), of("a", "AS-001")},
			[]string{"AS-001 that of a 2", "AS-001 that of b 0"}},
		{"each clause by itself", []verdict.Finding{of("a", "AS-001"), of("a", "AS-001", "AS-005")},
			[]string{"AS-001 that of a 2", "AS-005 that of a 0"}},
		{"passed checks do not count", []verdict.Finding{of("a", "AS-001"),
			{Clauses: []string{"AS-001"}, OK: true, Group: "a"}}, []string{"AS-001 that of a 0"}},
		{"warnings too", []verdict.Finding{of("a", "AS-002"), of("a", "AS-002")}, []string{"AS-002 that of a 2"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			w := world(t, false, "@AS-001", "@AS-002", "@AS-005")
			if err := w.Judge(r.checks...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range w.failures {
				got = append(got, fmt.Sprintf("%s %s %d", f.Clause, f.Observed, f.Count))
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("kept; want(-) got(+):\n%s", diff)
			}
		})
	}
}

// TestFailuresAreBounded: failures beyond the bound are counted, and none is lost. A group whose first failure is
// kept still counts there.
func TestFailuresAreBounded(t *testing.T) {
	w := world(t, false, "@AS-001", "@AS-005")
	for i := range maxKept + 5 {
		_ = w.Judge(verdict.Finding{Clauses: []string{"AS-001"}, Expected: "this", Observed: "that",
			Group: fmt.Sprint(i % (maxKept + 2))})
	}
	_ = w.Judge(verdict.Finding{Clauses: []string{"AS-005"}, Expected: "this", Observed: "that"})
	total := 0
	for _, f := range w.failures {
		total += max(1, f.Count)
	}
	first, last := w.failures[0], w.failures[maxKept-1]
	if len(w.failures) != maxKept+1 || total != maxKept+6 || first.Count != 2 || last.Count != 3 {
		t.Errorf("%d are kept, which count %d, the first %d and the last %d; want %d, %d, 2 and 3",
			len(w.failures), total, first.Count, last.Count, maxKept+1, maxKept+6)
	}
}
