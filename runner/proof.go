package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"parley/steps"
)

// Proved returns the digest, "sha256:<hex>", of what a kill matrix of a role is a proof of: its scenarios and the rows
// of its ledger as they bind, and the mutants with what they break. Comments, texts and the order do not count.
func Proved(ps *steps.Protocols, protocol, role string, mutants []Mutant) (string, error) {
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
		parts = append(parts, fmt.Sprintf("mutant %q %q %q %q", []string{m.ID, m.Control}, m.Clauses, m.Proves, m.Drivers))
	}
	slices.Sort(parts)
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintln(h, part)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
