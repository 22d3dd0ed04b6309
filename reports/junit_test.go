package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"parley/features/verdict"
)

// parsedJUnit is the report as a JUnit reader sees it.
type parsedJUnit struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name  string       `xml:"name,attr"`
		Tests int          `xml:"tests,attr"`
		Cases []parsedCase `xml:"testcase"`
	} `xml:"testsuite"`
}

type parsedCase struct {
	Name       string          `xml:"name,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Failure    *parsedTrouble  `xml:"failure"`
	Error      *parsedTrouble  `xml:"error"`
	Skipped    *parsedTrouble  `xml:"skipped"`
	Out        string          `xml:"system-out"`
}

type parsedTrouble struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junit(t *testing.T, r *Results) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parseJUnit(t *testing.T, b []byte) parsedJUnit {
	t.Helper()
	var p parsedJUnit
	if err := xml.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestJUnitGolden(t *testing.T) {
	got := junit(t, sample())
	golden(t, "junit.golden.xml", got)
	d := xml.NewDecoder(bytes.NewReader(got))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestJUnitElements: every outcome has the element that JUnit readers expect, and skipped ones say why.
func TestJUnitElements(t *testing.T) {
	cases := map[string]parsedCase{}
	for _, s := range parseJUnit(t, junit(t, sample())).Suites {
		for _, c := range s.Cases {
			id, _, _ := strings.Cut(c.Name, " ")
			cases[id] = c
		}
	}
	for id, want := range map[string]string{
		"2.1-01": "",
		"3.1-01": "",
		"3.2-01": "skipped not-tested: no model stub was reached",
		"3.4-01": "skipped not-applicable: capability project-agents is not declared",
		"4.3-02": "error environment-error: the target did not come up again within 10 s",
		"4.3-03": "error harness-error: step undefined",
		"4.4-01": "skipped expected-failure: AS-110 MUST (baseline: aborting takes effect at the end of the turn, issue 17)",
		"2.1-02": "failure unexpected-pass",
		"4.2-01": "failure failed: AS-085 MUST",
	} {
		if got := element(cases[id]); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	if c := cases["2.1-01"]; c.Time != "0.003250" || c.Properties[0] != (junitProperty{"clause", "AS-008"}) {
		t.Errorf("time %s, properties %v", c.Time, c.Properties)
	}
	if !strings.Contains(cases["3.1-01"].Out, "agent_list with 3 agents") {
		t.Error("the warning is not told")
	}
}

func element(c parsedCase) string {
	switch {
	case c.Failure != nil:
		return "failure " + c.Failure.Message
	case c.Error != nil:
		return "error " + c.Error.Message
	case c.Skipped != nil:
		return "skipped " + c.Skipped.Message
	default:
		return ""
	}
}

// TestJUnitTextIsComplete: texts from the wire survive a round trip, and the evidence is complete.
func TestJUnitTextIsComplete(t *testing.T) {
	for _, s := range parseJUnit(t, junit(t, sample())).Suites {
		for _, c := range s.Cases {
			if !strings.HasPrefix(c.Name, "4.2-01") {
				continue
			}
			if !strings.HasSuffix(c.Name, shown) {
				t.Errorf("name is %q", c.Name)
			}
			for _, want := range []string{"observed   error " + shown, "expected   error with an errorCode", "errors-have-codes",
				"record 9", "transcripts/AS-4.2-01.txt", "evidence/sse-AS-4.2-01-page-A.png", "evidence/sse-AS-4.2-01-page-A.html",
				"--tags '@AS-085 and not @slow'", "切换失败"} {
				if !strings.Contains(c.Failure.Text, want) {
					t.Errorf("no %q in:\n%s", want, c.Failure.Text)
				}
			}
		}
	}
}

func TestJUnitCounts(t *testing.T) {
	p := parseJUnit(t, junit(t, sample()))
	var names []string
	tests, failures, errs, skipped := 0, 0, 0, 0
	for _, s := range p.Suites {
		names = append(names, s.Name)
		tests += s.Tests
		for _, c := range s.Cases {
			switch kind, _, _ := strings.Cut(element(c), " "); kind {
			case "failure":
				failures++
			case "error":
				errs++
			case "skipped":
				skipped++
			}
		}
	}
	if tests != p.Tests || failures != p.Failures || errs != p.Errors || skipped != p.Skipped {
		t.Errorf("counted %d/%d/%d/%d, the report says %+v", tests, failures, errs, skipped, p)
	}
	want := "agent-select server (sse), agent-select server (run), agent-client client (run)"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("suites are %s, want %s", got, want)
	}
}

// monitored returns results in which a monitor found clauses broken in scenarios whose own clauses hold.
func monitored() *Results {
	must, may := verdict.Must, verdict.May
	run := Run{Protocol: "agent-select", Role: "server", Verdict: verdict.NonConformant,
		Target: Target{Name: "mine", Drivers: []string{"sse"}},
		Clauses: []Clause{
			{ID: "AS-008", Level: must, Text: "The list comes first.", Outcome: verdict.Passed},
			{ID: "AS-051", Level: must, Text: "The error carries the agents.", Outcome: verdict.Failed},
			{ID: "AS-122", Level: may, Text: "It may carry more.", Outcome: verdict.NotApplicable},
			{ID: "AS-124", Level: verdict.Conflict, Text: "On which errors.", Outcome: verdict.Failed}}}
	for i := range 6 {
		s := scenario("2.1-0"+string(rune('1'+i)), "a scenario", verdict.Passed, "AS-008")
		if i == 5 {
			s = scenario("3.3-01", "the scenario of the clause", verdict.Failed, "AS-051")
			s.Failures = []Failure{{Clause: "AS-051", Level: must, Expected: "agents", Observed: "error {}"}}
			s.Reason = "error {}"
		}
		for _, c := range []Clause{run.Clauses[3], run.Clauses[2], run.Clauses[1]} {
			s.Failures = append(s.Failures, Failure{Clause: c.ID, Level: c.Level, Expected: "agents", Observed: "error {}",
				Monitor: "errors", At: "client A, record 9, +3.1 ms"})
		}
		run.Scenarios = append(run.Scenarios, s)
	}
	run.Totals = totalsOf(&run)
	run.Causes = FindCauses(&run, false)
	return &Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []Run{run}}
}

// TestJUnitMonitors: what monitors find fails one test case for each clause, and no scenario; numbers agree with the
// totals, no failure says that something passed, and none names a clause that cannot fail.
func TestJUnitMonitors(t *testing.T) {
	r := monitored()
	p := parseJUnit(t, junit(t, r))
	failed := map[string][]parsedCase{}
	for _, s := range p.Suites {
		for _, c := range s.Cases {
			if c.Failure == nil {
				continue
			}
			failed[s.Name] = append(failed[s.Name], c)
			if strings.Contains(c.Failure.Message, "passed") || strings.Contains(c.Failure.Message+c.Failure.Text, "AS-122") {
				t.Errorf("%s: %s\n%s", c.Name, c.Failure.Message, c.Failure.Text)
			}
		}
	}
	scenarios, monitors := failed["agent-select server (sse)"], failed["agent-select server (monitors)"]
	if n := r.Runs[0].Totals.Scenarios.ByOutcome[verdict.Failed]; len(scenarios) != n || p.Failures != n+2 {
		t.Errorf("%d scenarios failed in JUnit of %d failures, and %d in the totals", len(scenarios), p.Failures, n)
	}
	if got := scenarios[0].Failure.Message; got != "failed: AS-051 MUST, AS-124 CONFLICT: error {}" {
		t.Errorf("the scenario fails with %q", got)
	}
	want := []string{"failed: AS-051 MUST, found in the traffic of 5 scenarios with another outcome",
		"failed: AS-124 CONFLICT, found in the traffic of 5 scenarios with another outcome"}
	for i, c := range monitors {
		if c.Failure.Message != want[i] || !strings.Contains(c.Failure.Text, "and 2 more examples: report.html") {
			t.Errorf("case %d: %s\n%s", i, c.Failure.Message, c.Failure.Text)
		}
	}
	if len(monitors) != 2 {
		t.Errorf("%d clauses of monitors, want 2", len(monitors))
	}
}
