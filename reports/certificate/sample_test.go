package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/certificate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	now   = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	began = now.Add(-time.Hour)
	suite = reports.Suite{Version: "0.1.0", Digest: "sha256:" + digits("suite")}
)

func digits(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// key is the same for the same name.
func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(name string) ed25519.PublicKey { return key(name).Public().(ed25519.PublicKey) }

// known are the clauses of the sample suite for the role server.
func known() []reports.Clause {
	clause := func(id string, l verdict.Level) reports.Clause {
		return reports.Clause{ID: id, Level: l, Section: "1", Text: "The server does " + id,
			ByDriver: map[string]verdict.Outcome{}, Scenarios: []string{}, Monitors: []string{}}
	}
	out := []reports.Clause{clause("AS-001", verdict.Must), clause("AS-002", verdict.Must),
		clause("AS-003", verdict.Should), clause("AS-004", verdict.Must)}
	out[3].Excluded, out[3].Outcome, out[3].Reason = true, verdict.NotApplicable, "excluded: it cannot be seen"
	return out
}

func sampleSuite() certificate.Suite {
	return certificate.Suite{Suite: suite, Mutants: true, Kills: sampleKills(),
		Clauses: func(protocol, role string) ([]reports.Clause, error) {
			if protocol != "agent-select" || role != "server" {
				return nil, fmt.Errorf("unknown protocol %s", protocol)
			}
			return known(), nil
		}}
}

func sampleKills() *certificate.Kills {
	return &certificate.Kills{Suite: suite, Roles: []certificate.RoleKills{{Protocol: "agent-select", Role: "server",
		Mutants: 3, Survived: []string{}, Unproved: []string{"AS-002"}, Clauses: map[string][]string{"AS-001": {"a", "b"}}}}}
}

// results are those of a conformant run of n scenarios; the files of transcripts are written to dir unless it is "".
func results(t testing.TB, dir string, n int) *reports.Results {
	t.Helper()
	clauses := known()
	clauses[0].Outcome, clauses[0].ByDriver["sse"] = verdict.Passed, verdict.Passed
	clauses[1].Outcome, clauses[1].Reason = verdict.NotApplicable, "the target does not declare ask"
	clauses[2].Outcome, clauses[2].Reason, clauses[2].ByDriver["sse"] = verdict.Warned, "late", verdict.Warned
	run := reports.Run{Protocol: "agent-select", Role: "server", Verdict: verdict.Conformant,
		Target: reports.Target{Name: "acme", URL: "http://127.0.0.1:1", Drivers: []string{"sse"},
			Capabilities: []string{"agents"},
			Profile:      "acme.yaml", Origin: reports.FromProfile, ProfileDigest: "sha256:" + digits("profile")},
		Totals: reports.Totals{Excluded: 1, ByLevel: map[string]reports.Count{}, BySection: map[string]reports.Count{},
			Clauses: reports.Count{Total: 3, ByOutcome: map[verdict.Outcome]int{verdict.Passed: 1, verdict.NotApplicable: 1,
				verdict.Warned: 1}},
			Scenarios: reports.Count{Total: n, ByOutcome: map[verdict.Outcome]int{verdict.Passed: n}}},
		Clauses: clauses}
	for i := range n {
		text := fmt.Sprintf("scenario %d", i)
		file := func(ending string) *reports.Transcript {
			path := fmt.Sprintf("transcripts/sse-AS-%d.%s", i, ending)
			if dir != "" {
				put(t, filepath.Join(dir, path), text)
			}
			return &reports.Transcript{Path: path, SHA256: digits(text)}
		}
		run.Scenarios = append(run.Scenarios, reports.Scenario{ID: fmt.Sprintf("AS-1-%d", i), Name: text, Feature: "f",
			Location: "features/f:1", Driver: "sse", Role: "server", Tags: []string{"@AS-001"}, Outcome: verdict.Passed,
			Clauses: []verdict.Judgement{{Clause: "AS-001", Driver: "sse", Scenario: fmt.Sprintf("AS-1-%d", i),
				Outcome: verdict.Passed}},
			Steps: []reports.Step{{Keyword: "Given ", Text: "client A is connected", Status: "passed"},
				{Keyword: "When ", Text: "client A has chatted", Status: "passed", Clauses: []string{"AS-001"}}},
			Notes: []string{}, Failures: []reports.Failure{}, Transcript: file("txt"), Recording: file("jsonl")})
	}
	return &reports.Results{Schema: reports.SchemaID, Suite: suite, Verdict: verdict.Conformant, Started: began,
		Options: &reports.Options{Explore: 3}, Seed: 7, Runs: []reports.Run{run}}
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func written(t testing.TB, r *reports.Results) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// statement is about the results of a run of two scenarios.
func statement(t testing.TB, r *reports.Results) *certificate.Statement {
	t.Helper()
	root, err := certificate.Root(certificate.Files(r))
	if err != nil {
		t.Fatal(err)
	}
	figures, _ := sampleKills().Figures("agent-select", "server")
	return certificate.New(r, digits(string(written(t, r))), root, figures, certificate.Options{Version: "1.4.2",
		Artifact: &certificate.Subject{Name: "acme.tar.gz", Digest: certificate.Digest{SHA256: digits("artifact")}},
		Issued:   now, Expires: "2027-11-24"})
}

func signed(t testing.TB, s *certificate.Statement, name string) []byte {
	t.Helper()
	b, err := certificate.Sign(s, key(name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// facts name the key of "acme" and nothing else.
func facts() certificate.Facts {
	return certificate.Facts{Now: now, Keys: []certificate.Holder{{Name: "acme", Public: public("acme")}}}
}

// accepted reports whether a certificate is good, and why not.
func accepted(b []byte) (bool, string) {
	c, err := certificate.Open(b)
	if err != nil {
		return false, err.Error()
	}
	checks := certificate.Verify(c, sampleSuite(), facts())
	return certificate.Sound(checks), fmt.Sprint(checks)
}
