package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
)

// clauses maps clauses to their outcomes; "A-1/ws" is one over a driver.
type clauses map[string]verdict.Outcome

// write writes the results of a target's run.
func write(t *testing.T, folder, name string, runs ...reports.Run) {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, &reports.Results{Verdict: verdict.Conformant, Runs: runs}); err != nil {
		t.Fatal(err)
	}
	file(t, folder, name, b.String())
}

func file(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func runOf(protocol, role string, of clauses) reports.Run {
	r := reports.Run{Protocol: protocol, Role: role, Verdict: verdict.Conformant}
	for id, outcome := range of {
		if clause, driver, ok := strings.Cut(id, "/"); ok {
			r.Clauses = append(r.Clauses, reports.Clause{ID: clause, Outcome: outcome,
				ByDriver: map[string]verdict.Outcome{driver: outcome, "other": verdict.Passed}})
			continue
		}
		r.Clauses = append(r.Clauses, reports.Clause{ID: id, Outcome: outcome, Reason: "why " + string(outcome)})
	}
	return r
}

// compared compares two folders, and further pairs of them.
func compared(t *testing.T, explained string, folders ...string) (string, bool) {
	t.Helper()
	var args []string
	if explained != "" {
		args = []string{"--explained", file(t, t.TempDir(), "explained", explained)}
	}
	var out bytes.Buffer
	different, err := runComparison(append(args, folders...), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), different
}

func TestOutcomes(t *testing.T) {
	for _, r := range []struct {
		reason    string
		old, new  clauses
		explained string
		different bool
		has       string
	}{
		{"equal", clauses{"A-1": "passed", "A-2": "not-tested"}, clauses{"A-1": "passed", "A-2": "not-tested"}, "", false,
			"all: 1 targets, 3 outcomes (1 judged): 3 equal, 0 meant, 0 unsteady, 0 differ"},
		{"another outcome", clauses{"A-1": "passed"}, clauses{"A-1": "failed"}, "", true,
			"differs   mutants/slow  A-1: passed -> failed\n    old: why passed\n    new: why failed\n"},
		{"no longer tested", clauses{"A-1": "failed"}, clauses{"A-1": "not-tested"}, "", true, "A-1: failed -> not-tested"},
		{"over one driver", clauses{"A-1/ws": "passed"}, clauses{"A-1/ws": "failed"}, "", true, "A-1/ws: passed -> failed"},
		{"meant", clauses{"A-1": "passed"}, clauses{"A-1": "failed"}, "# meant\nmutants/* A-* passed failed 0abc123: why\n",
			false, "meant     mutants/slow  A-1: passed -> failed  [0abc123: why]"},
		{"another difference is meant", clauses{"A-1": "passed"}, clauses{"A-1": "failed"},
			"mutants/* A-1 failed passed 0abc123: why\n", true, "explains nothing"},
		{"a longer name is meant", clauses{"A-1": "passed"}, clauses{"A-1": "failed"},
			"mutants/slower A-1 passed failed 0abc123: why\n", true, "A-1: passed -> failed"},
		{"a clause that is new", clauses{"A-1": "passed"}, clauses{"A-1": "passed", "A-2": "failed"}, "", false,
			"only new  clause A-2, in 1 targets"},
		{"a clause that is gone", clauses{"A-1": "passed", "A-2": "failed"}, clauses{"A-1": "passed"}, "", false,
			"only old  clause A-2, in 1 targets"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			before, after := t.TempDir(), t.TempDir()
			write(t, before, "mutants/slow.json", runOf("a", "server", r.old))
			write(t, after, "mutants/slow.json", runOf("a", "server", r.new))
			out, different := compared(t, r.explained, before, after)
			if different != r.different || !strings.Contains(out, r.has) {
				t.Errorf("different: %v, want %v, and %q in\n%s", different, r.different, r.has, out)
			}
		})
	}
}

// TestUnsteady: a difference that does not recur in a further run of one side is unsteady; one that recurs stays.
func TestUnsteady(t *testing.T) {
	for _, r := range []struct {
		reason               string
		old, new, old1, new1 verdict.Outcome
		different            bool
		has                  string
	}{
		{"the new side has both", "passed", "failed", "passed", "passed", false,
			"unsteady  slow  A-1: passed -> failed,passed"},
		{"the old side has both", "passed", "failed", "failed", "failed", false,
			"unsteady  slow  A-1: failed,passed -> failed"},
		{"as before", "passed", "failed", "passed", "failed", true, "differs   slow  A-1: passed -> failed"},
		{"none in common", "passed", "failed", "passed", "not-tested", true, "A-1: passed -> failed,not-tested"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			var folders []string
			for _, outcome := range []verdict.Outcome{r.old, r.new, r.old1, r.new1} {
				folders = append(folders, t.TempDir())
				write(t, folders[len(folders)-1], "slow/results.json", runOf("a", "server", clauses{"A-1": outcome}))
			}
			out, different := compared(t, "", folders...)
			if different != r.different || !strings.Contains(out, r.has) {
				t.Errorf("different: %v, want %v, and %q in\n%s", different, r.different, r.has, out)
			}
		})
	}
}

// TestTargets: targets are paired by their paths, or by their last element, protocol and role.
func TestTargets(t *testing.T) {
	before, after := t.TempDir(), t.TempDir()
	passed := clauses{"A-1": "passed"}
	write(t, before, "bundled/a/results.json", runOf("a", "host", passed), runOf("a", "relay", passed))
	write(t, after, "bundled/a/results.json", runOf("a", "host", passed), runOf("a", "relay", clauses{"A-1": "failed"}))
	write(t, before, "tests/TestBad/deaf.json", runOf("a", "host", passed))
	write(t, after, "tests/TestWorse/deaf.json", runOf("a", "host", passed))
	write(t, before, "tests/TestBad/dumb.json", runOf("a", "host", passed))
	write(t, after, "tests/TestWorse/dumb.json", runOf("a", "relay", passed))
	file(t, before, "matrix.json", `{"protocol": "a"}`)
	list := filepath.Join(t.TempDir(), "targets")
	var w bytes.Buffer
	different, err := runComparison([]string{"--targets", list, before, after}, &w)
	if out := w.String(); err != nil || !different || strings.Count(out, "differs ") != 1 ||
		!strings.Contains(out, "differs   bundled/a/a-relay  A-1: passed -> failed") ||
		!strings.Contains(out, "only old  tests/TestBad/dumb\nonly new  tests/TestWorse/dumb\n") ||
		!strings.Contains(out, "1 targets were found under another name") || !strings.Contains(out, "all: 3 targets") {
		t.Errorf("different: %v, %v\n%s", different, err, out)
	}
	if names, err := os.ReadFile(list); err != nil || string(names) != "bundled/a/a-relay\n" {
		t.Errorf("the targets that differ: %q, %v", names, err)
	}
}

// TestSelection: a clause that only one side has selected is not a difference where scenarios were selected, but is one
// in a whole run.
func TestSelection(t *testing.T) {
	for _, selection := range []string{"", "@A-1"} {
		before, after := t.TempDir(), t.TempDir()
		for folder, c := range map[string]reports.Clause{
			before: {ID: "A-1", Outcome: verdict.NotTested, Reason: verdict.NotRun},
			after:  {ID: "A-1", Outcome: verdict.Passed},
		} {
			var b bytes.Buffer
			run := reports.Run{Protocol: "a", Role: "host", Clauses: []reports.Clause{c}}
			if err := reports.WriteJSON(&b, &reports.Results{Selection: selection, Runs: []reports.Run{run}}); err != nil {
				t.Fatal(err)
			}
			file(t, folder, "x.json", b.String())
		}
		out, different := compared(t, "", before, after)
		if different != (selection == "") || strings.Contains(out, "selected by one side") == different {
			t.Errorf("selection %q: different: %v\n%s", selection, different, out)
		}
	}
}

func TestRefused(t *testing.T) {
	some := t.TempDir()
	write(t, some, "x.json", runOf("a", "host", clauses{"A-1": "passed"}))
	other := t.TempDir()
	write(t, other, "y.json", runOf("b", "host", clauses{"A-1": "passed"}))
	broken := t.TempDir()
	file(t, broken, "x.json", "{")
	short := file(t, t.TempDir(), "explained", "x A-1 passed failed\n")
	for reason, args := range map[string][]string{
		"no folder": nil, "one folder": {some}, "a folder that is not there": {some, filepath.Join(some, "none")},
		"nothing in common": {some, other}, "what is no JSON": {some, broken},
		"an explanation without a reason": {"--explained", short, some, some},
	} {
		if _, err := runComparison(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%s is not refused", reason)
		}
	}
}
