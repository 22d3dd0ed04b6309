// Package verdict turns what scenarios and monitors saw into outcomes per clause and one verdict. It is pure: it has
// no I/O, no clock and no knowledge of any protocol. docs/verdicts.md has the rules.
package verdict

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
