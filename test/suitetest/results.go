package suitetest

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
)

// Console renders results for a test's log.
func Console(t *testing.T, res *reports.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteConsole(&b, res, reports.ConsoleOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// SameInEveryReport compares the reports with the results: the word of the verdict and the failures in JUnit.
func SameInEveryReport(t *testing.T, res *reports.Results) {
	t.Helper()
	var js, html, junit bytes.Buffer
	for _, err := range []error{reports.WriteJSON(&js, res), reports.WriteHTML(&html, res),
		reports.WriteJUnit(&junit, res)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := reports.Validate(js.Bytes()); err != nil {
		t.Error(err)
	}
	text := Console(t, res)
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
			if low := strings.ToLower(body); strings.Contains(low, ">conformant") || strings.Contains(low, "\nconformant") ||
				strings.Contains(low, `"conformant"`) {
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
	if failed := counts.Failures+counts.Errors > 0; failed != (res.Exit == verdict.ExitNonConformant ||
		res.Exit == verdict.ExitUnreachable) {
		t.Errorf("junit.xml has %d failures and %d errors, and the exit code is %d", counts.Failures, counts.Errors,
			res.Exit)
	}
}

// Broken lists the clauses that failed or were warned of.
func Broken(res *reports.Results) []string {
	ids := map[string]bool{}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Failed || c.Outcome == verdict.Warned {
			ids[c.ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// OutcomesOf returns the outcomes of a clause in the scenarios with a name, over each driver.
func OutcomesOf(res *reports.Results, name, clause string) (out []verdict.Outcome) {
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Name != name {
			continue
		}
		for _, c := range sc.Clauses {
			if c.Clause == clause {
				out = append(out, c.Outcome)
			}
		}
	}
	return out
}

// Outcome returns the outcome of the first scenario with a name, or "".
func Outcome(res *reports.Results, name string) verdict.Outcome {
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Name == name {
			return sc.Outcome
		}
	}
	return ""
}
