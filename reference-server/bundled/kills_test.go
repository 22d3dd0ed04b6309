package bundled_test

import (
	"os"
	"testing"

	"parley/internal/generate/sources"
	"parley/reference-server/bundled"
	"parley/reports/certificate"
	"parley/runner"
	"parley/steps/protocols"
)

// TestKills checks that there is a kill matrix for each role, with every mutant killed and every clause proved, and
// that it is of the scenarios, clauses, mutants and code as they are: otherwise a program that is built from this tree
// certifies nothing.
func TestKills(t *testing.T) {
	k, err := certificate.ReadKills(bundled.Kills)
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range protocols.All.Names() {
		for _, role := range protocols.All.Roles(protocol) {
			f, ok := k.Figures(protocol, role)
			if !ok || f.Killed < f.Mutants || f.Mutants == 0 || f.Proved == 0 || len(f.Unproved) > 0 {
				t.Errorf("%s %s: %+v", protocol, role, f)
			}
			isPresent(t, k, protocol, role)
		}
	}
	if again, err := certificate.WriteKills(k); err != nil || string(again) != string(bundled.Kills) {
		t.Errorf("the matrices are not in the form in which they are written: %v", err)
	}
}

func isPresent(t *testing.T, k *certificate.Kills, protocol, role string) {
	t.Helper()
	of, err := runner.ProofDigest(protocols.All, protocol, role, bundled.All.Mutants(protocols.Kinds(), protocol, role))
	if err != nil {
		t.Fatal(err)
	}
	code, err := sources.Digest(os.DirFS("../.."), protocol, role)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range k.Roles {
		if r.Protocol == protocol && r.Role == role && (r.Of != of || r.Sources != code) {
			t.Errorf("the kill matrix of %s %s is of another suite, other mutants or other code: make generate", protocol, role)
		}
	}
}
