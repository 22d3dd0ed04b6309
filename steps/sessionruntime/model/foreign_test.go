package model_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	judge "parley/steps/sessionruntime/model"
)

// row is a transcript with the expected findings of one monitor: clauses that it must show to hold, among others, and
// all clauses that it must find broken.
// The subjects of the rows.
const (
	inputs    = "inputs"
	active    = "active agent"
	acks      = "acknowledgements"
	outputs   = "outputs"
	cancels   = "cancels"
	moves     = "moves"
	handovers = "handovers"
	sessions  = "sessions"
	errors    = "errors"
)

type row struct{ subject, reason, in, kept, broken string }

func found(t *testing.T, in string) (kept, broken map[string]bool) {
	t.Helper()
	kept, broken = map[string]bool{}, map[string]bool{}
	for _, m := range judge.TrafficMonitors() {
		for _, f := range m.Check(script(t, in)) {
			if f.Follows {
				continue
			}
			if !f.OK && (f.Expected == "" || f.Observed == "" || f.At == 0) {
				t.Errorf("%+v", f)
			}
			for _, id := range f.Clauses {
				if id = strings.TrimPrefix(id, "RT-"); f.OK {
					kept[id] = true
				} else {
					broken[id] = true
				}
			}
		}
	}
	return kept, broken
}

func TestMonitors(t *testing.T) {
	shown, caught := map[string]bool{}, map[string]bool{}
	for _, r := range slices.Concat(inputRows, turnRows, moveRows, handoverRows) {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			kept, broken := found(t, r.in)
			for id := range strings.FieldsSeq(strings.TrimPrefix(r.kept, "-")) {
				if !kept[id] {
					t.Errorf("RT-%s is not shown to be kept", id)
				}
				shown["RT-"+id] = true
			}
			for id := range strings.FieldsSeq(r.broken) {
				if !broken[id] {
					t.Errorf("RT-%s is not found broken", id)
				}
			}
			if r.broken == "" && len(broken) > 0 {
				t.Errorf("found broken: %v", slices.Sorted(maps.Keys(broken)))
			}
			for id := range broken {
				caught["RT-"+id] = true
			}
		})
	}
	for _, m := range judge.TrafficMonitors() { // each clause has a row in which it holds, and one that breaks it
		for _, id := range m.Clauses {
			if !shown[id] {
				t.Errorf("no row shows %s of %s kept", id, m.Name)
			}
			if !caught[id] {
				t.Errorf("no row shows %s of %s broken", id, m.Name)
			}
		}
	}
}
