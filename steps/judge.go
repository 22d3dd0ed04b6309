package steps

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"parley/transcript"
	"parley/verdict"
)

// Check is one comparison of what was expected with what was observed, and the clauses that a difference would break.
// A scenario's tags say which of these clauses it may judge; the others are left to the scenarios that are about them.
type Check struct {
	Clauses  []string
	OK       bool
	Expected string
	Observed string
	Diff     string // a go-cmp diff, - expected + observed; "" where the two lines say it all
	At       int    // number of the record at which it was seen; 0 for none
	Model    string // the model that a difference ends, as monitors name it (monitor.Finding); "" for that of the record, if any

	// Group names the kind of the difference, where a step makes many comparisons that are likely to differ alike: of one kind the
	// scenario keeps the first for each clause, and counts the others on it. "" stands alone.
	Group string
}

// maxKept bounds the failures of one clause that a scenario keeps. Those beyond are counted on the last, whatever their kind.
const maxKept = 40

// Failure is one broken clause.
type Failure struct {
	Clause   string
	Outcome  verdict.Outcome
	Expected string
	Observed string
	Diff     string
	At       int
	Monitor  string
	Count    int // how many of its kind there were, with this one; 0 for itself alone

	Following     []Failure // what the model, which knew nothing more, would have said: it settles no clause. At most maxFollowing
	MoreFollowing int       // how many more there were

	group string
	sighting
	others []sighting // of its kind, that were counted
}

// sighting is where a failure was found.
type sighting struct {
	at    int    // the record, as of Check
	model string // the model that it ends, where the step has named it
	since int    // the last record when it was found
}

// BrokenError ends a scenario: a clause that it judges is broken. The failures themselves are with the world.
type BrokenError struct{ Failures []Failure }

func (e *BrokenError) Error() string {
	var ids []string
	for _, f := range e.Failures {
		ids = append(ids, f.Clause)
	}
	f := e.Failures[0]
	msg := fmt.Sprintf("%s broken\n  expected  %s\n  observed  %s", strings.Join(ids, ", "), f.Expected, f.Observed)
	if f.Diff != "" {
		msg += "\n" + f.Diff
	}
	return msg
}

// NotTestedError ends a scenario whose precondition could not be reached. What it had not yet judged is not tested.
type NotTestedError struct{ Reason string }

func (e *NotTestedError) Error() string { return "not tested: " + e.Reason }

// NotTestedf makes a NotTestedError.
func NotTestedf(format string, args ...any) error {
	return &NotTestedError{Reason: fmt.Sprintf(format, args...)}
}

// NotApplicableError ends a scenario about an optional feature that the target does not declare.
type NotApplicableError struct{ Reason string }

func (e *NotApplicableError) Error() string { return "not applicable: " + e.Reason }

// judgement is what a scenario has found out about one clause.
type judgement struct {
	outcome verdict.Outcome
	reason  string
}

// Judge records checks. Checks whose clauses the scenario is not tagged with decide nothing. A clause that is broken
// does not end the scenario, so that it tells everything it can; what the scenario cannot go on without is for Need.
// A broken SHOULD warns, and below that a difference is an observation.
func (w *World) Judge(checks ...Check) error {
	w.judge(checks)
	return nil
}

// judge records checks and returns the failures of clauses that bind.
func (w *World) judge(checks []Check) (broken []Failure) {
	for _, c := range checks {
		if w.cut { // what is missing then was not waited for, and what is not there was not looked for long enough
			continue
		}
		for _, id := range w.tagged(c.Clauses) {
			if c.OK {
				w.settle(id, verdict.Passed, "")
				continue
			}
			f := Failure{Clause: id, Outcome: verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict),
				Expected: c.Expected, Observed: c.Observed, Diff: c.Diff, At: c.At,
				group: c.Group, sighting: sighting{c.At, c.Model, w.T.Len()}}
			if f.Outcome == verdict.NotApplicable {
				w.settle(id, f.Outcome, "observed: "+c.Observed+" (the document has: "+c.Expected+")")
				continue
			}
			w.settle(id, f.Outcome, c.Observed)
			w.keep(f)
			if f.Outcome == verdict.Failed {
				broken = append(broken, f)
			}
		}
	}
	return broken
}

// keep keeps a failure, or counts it on one of its kind.
func (w *World) keep(f Failure) {
	if !slices.ContainsFunc(w.fresh, func(one Failure) bool { return one.Clause == f.Clause && one.group == f.group && f.group != "" }) &&
		len(w.fresh) < maxKept {
		w.fresh = append(w.fresh, f)
	}
	kept, last := 0, -1
	for i := range w.failures {
		one := &w.failures[i]
		if one.Clause != f.Clause {
			continue
		}
		if f.group != "" && one.group == f.group {
			one.count(f.sighting)
			return
		}
		kept, last = kept+1, i
	}
	if kept >= maxKept {
		w.failures[last].count(f.sighting)
		return
	}
	w.failures = append(w.failures, f)
}

// count counts another failure of its kind.
func (f *Failure) count(other sighting) {
	f.Count = max(f.Count, 1) + 1
	f.others = append(f.others, other)
}

// sightings are where it and the others of its kind were found, in order.
func (f *Failure) sightings() []sighting { return append([]sighting{f.sighting}, f.others...) }

// Need is Judge for a check without which the scenario cannot go on: it ends, with a *BrokenError where the check breaks
// a clause that the scenario judges, and with a *NotTestedError where it breaks none.
func (w *World) Need(c Check) error {
	broken := w.judge([]Check{c})
	switch {
	case w.cut:
		if w.why != "" {
			return NotTestedf("%s", w.why)
		}
		return NotTestedf("the scenario was cut off: interrupted, or out of time")
	case c.OK:
		return nil
	case len(broken) > 0:
		return &BrokenError{Failures: broken}
	}
	return NotTestedf("expected %s; observed %s", c.Expected, c.Observed)
}

// Reach is how far a target has come in answering at all, right or wrong. What needs more is not asked.
type Reach int

const (
	Nothing  Reach = iota
	Opened         // it has answered the opening of a connection
	Greeted        // it has told a client what it tells every client
	Given          // it has given a session
	Answered       // it has answered a message
)

// Reached notes how far the target has come.
func (w *World) Reached(r Reach) { w.reached = max(w.reached, r) }

// Broken tells whether the scenario has found anything that a clause forbids, or warns of.
func (w *World) Broken() bool { return len(w.failures) > 0 }

// Observe records an observation on a clause of any level: it never counts against the target.
func (w *World) Observe(id, what string) {
	if w.tags[id] {
		w.settle(id, verdict.NotApplicable, "observed: "+what)
	}
}

func (w *World) tagged(ids []string) []string {
	var out []string
	for _, id := range ids {
		if w.tags[id] {
			out = append(out, id)
		}
	}
	return out
}

// settle keeps the worst that was said of a clause within the scenario.
func (w *World) settle(id string, o verdict.Outcome, reason string) {
	was, ok := w.judged[id]
	if ok && severity(was.outcome) >= severity(o) {
		return
	}
	w.judged[id] = judgement{outcome: o, reason: reason}
}

func severity(o verdict.Outcome) int {
	switch o {
	case verdict.Failed:
		return 4
	case verdict.Warned:
		return 3
	case verdict.Passed:
		return 2
	case verdict.NotApplicable:
		return 1
	}
	return 0
}

// outcome sums a scenario up from what its clauses came to and from the error that ended it.
func (w *World) outcome(err error) (verdict.Outcome, string) {
	var notTested *NotTestedError
	var notApplicable *NotApplicableError
	var broken *BrokenError
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return verdict.EnvError, unreachable.Error()
	case len(w.failures) > 0:
		worst := verdict.Warned
		for _, f := range w.failures {
			if f.Outcome == verdict.Failed {
				worst = verdict.Failed
			}
		}
		if worst == verdict.Failed || err == nil {
			return worst, w.failures[0].Observed
		}
		return worst, err.Error()
	case err == nil:
		return verdict.Passed, ""
	case errors.As(err, &notTested):
		return verdict.NotTested, notTested.Reason
	case errors.As(err, &notApplicable):
		return verdict.NotApplicable, notApplicable.Reason
	case errors.As(err, &broken):
		return verdict.Failed, broken.Error()
	}
	return verdict.HarnessError, err.Error()
}

// clauseOutcomes lists what the scenario says of each of its tags, in order.
func (w *World) clauseOutcomes(total verdict.Outcome, reason string) []ClauseResult {
	var ids []string
	for id := range w.tags {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	var out []ClauseResult
	for _, id := range ids {
		j, ok := w.judged[id]
		if !ok {
			j = judgement{outcome: verdict.NotTested, reason: "not reached"}
			switch total {
			case verdict.NotApplicable, verdict.HarnessError, verdict.EnvError, verdict.NotTested:
				j = judgement{outcome: total, reason: reason}
			case verdict.Failed, verdict.Warned:
				j.reason = "not reached: " + reason
			}
		}
		out = append(out, ClauseResult{ID: id, Outcome: j.outcome, Reason: j.reason})
	}
	return out
}

// ClauseResult is what one scenario says of one clause.
type ClauseResult struct {
	ID      string
	Outcome verdict.Outcome
	Reason  string
}

// brief renders data with its short members first, so that a long list does not hide them where the text is clipped.
func brief(v any) string {
	obj, ok := v.(map[string]any)
	if !ok {
		return compact(v)
	}
	keys := make([]string, 0, len(obj))
	for k := range obj {
		keys = append(keys, k)
	}
	long := func(k string) bool {
		switch obj[k].(type) {
		case []any, map[string]any:
			return true
		}
		return false
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := long(keys[i]), long(keys[j]); a != b {
			return b
		}
		return keys[i] < keys[j]
	})
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = compact(k) + ":" + compact(obj[k])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Seen renders a record as an observation: what it says, when, and where.
func Seen(r transcript.Record) string {
	what := r.Line(300)
	if r.Event != nil {
		what = r.Event.Type + " " + clipText(brief(r.Event.Data), 300)
	} else if r.Kind == transcript.Response {
		what = "HTTP " + r.Label + " " + clipText(string(r.Bytes), 200)
	} else if r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		what = r.Label
	}
	return fmt.Sprintf("%s   +%.1f ms, record %d", what, float64(r.At.Microseconds())/1000, r.N)
}
