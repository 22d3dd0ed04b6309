package model

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/steps/obligation"
)

// row is a transcript with the expected findings of one monitor: clauses that it must show to hold, among others
// ("=": exactly these), and all clauses that it must find broken.
type row struct{ subject, reason, in, kept, broken string }

func TestForeign(t *testing.T) {
	held, caught := map[string]bool{}, map[string]bool{}
	for _, r := range slices.Concat(rows, moreRows) {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			kept, broken := map[string]bool{}, map[string]bool{}
			for _, m := range Foreign() {
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
						if id = strings.TrimPrefix(id, "AC-"); f.OK {
							kept[id] = true
						} else {
							broken[id] = true
						}
					}
				}
			}
			for id := range strings.FieldsSeq(strings.TrimPrefix(r.kept, "=")) {
				if !kept[id] {
					t.Errorf("AC-%s is not shown to be kept", id)
				}
				held[r.subject+" AC-"+id] = true
			}
			if only, ok := strings.CutPrefix(r.kept, "="); ok && len(strings.Fields(only)) != len(kept) {
				t.Errorf("shown to be kept: %v, want%s", slices.Sorted(maps.Keys(kept)), only)
			}
			if diff := cmp.Diff(r.broken, strings.Join(slices.Sorted(maps.Keys(broken)), " ")); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
			for id := range broken {
				caught[r.subject+" AC-"+id] = true
			}
		})
	}
	for _, m := range Foreign() { // each clause has a row in which it holds, and one that breaks it
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

// TestSoundTraffic: monitors find nothing broken in correct traffic.
func TestSoundTraffic(t *testing.T) {
	for _, r := range slices.Concat(rows, moreRows) {
		if r.broken != "" {
			continue
		}
		for _, m := range Foreign() {
			for _, f := range m.Check(script(t, r.in)) {
				if !f.OK && !strings.Contains(r.reason, "for another monitor") {
					t.Errorf("%s: %s finds %v broken: want %s, got %s", r.reason, m.Name, f.Clauses, f.Expected, f.Observed)
				}
			}
		}
	}
}

// TestBounded: endless traffic, with ever new agents, is judged in bounded memory.
func TestBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("open\n" + list("a", "b") + create("", "s"))
	for i := range 3 * mostAsked {
		b.WriteString(asks("b", "s"))
		b.WriteString(list("a", "b"+strings.Repeat("c", i)))
	}
	records := script(t, b.String())
	m := New(obligation.Foreign)
	for _, r := range records {
		m.Take(r)
	}
	p := m.pages["A"]
	if len(p.open) > mostAsked || len(p.ids) > mostNames {
		t.Errorf("%d requests and %d agents are kept", len(p.open), len(p.ids))
	}
}
