package mutants

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// needed returns the clauses that at least one mutant must break: those that a server can break on the wire. A clause
// of level MAY, such as AS-122, can't be broken; its shape is that of AS-051, AS-072 and AS-075.
func needed() (all []string) {
	for _, r := range [][2]int{
		{5, 19}, {21, 27}, {29, 31}, {33, 34}, {40, 62}, {64, 66}, {68, 77}, {79, 85}, {87, 101}, {103, 106},
		{109, 121}, {123, 129},
	} {
		for n := r[0]; n <= r[1]; n++ {
			all = append(all, fmt.Sprintf("AS-%03d", n))
		}
	}
	return all
}

func TestCatalogue(t *testing.T) {
	name, clause := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), regexp.MustCompile(`^A[SC]-\d{3}$`)
	implemented, broken := faults(), map[string]bool{}
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.ID] || !name.MatchString(m.ID) {
			t.Errorf("id %q twice, or not in kebab case", m.ID)
		}
		seen[m.ID] = true
		if implemented[m.ID] == nil {
			t.Errorf("%s has no implementation", m.ID)
		}
		if m.Why == "" || len(m.Clauses) == 0 {
			t.Errorf("%s lacks why or clauses", m.ID)
		}
		for _, c := range m.Clauses {
			if !clause.MatchString(c) {
				t.Errorf("%s: clause %q", m.ID, c)
			}
			broken[c] = true
		}
		for _, tr := range m.Transports {
			if tr != "sse" && tr != "ws" {
				t.Errorf("%s: transport %q", m.ID, tr)
			}
		}
		if m.Greeting != "" && m.Greeting != "broken" {
			t.Errorf("%s: greeting %q", m.ID, m.Greeting)
		}
	}
	for id := range implemented {
		if !seen[id] {
			t.Errorf("%s has no row", id)
		}
	}
	for _, c := range needed() {
		if !broken[c] {
			t.Errorf("no mutant breaks %s", c)
		}
	}
}

// Faults are registered in several maps, and one must not hide another.
func TestEveryFaultIsRegisteredOnce(t *testing.T) {
	var ids []string
	for _, some := range registered() {
		for id := range some {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) != len(slices.Compact(slices.Clone(ids))) {
		t.Error("an id is registered twice")
	}
}
