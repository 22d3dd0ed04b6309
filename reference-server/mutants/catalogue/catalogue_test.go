package catalogue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReader(t *testing.T) {
	all := Reader([]byte("- id: folds-case\n  clauses: [AS-079]\n  why: names are folded\n"))
	first := all()
	first[0].Clauses[0] = "changed"
	want := []Mutant{{ID: "folds-case", Clauses: []string{"AS-079"}, Why: "names are folded"}}
	if diff := cmp.Diff(want, all()); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownKey(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Reader([]byte("- id: folds-case\n  clause: [AS-079]\n"))()
}
