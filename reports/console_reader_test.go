package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
)

// TestConsoleMonitors: the scenarios of the table and those in which monitors found something are told apart.
func TestConsoleMonitors(t *testing.T) {
	text := consoleText(t, monitored(), ConsoleOptions{Width: 200})
	want := "Failed by their own clauses: 1 scenario. In the traffic of 5 other scenarios a clause was found broken, too"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	if text = consoleText(t, sample(), ConsoleOptions{}); strings.Contains(text, "by their own clauses:") {
		t.Errorf("monitors are told of that found nothing beside:\n%s", text)
	}
}

// TestConsoleLevels: a cause leads with its strongest clause, and the first CONFLICT is explained.
func TestConsoleLevels(t *testing.T) {
	text := consoleText(t, monitored(), ConsoleOptions{Width: 120})
	if !strings.Contains(text, "\n1  AS-051 AS-124 · ") || !strings.Contains(text, "\nAS-051 MUST  ") {
		t.Errorf("the cause does not lead with AS-051:\n%s", text)
	}
	if !strings.Contains(text, "CONFLICT: the source document disagrees with itself") {
		t.Errorf("CONFLICT is not explained:\n%s", text)
	}
}

// TestConsoleNames: a cause looks like a fault only if that is clear: most of what the fault breaks was judged, and no
// rival is as near. The figures stay in results.json.
func TestConsoleNames(t *testing.T) {
	near := func(fault string, like, judged float64) Likeness {
		return Likeness{Fault: fault, Why: "why", Likeness: like, Explained: 1, Judged: judged}
	}
	for _, tt := range []struct {
		reason string
		list   []Likeness
		want   []string
	}{
		{"clear", []Likeness{near("one", 0.95, 1)}, []string{"looks like one"}},
		{"a far rival", []Likeness{near("one", 1, 1), near("two", 0.7, 1)}, []string{"looks like one", "possibly   two"}},
		{"rivals tie", []Likeness{near("one", 1, 1), near("two", 1, 1)}, []string{"possibly   one", "possibly   two"}},
		{"a narrow run", []Likeness{near("one", 1, 0.2)}, []string{"possibly   one"}},
		{"the fault explains a part", []Likeness{{"one", "why", 0.95, 0.9, 1}}, []string{"possibly   one"}},
		{"results of older versions", []Likeness{near("one", 1, 0)}, []string{"possibly   one"}},
		{"not near", []Likeness{near("one", 0.7, 1)}, []string{"possibly   one"}},
	} {
		r := sample()
		r.Runs[0].Causes[0].LooksLike = tt.list
		text := consoleText(t, r, ConsoleOptions{Width: 120})
		for _, want := range tt.want {
			if !strings.Contains(text, "\n  "+want+": why\n") {
				t.Errorf("%s: no %q in:\n%s", tt.reason, want, text)
			}
		}
	}
}

// TestConsoleWhole: what is told on one line is shortened to a terminal, and whole in a file or a pipe.
func TestConsoleWhole(t *testing.T) {
	why := strings.Repeat("a long reason ", 20) + "with an end"
	r := sample()
	r.Runs[0].Causes[0].LooksLike[0].Why = why
	if text := consoleText(t, r, ConsoleOptions{}); !strings.Contains(text, ": "+why+"\n") {
		t.Errorf("it is cut in a pipe:\n%s", text)
	}
	if text := consoleText(t, r, ConsoleOptions{Width: 100}); strings.Contains(text, "with an end") {
		t.Errorf("it is not cut on a terminal:\n%s", text)
	}
}

// TestConsoleVerboseIsBounded: three examples of each cause, the number of the others, and where they are.
func TestConsoleVerboseIsBounded(t *testing.T) {
	text := consoleText(t, monitored(), ConsoleOptions{Width: 120, Verbose: true, Dir: "out"})
	if n := strings.Count(text, "a scenario   (driver sse)"); n > 1+2*shownPerCause {
		t.Errorf("%d examples:\n%s", n, text)
	}
	for _, want := range []string{"and 4 more failures of AS-051: out/report.html",
		"and 6 more failures of AS-124: out/report.html"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestConsoleReasons: a broken target, too, has all reasons why clauses were not tested, and how many clauses bind.
func TestConsoleReasons(t *testing.T) {
	r := monitored()
	run := &r.Runs[0]
	for i := range 7 {
		level := []verdict.Level{verdict.Must, verdict.Info}[i%2]
		run.Clauses = append(run.Clauses, Clause{ID: fmt.Sprintf("AS-20%d", i), Level: level, Outcome: verdict.NotTested,
			Reason: fmt.Sprintf("hook %q is missing", strings.Repeat("x", 1+i))})
	}
	text := consoleText(t, r, ConsoleOptions{Width: 120})
	bind := strings.Contains(text, "Not tested: 7 clauses, 4 of them binding")
	if n := strings.Count(text, "is missing (1)"); n != 7 || !bind {
		t.Errorf("%d reasons, want 7:\n%s", n, text)
	}
}

// TestConsoleReasonsOfOneKind: reasons that differ in what the harness has made up, in messages or in times are one,
// and those that name another agent are not.
func TestConsoleReasonsOfOneKind(t *testing.T) {
	r := monitored()
	run := &r.Runs[0]
	for i, agent := range []string{"debugger", "debugger", "general"} {
		run.Clauses = append(run.Clauses, Clause{ID: fmt.Sprintf("AS-20%d", i), Level: verdict.Must,
			Outcome: verdict.NotTested, Reason: fmt.Sprintf(
				"client A could not switch to %q: error {\"ref\":\"fence%d-x\"}   +%d.0 ms, record %d", agent, i, i, i)})
	}
	text := consoleText(t, r, ConsoleOptions{Width: 120})
	if strings.Count(text, "could not switch") != 2 || !strings.Contains(text, "record 0 (2)") {
		t.Error(text)
	}
}

// TestConsoleCrash: the target's last lines are told if its process ended during a scenario.
func TestConsoleCrash(t *testing.T) {
	r := monitored()
	run := &r.Runs[0]
	f := &run.Scenarios[5].Failures[0]
	f.Observed = "the stream broke off; the target's process ended during this scenario: exit status 1; on its " +
		"stderr: boom"
	run.TargetStderr = "starting\nTypeError: boom\n"
	run.Causes = FindCauses(run, false)
	text := consoleText(t, r, ConsoleOptions{Width: 120})
	_, first, _ := strings.Cut(text, "\n1  ")
	first, _, _ = strings.Cut(first, "\n2  ")
	if !strings.Contains(first, "process ended") || !strings.Contains(first, "stderr     boom") {
		t.Errorf("the first cause is not the crash:\n%s", text)
	}
	if !strings.Contains(text, "│ TypeError: boom") {
		t.Errorf("its last lines are not told:\n%s", text)
	}
}

// TestUniteCauses: causes that one fault is likely to have brought about are one, although another may be as near to
// each; merely possible names unite nothing.
func TestUniteCauses(t *testing.T) {
	named := func(like float64) *Run {
		run := monitored().Runs[0]
		second := run.Causes[0]
		second.Scenarios, second.Clauses, second.Kinds = []string{"9"}, []string{"AS-014"}, []CauseKind{{"x", "y"}}
		run.Causes = []Cause{run.Causes[0], second}
		for i := range run.Causes {
			run.Causes[i].LooksLike = []Likeness{{"one", "why", like, 1, 1}}
		}
		run.UniteCauses()
		return &run
	}
	if run := named(0.95); len(run.Causes) != 1 || len(run.Causes[0].Kinds) != 2 || len(run.Causes[0].Clauses) != 3 {
		t.Errorf("%+v", run.Causes)
	}
	if run := named(0.7); len(run.Causes) != 2 {
		t.Errorf("%+v", run.Causes)
	}
}

// TestOrderCauses: first comes what belongs to another session or request, then what clearly looks like a known fault,
// among those of their outcome.
func TestOrderCauses(t *testing.T) {
	clear, rival := Likeness{"one", "why", 1, 1, 1}, Likeness{"two", "why", 1, 1, 1}
	run := &Run{Causes: []Cause{{ID: "unknown"}, {ID: "tie", LooksLike: []Likeness{clear, rival}},
		{ID: "clear", LooksLike: []Likeness{clear}}, {ID: "warned", Outcome: verdict.Warned, LooksLike: []Likeness{clear}},
		{ID: "other", Example: CauseExample{Scenario: "1"}}},
		Scenarios: []Scenario{{ID: "1", Failures: []Failure{{Observed: "result, an answer under another id: result {}"}}}}}
	run.OrderCauses()
	var got []string
	for _, c := range run.Causes {
		got = append(got, c.ID)
	}
	if want := []string{"other", "clear", "unknown", "tie", "warned"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
