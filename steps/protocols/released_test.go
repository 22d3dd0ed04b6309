package protocols_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/steps/protocols"
)

// TestReleased checks the CHANGELOG: each version says which verdicts can change, and the suite of each released one
// is frozen: its digest is known, and that of this version is the suite's.
func TestReleased(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^## \[(.+)\] - (.+)$`).FindAllStringSubmatch(string(text), -1)
	sections := regexp.MustCompile(`(?m)^## \[`).Split(string(text), -1)[1:]
	if len(found) == 0 || len(found) != len(sections) || found[0][1] != protocols.All.Version {
		t.Fatalf("the CHANGELOG has the versions %q, and this is %s", found, protocols.All.Version)
	}
	for i, m := range found {
		if !strings.Contains(sections[i], "\n### Verdicts\n") {
			t.Errorf("the CHANGELOG does not say which verdicts can change with %s", m[1])
		}
		digest, frozen := protocols.Released[m[1]]
		switch {
		case (m[2] != "Unreleased") != frozen:
			t.Errorf("%s is %s, and its digest is %q", m[1], m[2], digest)
		case frozen && m[1] == protocols.All.Version && digest != protocols.All.Digest():
			t.Errorf("the suite of %s was frozen as %s, and is %s now: it needs a new version", m[1], digest,
				protocols.All.Digest())
		}
	}
}
