package runner

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps"
)

// ProofDigest returns the digest, "sha256:<hex>", of what a kill matrix of a role is a proof of: its scenarios and the
// rows of its ledger as they bind, and the mutants with what they break. Comments, texts and the order do not count.
func ProofDigest(ps *steps.Protocols, protocol, role string, mutants []Mutant) (string, error) {
	p, err := ps.Find(protocol)
	if err != nil {
		return "", err
	}
	all, err := Scenarios(p.Features(), p)
	if err != nil {
		return "", err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, pl := range forRole(p, role, all) {
		parts = append(parts, fmt.Sprintf("scenario %q", pl.key))
	}
	for _, row := range ledger.Rows() {
		parts = append(parts, fmt.Sprintf("clause %q", []string{row.ID, string(row.Level), row.Status, row.Observed,
			fmt.Sprint(row.Cross), row.Fair, row.Strict}))
	}
	for _, m := range mutants {
		part := fmt.Sprintf("mutant %q %q %q %q", []string{m.ID, m.Control}, m.Clauses, m.Proves, m.Drivers)
		if m.Does != "" {
			part += fmt.Sprintf(" %q", m.Does)
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintln(h, part)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// CoverClauses returns a small set of mutants that together break every clause that any mutant breaks, each clause in
// Proves of one of them. It is greedy: it repeatedly picks the first mutant that breaks the most uncovered clauses, and
// has it prove these alone, so that no scenario runs for what another mutant proves.
func CoverClauses(all []Mutant) []Mutant {
	open := map[string]bool{}
	for _, m := range all {
		for _, id := range m.Clauses {
			open[id] = true
		}
	}
	gain := func(m Mutant) (ids []string) {
		for _, id := range m.Clauses {
			if open[id] {
				ids = append(ids, id)
			}
		}
		return ids
	}
	var out []Mutant
	for len(open) > 0 {
		best := slices.MaxFunc(all, func(a, b Mutant) int { return len(gain(a)) - len(gain(b)) })
		best.Proves = gain(best)
		for _, id := range best.Proves {
			delete(open, id)
		}
		out = append(out, best)
	}
	return out
}

// FaultSpread says how widely faults show: how many clauses each mutant breaks besides those that are its own. A mutant
// has one fault, so that each further clause is one that a person reads in vain.
type FaultSpread struct {
	Mutants int            `json:"mutants"` // that were run through the whole suite
	Median  int            `json:"median"`
	P95     int            `json:"p95"`   // the 95th percentile
	Most    int            `json:"most"`  // of one mutant
	Worst   []MutantSpread `json:"worst"` // the ten that break most, at least one each
}

// MutantSpread is a mutant with the clauses that it breaks besides its own.
type MutantSpread struct {
	ID      string   `json:"id"`
	Besides []string `json:"besides"`
}

// worstShown is how many mutants are named that break most.
const worstShown = 10

// otherBroken returns the clauses that a run found broken, apart from a mutant's own.
func otherBroken(run reports.Run, own []string) []string {
	out := []string{}
	for _, c := range run.Clauses {
		if (c.Outcome == verdict.Failed || c.Outcome == verdict.Warned) && !slices.Contains(own, c.ID) {
			out = append(out, c.ID)
		}
	}
	return out
}

// FaultSpreadOf sums up how widely the faults of some mutants show; nil if none was run through the whole suite.
func FaultSpreadOf(list []Killed) *FaultSpread {
	var all []MutantSpread
	for _, k := range list {
		if k.Besides != nil && k.Error == "" {
			all = append(all, MutantSpread{k.ID, k.Besides})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b MutantSpread) int {
		return cmp.Or(cmp.Compare(len(b.Besides), len(a.Besides)), cmp.Compare(a.ID, b.ID))
	})
	// of the mutants in order, the smallest number that so many percent do not exceed
	percentile := func(percent int) int {
		rank := (len(all)*percent + 99) / 100
		return len(all[len(all)-rank].Besides)
	}
	b := &FaultSpread{Mutants: len(all), Median: percentile(50), P95: percentile(95), Most: len(all[0].Besides)}
	for _, one := range all[:min(len(all), worstShown)] {
		if len(one.Besides) > 0 {
			b.Worst = append(b.Worst, one)
		}
	}
	return b
}

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
