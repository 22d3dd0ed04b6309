package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/monitor"
	"parley/transcript"
	"parley/verdict"
)

// Check is a Finding of a step. A scenario's tags say which of its clauses it may judge; the others are left to the
// scenarios that are about them.
type Check = verdict.Finding

// Miss tells that an awaited record did not come, and what came instead.
type Miss = verdict.Miss

// CheckOf is a Check of one record, which is what was observed.
func CheckOf(r transcript.Record, ok bool, expected string, clauses ...string) Check {
	return Check{Clauses: clauses, OK: ok, Expected: expected, Observed: Seen(r), At: r.N}
}

// maxKept bounds the failures of one clause that a scenario keeps. Those beyond are counted on the last, whatever their
// kind.
const maxKept = 40

// Failure is one clause that a finding has broken.
type Failure struct {
	verdict.Finding // whose Observed, At and so on they are

	Clause  string
	Outcome verdict.Outcome
	Monitor string // that has found it; "": a step has
	// nothing came within its limit, or the target refused for want of room: it may be overloaded, and not wrong
	Missing bool
	Count   int // how many of its kind there were, with this one; 0 for itself alone

	// what the model, which knew nothing more, would have said: it settles no clause. At most maxFollowing
	Following     []Failure
	MoreFollowing int // how many more there were

	since  int        // the last record when it was found
	gone   bool       // a connection had ended before what was awaited came
	others []*Failure // of its kind, that were counted
}

// WorstOf is the outcome of a scenario by its failures.
func WorstOf(list []Failure) verdict.Outcome {
	if slices.ContainsFunc(list, func(f Failure) bool { return f.Outcome == verdict.Failed }) {
		return verdict.Failed
	}
	return verdict.Warned
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
		if w.isCut() { // what is missing then was not waited for, and what is not there was not looked for long enough
			w.skip(c.Clauses)
			continue
		}
		first := w.endedBy(c.Model)
		for _, id := range w.tagged(c.Clauses) {
			if c.OK && first < 0 {
				w.settle(id, verdict.Passed, "")
			}
			if c.OK {
				continue
			}
			f := Failure{Finding: c, Clause: id, Outcome: verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict),
				Missing: w.missing(c), since: w.T.Len(), gone: w.ended(c)}
			if first >= 0 {
				w.failures[first].follow(f)
				continue
			}
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

// endedBy is the index of the failure by which a step has ended a model; -1: nothing has.
func (w *World) endedBy(model string) int {
	return slices.IndexFunc(w.failures, func(f Failure) bool {
		return model != "" && f.Outcome == verdict.Failed && slices.ContainsFunc(f.sightings(), func(s *Failure) bool {
			return s.Model != "" && monitor.Covers(s.Model, model)
		})
	})
}

// keep keeps a failure, or counts it on one of its kind.
func (w *World) keep(f Failure) {
	if !slices.ContainsFunc(w.fresh, func(one Failure) bool {
		return one.Clause == f.Clause && one.Group == f.Group &&
			f.Group != ""
	}) &&
		len(w.fresh) < maxKept {
		w.fresh = append(w.fresh, f)
	}
	kept, last := 0, -1
	for i := range w.failures {
		one := &w.failures[i]
		if one.Clause != f.Clause {
			continue
		}
		if f.Group != "" && one.Group == f.Group {
			one.count(f)
			return
		}
		kept, last = kept+1, i
	}
	if kept >= maxKept {
		w.failures[last].count(f)
		return
	}
	w.failures = append(w.failures, f)
}

// count counts another failure of its kind.
func (f *Failure) count(other Failure) {
	f.Count = max(f.Count, 1) + 1
	f.Missing = f.Missing && other.Missing
	f.others = append(f.others, &other)
}

// missing reports whether a difference is no more than an answer that was not there in time, or that the target had no
// room for the request. What came in its place is wrong, however busy the target is.
func (w *World) missing(c Check) bool {
	if at := w.T.After(c.At - 1); c.At > 0 && len(at) > 0 && at[0].Dir == transcript.Received {
		switch at[0].Kind {
		// a page looks like something at any time; what has failed has said nothing
		case transcript.Snapshot, transcript.Failure:
		default:
			return NoRoom(at[0])
		}
	}
	return c.Miss != nil && c.Miss.Late
}

// ended reports whether a difference is that a connection has ended before what was awaited came.
func (w *World) ended(c Check) bool {
	if c.Miss == nil || c.Miss.At == 0 {
		return false
	}
	at := w.T.After(c.Miss.At - 1)
	return len(at) > 0 && (at[0].Kind == transcript.Closed || at[0].Kind == transcript.Failure)
}

// sightings are where it and the others of its kind were found, in order.
func (f *Failure) sightings() []*Failure { return append([]*Failure{f}, f.others...) }

// Need is Judge for a check without which the scenario cannot go on: it ends, with a *BrokenError where the check
// breaks a clause that the scenario judges, and with a *NotTestedError where it breaks none.
func (w *World) Need(c Check) error {
	broken := w.judge([]Check{c})
	switch {
	case w.cut:
		return NotTestedf("%s", w.cutBy())
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

// Broken reports whether the scenario has found anything that a clause forbids, or warns of.
func (w *World) Broken() bool { return len(w.failures) > 0 }

// Observe records an observation on a clause of any level: it never counts against the target.
func (w *World) Observe(id, what string) {
	if w.tags[id] {
		w.settle(id, verdict.NotApplicable, "observed: "+what)
	}
}

func (w *World) tagged(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !w.tags[id] })
}

// isCut reports whether the scenario was cut off, be it that its time is over and no wait has noticed.
func (w *World) isCut() bool {
	w.cut = w.cut || w.over != nil && w.over() != nil
	return w.cut
}

// cutBy says what has cut the scenario off.
func (w *World) cutBy() string {
	if w.why != "" {
		return w.why
	}
	return "the scenario was cut off: interrupted, or out of time"
}

// skip notes that a check of clauses was left out, because the scenario was cut off.
// An earlier check that was kept is then no pass.
func (w *World) skip(ids []string) {
	for _, id := range w.tagged(ids) {
		if w.skipped == nil {
			w.skipped = map[string]bool{}
		}
		w.skipped[id] = true
	}
}

// voided reports whether the checks of a clause that were kept make no pass: the cut came before another check of it,
// or
// before steps that may have one.
func (w *World) voided(id string) bool { return w.skipped[id] || w.cut && !w.whole }

// settle keeps the worst that was said of a clause within the scenario.
func (w *World) settle(id string, o verdict.Outcome, reason string) {
	if !slices.Contains(w.judging, id) {
		w.judging = append(w.judging, id)
	}
	was, ok := w.judged[id]
	if ok && severity(was.Outcome) >= severity(o) {
		return
	}
	w.judged[id] = verdict.Judgement{Clause: id, Outcome: o, Reason: reason}
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
		worst := WorstOf(w.failures)
		if worst == verdict.Failed || err == nil {
			return worst, w.failures[0].Observed
		}
		return worst, err.Error()
	case err == nil && len(w.skipped) > 0:
		return verdict.NotTested, w.cutBy()
	case err == nil:
		return verdict.Passed, ""
	case errors.As(err, &notTested):
		return verdict.NotTested, notTested.Reason
	case errors.As(err, &notApplicable):
		return verdict.NotApplicable, notApplicable.Reason
	case errors.As(err, &broken):
		return verdict.Failed, broken.Error()
	case w.isCut() && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return verdict.NotTested, w.cutBy()
	}
	return verdict.HarnessError, err.Error()
}

// clauseOutcomes lists what the scenario says of each of its tags, in order.
func (w *World) clauseOutcomes(total verdict.Outcome, reason string) (out []verdict.Judgement) {
	for _, id := range slices.Sorted(maps.Keys(w.tags)) {
		j, ok := w.judged[id]
		switch {
		case ok && j.Outcome == verdict.Passed && w.voided(id):
			j.Outcome, j.Reason = verdict.NotTested, w.cutBy()
		case !ok:
			j = verdict.Judgement{Clause: id, Outcome: verdict.NotTested, Reason: "not reached"}
			switch total {
			case verdict.NotApplicable, verdict.HarnessError, verdict.EnvError, verdict.NotTested:
				j.Outcome, j.Reason = total, reason
			case verdict.Failed, verdict.Warned:
				j.Reason = "not reached: " + reason
			}
		}
		out = append(out, j)
	}
	return out
}

// brief renders data with its short members first, so that a long list does not hide them where the text is clipped.
func brief(v any) string {
	obj, ok := v.(map[string]any)
	if !ok {
		return compact(v)
	}
	var short, long []string
	for _, k := range slices.Sorted(maps.Keys(obj)) {
		part := compact(k) + ":" + compact(obj[k])
		switch obj[k].(type) {
		case []any, map[string]any:
			long = append(long, part)
		default:
			short = append(short, part)
		}
	}
	return "{" + strings.Join(append(short, long...), ",") + "}"
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
