package model

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
)

// foreignRow is a transcript with the expected findings of one monitor: clauses that it must show to hold, among others
// ("-": it shows none), and all clauses that it must find broken.
type foreignRow struct{ subject, reason, in, kept, broken string }

func TestForeign(t *testing.T) {
	held, caught := map[string]bool{}, map[string]bool{}
	for _, r := range foreignRows {
		t.Run(r.subject+"/"+r.reason, func(t *testing.T) {
			found := foreignSubjects[r.subject].judge(obligation.Foreign, script(t, r.in))
			for _, f := range found {
				if !f.OK && (f.Expected == "" || f.Observed == "" || f.At == 0) {
					t.Errorf("%+v", f)
				}
			}
			kept, broken := judged(found)
			for id := range strings.FieldsSeq(strings.TrimPrefix(r.kept, "-")) {
				if !kept["EA-"+id] {
					t.Errorf("EA-%s is not shown to be kept", id)
				}
				held[r.subject+" EA-"+id] = true
			}
			if r.kept == "-" && len(kept) > 0 {
				t.Errorf("shown to be kept: %v", slices.Sorted(maps.Keys(kept)))
			}
			got := strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(broken)), " "), "EA-", "")
			if diff := cmp.Diff(r.broken, got); diff != "" {
				t.Errorf("broken; want(-) got(+):\n%s", diff)
			}
			for id := range broken {
				caught[r.subject+" "+id] = true
			}
		})
	}
	for name, of := range foreignSubjects { // each clause has a row in which it holds, and one that breaks it
		for id := range strings.FieldsSeq(of.clauses) {
			if !held[name+" "+id] {
				t.Errorf("no row shows %s of %s kept", id, name)
			}
			if !caught[name+" "+id] {
				t.Errorf("no row shows %s of %s broken", id, name)
			}
		}
	}
}

// TestErrorsNamed checks whose answer an error without replyTo is in a run, where the harness sends what is refused.
func TestErrorsNamed(t *testing.T) {
	const old = `A > {"v":"mvp-0.1","type":"snapshot.get","id":"o","payload":{}}` + "\n"
	unnamed, next := refuse("", "INVALID_MESSAGE"), snap("g", movies)
	inBytes := strings.NewReplacer(`"id":"o"`, `"id":"bytes"`, "mvp-0.1", vocab.Version).Replace(old)
	for _, r := range []struct {
		reason, in string
		broken     int
	}{
		{"of a request of another version", stage + old + unnamed + next, 1},
		{"of a call", stage + picks + unnamed + next, 1},
		{"of a call behind an illegal request", stage + old + refuse("o", "INVALID_MESSAGE") + next + picks + unnamed +
			snap("h", movies), 1},
		{"of a call in a second session", stage + picks + picked + end + ended + another +
			call("d", "select", fits) + unnamed + next, 1},
		{"named", stage + old + refuse("o", "INVALID_MESSAGE") + next, 0},
		{"answered behind it", stage + picks + unnamed + picked + next, 0},
		{"of one of two requests", stage + picks + old + unnamed + next, 0},
		{"of what is no JSON, or of a call", stage + "A > hello\n" + picks + unnamed + next, 0},
		{"of what has no id, or of a call", stage + `A > {"v":"mvp-0.2","type":"x","payload":{}}` + "\n" + picks + unnamed +
			next, 0},
		{"of a binary frame, in which nobody need read an id", stage + inBytes + unnamed + next, 0},
		{"of a binary frame, answered, and of a call", stage + inBytes + refuse("bytes", "INVALID_MESSAGE") + next + picks +
			unnamed + snap("h", movies), 1},
		{"of an agent.message", stage + talks + unnamed + next, 0},
		{"of a call, or about a party that has come", stage + picks + "B open\n" + unnamed + next, 0},
		{"of a call, or about a host that has gone", "host open\n" + stage + picks + "host closed\n" + unnamed + next, 0},
		{"of a call, and nothing follows", stage + picks + unnamed, 0},
		{"passed on by a relay", "host open\n" + stage + picks +
			`host > {"v":"mvp-0.2","type":"error","payload":{"code":"INVALID_MESSAGE","message":"m"}}` + "\n" + unnamed +
			next, 0},
	} {
		t.Run(r.reason, func(t *testing.T) {
			broken, records := 0, script(t, r.in)
			for i := range records {
				if e := records[i].Event; e != nil && e.RequestID == "bytes" {
					records[i].Type = "binary"
				}
			}
			for _, f := range (subject{vocab.Host, "EA-068"}).judge(obligation.Ours, records) {
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
