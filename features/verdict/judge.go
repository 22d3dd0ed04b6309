package verdict

import (
	"cmp"
	"slices"
)

// Judgement is what one scenario over one driver says about one clause. Monitor names the monitor that said it; ""
// for a step.
type Judgement struct {
	Clause   string  `json:"id"`
	Driver   string  `json:"-"`
	Scenario string  `json:"-"`
	Outcome  Outcome `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`
	Monitor  string  `json:"-"`
	// Unfinished marks a clause that is not tested because the scenario was cut off on its way, by a limit or because
	// records were lost. It might have been broken: the clause may have passed elsewhere, but the run is incomplete.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Aggregate reduces the judgements of one clause: any failure, else any pass, else not applicable if all say so, else
// not tested. Certifying selects the drivers whose passes count; failures count over any driver.
func Aggregate(js []Judgement, certifying func(driver string) bool) (o Outcome, why string,
	byDriver map[string]Outcome) {
	byDriver = map[string]Outcome{}
	perDriver := map[string][]Judgement{}
	var counted []Judgement
	for _, j := range js {
		perDriver[j.Driver] = append(perDriver[j.Driver], j)
		if certifying(j.Driver) || j.Outcome != Passed {
			counted = append(counted, j)
		}
	}
	for d, list := range perDriver {
		byDriver[d], _ = reduce(list)
	}
	if o, why = reduce(counted); len(counted) == 0 && len(js) > 0 {
		why = "passed, but only over drivers that do not certify"
	}
	return o, why, byDriver
}

// rank orders outcomes: with several judgements of a clause, the higher rank wins.
var rank = map[Outcome]int{
	Failed: 8, UnexpectedPass: 7, ExpectedFail: 6, Warned: 5, Passed: 4, HarnessError: 3, EnvError: 2, NotTested: 1,
	NotApplicable: 0,
}

// Worse reports whether the outcome a of a scenario weighs more than b.
func Worse(a, b Outcome) bool { return weight(a) > weight(b) }

// weight is the rank of an outcome in which a pass does not make up for what was not tested.
func weight(o Outcome) int {
	if o == Passed {
		return -1
	}
	return rank[o]
}

// NotRun is the reason of a clause if the selection excludes all that could judge it.
const NotRun = "no scenario that judges it was run"

func reduce(js []Judgement) (Outcome, string) {
	if len(js) == 0 {
		return NotTested, NotRun
	}
	// The reason must not depend on the order in which scenarios end.
	worst := slices.MaxFunc(js, func(a, b Judgement) int {
		return cmp.Or(cmp.Compare(rank[a.Outcome], rank[b.Outcome]), cmp.Compare(b.Driver, a.Driver),
			cmp.Compare(b.Scenario, a.Scenario), cmp.Compare(b.Monitor, a.Monitor), cmp.Compare(b.Reason, a.Reason))
	})
	if worst.Outcome == Passed {
		return Passed, ""
	}
	return worst.Outcome, worst.Reason
}

// ByLevel returns the outcome of a broken clause of a level: failed if it binds (or for a SHOULD in strict mode),
// warned for a SHOULD, an observation for the rest.
func ByLevel(l Level, strict bool) Outcome {
	switch {
	case l.Binding(), l == Should && strict:
		return Failed
	case l == Should:
		return Warned
	default:
		return NotApplicable
	}
}

// Circumstances are what a verdict depends on besides the outcomes of clauses.
type Circumstances struct {
	Filtered        bool // a selection narrowed the run
	CutOff          bool // a scenario was cut off that might have broken a binding clause (Judgement.Unfinished)
	Harness         bool // the harness failed
	Unreachable     bool // the target could not be started or reached
	Forgiven        bool // a row of the baseline applied, or is flaky and its clause passed this time
	AllowIncomplete bool
}

// Decide returns the verdict and the exit code of one run. The precedence of exit codes is 4, 3, 1, 5, 0 (2 is
// decided before anything runs). A run with failures excused by the baseline is never conformant.
func Decide(clauses []Judgement, level func(clause string) Level, c Circumstances) (Verdict, int) {
	failed, untested := false, c.Filtered || c.CutOff
	for _, j := range clauses {
		switch j.Outcome {
		case Failed, UnexpectedPass:
			failed = true
		case ExpectedFail:
			c.Forgiven = true
		case HarnessError:
			c.Harness = true
		case NotTested, EnvError:
			untested = untested || level(j.Clause).Binding()
		}
	}
	switch {
	case c.Harness:
		return worst(failed), ExitHarness
	case c.Unreachable:
		return worst(failed), ExitUnreachable
	case failed:
		return NonConformant, ExitNonConformant
	case untested && c.AllowIncomplete:
		return Incomplete, ExitConformant
	case untested:
		return Incomplete, ExitIncomplete
	case c.Forgiven:
		return AsExpected, ExitConformant
	}
	return Conformant, ExitConformant
}

func worst(failed bool) Verdict {
	if failed {
		return NonConformant
	}
	return Incomplete
}
