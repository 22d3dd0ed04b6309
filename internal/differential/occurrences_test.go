package differential

import (
	"testing"

	"parley/reports"
	"parley/simulator/replay"
)

// changed is a message of which one member differs.
func changed(record int, typ, at, a, b string) replay.Deviation {
	return replay.Deviation{Kind: replay.Changed, AtA: record, AtB: record, A: &replay.Wire{N: record, Type: typ},
		B: &replay.Wire{N: record, Type: typ}, Places: []replay.Place{{At: at, Recorded: a, Came: b}}}
}

func scenario(id string, failures ...reports.Failure) *reports.Scenario {
	return &reports.Scenario{ID: id, Driver: "ws", Feature: "4 Answers", Failures: failures}
}

// TestGroup checks which differences become one entry, and which clause decides it.
func TestGroup(t *testing.T) {
	t.Parallel()
	failed := reports.Failure{Clause: "XX-001", Level: "MUST", At: "client A, record 7, +1.0 ms"}
	f := &findings{scenarios: 10, notCompared: map[string]int{}}
	for _, id := range []string{"XX-1", "XX-2"} {
		f.addScenario(scenario(id), scenario(id),
			[]replay.Deviation{changed(3, "error", "/text", `"no such thing"`, `"not found"`)})
	}
	f.addScenario(scenario("XX-3"), scenario("XX-3", failed), []replay.Deviation{
		changed(3, "error", "/text", `"no such name"`, `"unknown"`),
		changed(5, "reply", "/of/2/id", `"id-of-the-one"`, `"id-of-the-other"`),
		changed(7, "answer", "/id", `"id-of-the-one"`, `"id-of-the-other"`),
		changed(9, "later", "/state", `"open"`, `"shut"`)})
	f.addScenario(scenario("XX-4"), scenario("XX-4", reports.Failure{Clause: "XX-002", Level: "SHOULD"}), nil)
	want := map[string]struct {
		class Class
		count int
	}{"error": {Open, 3}, "answer": {Decided, 1}, "reply": {Decided, 1}, "later": {Follows, 1}, "XX-002": {Decided, 1}}
	all := groupFindings(f)
	if len(all) != len(want) {
		t.Errorf("%d entries, want %d", len(all), len(want))
	}
	for i, e := range all {
		w := want[e.Message]
		if e.Class != w.class || e.Count != w.count || e.Number != i+1 {
			t.Errorf("%s: class %s, %d times, number %d; want %s, %d times, number %d", e.Message, e.Class, e.Count, e.Number,
				w.class, w.count, i+1)
		}
		if e.Class == Decided && (len(e.Decisions) != 1 || e.Decisions[0].Breaks != "b") {
			t.Errorf("%s is decided by %+v", e.Message, e.Decisions)
		}
	}
}

// TestConfirm checks that differences that do not recur are removed, and that the others stay.
func TestConfirm(t *testing.T) {
	t.Parallel()
	once := func(devs ...replay.Deviation) *findings {
		f := &findings{scenarios: 10}
		f.addScenario(scenario("XX-1"), scenario("XX-1"), devs)
		return f
	}
	steady, flake := changed(3, "error", "/text", `"a b"`, `"c d"`), changed(4, "reply", "/n", "1", "2")
	f := once(steady, flake)
	f.dropUnconfirmed(once(steady), f.findingsToCheck(false))
	if len(f.all) != 1 || f.all[0].dev.A.Type != "error" {
		t.Errorf("kept %d", len(f.all))
	}
	f = once(steady, flake)
	f.dropNoise(once(changed(3, "reply", "/n", "2", "3"))) // one target against itself
	if len(f.all) != 1 || f.all[0].dev.A.Type != "error" {
		t.Errorf("kept %d", len(f.all))
	}
}
