package runner

import (
	"parley/features/verdict"
	"parley/steps"
)

// Audit compares the ledger of a protocol with the scenarios, steps and monitors that judge its clauses. It returns one
// sentence per fault: a clause that is neither tested nor excluded, a tag that names no clause, an excluded clause that
// is tagged; and, where the protocol has Judges, a clause whose tag is on scenarios without a step that judges it.
func Audit(p steps.Protocol) ([]string, error) {
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return nil, err
	}
	all, err := Scenarios(p.Features(), p)
	if err != nil {
		return nil, err
	}
	scenarios, monitors := verdict.Cover{}, verdict.Cover{}
	for _, s := range all {
		for _, id := range s.Clauses {
			scenarios[id] = append(scenarios[id], s.ID)
		}
	}
	for _, m := range p.Monitors() {
		for _, id := range m.Clauses {
			monitors[id] = append(monitors[id], m.Name)
		}
	}
	faults := ledger.Audit(scenarios, monitors)
	byStep, err := steps.JudgesOf(p)
	if err != nil || byStep == nil {
		return faults, err
	}
	for _, row := range ledger.Rows() {
		if row.Tested() && len(scenarios[row.ID]) > 0 && len(monitors[row.ID])+len(byStep[row.ID]) == 0 {
			faults = append(faults, row.ID+": scenarios have its tag, but none of their steps judges it")
		}
	}
	return faults, nil
}
