package certificate

import (
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
	"parley/reports"
)

// Refusals returns the reasons why results are not certified, each a sentence for people; none if they can be.
func Refusals(r *reports.Results, now time.Time) []string {
	var why []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	add(r.Passive, "observed traffic is not a run: the suite has to act itself")
	add(!r.Passive && r.Options == nil, "the results do not record how the run was made: run again with this version")
	if o := r.Options; o != nil {
		add(o.Baseline, "a baseline excuses failures: run without --baseline")
		add(o.AllowIncomplete, "--allow-incomplete accepts clauses that were not tested: run without it")
		add(len(o.Features) > 0, "scenarios of your own are not the suite's: run without --features")
		add(o.Faults, "faults were injected: run without --faults")
	}
	add(r.Selection != "", "a filter narrowed the run (%s): run the whole suite", r.Selection)
	add(r.Partial, "the run was interrupted")
	add(r.Started.After(now.Add(time.Hour)), "the run began in the future, at %s", r.Started.Format(time.RFC3339))
	add(!r.Passive && len(r.Runs) != 1, "a certificate is about one run, and these results have %d", len(r.Runs))
	for _, run := range r.Runs {
		switch run.Target.Origin {
		case reports.FromBundle:
			add(true, "the target is bundled with the suite, which proves nothing about anybody's program: judge yours")
		case "":
			add(!r.Passive && r.Options != nil, "the results do not record where the target comes from: run again")
		}
		add(run.Target.Insecure, "the certificate of the target was not checked, so that anybody could have answered: run "+
			"without --insecure and tls.insecure (--ca names an authority)")
		add(len(run.Faults) > 0 && (r.Options == nil || !r.Options.Faults), "faults were injected: run without --faults")
		add(len(run.Baseline) > 0 && (r.Options == nil || !r.Options.Baseline), "a baseline was applied")
		add(run.Environment != "", "the target could not be judged: %s", run.Environment)
		add(r.Verdict == verdict.Conformant && run.Verdict != verdict.Conformant, "the verdict of %s is %s", run.Protocol,
			run.Verdict)
	}
	add(r.Verdict != verdict.Conformant, "the verdict is %s, not conformant", r.Verdict)
	return why
}

// Audit checks that results agree with themselves and with the clauses of the suite that judged, as Clauses of the
// runner lists them. The error says where they do not, as after an edit.
func Audit(r *reports.Results, known []reports.Clause) error {
	run := &r.Runs[0]
	if len(run.Clauses) != len(known) {
		return fmt.Errorf("the results have %d clauses, and the suite has %d for this role", len(run.Clauses), len(known))
	}
	var counted []verdict.Judgement
	levels := map[string]verdict.Level{}
	for i, c := range run.Clauses {
		if err := sameClause(c, known[i]); err != nil {
			return err
		}
		for driver, o := range c.ByDriver {
			if c.Outcome == verdict.Passed && bad(o) {
				return fmt.Errorf("the results say that %s passed, and that it is %s over %s", c.ID, o, driver)
			}
		}
		levels[c.ID] = c.Level
		if !c.Excluded && !c.OtherRole {
			counted = append(counted, verdict.Judgement{Clause: c.ID, Outcome: c.Outcome})
		}
	}
	if err := reports.CheckTotals(run); err != nil {
		return err
	}
	level := func(id string) verdict.Level { return levels[id] }
	v, _ := verdict.Decide(counted, level, verdict.Circumstances{CutOff: cutOff(run, level)})
	if v != run.Verdict {
		return fmt.Errorf("the results say that the verdict is %s, and their clauses that it is %s", run.Verdict, v)
	}
	return auditScenarios(run)
}

func sameClause(c, known reports.Clause) error {
	switch {
	case c.ID != known.ID, c.Level != known.Level, c.Section != known.Section, c.Text != known.Text,
		c.Excluded != known.Excluded, c.OtherRole != known.OtherRole:
		return fmt.Errorf("the clause %s of the results is not the suite's %s", c.ID, known.ID)
	case (c.Excluded || c.OtherRole) && (c.Outcome != known.Outcome || c.Reason != known.Reason):
		return fmt.Errorf("the results do not say of %s what the suite says: %s", c.ID, known.Reason)
	}
	return nil
}

// cutOff reports whether a scenario was cut off that might have broken a binding clause.
func cutOff(run *reports.Run, level func(clause string) verdict.Level) bool {
	return slices.ContainsFunc(run.Scenarios, func(sc reports.Scenario) bool {
		return slices.ContainsFunc(sc.Clauses, func(j verdict.Judgement) bool {
			return j.Unfinished && level(j.Clause).Binding()
		})
	})
}

func auditScenarios(run *reports.Run) error {
	outcomes := map[string]verdict.Outcome{}
	for _, c := range run.Clauses {
		outcomes[c.ID] = c.Outcome
	}
	for _, sc := range run.Scenarios {
		for _, j := range sc.Clauses {
			if bad(j.Outcome) && outcomes[j.Clause] == verdict.Passed {
				return fmt.Errorf("the results say that %s passed, and that %s found it %s", j.Clause, sc.ID, j.Outcome)
			}
		}
	}
	return nil
}

func bad(o verdict.Outcome) bool {
	return o == verdict.Failed || o == verdict.HarnessError || o == verdict.EnvError
}
