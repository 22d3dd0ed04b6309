package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cucumber/godog"
	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// scenarios of a protocol with one step for every possible result.
const scenarios = `Feature: 1 What can become of a scenario

  @AS-001
  Scenario: passes
    Given client A is there
    Then it keeps "AS-001"

  @AS-001 @AS-006
  Scenario: breaks a clause and goes on
    Then it breaks "AS-001"
    And it keeps "AS-006"

  @AS-001 @AS-006
  Scenario: breaks what it needs
    Then it needs "AS-001"
    And it keeps "AS-006"

  @AS-002
  Scenario: warns
    Then it breaks "AS-002"

  @AS-001
  Scenario: breaks a clause at its very end
    Then it breaks "AS-001" at the end
    And client A is there

  @AS-001 @AS-006
  Scenario: lacks a precondition
    Then it keeps "AS-006"
    And it cannot go on
    And it keeps "AS-001"

  @AS-001
  Scenario: is optional
    Then it is not declared

  @AS-001
  Scenario: finds nobody
    Then nobody listens

  @AS-001
  Scenario: is our mistake
    Then it errs

  @AS-001
  Scenario: panics
    Then it panics

  @AS-001
  Scenario: has a step that nobody wrote
    Then it does what nobody wrote

  @AS-001
  Scenario: takes too long
    Then it waits for ever

  @AS-001 @AS-006
  Scenario: is cut between two checks
    Then it keeps "AS-001" and "AS-006"
    And it keeps "AS-001" once its time is over

  @AS-001
  Scenario: is cut before its last step
    Then it keeps "AS-001"
    And it needs "AS-006" when its time is over
    And it breaks "AS-001"

  @AS-001
  Scenario: has no time left to send
    Then it keeps "AS-001"
    And it sends when its time is over

  @AS-001 @skip
  Scenario: is not asked
    Then it panics
`

// toy is a minimal protocol.
type toy struct{}

func (toy) Kind() target.Kind {
	return target.Kind{Protocol: "toy",
		Roles: []string{target.Server}}
}
func (toy) Features() fs.FS                                      { return nil }
func (toy) Subprotocols(*target.Profile) []string                { return nil }
func (toy) Certifying() []string                                 { return []string{"ws"} }
func (toy) Stages() [3]string                                    { return [3]string{"one", "two", "three"} }
func (toy) Bind(*Env, target.Running) func(r *transcript.Record) { return nil }
func (toy) NotRunnable(*Env, []string) string                    { return "" }
func (toy) Monitors() []monitor.Monitor                          { return nil }
func (toy) Register(sc *godog.ScenarioContext, w func() *World) {
	Step(sc, `^client A is there$`, func(ctx context.Context) error {
		_, err := w().Open(ctx, driver.OpenOptions{Party: "A"})
		return err
	})
	Step(sc, `^it keeps "([^"]*)"$`, func(id string) error { return w().Judge(ok(id)) })
	Step(sc, `^it breaks "(.*)"$`, func(id string) error { return w().Judge(broken(id)) })
	Step(sc, `^it needs "(.*)"$`, func(id string) error { return w().Need(broken(id)) })
	Step(sc, `^it breaks "(.*)" at the end$`, func(id string) { w().AtEnd(func() { _ = w().Judge(broken(id)) }) })
	Step(sc, `^it cannot go on$`, func() error { return NotTestedf("no model") })
	Step(sc, `^it is not declared$`, func() error { return &NotApplicableError{Reason: "not declared"} })
	Step(sc, `^nobody listens$`, func() error { return &UnreachableError{Err: errors.New("refused")} })
	Step(sc, `^it errs$`, func() error { return errors.New("oops") })
	Step(sc, `^it panics$`, func() { panic("oops") })
	Step(sc, `^it keeps "([^"]*)" and "([^"]*)"$`, func(a, b string) error { return w().Judge(ok(a, b)) })
	Step(sc, `^it keeps "([^"]*)" once its time is over$`, func(ctx context.Context, id string) error {
		<-ctx.Done() // no wait of ours notices it
		return w().Judge(ok(id))
	})
	Step(sc, `^it needs "(.*)" when its time is over$`, func(ctx context.Context, id string) error {
		<-ctx.Done()
		return w().Need(ok(id))
	})
	Step(sc, `^it sends when its time is over$`, func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("send: %w", ctx.Err())
	})
	Step(sc, `^it waits for ever$`, func(ctx context.Context) error {
		_, miss := w().Await(ctx, Wait{Conn: "A", Greeting: true, Match: func(*transcript.Record) bool { return false }})
		return w().Need(verdict.Finding{Clauses: []string{"AS-001"}, Expected: "it", Observed: miss.Reason})
	})
}

// came has the results of the scenarios: the outcome, those of the clauses, the states of the steps, and the steps that
// found failures.
var came = map[string][]string{
	"passes": {"passed", "AS-001 passed", "passed", "passed"},
	"breaks a clause and goes on": {"failed", "AS-001 failed", "AS-006 passed", "failed", "passed",
		`1 Then it breaks "AS-001"`},
	"breaks what it needs": {"failed", "AS-001 failed", "AS-006 not-tested", "failed", `1 Then it needs "AS-001"`},
	"warns":                {"warned", "AS-002 warned", "failed", `1 Then it breaks "AS-002"`},
	"breaks a clause at its very end": {"failed", "AS-001 failed", "passed", "passed",
		`1 Then it breaks "AS-001" at the end`},
	"lacks a precondition": {"not-tested", "AS-001 not-tested", "AS-006 passed", "passed", "skipped",
		"skipped"},
	"is optional":                  {"not-applicable", "AS-001 not-applicable", "skipped"},
	"finds nobody":                 {"environment-error", "AS-001 environment-error", "failed"},
	"is our mistake":               {"harness-error", "AS-001 harness-error", "failed"},
	"panics":                       {"harness-error", "AS-001 harness-error", "failed"},
	"has a step that nobody wrote": {"harness-error", "AS-001 harness-error", "undefined"},
	"takes too long":               {"not-tested", "AS-001 not-tested", "skipped"},
	"is not asked":                 {"not-tested", "AS-001 not-tested"},
	"is cut between two checks":    {"not-tested", "AS-001 not-tested", "AS-006 passed", "passed", "passed"},
	"is cut before its last step":  {"not-tested", "AS-001 not-tested", "passed", "skipped", "skipped"},
	"has no time left to send":     {"not-tested", "AS-001 not-tested", "passed", "failed"},
}

func TestSuite(t *testing.T) {
	env := world(t, false).Env
	env.Profile.Limits.Scenario.Duration = 2 * time.Second
	var mu sync.Mutex
	got, released := map[string][]string{}, 0
	s := &Suite{Protocol: toy{}, Env: env,
		Begin: func(_ context.Context, sc *godog.Scenario) Slot {
			for _, tag := range sc.Tags {
				if tag.Name == "@skip" {
					return Slot{Skip: verdict.NotTested, Reason: "preflight"}
				}
			}
			return Slot{Nonce: sc.Name, Release: func() { mu.Lock(); released++; mu.Unlock() }}
		},
		Done: func(r Result) {
			mu.Lock()
			defer mu.Unlock()
			if got[r.Scenario.Name] != nil {
				t.Errorf("%q is told twice", r.Scenario.Name)
			}
			lines := []string{string(r.Outcome)}
			for _, c := range r.Clauses {
				lines = append(lines, c.Clause+" "+string(c.Outcome))
			}
			for _, st := range r.Steps {
				lines = append(lines, st.Status)
			}
			for _, f := range r.Failures {
				lines = append(lines, fmt.Sprint(f.Step.Number, " ", f.Step.Text))
			}
			got[r.Scenario.Name] = lines
			if r.Driver != "fake" {
				t.Errorf("%q was over %q", r.Scenario.Name, r.Driver)
			}
			for _, rec := range r.Records[min(1, len(r.Records)):] {
				if rec.Kind != transcript.Closed {
					t.Errorf("%q leaves a connection open: %s", r.Scenario.Name, rec.Line(0))
				}
			}
		}}
	fsys := fstest.MapFS{"toy/1_toy.feature": {Data: []byte(scenarios)}}
	status := godog.TestSuite{Name: "toy", ScenarioInitializer: s.Initialize, Options: &godog.Options{
		FS: fsys, Paths: []string{"toy"}, Format: "progress", Output: io.Discard, Strict: true, Concurrency: 4,
		NoColors: true}}.Run()
	if diff := cmp.Diff(came, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if status == 0 {
		t.Error("godog calls it a success")
	}
	if released != len(came)-1 {
		t.Errorf("%d targets were given back, of %d", released, len(came)-1)
	}
}

// TestStepOf: a record came in the step that began last before it, or in none.
func TestStepOf(t *testing.T) {
	one, two := StepRef{1, "When one"}, StepRef{2, "Then two"}
	r := Result{begun: []stepMark{{one, 0}, {two, 3}, {StepRef{}, 5}}}
	for record, want := range map[int]StepRef{0: {}, 1: one, 3: one, 4: two, 5: two, 6: {}} {
		if got := r.StepOf(record); got != want {
			t.Errorf("record %d came in %v, want %v", record, got, want)
		}
	}
}

func TestStep(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a malformed expression is no mistake")
		}
	}()
	Step(&godog.ScenarioContext{}, "(", func() {})
}
