package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/certificate"
)

// killsCmd writes kill matrices of the suite of this program for a protocol, as parley mutants --output does in a few
// minutes.
func killsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: kills FILE PROTOCOL ROLE")
	}
	b, err := certificate.WriteKills(madeKills(args[1], args[2]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

func madeKills(protocol, role string) *certificate.Kills {
	return &certificate.Kills{Suite: reports.Suite{Version: suite.Version, Digest: suite.Digest()},
		Roles: []certificate.RoleKills{{Protocol: protocol, Role: role, Mutants: 2, Survived: []string{},
			Unproved: []string{}, Clauses: map[string][]string{"SC-001": {"a", "b"}}}}}
}

// TestRerun compares a certificate with results of another run: only equal outcomes are as good.
func TestRerun(t *testing.T) {
	cert := &certificate.Certificate{}
	cert.Predicate.Clauses = []certificate.Clause{{ID: "SC-001", Outcome: verdict.Passed},
		{ID: "SC-002", Outcome: verdict.NotApplicable}}
	profile := suite.Kinds().New("session-chat")
	for _, row := range []struct {
		second  verdict.Outcome
		verdict verdict.Verdict
		good    bool
		says    string
	}{
		{verdict.NotApplicable, verdict.Conformant, true, "all 2 clauses have the outcome that was certified"},
		{verdict.Failed, verdict.NonConformant, false, "SC-002  certified not-applicable, now failed"},
		{verdict.NotApplicable, verdict.Incomplete, false, "Run again: incomplete"},
	} {
		var out bytes.Buffer
		res := &reports.Results{Verdict: row.verdict, Runs: []reports.Run{{Clauses: []reports.Clause{
			{ID: "SC-001", Outcome: verdict.Passed}, {ID: "SC-002", Outcome: row.second}}}}}
		if good := tellRerun(&streams{Out: &out}, cert, res, profile, "again"); good != row.good ||
			!strings.Contains(out.String(), row.says) {
			t.Errorf("good is %v, want %v with %q:\n%s", good, row.good, row.says, out.String())
		}
	}
}
