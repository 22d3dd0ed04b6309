package bundled_test

import (
	"testing"

	"parley/certificate"
	"parley/reference-server/bundled"
	"parley/steps/protocols"
)

// TestKills checks that the kill matrices have a matrix for each role, and that they are of the suite as it is:
// otherwise a program that is built from this tree certifies nothing.
func TestKills(t *testing.T) {
	k, err := certificate.ReadKills(bundled.Kills)
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range protocols.All.Names() {
		for _, role := range protocols.All.Roles(protocol) {
			f, ok := k.Figures(protocol, role)
			if !ok || f.Killed < f.Mutants || f.Mutants == 0 || f.Proved == 0 {
				t.Errorf("%s %s: %+v", protocol, role, f)
			}
		}
	}
	if again, err := certificate.WriteKills(k); err != nil || string(again) != string(bundled.Kills) {
		t.Errorf("the matrices are not in the form in which they are written: %v", err)
	}
	if k.Suite.Digest != protocols.All.Digest() {
		t.Errorf("the matrices are of the suite %s, which is %s: make kill-matrix (ten minutes)", k.Suite.Digest,
			protocols.All.Digest())
	}
}
