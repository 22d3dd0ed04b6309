package parley

import (
	"cmp"
	"io"

	"parley/reports"
)

// Result is what a run has found.
type Result struct {
	// Verdict is "conformant", "non-conformant", "incomplete" (nothing failed, but a binding clause was not tested, or the
	// run was a selection) or "as-expected" (everything that failed is in the baseline).
	Verdict string

	// Exit is the exit code that `parley run` would have: 0 for success, 1 for failures, 3 if the target cannot be
	// reached, 4 for a failure of the harness, 5 for an incomplete run.
	Exit int

	Scenarios []Scenario // one per scenario and driver, in the order of the suite
	Clauses   []Clause   // those that apply to the target

	// Environment says why the target could not be started or reached; "" if it could.
	Environment string

	all *reports.Results
}

// Outcomes of scenarios and clauses.
const (
	Passed        = "passed"
	Failed        = "failed"
	Warned        = "warned" // a SHOULD is broken
	NotTested     = "not-tested"
	NotApplicable = "not-applicable"
	ExpectedFail  = "expected-failure"  // failed, as the baseline says
	EnvError      = "environment-error" // the target could not be reached
	HarnessError  = "harness-error"     // the harness failed, which says nothing of the target
)

// Scenario is the result of a scenario over a driver.
type Scenario struct {
	ID       string // such as AS-4.1-06; the name of its subtest
	Name     string
	Location string // of the scenario: features/<protocol>/<file>:<line>, or in the folder of yours
	Driver   string
	Outcome  string
	Reason   string    // of an outcome other than passed
	Findings []Finding // broken clauses
}

// Finding is a broken clause in a scenario.
type Finding struct {
	Clause   string
	Level    string // "MUST", "SHOULD" and so on
	Text     string // of the clause
	Expected string
	Observed string
	Diff     string   // a go-cmp diff, - expected + observed; "" if there is none
	Step     string   // that found it, with its keyword; of a monitor, in which the record came; "": found at the end
	Location string   // of the step; that of the scenario if there is none
	Monitor  string   // the monitor that found it; "" if there is none
	At       string   // connection, record number and time since the scenario's start; "" if it has no place
	Wire     []string // the records around that place, one line each; the one at the place is marked by >
}

// Clause is the outcome of a clause.
type Clause struct {
	ID      string
	Level   string
	Text    string
	Outcome string
	Reason  string // of an outcome other than passed
}

// WriteJSON writes the results in the format of results.json, which every report can be made from.
func (r *Result) WriteJSON(w io.Writer) error { return reports.WriteJSON(w, r.all) }

// WriteText writes the report that `parley run` prints, without colours.
func (r *Result) WriteText(w io.Writer) error {
	return reports.WriteConsole(w, r.all, reports.ConsoleOptions{})
}

// resultOf returns what a run has found.
func resultOf(all *reports.Results) *Result {
	run := &all.Runs[0]
	out := &Result{Verdict: string(all.Verdict), Exit: all.Exit, Environment: run.Environment, all: all}
	for _, c := range run.Clauses {
		if !c.Excluded && !c.OtherRole {
			out.Clauses = append(out.Clauses, Clause{c.ID, string(c.Level), c.Text, string(c.Outcome), c.Reason})
		}
	}
	for i := range run.Scenarios {
		out.Scenarios = append(out.Scenarios, scenarioOf(&run.Scenarios[i]))
	}
	return out
}

// scenarioOf returns the result of a scenario.
func scenarioOf(sc *reports.Scenario) Scenario {
	out := Scenario{ID: sc.ID, Name: sc.Name, Location: sc.Location, Driver: sc.Driver, Outcome: string(sc.Outcome),
		Reason: sc.Reason}
	for _, f := range sc.Failures {
		out.Findings = append(out.Findings, Finding{Clause: f.Clause, Level: string(f.Level), Text: f.Text,
			Expected: f.Expected, Observed: f.Observed, Diff: f.Diff, Step: f.Step,
			Location: cmp.Or(f.Location, sc.Location), Monitor: f.Monitor, At: f.At, Wire: f.Excerpt})
	}
	return out
}
