package scenario

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/target"
)

// Trial runs lines as the only scenario of a target, tagged with every tested clause. It is for one goroutine.
type Trial struct {
	title  string
	tested []string
	o      runner.Options
}

// NewTrial returns the trial of a protocol's scenarios against the target of o, whose preflight runs before each.
func NewTrial(title string, p steps.Protocol, o runner.Options) (*Trial, error) {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	t := &Trial{title: title, o: o}
	for _, row := range ledger.Rows() {
		if row.Tested() {
			t.tested = append(t.tested, row.ID)
		}
	}
	return t, nil
}

// Role returns the role of the target.
func (t *Trial) Role() string { return t.o.Role }

// Against returns a trial of the same over the same drivers against another target.
func (t *Trial) Against(p *target.Profile, l target.Launcher, brain *llm.Brain) *Trial {
	other := *t
	other.o.Profile, other.o.Launcher, other.o.Brain = p, l, brain
	return &other
}

// Result is what a run of a scenario has shown, over all drivers.
type Result struct {
	Clauses  []string // that were broken, sorted
	Findings []string // sorted: the clause, who found it, and what was expected, without what differs between runs
	Judged   bool     // a clause was judged
	Why      string   // the scenario did not run to its end; "": it did
	Exit     int      // if nothing was judged: the exit code that says so
}

// drawn matches what differs between two runs of a scenario.
var drawn = regexp.MustCompile(`[\w-]*\d[\w-]*`)

// Finding is one of Result.Findings.
func Finding(f reports.Failure) string {
	return strings.Join([]string{f.Clause, f.Monitor, drawn.ReplaceAllString(f.Expected, "#")}, " ")
}

// Run runs lines once. The error is that of the context, or says that the run is impossible.
func (t *Trial) Run(ctx context.Context, lines []Line) (Result, error) {
	o := t.o
	o.Own = []runner.OwnFeature{{Path: "recorded.feature", Text: []byte(Feature(t.title, t.tested, lines))}}
	res, err := runner.Run(ctx, o)
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case err != nil:
		return Result{}, err
	}
	out := Result{Exit: verdict.ExitUnreachable, Why: "the target did not run it"}
	if res.Exit == verdict.ExitHarness {
		out.Exit = res.Exit
	}
	for _, r := range res.Runs {
		if r.Environment != "" {
			out.Why = r.Environment
		}
		for _, sc := range r.Scenarios {
			if strings.HasPrefix(sc.ID, "own-") {
				out.addRun(sc)
			}
		}
	}
	slices.Sort(out.Clauses)
	slices.Sort(out.Findings)
	out.Clauses, out.Findings = slices.Compact(out.Clauses), slices.Compact(out.Findings)
	return out, nil
}

// addRun adds what the scenario has shown over one driver.
func (r *Result) addRun(sc reports.Scenario) {
	r.Why = ""
	switch sc.Outcome {
	case verdict.Passed, verdict.Failed, verdict.Warned:
	default:
		r.Why = sc.Reason
	}
	for _, c := range sc.Clauses {
		r.Judged = r.Judged || c.Outcome == verdict.Passed
	}
	for _, f := range sc.Failures {
		r.Judged = true
		r.Clauses, r.Findings = append(r.Clauses, f.Clause), append(r.Findings, Finding(f))
	}
}
