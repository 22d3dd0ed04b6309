package steps

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
)

// cause is a fault that a step has found and that explains failed checks of other clauses.
type cause struct {
	monitor  string // that reports it
	finding  verdict.Finding
	explains []Failure // the failed checks, of which nothing is said
}

// explained holds the failed checks of a scenario that a fault explains.
type explained struct {
	causes []cause
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
	if w.severed() {
		return nil
	}
	first := w.binding(fault.Clauses)
	if fault.OK || first == "" || w.isCut() || unowed(checks) != nil {
		if broken := w.judge(checks); len(broken) > 0 {
			return &BrokenError{Failures: broken}
		}
		return unowed(checks)
	}
	why := fmt.Sprintf("beside %s: %s", first, fault.Observed)
	by := w.besides.by(monitor, fault)
	for _, c := range checks {
		for _, id := range w.tagged(c.Clauses) {
			if c.OK {
				continue
			}
			w.besides.add(id, why)
			by.explains = append(by.explains, Failure{Finding: c, Clause: id,
				Outcome: verdict.ByLevel(w.Env.Ledger.Level(id), w.Env.Strict)})
		}
	}
	return NotTestedf("%s", why)
}

// by returns the cause with a fault, which it adds if it is new.
func (e *explained) by(monitor string, fault verdict.Finding) *cause {
	at := slices.IndexFunc(e.causes, func(c cause) bool {
		return c.monitor == monitor && c.finding.At == fault.At && c.finding.Expected == fault.Expected
	})
	if at < 0 {
		at = len(e.causes)
		e.causes = append(e.causes, cause{monitor: monitor, finding: fault})
	}
	return &e.causes[at]
}

// add keeps why a clause is not tested.
func (e *explained) add(id, why string) {
	if e.why == nil {
		e.why, e.first = map[string]string{}, why
	}
	if e.why[id] == "" {
		e.why[id] = why
	}
}

// unexplained counts the failed checks of causes that no monitor reports, and returns the error that ended the
// scenario: no check is explained by something that is nowhere a failure.
func (w *World) unexplained(monitors []monitor.Monitor, err error) error {
	for _, c := range w.besides.causes {
		if slices.ContainsFunc(monitors, func(m monitor.Monitor) bool {
			return m.Name == c.monitor && m.For(w.Env.Role) && slices.Contains(m.Clauses, w.binding(c.finding.Clauses))
		}) {
			continue
		}
		for _, one := range c.explains {
			w.settle(one.Clause, one.Outcome, one.Observed)
			w.keep(one)
		}
		if len(c.explains) > 0 {
			err = &BrokenError{Failures: c.explains}
		}
	}
	return err
}

// binding returns the first of the clauses that a target must keep; "" if there is none.
func (w *World) binding(clauses []string) string {
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

// explain keeps the checks that a fault explains under the failure that reports the fault.
func (f *following) explain() {
	for _, c := range f.w.besides.causes {
		if c.monitor != f.m.Name {
			continue
		}
		by := f.reports(c.finding)
		if by == nil {
			continue
		}
		for _, one := range c.explains {
			by.follow(one)
		}
	}
}

// reports returns the failure that reports a fault: of the first binding clause that it breaks.
func (f *following) reports(fault verdict.Finding) *Failure {
	id := f.w.binding(fault.Clauses)
	if broken := f.broken[id]; broken != nil {
		return broken
	}
	return f.told(id, fault)
}
