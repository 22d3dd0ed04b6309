// Package suitetest helps the tests that judge targets with whole suites.
package suitetest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/bundled"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
)

// Main runs the tests of a package in the module's root, where the profiles and examples are, with the concurrency
// set in gate.go. The binary also serves as a bundled target. A leaked goroutine fails the tests.
func Main(m *testing.M) {
	bundled.All.Child()
	flag.Parse()
	manyAtOnce()
	if err := toRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func toRoot() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return os.Chdir(dir)
		}
		if dir == filepath.Dir(dir) {
			return fmt.Errorf("no go.mod above the tests")
		}
	}
}

// RequireProgram fails a test if a program that its target needs is missing.
func RequireProgram(t *testing.T, program string) {
	t.Helper()
	packages := map[string]string{"python3": "python3   (3.11 or later)", "node": "nodejs   (20 or later)"}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is missing; install it: apt-get install -y %s", program, packages[program])
	}
}

// BundledTarget returns the bundled target of a protocol in a role; "" means the first role.
func BundledTarget(protocol, role string) *launch.Subject {
	return bundled.All.For(protocols.Kinds(), protocol, role)
}

// Bundled returns the options for judging the bundled target.
func Bundled(protocol, role string) runner.Options {
	b := BundledTarget(protocol, role)
	return runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher, Brain: b.Brain,
		Again: "parley run --protocol " + protocol}
}

// Name returns a target's protocol, with its role if there are several.
func Name(p *target.Profile) string {
	if len(protocols.All.Roles(p.Protocol)) > 1 {
		return p.Protocol + "-" + p.Role
	}
	return p.Protocol
}

// MutantProfile returns the profile of the mutants of a protocol's role.
func MutantProfile(protocol, role string) *target.Profile {
	return bundled.All.MutantProfile(protocols.Kinds(), protocol, role)
}

// Mutants returns the mutants of a protocol's role.
func Mutants(protocol, role string) []runner.Mutant {
	return bundled.All.Mutants(protocols.Kinds(), protocol, role)
}

// Mutant returns a mutant of a protocol's first role.
func Mutant(t *testing.T, protocol, id string) runner.Mutant {
	t.Helper()
	all := Mutants(protocol, "")
	i := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("there is no mutant %q of %s", id, protocol)
	}
	return all[i]
}

// Judge runs a suite of Parley's protocols. With PARLEY_KEEP it keeps the results there, under the test's name, so that
// those of two commits can be compared (test/equal.sh).
func Judge(t *testing.T, o runner.Options) *reports.Results {
	t.Helper()
	o.Protocols = protocols.All
	if o.Again == "" {
		o.Again = "parley run"
	}
	res, err := runner.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	KeepResults(t, res)
	for _, run := range res.Runs {
		CheckJudges(t, o.Profile.Protocol, run.Scenarios...)
	}
	return res
}

// CheckJudges checks that what the ledger names has judged the clauses of scenarios, and nothing else.
func CheckJudges(t *testing.T, protocol string, scenarios ...reports.Scenario) {
	t.Helper()
	ledger, err := steps.LedgerOf(protocols.Get(protocol))
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenarios {
		for id, judges := range sc.Judges {
			row, _ := ledger.Row(id)
			for _, by := range judges {
				if len(row.Judged) > 0 && !slices.Contains(row.Judged, by) && by != verdict.ByConnection {
					t.Errorf("%s is judged by %q in %s, and by the ledger %q judges it", id, by, sc.ID, row.Judged)
				}
			}
		}
	}
}

// KeepResults keeps results as Judge does.
func KeepResults(t *testing.T, res *reports.Results) {
	t.Helper()
	if folder := os.Getenv("PARLEY_KEEP"); folder != "" {
		writeResults(t, folder, res)
	}
}

// writeResults writes results to a file of the test's name; a number follows from the second time on.
func writeResults(t *testing.T, folder string, res *reports.Results) {
	t.Helper()
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, res); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, filepath.FromSlash(t.Name()))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	for n, path := 1, name+".json"; ; path = fmt.Sprintf("%s-%d.json", name, n) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			n++
			continue
		}
		if err == nil {
			_, err = f.Write(b.Bytes())
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// JudgeAgentSelect judges a modified bundled server of agent-select over SSE, by the scenarios of some tags, with
// changes of its profile.
func JudgeAgentSelect(t *testing.T, tags string, make func(o agentselect.Options) (launch.Handler, error),
	changes ...func(*target.Profile)) *reports.Results {
	t.Helper()
	brain := llm.New()
	p := BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	for _, change := range changes {
		change(p)
	}
	return Judge(t, runner.Options{Profile: p, Brain: brain, Tags: tags, Launcher: bundle.Launcher(brain, make)})
}

// JudgeURL judges the agent-select server at an address, with short limits.
func JudgeURL(t *testing.T, url string) *reports.Results {
	t.Helper()
	p, err := protocols.Kinds().ForURL("agent-select", url)
	if err != nil {
		t.Fatal(err)
	}
	ShortenLimits(&p.Limits)
	return Judge(t, runner.Options{Profile: p, Again: "parley run --target " + url})
}

// ShortenLimits shortens limits for a bad target, which omits one answer after another.
func ShortenLimits(l *target.Limits) {
	l.Open.Duration, l.Event.Duration = min(l.Open.Duration, 5*time.Second), min(l.Event.Duration, runner.MutantLimit)
	l.HTTP.Duration, l.Turn.Duration = min(l.HTTP.Duration, 5*time.Second), min(l.Turn.Duration, 10*time.Second)
}
