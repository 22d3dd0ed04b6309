package steps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// CheckOf returns a Finding on one record, with the record as the observation.
func CheckOf(r transcript.Record, ok bool, expected string, clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, OK: ok, Expected: expected, Observed: Seen(r), At: r.N}
}

// maxKept bounds the failures per clause that a scenario keeps. Further ones are only counted on the last, whatever
// their group.
const maxKept = 40

// Failure is one clause that a finding broke.
type Failure struct {
	verdict.Finding // whose Observed, At and so on they are

	Clause  string
	Outcome verdict.Outcome
	Monitor string // the monitor that found it; "": a step
	// that found it, or in which the record came that a monitor objects to; the zero value if there is none
	Step StepRef
	// nothing came within its limit, or the target refused for lack of room: it may be overloaded, not wrong
	Missing bool
	Count   int // failures of the same group, including this one; 0 for this one alone

	// findings of a model that was already proved wrong; they decide no clause. At most maxFollowing
	Following     []Failure
	MoreFollowing int // findings beyond those

	since  int          // number of records when it was found
	when   judgedMoment // when it was found
	gone   bool         // a connection ended before the awaited record came
	others []*Failure   // further failures counted in Count
}

// WorstOf returns the outcome of a scenario with the given failures.
func WorstOf(list []Failure) verdict.Outcome {
	if slices.ContainsFunc(list, func(f Failure) bool { return f.Outcome == verdict.Failed }) {
		return verdict.Failed
	}
	return verdict.Warned
}

// BrokenError ends a scenario that broke a clause which it judges. The World has the failures too.
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

// NotTestedError ends a scenario whose precondition could not be reached. Clauses not judged by then are not tested.
type NotTestedError struct{ Reason string }

func (e *NotTestedError) Error() string { return "not tested: " + e.Reason }

// NotTestedf returns a *NotTestedError.
func NotTestedf(format string, args ...any) error {
	return &NotTestedError{Reason: fmt.Sprintf(format, args...)}
}

// NotApplicableError ends a scenario about an optional feature that the target does not declare.
type NotApplicableError struct{ Reason string }

func (e *NotApplicableError) Error() string { return "not applicable: " + e.Reason }

// Judge records checks. Clauses without a tag on the scenario are ignored. A broken clause does not end the scenario,
// so that it reports as much as possible; use Need for a check that the rest of the scenario depends on. A broken
// SHOULD is a warning; below that, a difference is an observation. What is not owed (Miss.NotOwed) judges nothing, and
// is returned as a *NotTestedError.
func (w *World) Judge(checks ...verdict.Finding) error {
	w.judgeChecks(checks)
	return unowedError(checks)
}

// judgeChecks records checks and returns the failures of binding clauses.
func (w *World) judgeChecks(checks []verdict.Finding) (broken []Failure) {
	if w.isSevered() { // no party is at fault for messages that the cut prevented
		return nil
	}
	for _, c := range checks {
		if c.Miss != nil && c.Miss.Late && w.T.Overflow() > 0 { // it may have come after the transcript was full
			w.cut, w.why = true, moreThanHeld
		}
		if w.isCut() { // after the cut nothing was waited for long enough to judge it
			w.skipClauses(c.Clauses)
			continue
		}
		if !isOwed(c) {
			for _, id := range w.isTagged(c.Clauses) {
				w.keepWorst(id, verdict.NotTested, c.Miss.Reason)
			}
			continue
		}
		first := w.endedBy(c.Model)
		for _, id := range w.isTagged(c.Clauses) {
			w.addJudge(id, c.Judge)
			if c.OK && first < 0 {
				w.keepWorst(id, verdict.Passed, "")
			}
			if c.OK {
				continue
			}
			f := Failure{Finding: c, Clause: id, Outcome: verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict),
				Step: w.step, Missing: w.onlyMissing(c), since: w.T.Len(), gone: w.BrokenOff(c.Miss),
				when: w.momentOf(time.Now())}
			if first >= 0 {
				w.failures[first].addConsequence(f)
				continue
			}
			if f.Outcome == verdict.NotApplicable {
				w.keepWorst(id, f.Outcome, "observed: "+c.Observed+" (the document has: "+c.Expected+")")
				continue
			}
			w.keepWorst(id, f.Outcome, c.Observed)
			w.addFailure(f)
			if f.Outcome == verdict.Failed {
				broken = append(broken, f)
			}
		}
	}
	return broken
}

// endedBy returns the index of the step failure that has ended a model; -1 if there is none.
func (w *World) endedBy(model string) int {
	return slices.IndexFunc(w.failures, func(f Failure) bool {
		return model != "" && f.Outcome == verdict.Failed &&
			slices.ContainsFunc(f.allSightings(), func(s *Failure) bool {
				return s.Model != "" && monitor.Covers(s.Model, model)
			})
	})
}

// addFailure adds a failure, or counts it on one of the same group.
func (w *World) addFailure(f Failure) {
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
			one.countSame(f)
			return
		}
		kept, last = kept+1, i
	}
	if kept >= maxKept {
		w.failures[last].countSame(f)
		return
	}
	w.failures = append(w.failures, f)
}

// countSame counts another failure of the same group.
func (f *Failure) countSame(other Failure) {
	f.Count = max(f.Count, 1) + 1
	f.Missing = f.Missing && other.Missing
	f.others = append(f.others, &other)
}

// onlyMissing reports whether a failed check only means that an answer was late, or that the target had no room for the
// request. A wrong answer is wrong however busy the target is.
func (w *World) onlyMissing(c verdict.Finding) bool {
	if at := w.T.Page(c.At-1, 1); c.At > 0 && len(at) > 0 && at[0].Dir == transcript.Received {
		switch at[0].Kind {
		// a page always looks like something; a failure carries no message
		case transcript.Snapshot, transcript.Failure:
		default:
			return NoRoom(at[0])
		}
	}
	return c.Miss != nil && c.Miss.Late
}

// BrokenOff reports whether a record did not come because its connection ended before it, as when the target's process
// does. It reports false for nil.
func (w *World) BrokenOff(miss *verdict.Miss) bool {
	if miss == nil || miss.At == 0 {
		return false
	}
	at := w.T.Page(miss.At-1, 1)
	return len(at) > 0 && (at[0].Kind == transcript.Closed || at[0].Kind == transcript.Failure)
}

// allSightings returns f and the failures counted on it, in order.
func (f *Failure) allSightings() []*Failure { return append([]*Failure{f}, f.others...) }

// Need is Judge for a check that the rest of the scenario depends on. If the check fails, the scenario ends: with a
// *BrokenError if that breaks a clause which the scenario judges, else with a *NotTestedError.
func (w *World) Need(c verdict.Finding) error {
	broken := w.judgeChecks([]verdict.Finding{c})
	switch {
	case w.cut:
		return NotTestedf("%s", w.cutBy())
	case c.OK:
		return nil
	case !isOwed(c):
		return unowedError([]verdict.Finding{c})
	case len(broken) > 0:
		return &BrokenError{Failures: broken}
	}
	return NotTestedf("expected %s; observed %s", c.Expected, c.Observed)
}

// Reach is how far a target has come with a client, whether what it sent was right or wrong. Preflight finds it out:
// its stages show that a target gets to Greeted, Given and Answered. Scenarios that need more than was reached are not
// run, and their clauses not tested.
type Reach int

const (
	Nothing  Reach = iota
	Opened         // it has accepted a connection
	Greeted        // it has sent a client what it sends every client
	Given          // it has provided a session
	Answered       // it has answered a message
)

// RecordReach records that the target has come so far. A stage of preflight that passes needs no such call; one that
// fails does, in the step that sees the target do what the later scenarios need, before that is judged: a target that
// answers wrongly is still asked the rest.
func (w *World) RecordReach(r Reach) { w.reached = max(w.reached, r) }

// Broken reports whether the scenario has found a failure or a warning.
func (w *World) Broken() bool { return len(w.failures) > 0 }

// Observe records an observation on a clause of any level, which never counts against the target.
func (w *World) Observe(id, what string) {
	if w.tags[id] {
		w.keepWorst(id, verdict.NotApplicable, "observed: "+what)
	}
}

func (w *World) isTagged(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !w.tags[id] })
}

// isCut reports whether the scenario was cut off, including by the end of its time that no wait has noticed yet.
func (w *World) isCut() bool {
	if why := w.gateway.Load(); why != nil && !w.cut {
		w.cut, w.why = true, *why
	}
	w.cut = w.cut || w.over != nil && w.over() != nil
	return w.cut
}

// CutOffBy is CutOff for a reason that is told instead of that the time was up.
func (w *World) CutOffBy(why string) { w.cut, w.why = true, why }

// cutBy returns the reason why the scenario was cut off.
func (w *World) cutBy() string {
	if w.why != "" {
		return w.why
	}
	return "the scenario was cut off: interrupted, or out of time"
}

// skipClauses records that a check of clauses was skipped because the scenario was cut off. Earlier checks of these
// clauses then do not count as passed.
func (w *World) skipClauses(ids []string) {
	for _, id := range w.isTagged(ids) {
		if w.skipped == nil {
			w.skipped = map[string]bool{}
		}
		w.skipped[id] = true
	}
}

// isVoided reports whether passed checks of a clause do not count, because the scenario was cut off before another
// check of it, or before steps that may have one.
func (w *World) isVoided(id string) bool { return w.skipped[id] || w.cut && !w.whole }

// keepWorst keeps the worst outcome of a clause within the scenario.
func (w *World) keepWorst(id string, o verdict.Outcome, reason string) {
	if !slices.Contains(w.judging, id) {
		w.judging = append(w.judging, id)
	}
	was, ok := w.judged[id]
	if ok && outcomeSeverity(was.Outcome) >= outcomeSeverity(o) {
		return
	}
	w.judged[id] = verdict.Judgement{Clause: id, Outcome: o, Reason: reason}
}

func outcomeSeverity(o verdict.Outcome) int {
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

// deriveOutcome derives the scenario's outcome from those of its clauses and from the error that ended it.
func (w *World) deriveOutcome(err error) (verdict.Outcome, string) {
	var notTested *NotTestedError
	var notApplicable *NotApplicableError
	var broken *BrokenError
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return verdict.EnvError, unreachable.Error()
	case len(w.failures) == 0 && w.gateway.Load() != nil:
		return verdict.NotTested, *w.gateway.Load()
	case len(w.failures) > 0:
		worst := WorstOf(w.failures)
		if worst == verdict.Failed || err == nil {
			return worst, w.failures[0].Observed
		}
		return worst, err.Error()
	case err == nil && len(w.skipped) > 0:
		return verdict.NotTested, w.cutBy()
	case err == nil && len(w.besides.why) > 0:
		return verdict.NotTested, w.besides.first
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

// clauseOutcomes returns the judgement of each clause tag, in order.
func (w *World) clauseOutcomes(total verdict.Outcome, reason string) (out []verdict.Judgement) {
	for _, id := range slices.Sorted(maps.Keys(w.tags)) {
		j, ok := w.judged[id]
		switch {
		case ok && j.Outcome == verdict.Passed && w.isVoided(id):
			j.Outcome, j.Reason = verdict.NotTested, w.cutBy()
		case w.besides.why[id] != "" && (!ok || j.Outcome == verdict.Passed):
			j = verdict.Judgement{Clause: id, Outcome: verdict.NotTested, Reason: w.besides.why[id]}
		case !ok:
			j = verdict.Judgement{Clause: id, Outcome: verdict.NotTested, Reason: "not reached"}
			switch total {
			case verdict.NotApplicable, verdict.HarnessError, verdict.EnvError, verdict.NotTested:
				j.Outcome, j.Reason = total, reason
			case verdict.Failed, verdict.Warned:
				j.Reason = "not reached: " + reason
			}
		}
		j.Unfinished = w.cut && j.Outcome == verdict.NotTested
		out = append(out, j)
	}
	return out
}

// renderBriefly renders data with its short members first, so that clipping does not hide them behind a long list.
func renderBriefly(v any) string {
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

// AsCame returns the part of a message that a failure quotes: its data, where they are a part of the message as it
// came, and otherwise the whole message, as the decoded data then have names or members that are not on the wire.
func AsCame(ev *transcript.Event) any {
	if ev.Envelope == nil || hasPart(ev.Envelope, ev.Data) {
		return ev.Data
	}
	return ev.Envelope
}

// hasPart reports whether part is whole, or a value anywhere in it.
func hasPart(whole, part any) bool {
	if reflect.DeepEqual(whole, part) {
		return true
	}
	members, _ := whole.(map[string]any)
	for _, member := range members {
		if hasPart(member, part) {
			return true
		}
	}
	return false
}

// Seen renders a record as an observation: what it says, when, and where.
func Seen(r transcript.Record) string {
	what := r.Line(300)
	if r.Event != nil {
		what = r.Event.Type + " " + clipText(renderBriefly(AsCame(r.Event)), 300)
	} else if r.Kind == transcript.Response {
		what = "HTTP " + r.Label + " " + clipText(string(r.Bytes), 200)
	} else if r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		what = describeEnding(r)
	}
	return fmt.Sprintf("%s   +%.1f ms, record %d", what, float64(r.At.Microseconds())/1000, r.N)
}

// describeEnding says how a connection ended, with the code of its close if there was one.
func describeEnding(r transcript.Record) string {
	if r.Kind != transcript.Closed || r.Status == 0 {
		return r.Label
	}
	return fmt.Sprintf("%s, close code %d", r.Label, r.Status)
}
