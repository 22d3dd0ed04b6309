package proof_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reports"
	"parley/runner"
	"parley/simulator/scenario"
	"parley/steps"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/transport/recording"
)

// TestRecordedConform: the recording of each scenario of a conforming run, converted into a scenario, finds nothing on
// the same target. It takes a twelfth of the scenarios, or all at night.
func TestRecordedConform(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols.All.Names() {
		p, err := protocols.All.Find(protocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.(steps.RecordingConverter); !ok {
			continue
		}
		for _, role := range rolesOf(protocol) {
			t.Run(protocol+" "+role, func(t *testing.T) {
				if protocol == "agent-client" {
					tier.Night(t)
				}
				suitetest.AwaitTurnOn(t, protocol)
				toldConform(t, p, role)
			})
		}
	}
}

// unshown are the scenarios that do what no message shows: they change the target's configuration, or have the model go
// on with a turn whose session is on another connection by then.
var unshown = []string{"-AS-3.3-19", "-AS-3.3-20", "-AS-4.3-42", "-AS-4.3-43"}

func toldConform(t *testing.T, p steps.Protocol, role string) {
	o := suitetest.Bundled(steps.Name(p), role)
	o.Out = t.TempDir()
	if err := runner.PrepareOut(o.Out); err != nil {
		t.Fatal(err)
	}
	if res := suitetest.Judge(t, suitetest.OneIn(12, o)); len(suitetest.Broken(res)) > 0 {
		t.Fatalf("the recorded run: %s", suitetest.Console(t, res))
	}
	files, err := filepath.Glob(filepath.Join(o.Out, "transcripts", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	byDriver := map[string][]runner.OwnFeature{}
	for _, name := range files {
		base := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		if slices.ContainsFunc(unshown, func(id string) bool { return strings.HasSuffix(base, id) }) {
			continue
		}
		driver, text, err := tell(name, p)
		if err != nil {
			t.Logf("%s: %v", base, err)
			continue
		}
		told[base] = text
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
		if counts[verdict.Passed] < 3 {
			t.Errorf("%s: %v; want 3 that pass at least", driver, counts)
		}
		t.Logf("%s: %d recordings; %v", driver, len(own), counts)
	}
}

// read converts a recording.
func read(name string, p steps.Protocol) (*scenario.Told, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := recording.NewReader(f)
	if err != nil {
		return nil, err
	}
	return scenario.Read(in, p)
}

// tell converts a recording to a feature that is tagged with all tested clauses.
func tell(name string, p steps.Protocol) (driver, text string, err error) {
	told, err := read(name, p)
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
	return told.Driver, scenario.Feature(strings.TrimSuffix(filepath.Base(name), ".jsonl"), tags, told.Lines), nil
}

// reproduced returns how many mutants of a protocol must be found again in scenarios converted from recordings.
func reproduced() int32 {
	if tier.All() {
		return 5
	}
	return 2
}

// TestRecordedMutants: the recording of a failing scenario, converted into a scenario, finds the same on the same
// mutant and nothing on the target that conforms; shortened, it has no more steps than the scenario that was recorded.
// It runs the mutants of one protocol, or of each at night.
func TestRecordedMutants(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols.All.Names() {
		p, err := protocols.All.Find(protocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.(steps.RecordingConverter); !ok || !tier.All() && protocol != "session-chat" {
			continue
		}
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var again atomic.Int32
			places := make(chan struct{}, 2) // more would only run mutants beyond the required number
			t.Run("mutants", func(t *testing.T) {
				for _, m := range sampled(protocol) {
					t.Run(m.ID, func(t *testing.T) {
						t.Parallel()
						places <- struct{}{}
						defer func() { <-places }()
						if again.Load() < reproduced() && foundAgain(t, p, m) {
							again.Add(1)
						}
					})
				}
			})
			if n := again.Load(); n < reproduced() {
				t.Errorf("%d mutants are found again, want %d", n, reproduced())
			}
		})
	}
}

// sampled returns mutants from all parts of the catalogues of a protocol's roles.
func sampled(protocol string) (some []inRole) {
	for _, role := range rolesOf(protocol) {
		all := suitetest.Mutants(protocol, role)
		for i := 0; i < len(all); i += max(1, len(all)/12) {
			some = append(some, inRole{all[i], role})
		}
	}
	return some
}

// foundAgain records a mutant's run, and reports whether the scenario made from a failing recording has the same
// findings.
func foundAgain(t *testing.T, p steps.Protocol, m inRole) bool {
	o := mutated(m, steps.Name(p))
	o.Protocols, o.Out = protocols.All, t.TempDir()
	if err := runner.PrepareOut(o.Out); err != nil {
		t.Fatal(err)
	}
	name, course, want := failing(suitetest.Judge(t, o), m)
	if name == "" {
		t.Logf("%s: no scenario of its own fails", m.ID)
		return false
	}
	told, err := read(filepath.Join(o.Out, name), p)
	if err != nil {
		t.Logf("%s: %v", m.ID, err)
		return false
	}
	o.Out, o.Tags, o.Drivers = "", "", []string{told.Driver}
	trial, err := scenario.NewTrial("told", p, o)
	if err != nil {
		t.Fatal(err)
	}
	found, err := trial.Run(t.Context(), told.Lines)
	if err != nil {
		t.Fatal(err)
	}
	text := scenario.Feature(m.ID, nil, told.Lines)
	if !slices.ContainsFunc(want, func(one string) bool { return slices.Contains(found.Findings, one) }) {
		t.Logf("%s: %s is not found again: %q, found %q %s\n%s", m.ID, name, want, found.Findings, found.Why, text)
		return false
	}
	return shortened(t, p, m, trial, told.Lines, found, course)
}

// shortened checks a shortened scenario; false if the conforming target does not complete it.
func shortened(t *testing.T, p steps.Protocol, m inRole, trial *scenario.Trial, lines []scenario.Line,
	found scenario.Result, course int) bool {
	own := suitetest.Bundled(steps.Name(p), m.role)
	right := trial.Against(own.Profile, own.Launcher, own.Brain)
	res, err := right.Run(t.Context(), lines)
	if err != nil || len(res.Clauses) > 0 {
		t.Errorf("%s: on the target that conforms: %v %q\n%s", m.ID, err, res.Findings, scenario.Feature(m.ID, nil, lines))
	}
	if err != nil || !res.Judged && res.Why != "" {
		t.Logf("%s: on the target that conforms: %s", m.ID, res.Why)
		return false
	}
	combined := p.(steps.RecordingConverter).CombinedSteps()
	short := scenario.ShrinkFurther(lines, 60, combined, func(some []scenario.Line) bool {
		res, err := right.Run(t.Context(), some)
		if err != nil || len(res.Clauses) > 0 || !res.Judged && res.Why != "" {
			return false
		}
		again, err := trial.Run(t.Context(), some)
		return err == nil && slices.Equal(again.Findings, found.Findings)
	})
	text := scenario.Feature(m.ID, nil, short)
	t.Logf("%s: %d steps of %d, found %q\n%s", m.ID, stepsOf(short), course, found.Findings, text)
	if stepsOf(short) > course {
		t.Errorf("%s: %d steps, more than the %d that were recorded\n%s", m.ID, stepsOf(short), course, text)
	}
	return true
}

// failing returns a scenario in which a clause of the mutant fails: its recording, its steps and the findings.
func failing(res *reports.Results, m inRole) (name string, course int, want []string) {
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Recording == nil {
			continue
		}
		for _, f := range sc.Failures {
			if slices.Contains(m.Clauses, f.Clause) {
				name, course, want = sc.Recording.Path, len(sc.Steps), append(want, scenario.Finding(f))
			}
		}
		if name != "" {
			break
		}
	}
	return name, course, want
}

func stepsOf(lines []scenario.Line) (n int) {
	for _, l := range lines {
		if !l.Comment {
			n++
		}
	}
	return n
}
