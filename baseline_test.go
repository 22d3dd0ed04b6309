package parley_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"parley/model"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// TestBaseline: what a baseline excuses lets a run end well, and is never called conformant; what it excuses in vain fails. JUnit
// has failures where the exit code says so, and only there.
func TestBaseline(t *testing.T) {
	all := bundled.Mutants("agent-select", "")
	at := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == "trims-ids" })
	if at < 0 {
		t.Fatal("there is no mutant trims-ids")
	}
	for _, c := range []struct {
		reason  string
		broken  bool
		rows    []verdict.Expected
		verdict verdict.Verdict
		exit    int
	}{
		{"what fails is expected", true, []verdict.Expected{{Clause: "AS-080", Reason: "issue 1"}}, verdict.AsExpected, 0},
		{"what fails is not expected", true, []verdict.Expected{{Clause: "AS-012", Reason: "issue 2", Expires: "2020-01-01"}}, verdict.NonConformant, 1},
		{"what is expected does not fail", false, []verdict.Expected{{Clause: "AS-080", Reason: "issue 1"}}, verdict.NonConformant, 1},
		{"a baseline that is not needed", false, []verdict.Expected{}, verdict.Conformant, 0},
		{"a row that has expired, and is not needed", false, []verdict.Expected{{Clause: "AS-080", Reason: "issue 1", Expires: "2020-01-01"}}, verdict.Conformant, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			o := bundledOptions("agent-select", "")
			if c.broken {
				o.Brain = model.New()
				o.Launcher = all[at].Launch(o.Brain)
			}
			o.Drivers, o.Baseline = []string{target.SSE}, &verdict.Baseline{Expected: c.rows}
			res, err := runner.Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != c.verdict || res.Runs[0].Verdict != c.verdict || res.Exit != c.exit {
				t.Errorf("%s, exit %d; want %s, exit %d\n%s", res.Verdict, res.Exit, c.verdict, c.exit, console(t, res))
			}
			sameInEveryReport(t, res)
		})
	}
}

// sameInEveryReport holds the reports against the results: the word of the verdict, and the failures of JUnit.
func sameInEveryReport(t *testing.T, res *reports.Results) {
	t.Helper()
	var js, html, junit bytes.Buffer
	for _, err := range []error{reports.WriteJSON(&js, res), reports.WriteHTML(&html, res), reports.WriteJUnit(&junit, res)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := reports.Validate(js.Bytes()); err != nil {
		t.Error(err)
	}
	text := console(t, res)
	if last := strings.ToUpper(string(res.Verdict)) + " "; !strings.Contains(text, "\n"+last) {
		t.Errorf("the console does not say %s:\n%s", last, text)
	}
	if word := `<title>` + string(res.Verdict) + ":"; !strings.Contains(html.String(), word) {
		t.Errorf("report.html has no %s", word)
	}
	if word := `value="` + string(res.Verdict) + `"`; !strings.Contains(junit.String(), word) {
		t.Errorf("junit.xml has no %s", word)
	}
	if res.Verdict == verdict.AsExpected {
		for _, body := range []string{text, html.String(), junit.String()} {
			if low := strings.ToLower(body); strings.Contains(low, ">conformant") || strings.Contains(low, "\nconformant") || strings.Contains(low, `"conformant"`) {
				t.Errorf("a report calls the run conformant:\n%.2000s", body)
			}
		}
	}
	var counts struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &counts); err != nil {
		t.Fatal(err)
	}
	if failed := counts.Failures+counts.Errors > 0; failed != (res.Exit == verdict.ExitNonConformant || res.Exit == verdict.ExitUnreachable) {
		t.Errorf("junit.xml has %d failures and %d errors, and the exit code is %d", counts.Failures, counts.Errors, res.Exit)
	}
}
