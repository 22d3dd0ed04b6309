package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"parley/reports/lang"
	"parley/verdict"
)

// The elements of JUnit XML that the common readers agree on.
type (
	junitRoot struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []junitSuite
	}
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase
	}
	junitCase struct {
		XMLName    xml.Name        `xml:"testcase"`
		Class      string          `xml:"classname,attr"`
		Name       string          `xml:"name,attr"`
		Time       string          `xml:"time,attr"`
		File       string          `xml:"file,attr,omitempty"` // GitLab links it
		Line       int64           `xml:"line,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Failure    *junitTrouble   `xml:"failure"`
		Error      *junitTrouble   `xml:"error"`
		Skipped    *junitSkipped   `xml:"skipped"`
		Out        *junitText      `xml:"system-out"`
		duration   float64
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitTrouble struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

// WriteJUnit writes r as JUnit XML: a testsuite for every run and driver, a testcase for every scenario. Failed and
// unexpected-pass are failures; environment and harness errors are errors; not-applicable, not-tested and
// expected-failure are skipped, and the message begins with the outcome. A warning passes and is shown in system-out.
// A scenario also fails for what a monitor has found in it, so that there are failures exactly where a clause counts
// as failed. Problems of a run outside its scenarios (an unreachable target, a baseline to fix) are in a testsuite of
// their own, if there are any.
func WriteJUnit(w io.Writer, r *Results) error {
	r = presentable(r)
	root := junitRoot{Name: "parley", Time: seconds(r.Duration)}
	for i := range r.Runs {
		root.addRun(r, &r.Runs[i])
	}
	out, err := xml.MarshalIndent(root, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, out)
	return err
}

func (root *junitRoot) addRun(r *Results, run *Run) {
	for _, d := range driversOf(run) {
		var cases []junitCase
		for i := range run.Scenarios {
			if run.Scenarios[i].Driver == d {
				cases = append(cases, scenarioCase(run, &run.Scenarios[i]))
			}
		}
		root.add(r, run, d, cases)
	}
	root.add(r, run, "run", runCases(run))
}

// add appends a testsuite with its counts, unless it has no cases.
func (root *junitRoot) add(r *Results, run *Run, part string, cases []junitCase) {
	if len(cases) == 0 {
		return
	}
	s := junitSuite{
		Name:       fmt.Sprintf("%s (%s)", runName(run), part),
		Timestamp:  r.Started.UTC().Format(time.DateOnly + "T" + time.TimeOnly),
		Properties: suiteProperties(r, run, part),
		Cases:      cases,
	}
	var total float64
	for _, c := range cases {
		s.count(c)
		total += c.duration
	}
	s.Time = seconds(total)
	root.Tests += s.Tests
	root.Failures += s.Failures
	root.Errors += s.Errors
	root.Skipped += s.Skipped
	root.Suites = append(root.Suites, s)
}

func (s *junitSuite) count(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func suiteProperties(r *Results, run *Run, part string) []junitProperty {
	return []junitProperty{
		{"protocol", run.Protocol},
		{"role", run.Role},
		{"driver", part},
		{"target", run.Target.Name},
		{"url", run.Target.URL},
		{"verdict", string(run.Verdict)},
		{"suite", r.Suite.Version + " " + r.Suite.Digest},
		{"selection", r.Selection},
		{"seed", fmt.Sprint(r.Seed)},
	}
}

func scenarioCase(run *Run, s *Scenario) junitCase {
	c := junitCase{
		Class:    strings.Join([]string{run.Protocol, run.Role, s.Driver, strings.ReplaceAll(s.Feature, ".", "_")}, "."),
		Name:     s.ID + " " + s.Name,
		Time:     seconds(s.Duration),
		duration: s.Duration,
	}
	c.File, c.Line = located(s.Location)
	for _, cl := range s.Clauses {
		c.Properties = append(c.Properties, junitProperty{"clause", cl.Clause},
			junitProperty{"clause." + cl.Clause, string(cl.Outcome)})
	}
	c.Properties = append(c.Properties, junitProperty{"outcome", string(s.Outcome)}, junitProperty{"location", s.Location})
	c.judge(run, s)
	if text := asideText(s, c.Failure != nil || c.Error != nil); text != "" {
		c.Out = &junitText{text}
	}
	return c
}

// judge maps the outcome of a scenario to its JUnit element.
func (c *junitCase) judge(run *Run, s *Scenario) {
	trouble := &junitTrouble{Message: headline(run, s), Type: string(s.Outcome), Text: failureText(s)}
	switch s.Outcome {
	case verdict.EnvError, verdict.HarnessError:
		c.Error = trouble
		return
	}
	if slices.ContainsFunc(s.Failures, func(f Failure) bool { return countsAsFailed(run, f.Clause, s.Driver) }) {
		trouble.Type = string(verdict.Failed) // monitors included
		c.Failure = trouble
		return
	}
	switch s.Outcome {
	case verdict.Passed, verdict.Warned:
	case verdict.NotApplicable, verdict.NotTested, verdict.ExpectedFail:
		c.Skipped = &junitSkipped{headline(run, s)}
	default:
		c.Failure = trouble
	}
}

// countsAsFailed reports whether a clause counts as failed over a driver.
func countsAsFailed(run *Run, id, driver string) bool {
	i := slices.IndexFunc(run.Clauses, func(c Clause) bool { return c.ID == id })
	return i >= 0 && run.Clauses[i].Outcome == verdict.Failed && !run.Clauses[i].Excused(driver)
}

// headline returns the outcome with the reason, or with the clauses that failed, and why the baseline excuses them.
func headline(run *Run, s *Scenario) string {
	reason := s.Reason
	if reason == "" || s.Outcome == verdict.ExpectedFail && len(s.Failures) > 0 {
		var ids []string
		for _, f := range s.Failures {
			id := f.Clause + " " + string(f.Level)
			if why := baselineReason(run, f.Clause, s.Driver); why != "" && s.Outcome == verdict.ExpectedFail {
				id += " (" + why + ")"
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		reason = strings.Join(ids, ", ")
	}
	return strings.TrimSuffix(string(s.Outcome)+": "+reason, ": ")
}

// failureText returns everything about a scenario's failure.
func failureText(s *Scenario) string {
	var p printer
	for _, f := range s.Failures {
		p.clauseLine(Clause{ID: f.Clause, Level: f.Level, Section: f.Section, Text: f.Text}, "")
		p.hit(hit{s, f}, "", true)
		p.WriteByte('\n')
	}
	p.field("reason", "", s.Reason)
	p.field("step", "", failedStep(s))
	return "\n" + p.String()
}

// asideText returns what a scenario reports besides its failure: notes, and evidence that does not fail the testcase.
func asideText(s *Scenario, failing bool) string {
	var p printer
	for _, n := range s.Notes {
		p.field("note", "", n)
	}
	if len(s.Failures) > 0 && !failing {
		p.WriteString(failureText(s))
	}
	return p.String()
}

// runCases returns the problems of a run that no scenario shows.
func runCases(run *Run) []junitCase {
	class := run.Protocol + "." + run.Role
	var out []junitCase
	if run.Environment != "" {
		out = append(out, junitCase{Class: class, Name: "the target can be reached", Time: seconds(0), Error: &junitTrouble{
			Message: "environment-error: " + run.Environment, Type: string(verdict.EnvError), Text: run.Environment + "\n" +
				run.TargetStderr,
		}})
	}
	failed := func(id string) bool {
		return slices.ContainsFunc(run.Clauses, func(c Clause) bool { return c.ID == id && c.Outcome == verdict.Failed })
	}
	for _, row := range troubledRows(run.Baseline) {
		if row.State == verdict.RowExpired && !failed(row.Clause) {
			continue // it needs fixing, but fails nothing
		}
		out = append(out, junitCase{Class: class, Name: "baseline " + row.Clause, Time: seconds(0), Failure: &junitTrouble{
			Message: row.State, Type: "baseline", Text: baselineText(row, lang.English),
		}})
	}
	return out
}

// seconds converts fractional milliseconds to the unit of JUnit.
func seconds(ms float64) string { return fmt.Sprintf("%.6f", ms/1000) }
