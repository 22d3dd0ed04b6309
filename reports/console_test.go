package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports/lang"
)

func consoleText(t *testing.T, r *Results, o ConsoleOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteConsole(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestConsoleGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		name := fmt.Sprintf("console-%d.golden.txt", width)
		golden(t, name, []byte(consoleText(t, sample(), ConsoleOptions{Width: width, Dir: "parley-results"})))
	}
	golden(t, "console-verbose.golden.txt", []byte(consoleText(t, sample(), ConsoleOptions{Verbose: true})))
}

// TestConsoleWidth: no line is wider than the terminal (only the tables need 80 columns), and none ends in a space.
func TestConsoleWidth(t *testing.T) {
	for _, width := range []int{60, 80, 100, 120} {
		for line := range strings.SplitSeq(consoleText(t, sample(), ConsoleOptions{Width: width, Verbose: true}), "\n") {
			if n := columnWidth(line); n > max(width, 80) {
				t.Errorf("width %d: %d columns in %q", width, n, line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("width %d: a space ends %q", width, line)
			}
		}
	}
}

var escapeCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestConsoleColor: colours only add to the text, and without them there is no escape code.
func TestConsoleColor(t *testing.T) {
	plain := consoleText(t, sample(), ConsoleOptions{Width: 80})
	if strings.ContainsRune(plain, '\x1b') {
		t.Error("an escape code without Color")
	}
	coloured := consoleText(t, sample(), ConsoleOptions{Width: 80, Color: true})
	if !strings.ContainsRune(coloured, '\x1b') {
		t.Error("no colour with Color")
	}
	stripped := regexp.MustCompile(" +\n").ReplaceAllString(escapeCode.ReplaceAllString(coloured, ""), "\n")
	if stripped != plain {
		t.Errorf("colour changes the text:\n%s", stripped)
	}
}

// TestConsoleTellsCauses: a brief report has one example of each cause, and a verbose one every failure besides.
func TestConsoleTellsCauses(t *testing.T) {
	brief := consoleText(t, sample(), ConsoleOptions{Width: 120})
	for _, want := range []string{"Failures: 2 clauses, found 16 times, from 2 causes",
		"1  AS-080 · 4 scenarios, found 15 times", "2  AS-085 · 1 scenario",
		"looks like trims-ids: the id is trimmed as a form handler would do it"} {
		if !strings.Contains(brief, want) {
			t.Errorf("no %q in:\n%s", want, brief)
		}
	}
	if n := strings.Count(brief, "surrounding white space"); n != 1 {
		t.Errorf("%d scenarios of one cause are told, want 1", n)
	}
	verbose := consoleText(t, sample(), ConsoleOptions{Verbose: true})
	if n := strings.Count(verbose, "surrounding white space"); n != 1+shownPerCause {
		t.Errorf("verbose tells %d scenarios, want one for the cause and 3 of 4", n)
	}
}

// TestConsoleStderr: what the target wrote last is told beside what did not come, however much else is told.
func TestConsoleStderr(t *testing.T) {
	for _, width := range []int{60, 100} {
		for _, n := range []int{1, 12} {
			run := brokenRun(n)
			for i := range run.Scenarios {
				run.Scenarios[i].Failures[0].Observed += "; on its stderr: no \x1b[31mlicence"
			}
			run.Causes = nil
			text := consoleText(t, &Results{Runs: []Run{run}}, ConsoleOptions{Width: width})
			if got := strings.Count(text, `no \x1b[31mlic`); got != min(n, causesShown) {
				t.Errorf("width %d, %d causes: it is told %d times in\n%s", width, n, got, text)
			}
		}
	}
}

// brokenRun returns a run with so many causes, all in other words, each in many scenarios over two drivers.
func brokenRun(causes int) Run {
	run := Run{Protocol: "agent-select", Role: "server", Verdict: verdict.NonConformant,
		Target: Target{Name: "broken", Drivers: []string{"sse", "ws"}}}
	for i := range causes {
		id := fmt.Sprintf("X-%03d", i)
		run.Clauses = append(run.Clauses, Clause{ID: id, Level: verdict.Must, Section: fmt.Sprint(i % 40),
			Outcome: verdict.Failed, Text: strings.Repeat("A long sentence of the source. ", 9)})
		what := strings.Repeat("word", i+1) + " "
		for j := range 2 {
			for _, d := range []string{"sse", "ws"} {
				s := scenario(fmt.Sprintf("4.1-%d", 1000+i*2+j), "scenario "+strings.Repeat("long ", 30), verdict.Failed, id)
				s.Driver = d
				f := Failure{Clause: id, Level: verdict.Must, Expected: what + strings.Repeat("expected ", 40),
					Observed: what + strings.Repeat("observed\n", 40), At: fmt.Sprintf("client A, record %d, +3.1 ms", i+1),
					Diff: strings.Repeat("- \ta\n+ \tb\n", 50), Again: "parley run " + strings.Repeat("--tags @AS-080 ", 9)}
				for range 3 {
					f.Following = append(f.Following, Following{Clause: "X-999", Observed: strings.Repeat("next ", 50)})
				}
				s.Failures = []Failure{f}
				run.Scenarios = append(run.Scenarios, s)
			}
		}
	}
	for i := range 50 {
		run.Clauses = append(run.Clauses, Clause{ID: fmt.Sprintf("Y-%03d", i), Level: verdict.Must,
			Outcome: verdict.NotTested, Reason: fmt.Sprintf("reason %d ", i) + strings.Repeat("why ", 60)})
		run.Notes = append(run.Notes, Note{Kind: "driver-difference", Text: fmt.Sprint("note ", i)})
	}
	run.Causes = FindCauses(&run, false)
	for i := range run.Causes {
		run.Causes[i].LooksLike = sample().Runs[0].Causes[0].LooksLike
	}
	run.Totals = totalsOf(&run)
	return run
}

// TestConsoleIsShort: however broken a target is, the first ten causes take 80 lines, and it is said where the rest is.
func TestConsoleIsShort(t *testing.T) {
	for _, tt := range []struct{ causes, runs, shown int }{{1, 1, 1}, {3, 1, 3}, {10, 1, 10}, {60, 1, 10}, {60, 5, 10}} {
		for _, width := range []int{60, 100} {
			r := &Results{Verdict: verdict.NonConformant, Exit: 1}
			for range tt.runs {
				r.Runs = append(r.Runs, brokenRun(tt.causes))
			}
			text := consoleText(t, r, ConsoleOptions{Width: width, Dir: "out"})
			told, lines := 0, 0
			for i, part := range strings.Split(text, "\nFailures: ") {
				part, _, _ = strings.Cut(part, "\nNot tested: ")
				if i > 0 {
					lines += 1 + strings.Count(part, "\n")
					told += strings.Count(part, "  again ")
				}
			}
			if told != tt.shown || lines > causeLines {
				t.Errorf("%d causes in each of %d runs, width %d: %d are told in %d lines", tt.causes, tt.runs, width, told,
					lines)
			}
			rest := strings.Count(text, " more causes: out/report.html, or --verbose")
			if (tt.causes > 10) != (rest == tt.runs) {
				t.Errorf("%d causes in %d runs: the rest is told of %d times", tt.causes, tt.runs, rest)
			}
			if all := strings.Count(text, "\n"); all > tt.runs*60+causeLines {
				t.Errorf("the report of %d causes in %d runs has %d lines", tt.causes, tt.runs, all)
			}
		}
	}
}

// TestConsoleAbsent: a target that is not there takes five lines, with the reason and the last words of its process.
func TestConsoleAbsent(t *testing.T) {
	long := "target \"sh -c " + strings.Repeat("command ", 50) + "\" ended before it was ready: exit status 7"
	for _, tt := range []struct {
		env, stderr string
		want        []string
	}{
		{"target http://127.0.0.1:1 cannot be reached: connection refused", "",
			[]string{"  target http://127.0.0.1:1 cannot be reached: connection refused\n"}},
		{long + "\nstderr:\nstarting up\nno \x1b[31mlicence\n\nstdout:\nhello", "",
			[]string{long, "starting up / no ", "licence"}},
		{long + "\nstdout:\nhello", "", []string{long, "stderr hello"}},
		{"the target does not speak agent-select", "a\nb\x07\nc\nd\n", []string{`stderr b\x07 / c / d`}},
		{"nothing came; on its stderr: b / c", "b\nc\n", []string{"nothing came; on its stderr: b / c"}},
	} {
		run := Run{Protocol: "agent-select", Role: "server", Environment: tt.env, TargetStderr: tt.stderr,
			Target:  Target{Name: "broken", URL: "http://127.0.0.1:{port}", Drivers: []string{"sse"}, Profile: "broken.yaml"},
			Clauses: []Clause{{ID: "X-1", Level: verdict.Must, Outcome: verdict.EnvError}}}
		run.Totals = totalsOf(&run)
		r := &Results{Verdict: verdict.Incomplete, Exit: verdict.ExitUnreachable, Runs: []Run{run}}
		text := consoleText(t, r, ConsoleOptions{Dir: "parley-results"})
		if n := strings.Count(text, "\n"); n > absentLines {
			t.Errorf("%d lines:\n%s", n, text)
		}
		for _, want := range append(tt.want, "INCOMPLETE  a target could not be judged") {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
}

// TestConsoleEvidence: a scenario's evidence is listed below its transcript, with paths that the reader can open.
func TestConsoleEvidence(t *testing.T) {
	got := consoleText(t, sample(), ConsoleOptions{Width: 60, Dir: "out"})
	for _, id := range []string{"4.2-01", "4.3-03"} { // a failure, an error
		want := "  transcript out/transcripts/AS-" + id + ".txt\n  picture    out/evidence/sse-AS-" + id +
			"-page-A.png\n  page       out/evidence/sse-AS-" + id + "-page-A.html\n"
		if !strings.Contains(got, want) {
			t.Errorf("no\n%sin:\n%s", want, got)
		}
	}
}

func TestEvidenceLabel(t *testing.T) {
	for mediaType, want := range map[string]string{"image/png": "picture", "image/webp": "picture", "text/html": "page",
		"text/plain": "evidence", "": "evidence"} {
		if got := evidenceLabel(Evidence{Type: mediaType}); got != want {
			t.Errorf("%q is labelled %s, want %s", mediaType, got, want)
		}
	}
}

// TestNothingRedIsMissing: the report shows clauses that failed without a record, and scenarios that failed without a
// clause.
func TestNothingRedIsMissing(t *testing.T) {
	run := Run{
		Clauses:   []Clause{{ID: "X-001", Level: verdict.Must, Outcome: verdict.Failed, Reason: "the monitor stopped"}},
		Scenarios: []Scenario{{ID: "1-01", Name: "unexplained", Outcome: verdict.Failed, Reason: "a hook failed"}},
	}
	got := consoleText(t, &Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []Run{run}}, ConsoleOptions{})
	for _, want := range []string{"X-001 MUST", "the monitor stopped", "unexplained", "a hook failed"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestConsoleLastLine(t *testing.T) {
	clause := func(l verdict.Level, o verdict.Outcome) Clause { return Clause{ID: "X-001", Level: l, Outcome: o} }
	for _, tt := range []struct {
		reason string
		r      Results
		run    Run
		want   string
	}{
		{"all is well", Results{Verdict: verdict.Conformant}, Run{Clauses: []Clause{clause(verdict.Must, verdict.Passed)}},
			"CONFORMANT  every applicable binding clause holds · exit 0 · results in out"},
		{"warnings are told", Results{Verdict: verdict.Conformant},
			Run{Clauses: []Clause{clause(verdict.Should, verdict.Warned)}},
			"CONFORMANT  every applicable binding clause holds; 1 warning · exit 0 · results in out"},
		{"failed", Results{Verdict: verdict.NonConformant, Exit: 1},
			Run{Clauses: []Clause{clause(verdict.Must, verdict.Failed), clause(verdict.Must, verdict.NotTested)}},
			"NON-CONFORMANT  1 of 2 clauses failed; 1 binding clause was not tested · exit 1 · results in out"},
		{"a filter", Results{Verdict: verdict.Incomplete, Exit: 5, Selection: "@AS-001"},
			Run{Clauses: []Clause{clause(verdict.Conflict, verdict.NotTested)}},
			"INCOMPLETE  1 binding clause was not tested; only @AS-001 was run · exit 5 · results in out"},
		{"what a filter asks for", Results{Verdict: verdict.NonConformant, Exit: 1, Selection: "AS-001 and (not @exclusive)"},
			Run{Clauses: []Clause{{ID: "AS-001", Level: verdict.Must, Outcome: verdict.Passed},
				{ID: "AS-002", Level: verdict.Must, Outcome: verdict.Failed}}},
			"NON-CONFORMANT  AS-001 passed; 1 of 2 clauses failed; only AS-001 and (not @exclusive) was run · exit 1 · " +
				"results in out"},
		{"a filter that excludes", Results{Verdict: verdict.Conformant, Selection: "not @AS-001"},
			Run{Clauses: []Clause{{ID: "AS-001", Level: verdict.Must, Outcome: verdict.Passed}}},
			"CONFORMANT  every applicable binding clause holds; only not @AS-001 was run · exit 0 · results in out"},
		{"allowed", Results{Verdict: verdict.Incomplete}, Run{Clauses: []Clause{clause(verdict.Must, verdict.NotTested)}},
			"INCOMPLETE  1 binding clause was not tested · exit 0, as incomplete runs are allowed · results in out"},
		{"out of reach", Results{Verdict: verdict.Incomplete, Exit: 3}, Run{},
			"INCOMPLETE  a target could not be judged · exit 3 · results in out"},
		{"interrupted", Results{Verdict: verdict.Incomplete, Exit: 130, Partial: true}, Run{},
			"INCOMPLETE  interrupted before its end · exit 130 · results in out"},
		{"interrupted, with baseline rows that had not run", Results{Verdict: verdict.Incomplete, Exit: 130, Partial: true},
			Run{Baseline: []BaselineRow{{Clause: "X-001", Reason: "issue 1", State: verdict.RowUnused}}},
			"INCOMPLETE  interrupted before its end · exit 130 · results in out"},
		{"out of reach, while our own fault counts for another run", Results{Verdict: verdict.Incomplete, Exit: 4},
			Run{Environment: "no route"},
			"INCOMPLETE  the harness itself failed; a target could not be judged · exit 4 · results in out"},
		{"our own fault", Results{Verdict: verdict.Incomplete, Exit: 4}, Run{},
			"INCOMPLETE  the harness itself failed · exit 4 · results in out"},
		{"a scenario cut off", Results{Verdict: verdict.Incomplete, Exit: 5},
			Run{Clauses: []Clause{clause(verdict.Must, verdict.Passed)}, Scenarios: []Scenario{{ID: "AS-1-01",
				Clauses: []verdict.Judgement{{Clause: clause(verdict.Must, verdict.Passed).ID, Outcome: verdict.NotTested,
					Unfinished: true}}}}},
			"INCOMPLETE  1 scenario was cut off: AS-1-01 · exit 5 · results in out"},
		{"nothing", Results{Verdict: verdict.Incomplete, Exit: 5}, Run{},
			"INCOMPLETE  no binding clause was tested · exit 5 · results in out"},
	} {
		tt.r.Runs = []Run{tt.run}
		lines := strings.Split(strings.TrimSpace(consoleText(t, &tt.r, ConsoleOptions{Width: 120, Dir: "out"})), "\n")
		if got := lines[len(lines)-1]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}

func TestCompareSections(t *testing.T) {
	order := []string{"1", "1.2", "1.10", "2", "2.1.1", "10", "A"}
	for i := range order[1:] {
		if compareSections(order[i], order[i+1]) >= 0 || compareSections(order[i+1], order[i]) <= 0 {
			t.Errorf("%s does not come before %s", order[i], order[i+1])
		}
	}
}

func TestDuration(t *testing.T) {
	for ms, want := range map[float64]string{0: "0.0 ms", 3.25: "3.2 ms", 250: "250 ms", 12345: "12.3 s",
		125000: "2 min 05 s"} {
		if got := formatDuration(ms, lang.English); got != want {
			t.Errorf("duration(%v) = %s, want %s", ms, got, want)
		}
	}
}

// TestConsoleFunctions: the verbose report names the Go function of the step of each failure, and only that report.
func TestConsoleFunctions(t *testing.T) {
	function := func(protocol, step string) string { return protocol + ": " + step }
	want := "\n  function   agent-select: client A switches to \"debugger\"\n"
	for _, verbose := range []bool{false, true} {
		text := consoleText(t, sample(), ConsoleOptions{Width: 100, Verbose: verbose, Function: function})
		if n := strings.Count(text, want); (n > 0) != verbose {
			t.Errorf("verbose: %v: functions are named %d times:\n%s", verbose, n, text)
		}
	}
}
