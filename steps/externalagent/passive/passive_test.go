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

// TestActive checks whose answer an error without replyTo is in a run, where the harness sends what is refused.
func TestActive(t *testing.T) {
	const old = `A > {"v":"mvp-0.1","type":"snapshot.get","id":"o","payload":{}}` + "\n"
	unnamed, next := refuse("", "INVALID_MESSAGE"), snap("g", movie)
	for _, r := range []struct {
		reason, in string
		broken     int
	}{
		{"of a request of another version", stage + old + unnamed + next, 1},
		{"of a call", stage + picks + unnamed + next, 1},
		{"of a call behind an illegal request", stage + old + refuse("o", "INVALID_MESSAGE") + next + picks + unnamed +
			snap("h", movie), 1},
		{"of a call in a second session", stage + picks + picked + end + ended + again +
			call("d", "select", fits) + unnamed + next, 1},
		{"named", stage + old + refuse("o", "INVALID_MESSAGE") + next, 0},
		{"answered behind it", stage + picks + unnamed + picked + next, 0},
		{"of one of two requests", stage + picks + old + unnamed + next, 0},
		{"of what is no JSON, or of a call", stage + "A > hello\n" + picks + unnamed + next, 0},
		{"of what has no id, or of a call", stage + `A > {"v":"mvp-0.2","type":"x","payload":{}}` + "\n" + picks + unnamed +
			next, 0},
		{"of an agent.message", stage + speaks + unnamed + next, 0},
		{"of a call, or about a party that has come", stage + picks + "B open\n" + unnamed + next, 0},
		{"of a call, or about a host that has gone", "host open\n" + stage + picks + "host closed\n" + unnamed + next, 0},
		{"of a call, and nothing follows", stage + picks + unnamed, 0},
		{"passed on by a relay", "host open\n" + stage + picks +
			`host > {"v":"mvp-0.2","type":"error","payload":{"code":"INVALID_MESSAGE","message":"m"}}` + "\n" + unnamed +
			next, 0},
	} {
		t.Run(r.reason, func(t *testing.T) {
			broken := 0
			for _, f := range Active()[0].Check(script(t, r.in)) {
				if !f.OK {
					broken++
				}
			}
			if broken != r.broken {
				t.Errorf("%d findings, want %d", broken, r.broken)
			}
		})
	}
}
