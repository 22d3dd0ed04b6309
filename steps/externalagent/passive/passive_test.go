package passive

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a transcript with the expected findings of one monitor: clauses that it must show to hold, among others
// ("-": it shows none), and all clauses that it must find broken.
type row struct{ subject, reason, in, kept, broken string }

func TestMonitors(t *testing.T) {
	held, caught := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			kept, broken := map[string]bool{}, map[string]bool{}
			for _, m := range Monitors() {
				if m.Name != r.subject {
					continue
				}
				for _, f := range m.Check(script(t, r.in)) {
					if !f.OK && (f.Expected == "" || f.Observed == "" || f.At == 0) {
						t.Errorf("%+v", f)
					}
					for _, id := range f.Clauses {
						if !slices.Contains(m.Clauses, id) {
							t.Errorf("%s is not a clause of %s", id, m.Name)
						}
						if id = strings.TrimPrefix(id, "EA-"); f.OK {
							kept[id] = true
						} else {
							broken[id] = true
						}
					}
				}
			}
			for id := range strings.FieldsSeq(strings.TrimPrefix(r.kept, "-")) {
				if !kept[id] {
					t.Errorf("EA-%s is not shown to be kept", id)
				}
				held[r.subject+" EA-"+id] = true
			}
			if r.kept == "-" && len(kept) > 0 {
				t.Errorf("shown to be kept: %v", slices.Sorted(maps.Keys(kept)))
			}
			if diff := cmp.Diff(r.broken, strings.Join(slices.Sorted(maps.Keys(broken)), " ")); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
			for id := range broken {
				caught[r.subject+" EA-"+id] = true
			}
		})
	}
	for _, m := range Monitors() { // each clause has a row in which it holds, and one that breaks it
		for _, id := range m.Clauses {
			if !held[m.Name+" "+id] {
				t.Errorf("no row shows %s of %s kept", id, m.Name)
			}
			if !caught[m.Name+" "+id] {
				t.Errorf("no row shows %s of %s broken", id, m.Name)
			}
		}
	}
}
