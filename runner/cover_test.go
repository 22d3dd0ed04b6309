package runner

import (
	"slices"
	"strings"
	"testing"
)

func TestCover(t *testing.T) {
	for _, row := range []struct {
		reason string
		all    []Mutant
		want   []string
	}{
		{"none", nil, nil},
		{"each mutant has a clause of its own", []Mutant{{ID: "a", Clauses: []string{"1"}},
			{ID: "b", Clauses: []string{"2"}}}, []string{"a1", "b2"}},
		{"one mutant covers the others", []Mutant{{ID: "a", Clauses: []string{"1"}}, {ID: "b", Clauses: []string{"1", "2"}},
			{ID: "c", Clauses: []string{"2"}}}, []string{"b12"}},
		{"the first of equal mutants", []Mutant{{ID: "a", Clauses: []string{"1"}},
			{ID: "b", Clauses: []string{"1"}}}, []string{"a1"}},
		{"a mutant proves what the others do not", []Mutant{{ID: "a", Clauses: []string{"1", "2"}},
			{ID: "b", Clauses: []string{"2", "3"}}}, []string{"a12", "b3"}},
		{"only uncovered clauses count", []Mutant{{ID: "a", Clauses: []string{"1", "2", "3"}},
			{ID: "b", Clauses: []string{"2", "3"}}, {ID: "c", Clauses: []string{"4"}}}, []string{"a123", "c4"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var got []string
			for _, m := range CoverClauses(row.all) {
				got = append(got, m.ID+strings.Join(m.Proves, ""))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
