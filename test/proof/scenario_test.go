package proof_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/recording"
	"parley/recording/scenario"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/verdict"
)

// TestRecordedConform: the recording of each scenario of a conforming run, told as a scenario, finds nothing on the
// same target.
func TestRecordedConform(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols.All.Names() {
		if only := os.Getenv("ONLY"); only != "" && only != protocol {
			continue
		}
		p, err := protocols.All.Find(protocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.(steps.Teller); !ok {
			continue
		}
		for _, role := range rolesOf(protocol) {
			t.Run(protocol+" "+role, func(t *testing.T) {
				suitetest.Works(t)
				toldConform(t, p, role)
			})
		}
	}
}

func toldConform(t *testing.T, p steps.Protocol, role string) {
	o := suitetest.Bundled(steps.Name(p), role)
	o.Out = t.TempDir()
	if err := runner.PrepareOut(o.Out); err != nil {
		t.Fatal(err)
	}
	res := suitetest.Judge(t, o)
	if res.Exit != verdict.ExitConformant {
		t.Fatalf("the recorded run: %s", suitetest.Console(t, res))
	}
	files, err := filepath.Glob(filepath.Join(o.Out, "transcripts", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	byDriver := map[string][]runner.OwnFeature{}
	for _, name := range files {
		driver, text, err := tell(name, p)
		base := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		if err != nil {
			t.Logf("%s: %v", base, err)
			continue
		}
		told[base] = text
		if d := os.Getenv("TOLD"); d != "" {
			_ = os.WriteFile(filepath.Join(d, base+".feature"), []byte(text), 0o644)
		}
		byDriver[driver] = append(byDriver[driver], runner.OwnFeature{Path: base + ".feature", Text: []byte(text)})
	}
	for driver, own := range byDriver {
		o.Out, o.Own, o.Drivers = "", own, []string{driver}
		counts := map[verdict.Outcome]int{}
		for _, sc := range suitetest.Judge(t, o).Runs[0].Scenarios {
			if !strings.HasPrefix(sc.ID, "own-") {
				continue
			}
			counts[sc.Outcome]++
			base := strings.TrimSuffix(strings.TrimPrefix(sc.ID, "own-"), "-01")
			for _, f := range sc.Failures {
				t.Errorf("%s: %s: want %s, got %s\n%s", sc.ID, f.Clause, f.Expected, f.Observed, told[base])
			}
			if sc.Outcome == verdict.NotTested || sc.Outcome == verdict.HarnessError {
				t.Logf("%s: %s: %s\n%s", sc.ID, sc.Outcome, sc.Reason, told[base])
			}
		}
		t.Logf("%s: %d recordings; %v", driver, len(own), counts)
	}
}

// tell reads a recording as a feature that is tagged with all tested clauses.
func tell(name string, p steps.Protocol) (driver, text string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	in, err := recording.NewReader(f)
	if err != nil {
		return "", "", err
	}
	it, err := scenario.Read(in, p)
	if err != nil {
		return "", "", err
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		return "", "", err
	}
	var tags []string
	for _, row := range ledger.Rows() {
		if row.Tested() {
			tags = append(tags, row.ID)
		}
	}
	return it.Driver, scenario.Feature(strings.TrimSuffix(filepath.Base(name), ".jsonl"), tags, it.Lines), nil
}
