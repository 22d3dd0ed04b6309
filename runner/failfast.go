package runner

import (
	"sync"

	"parley/features/verdict"
)

// FailFast ends the runs that share it at the first failed clause: scenarios that have not begun then are not tested.
// What is repeated because something else may have caused its failure still runs. It is safe for concurrent use.
type FailFast struct {
	mu  sync.Mutex
	why string
}

// beforeFailure is what a run that was ended has judged.
const beforeFailure = "what came before the first failure (--fail-fast)"

// Why says which failure ended the runs; "" for none. A nil FailFast ends none.
func (f *FailFast) Why() string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

// found notes a failure of a clause in a scenario; the first one counts.
func (f *FailFast) found(clause, scenario string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == "" {
		f.why = "not run: --fail-fast ended the run when " + scenario + " broke " + clause
	}
}

// failFast ends the run if a judgement is a failure that the baseline does not expect.
func (r *run) failFast(judged []verdict.Judgement) {
	if r.o.FailFast == nil {
		return
	}
	for _, j := range judged {
		if j.Outcome == verdict.Failed && !r.expects(j) {
			r.o.FailFast.found(j.Clause, j.Scenario)
			return
		}
	}
}

// expects reports whether the baseline has a row about a clause that fails over a driver.
func (r *run) expects(j verdict.Judgement) bool {
	if r.o.Baseline == nil {
		return false
	}
	for _, e := range r.o.Baseline.Expected {
		if e.Clause == j.Clause && e.About(r.role) && (e.Driver == "" || e.Driver == j.Driver) {
			return true
		}
	}
	return false
}
