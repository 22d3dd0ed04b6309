package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/reports/lang"
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
// expected-failure are skipped, and the message begins with the outcome. A warning passes and is shown in system-out,
// as is what was only observed. As many testcases of these suites fail as the totals count failed scenarios.
//
// What monitors found in the traffic of scenarios fails a clause and no scenario: the testsuite "monitors" has one
// testcase for each clause that they found broken, so that every failed clause is named by a failure. Problems of a run
// outside its scenarios (an unreachable target, a baseline to fix) are in a testsuite of their own, if there are any.
func WriteJUnit(w io.Writer, r *Results) error {
	r = makePresentable(r)
	root := junitRoot{Name: "parley", Time: seconds(r.Duration)}
	for i := range r.Runs {
		root.addRun(r, &r.Runs[i])
	}
	if len(r.Runs) > 0 {
		root.addSuite(r, &r.Runs[0], "limits", limitCases(r.Limits))
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
		root.addSuite(r, run, d, cases)
	}
	root.addSuite(r, run, "monitors", monitorCases(run))
	root.addSuite(r, run, "run", runCases(run))
}

// addSuite appends a testsuite with its counts, unless it has no cases.
func (root *junitRoot) addSuite(r *Results, run *Run, part string, cases []junitCase) {
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
		s.countCase(c)
		total += c.duration
	}
	s.Time = seconds(total)
	root.Tests += s.Tests
	root.Failures += s.Failures
	root.Errors += s.Errors
	root.Skipped += s.Skipped
	root.Suites = append(root.Suites, s)
}

func (s *junitSuite) countCase(c junitCase) {
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
	c.File, c.Line = splitLocation(s.Location)
	for _, cl := range s.Clauses {
		c.Properties = append(c.Properties, junitProperty{"clause", cl.Clause},
			junitProperty{"clause." + cl.Clause, string(cl.Outcome)})
	}
	c.Properties = append(c.Properties, junitProperty{"outcome", string(s.Outcome)}, junitProperty{"location", s.Location})
	c.setOutcome(run, s)
	if text := asideText(run, s, c.Failure != nil || c.Error != nil); text != "" {
		c.Out = &junitText{text}
	}
	return c
}

// setOutcome maps the outcome of a scenario to its JUnit element.
func (c *junitCase) setOutcome(run *Run, s *Scenario) {
	counted, _ := countedOf(run, s)
	trouble := &junitTrouble{Message: headline(run, s), Type: string(s.Outcome), Text: failureText(s, counted)}
	switch s.Outcome {
	case verdict.EnvError, verdict.HarnessError:
		c.Error = trouble
	case verdict.Passed, verdict.Warned:
	case verdict.NotApplicable, verdict.NotTested, verdict.ExpectedFail:
		c.Skipped = &junitSkipped{headline(run, s)}
	default:
		c.Failure = trouble
	}
}

// countedOf separates the failures of a scenario that make a clause fail, the strongest level first, from all others.
// If there are none of the former, those whose level can fail take their place.
func countedOf(run *Run, s *Scenario) (counted, aside []Failure) {
	counts := func(f Failure) bool { return countsAsFailed(run, f.Clause, s.Driver) }
	if !slices.ContainsFunc(s.Failures, counts) {
		counts = func(f Failure) bool { return f.Level.Binding() || f.Level == verdict.Should }
	}
	for _, f := range s.Failures {
		if counts(f) {
			counted = append(counted, f)
		} else {
			aside = append(aside, f)
		}
	}
	slices.SortStableFunc(counted, func(a, b Failure) int { return levelRank(a.Level) - levelRank(b.Level) })
	return counted, aside
}

// countsAsFailed reports whether a clause counts as failed over a driver.
func countsAsFailed(run *Run, id, driver string) bool {
	i := slices.IndexFunc(run.Clauses, func(c Clause) bool { return c.ID == id })
	return i >= 0 && run.Clauses[i].Outcome == verdict.Failed && !run.Clauses[i].Excused(driver)
}

// headline returns the outcome with the reason, or with the clauses that failed, and why the baseline excuses them.
func headline(run *Run, s *Scenario) string {
	reason := s.Reason
	failed := s.Outcome == verdict.Failed && len(s.Failures) > 0
	if reason == "" || failed || s.Outcome == verdict.ExpectedFail && len(s.Failures) > 0 {
		var ids []string
		counted, _ := countedOf(run, s)
		for _, f := range counted {
			id := f.Clause + " " + string(f.Level)
			if why := baselineReason(run, f.Clause, s.Driver); why != "" && s.Outcome == verdict.ExpectedFail {
				id += " (" + why + ")"
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		reason = strings.Join(ids, ", ")
		if failed && s.Reason != "" {
			reason += ": " + s.Reason
		}
	}
	return strings.TrimSuffix(string(s.Outcome)+": "+reason, ": ")
}

// failureText returns everything about a scenario's failures, or why there is no judgement.
func failureText(s *Scenario, failures []Failure) string {
	var p printer
	if len(failures) == 0 {
		p.printView(viewOfError(s, lang.English), nil, "")
	} else {
		p.printFailures(s, failures)
		p.printField("reason", "", s.Reason)
	}
	return "\n" + p.String()
}

func (p *printer) printFailures(s *Scenario, list []Failure) {
	for _, f := range list {
		p.clauseLine(Clause{ID: f.Clause, Level: f.Level, Section: f.Section, Text: f.Text}, "")
		p.printView(viewOf(hit{s, f}, lang.English), nil, "")
		p.WriteByte('\n')
	}
}

// asideText returns what a scenario reports besides its failure: notes, and evidence that does not fail the testcase.
func asideText(run *Run, s *Scenario, failing bool) string {
	var p printer
	for _, n := range s.Notes {
		p.printField("note", "", n)
	}
	if failing {
		_, aside := countedOf(run, s)
		p.printFailures(s, aside)
	} else if len(s.Failures) > 0 {
		p.WriteString(failureText(s, s.Failures))
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

// monitorCases returns a failing testcase for each failed clause that was found broken in the traffic of scenarios that
// did not fail, or that no scenario shows: a scenario keeps the outcome of its own clauses, whatever else was found.
func monitorCases(run *Run) []junitCase {
	var out []junitCase
	for _, f := range clausesWithHits(run) {
		if f.Clause.Outcome != verdict.Failed {
			continue
		}
		all := len(f.Hits)
		f.Hits = slices.DeleteFunc(f.Hits, func(h hit) bool { return h.Scenario.Outcome == verdict.Failed })
		shown := all > len(f.Hits) || slices.ContainsFunc(run.Scenarios, func(s Scenario) bool {
			return s.Outcome == verdict.Failed && slices.ContainsFunc(s.Clauses, func(j verdict.Judgement) bool {
				return j.Clause == f.Clause.ID && j.Outcome == verdict.Failed
			})
		})
		f.Hits = slices.DeleteFunc(f.Hits, func(h hit) bool { return f.Clause.Excused(h.Scenario.Driver) })
		if len(f.Hits) > 0 || !shown {
			out = append(out, monitorCase(run, f))
		}
	}
	return out
}

// monitorCase returns the testcase of one clause, with its first examples.
func monitorCase(run *Run, f finding) junitCase {
	c := junitCase{Class: strings.Join([]string{run.Protocol, run.Role, "monitors"}, "."),
		Name: f.Clause.ID + " " + f.Clause.Text, Time: seconds(0)}
	c.Properties = []junitProperty{{"clause", f.Clause.ID}, {"clause." + f.Clause.ID, string(f.Clause.Outcome)},
		{"outcome", string(f.Clause.Outcome)}}
	message := string(f.Clause.Outcome) + ": " + f.Clause.ID + " " + string(f.Clause.Level)
	var p printer
	p.clauseLine(f.Clause, "")
	p.printField("reason", "", f.Clause.Reason)
	scenarios := map[string]bool{}
	for i, h := range f.Hits {
		scenarios[h.Scenario.ID] = true
		if i < shownPerClause {
			p.printView(viewOf(h, lang.English), nil, "")
			p.WriteByte('\n')
		}
	}
	if n := len(f.Hits); n > 0 {
		message += fmt.Sprintf(", found in the traffic of %s with another outcome",
			words.Counted(len(scenarios), "scenario"))
		if n > shownPerClause {
			p.line("and %s: report.html", words.Counted(n-shownPerClause, "more example"))
		}
	}
	c.Failure = &junitTrouble{Message: message, Type: string(f.Clause.Outcome), Text: "\n" + p.String()}
	return c
}
