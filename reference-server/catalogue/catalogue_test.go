package catalogue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/faultrule"
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

func TestSet(t *testing.T) {
	s := New([]byte("- id: adds\n  clauses: [AS-1]\n  why: x\n- id: Adds\n  clauses: [AS-2]\n# - id: survives\n"),
		map[string]func(*int){"adds": func(n *int) { *n++ }}, map[string]func(*int){"lost": func(*int) {}})
	n := 1
	if err := s.Put("adds", &n); err != nil || n != 2 {
		t.Errorf("n is %d, err %v", n, err)
	}
	if s.Put("other", &n) == nil {
		t.Error("an unknown id is accepted")
	}
	want := []string{
		"Adds: the id has two rows, or is not in kebab case", "Adds has no fault", "Adds lacks why or clauses",
		"Adds: clause AS-2 is not tested", "survives has no fault", "lost has no row",
	}
	if diff := cmp.Diff(want, s.Problems(func(clause string) bool { return clause == "AS-1" })); diff != "" {
		t.Error(diff)
	}
}

func TestTwoFaultsOfOneID(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	group := map[string]func(*int){"adds": func(*int) {}}
	New(nil, group, group)
}

func TestMessages(t *testing.T) {
	rows := []byte("- id: loses\n  fault: {on: &last {type: end}, do: drop}\n" +
		"- id: renames\n  fault: [{on: *last, do: {retype: stop}}, {do: {set: {/n: 7}}}]\n- id: function\n")
	type options struct {
		pass func(m map[string]any) []map[string]any
	}
	s := New(rows, map[string]func(*options){"function": func(*options) {}}).Messages(func(o *options, f Faults) {
		x := Inside(f, Form[map[string]any, Number]("/type"))
		o.pass = func(m map[string]any) []map[string]any { return x.Pass("C1", faultrule.Server, m) }
	})
	for id, want := range map[string][]map[string]any{"loses": nil, "renames": {{"type": "stop", "n": Number("7")}}} {
		var o options
		if err := s.Put(id, &o); err != nil {
			t.Fatal(err)
		}
		got := o.pass(map[string]any{"type": "end"})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	for _, text := range []string{"- id: a\n  fault: {do: lose}\n", "- id: a\n  fault: {set: {/a: 1}}\n"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", text)
				}
			}()
			Reader([]byte(text))()
		}()
	}
}
