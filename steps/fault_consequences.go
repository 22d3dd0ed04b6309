package steps

import (
	"cmp"
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// explainingFault is a fault that a step has found and that explains failed checks of other clauses.
type explainingFault struct {
	monitor  string // that reports it
	finding  verdict.Finding
	explains []Failure // the failed checks, of which nothing is said
}

// explainedChecks holds the failed checks of a scenario that a fault explains.
type explainedChecks struct {
	causes []explainingFault
	why    map[string]string // by clause with such a check: why it is not tested
	first  string            // the first of these reasons
}

// ExplainedBy leaves the clauses of failed checks not tested, because a fault of another clause explains them: the
// checks read what that fault has made unreadable, or the target does the same where the scenario's subject is absent.
// The named monitor of the protocol reports the fault in this scenario, whatever the scenario's tags, so that a run in
// which a check was explained is never without a failure. The fault must break a binding clause of the monitor;
// otherwise the checks count. ExplainedBy returns the error that ends the scenario; a step whose scenario can go on
// ignores it.
//
// A clause left not tested stays so in this scenario, even if other checks of it passed.
func (w *World) ExplainedBy(monitor string, fault verdict.Finding, checks ...verdict.Finding) error {
	if w.isSevered() {
		return nil
	}
	first := w.firstBindingClause(fault.Clauses)
	if fault.OK || first == "" || w.isCut() || unowedError(checks) != nil {
		if broken := w.judgeChecks(checks); len(broken) > 0 {
			return &BrokenError{Failures: broken}
		}
		return unowedError(checks)
	}
	why := fmt.Sprintf("beside %s: %s", first, fault.Observed)
	by := w.besides.causeOfFault(monitor, fault)
	for _, c := range checks {
		for _, id := range w.isTagged(c.Clauses) {
			if c.OK {
				continue
			}
			w.besides.addUntested(id, why)
			by.explains = append(by.explains, Failure{Finding: c, Clause: id, Step: w.step,
				Outcome: verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict)})
		}
	}
	return NotTestedf("%s", why)
}

// causeOfFault returns the cause with a fault, which it adds if it is new.
func (e *explainedChecks) causeOfFault(monitor string, fault verdict.Finding) *explainingFault {
	at := slices.IndexFunc(e.causes, func(c explainingFault) bool {
		return c.monitor == monitor && c.finding.At == fault.At && c.finding.Expected == fault.Expected
	})
	if at < 0 {
		at = len(e.causes)
		e.causes = append(e.causes, explainingFault{monitor: monitor, finding: fault})
	}
	return &e.causes[at]
}

// addUntested keeps why a clause is not tested.
func (e *explainedChecks) addUntested(id, why string) {
	if e.why == nil {
		e.why, e.first = map[string]string{}, why
	}
	if e.why[id] == "" {
		e.why[id] = why
	}
}

// countUnexplained counts the failed checks of causes that no monitor reports, and returns the error that ended the
// scenario: no check is explained by something that is nowhere a failure.
func (w *World) countUnexplained(monitors []monitor.Monitor, err error) error {
	for _, c := range w.besides.causes {
		if slices.ContainsFunc(monitors, func(m monitor.Monitor) bool {
			return m.Name == c.monitor && m.For(w.Env.Role) &&
				slices.Contains(m.Clauses, w.firstBindingClause(c.finding.Clauses))
		}) {
			continue
		}
		for _, one := range c.explains {
			w.keepWorst(one.Clause, one.Outcome, one.Observed)
			w.addFailure(one)
		}
		if len(c.explains) > 0 {
			err = &BrokenError{Failures: c.explains}
		}
	}
	return err
}

// firstBindingClause returns the first of the clauses that a target must keep; "" if there is none.
func (w *World) firstBindingClause(clauses []string) string {
	i := slices.IndexFunc(clauses, func(id string) bool {
		return verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict) == verdict.Failed
	})
	if i < 0 {
		return ""
	}
	return clauses[i]
}

// causesOf returns the faults that steps have found for a monitor to report.
func (w *World) causesOf(monitor string) (out []verdict.Finding) {
	for _, c := range w.besides.causes {
		if c.monitor == monitor {
			out = append(out, c.finding)
		}
	}
	return out
}

// explainChecks keeps the checks that a fault explains under the failure that reports the fault.
func (f *findingSorter) explainChecks() {
	for _, c := range f.w.besides.causes {
		if c.monitor != f.m.Name {
			continue
		}
		by := f.reportingFailure(c.finding)
		if by == nil {
			continue
		}
		for _, one := range c.explains {
			by.addConsequence(one)
		}
	}
}

// reportingFailure returns the failure that reports a fault: of the first binding clause that it breaks.
func (f *findingSorter) reportingFailure(fault verdict.Finding) *Failure {
	id := f.w.firstBindingClause(fault.Clauses)
	if broken := f.broken[id]; broken != nil {
		return broken
	}
	return f.reportedFailure(id, fault)
}

// maxFollowing bounds the findings kept under one failure; they only show how far a deviation reaches.
const maxFollowing = 20

// modelDeviation is where a model was first proved wrong. After that record, the model knows nothing (RULINGS 9).
type modelDeviation struct {
	model   string
	at      int
	failure *Failure
}

// findingSorter sorts the findings of one monitor on one transcript.
type findingSorter struct {
	w          *World
	m          monitor.Monitor
	deviations []modelDeviation
	broken     map[string]*Failure // by clause: the first failure
	kept       map[string]bool
	follows    map[string]*Failure // by clause: the deviation that its first following finding follows from
	held       func(clause string, record int)
}

// reduceFindings reduces a monitor's findings to one judgement per clause: the first failure; else passed, if a finding
// shows that the clause was kept and no record was lost; else not tested, if every finding follows from a deviation.
func (w *World) reduceFindings(m monitor.Monitor, records []transcript.Record,
	held func(clause string, record int)) (out []verdict.Judgement, failures []Failure) {
	f := &findingSorter{w: w, m: m, broken: map[string]*Failure{}, kept: map[string]bool{}, follows: map[string]*Failure{},
		held: held}
	f.stepsFound(records)
	found := slices.Concat(m.Check(transcript.Judged(records)), w.causesOf(m.Name))
	slices.SortStableFunc(found, func(a, b verdict.Finding) int { return a.At - b.At })
	for _, one := range found {
		f.addFinding(one)
	}
	f.explainChecks()
	for _, id := range m.Clauses {
		j := verdict.Judgement{Clause: id, Outcome: verdict.Passed, Monitor: m.Name}
		switch broken, first := f.broken[id], f.follows[id]; {
		case broken != nil:
			j.Outcome, j.Reason = broken.Outcome, broken.Observed
			failures = append(failures, *broken)
		case f.kept[id] && w.T != nil && w.T.Overflow() > 0: // nil: judged passively, which says itself what was lost
			j.Outcome, j.Reason, j.Unfinished = verdict.NotTested, moreThanHeld, true
		case f.kept[id]:
		case first != nil:
			j.Outcome, j.Reason = verdict.NotTested, fmt.Sprintf("the findings follow from %s: %s", first.Clause,
				first.Observed)
		default:
			continue
		}
		out = append(out, j)
	}
	return out, failures
}

// stepsFound adds the deviations that steps have found.
func (f *findingSorter) stepsFound(records []transcript.Record) {
	for i := range f.w.failures {
		one := &f.w.failures[i]
		for _, seen := range one.allSightings() {
			model, at := seen.Model, cmp.Or(seen.At, seen.since)
			if model == "" && seen.At > 0 && seen.At <= len(records) && f.m.Of != nil {
				model = f.m.Of(records[seen.At-1])
			}
			f.recordModelEnd(model, at, one)
		}
	}
}

// recordModelEnd records that a failure has ended a model. Only failures of binding clauses do so: a broken SHOULD must
// not let a warning hide a failure.
func (f *findingSorter) recordModelEnd(model string, at int, by *Failure) {
	if model != "" && by.Outcome == verdict.Failed {
		f.deviations = append(f.deviations, modelDeviation{model, at, by})
	}
}

// causingFailure returns the failure that a finding follows from; nil if the finding counts by itself.
func (f *findingSorter) causingFailure(one verdict.Finding) *Failure {
	var first *modelDeviation
	for i, d := range f.deviations {
		behind := d.at < one.At || d.at == one.At && one.Follows
		if behind && monitor.Covers(d.model, one.Model) && (first == nil || d.at < first.at) {
			first = &f.deviations[i]
		}
	}
	if first == nil {
		return nil
	}
	return first.failure
}

func (f *findingSorter) addFinding(one verdict.Finding) {
	from := f.causingFailure(one)
	ended := false
	for i, id := range one.Clauses {
		fail := &Failure{Finding: one, Clause: id, Outcome: verdict.ByLevel(f.w.Env.Ledger.Level(id), f.w.Env.Strict),
			Monitor: f.m.Name, Missing: one.Miss != nil && f.w.onlyMissing(one), gone: f.w.BrokenOff(one.Miss)}
		switch {
		case from != nil:
			if f.follows[id] == nil {
				f.follows[id] = from
			}
			if !one.OK && i == 0 {
				from.addConsequence(*fail)
			}
			continue
		case one.OK:
			f.kept[id] = true
			if f.held != nil && one.At > 0 {
				f.held(id, one.At)
			}
			continue
		}
		if told := f.reportedFailure(id, one); told != nil { // the scenario reports it already
			fail = told
		} else if f.broken[id] == nil && slices.Contains(f.m.Clauses, id) {
			f.broken[id] = fail
		} else {
			fail = f.broken[id]
		}
		if fail != nil && fail.Outcome == verdict.Failed && !ended {
			f.recordModelEnd(one.Model, one.At, fail)
			ended = true
		}
	}
}

// addConsequence adds a finding that follows from f.
func (f *Failure) addConsequence(one Failure) {
	if len(f.Following) == maxFollowing {
		f.MoreFollowing++
		return
	}
	f.Following = append(f.Following, one)
}

// reportedFailure returns the scenario's own failure that reports what a monitor has found, or that counts a failure
// which does; nil if there is none.
func (f *findingSorter) reportedFailure(id string, one verdict.Finding) *Failure {
	i := slices.IndexFunc(f.w.failures, func(told Failure) bool {
		if told.Clause != id {
			return false
		}
		return told.At == one.At && told.Expected == one.Expected && told.Observed == one.Observed ||
			one.At > 0 && slices.ContainsFunc(told.others, func(other *Failure) bool { return other.At == one.At })
	})
	if i < 0 {
		return nil
	}
	return &f.w.failures[i]
}

// Doubt is what the verdict of a scenario depends on that later scenarios of the run, or the same one at a slower
// pace, may find out, such as which parts of a state change by themselves. Until then its failures are held back.
type Doubt struct {
	Clauses []string    // whose failures may vanish; nil: all
	Shown   []string    // that may fail although they have passed
	Settled func() bool // reports that the scenario must be judged again, by what is known now
}

// Doubt makes the scenario's failures of some clauses preliminary.
func (w *World) Doubt(d *Doubt) { w.doubt = d }

// Again reports whether the scenario is judged again. What is no part of its subject gets more time then.
func (w *World) Again() bool { return w.again }

// Doubtful reports whether a failure of the result is preliminary.
func (r Result) Doubtful() bool {
	if r.Doubt == nil {
		return false
	}
	all := r.Doubt.Clauses == nil
	return all && r.Outcome == verdict.NotTested || slices.ContainsFunc(r.Failures, func(f Failure) bool {
		return all || slices.Contains(r.Doubt.Clauses, f.Clause)
	})
}

// Hasty reports whether the result has passed by what may prove to be no evidence.
func (r Result) Hasty() bool {
	return r.Doubt != nil && len(r.Failures) == 0 && slices.ContainsFunc(r.Clauses, func(c verdict.Judgement) bool {
		return c.Outcome == verdict.Passed && slices.Contains(r.Doubt.Shown, c.Clause)
	})
}

// RunNoter is an optional interface of what scenarios keep in Env.Learnt. The notes appear once in the report of the
// run.
type RunNoter interface{ RunNotes() []string }
