package runner

import (
	"slices"
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
			{ID: "b", Clauses: []string{"2"}}}, []string{"a", "b"}},
		{"one mutant covers the others", []Mutant{{ID: "a", Clauses: []string{"1"}}, {ID: "b", Clauses: []string{"1", "2"}},
			{ID: "c", Clauses: []string{"2"}}}, []string{"b"}},
		{"the first of equal mutants", []Mutant{{ID: "a", Clauses: []string{"1"}},
			{ID: "b", Clauses: []string{"1"}}}, []string{"a"}},
		{"only uncovered clauses count", []Mutant{{ID: "a", Clauses: []string{"1", "2", "3"}},
			{ID: "b", Clauses: []string{"2", "3"}}, {ID: "c", Clauses: []string{"4"}}}, []string{"a", "c"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var got []string
			for _, m := range Cover(row.all) {
				got = append(got, m.ID)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
