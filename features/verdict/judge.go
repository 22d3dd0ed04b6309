// Package verdict turns what scenarios and monitors saw into outcomes per clause and one verdict. It is pure: it has
// no I/O, no clock and no knowledge of any protocol. docs/verdicts.md has the rules.
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
		byDriver[d], _ = reduceJudgements(list)
	}
	if o, why = reduceJudgements(counted); len(counted) == 0 && len(js) > 0 {
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
func Worse(a, b Outcome) bool { return outcomeRank(a) > outcomeRank(b) }

// outcomeRank is the rank of an outcome in which a pass does not make up for what was not tested.
func outcomeRank(o Outcome) int {
	if o == Passed {
		return -1
	}
	return rank[o]
}

// NotRun is the reason of a clause if the selection excludes all that could judge it.
const NotRun = "no scenario that judges it was run"

func reduceJudgements(js []Judgement) (Outcome, string) {
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
		return worstVerdict(failed), ExitHarness
	case c.Unreachable:
		return worstVerdict(failed), ExitUnreachable
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

func worstVerdict(failed bool) Verdict {
	if failed {
		return NonConformant
	}
	return Incomplete
}

// Outcome is the result of a clause or of a scenario. The values stay distinct all the way to the reports: what did
// not run has never passed.
type Outcome string

const (
	Passed        Outcome = "passed"
	Failed        Outcome = "failed"         // a MUST was broken
	Warned        Outcome = "warned"         // a SHOULD was broken
	NotApplicable Outcome = "not-applicable" // an optional feature that the target does not declare or use
	NotTested     Outcome = "not-tested"     // a precondition could not be reached; the reason names it
	HarnessError  Outcome = "harness-error"  // the harness failed
	// the target could not be started or reached, or is another kind of server
	EnvError       Outcome = "environment-error"
	ExpectedFail   Outcome = "expected-failure" // failed, and the baseline says so
	UnexpectedPass Outcome = "unexpected-pass"  // passed, although the baseline expects a failure
)

// Outcomes lists every value, worst last, in the order in which reports count them.
var Outcomes = []Outcome{Passed, NotApplicable, ExpectedFail, Warned, NotTested, UnexpectedPass, Failed, EnvError,
	HarnessError}

// Level is how binding a clause is.
type Level string

const (
	Must     Level = "MUST"
	Should   Level = "SHOULD"
	May      Level = "MAY"
	Info     Level = "INFO"     // background and example values
	Conflict Level = "CONFLICT" // the documents disagree; binding on the ledger's fair reading
)

// Levels lists every level, most binding first.
var Levels = []Level{Must, Conflict, Should, May, Info}

// Binding reports whether breaking a clause of this level makes a target non-conformant.
func (l Level) Binding() bool { return l == Must || l == Conflict }

// Verdict is the answer to "does the target conform?".
type Verdict string

const (
	Conformant    Verdict = "conformant"
	NonConformant Verdict = "non-conformant"
	Incomplete    Verdict = "incomplete"  // an applicable MUST was not tested, and nothing is worse
	AsExpected    Verdict = "as-expected" // everything that failed is in the baseline, and nothing is worse
)

// Exit codes of the command line.
const (
	ExitConformant    = 0 // as-expected too
	ExitNonConformant = 1
	ExitUsage         = 2
	ExitUnreachable   = 3
	ExitHarness       = 4
	ExitIncomplete    = 5
	ExitInterrupted   = 130
)

// Worst has the worst outcome so far of each clause, for what judges while something goes on.
type Worst map[string]Outcome

// Take adds an outcome, and reports whether it is the first of its clause, or worse.
func (w Worst) Take(clause string, o Outcome) bool {
	if was, ok := w[clause]; ok && rank[o] <= rank[was] {
		return false
	}
	w[clause] = o
	return true
}

// A Finding is one comparison of expectation and observation, by a step or a monitor. It says of some clauses that they
// are kept or broken.
//
// A model that was wrong once knows nothing more (RULINGS 9). A finding that depends on tracked state (of a session,
// a turn, a transaction, a stage) names it in Model, as a path: a deviation of "s1" also affects its part "s1/t2",
// but not vice versa. Findings after a model's first deviation decide no clause: failures are kept as following from
// the first one, the others are dropped. A finding without a Model is about its record alone, and always counts.
type Finding struct {
	Clauses  []string // a scenario judges those among its tags, a monitor those that it has listed
	OK       bool
	Expected string
	Observed string // set if not OK
	Diff     string // a go-cmp diff, - expected + observed; "" if the two lines suffice
	At       int    // number of the record at which it was seen; 0 for none
	Model    string // the model whose state was compared; "": none, or the record's according to Monitor.Of
	Miss     *Miss  // of steps: the wait that failed, if that is the difference; nil if something came
	// set by monitors: it follows from an earlier deviation of the model, even one at the same record
	Follows bool

	// Group names the kind of difference, for steps with many comparisons that tend to fail alike. Of one group, the
	// scenario keeps the first for each clause and counts the others on it. "" is never grouped.
	Group string

	Judge Judge // what has judged it; "": a step by itself, from records. Of monitors it is set by the caller
}

// Judge is what judges a clause.
type Judge string

const (
	ByModel Judge = "model" // the protocol's model, from records
	ByPage  Judge = "page"  // looks at a web page
	ByLog   Judge = "log"   // the bytes of a log that the target writes
	ByLLM   Judge = "llm"   // the requests that the target sends to its large language model
	// the opening of a connection, or the set-up on it: without it no clause can be judged, so it is nobody's only judge
	ByConnection Judge = "connection"
)

// judges are the values of Row.Judged.
var judges = []Judge{ByModel, ByPage, ByLog, ByLLM}

// Judges are what judges a clause: one, or one for each thing that its sentence says, such as the answer that a client
// receives and the request that the large language model gets. A ledger has a word or a list of words.
type Judges []Judge

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (js *Judges) UnmarshalYAML(read func(any) error) error {
	var one Judge
	if read(&one) == nil {
		*js = Judges{one}
		return nil
	}
	return read((*[]Judge)(js))
}

// known reports whether each is one that a ledger may name, and none is named twice.
func (js Judges) known() bool {
	for i, j := range js {
		if !slices.Contains(judges, j) || slices.Contains(js[:i], j) {
			return false
		}
	}
	return true
}

// Miss says that an awaited record did not come, and why.
type Miss struct {
	Reason string
	At     int // the record that ended the wait; 0 if it timed out
	// the wait timed out; a step that has found something wrong in place of the awaited record resets this
	Late bool
	// nothing is owed: no act was made that the record would answer, or none that reached the target, or the user or a
	// limit of the harness ended the wait. Its finding leaves clauses not tested
	NotOwed bool
}

func (m *Miss) Error() string { return m.Reason }

// Check returns the finding of a failed wait.
func (m *Miss) Check(expected string, clauses ...string) Finding {
	return Finding{Clauses: clauses, Expected: expected, Observed: m.Reason, At: m.At, Miss: m}
}
