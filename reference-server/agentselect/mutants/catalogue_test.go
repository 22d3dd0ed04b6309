package mutants

import (
	"fmt"
	"regexp"
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
	for _, problem := range set.Problems(regexp.MustCompile(`^A[SC]-\d{3}$`).MatchString) {
		t.Error(problem)
	}
	broken := map[string]bool{}
	for _, m := range All() {
		for _, c := range m.Clauses {
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
	for _, c := range needed() {
		if !broken[c] {
			t.Errorf("no mutant breaks %s", c)
		}
	}
}
