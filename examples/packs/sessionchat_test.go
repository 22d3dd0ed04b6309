package packs_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/internal/tier"
	"parley/reference-server/bundled"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/pack"
	"parley/steps/protocols"
	"parley/target"
)

// sampled are the mutants of the bundled session-chat server that `make test` tries, one or two of each subject.
var sampled = []string{"folds-case", "echoes-trimmed", "shares-context", "forgets-the-first-turn", "id-per-turn",
	"id-in-first-turn-only", "creates-on-connect", "pieces-to-everyone", "session-of-one-connection", "return-refused",
	"interrupts-everything", "interrupt-forgets", "agent-id-optional", "content-becomes-text", "type-optional",
	"content-trimmed-later", "ping-unanswered", "no-timestamp-if-failed", "pieces-sorted", "words-behind-the-end"}

// chatFolder returns the folder's protocol as a suite, and the profile of the bundled server for it.
func chatFolder(t *testing.T) (*steps.Protocols, *target.Profile) {
	t.Helper()
	p, err := pack.Load("session-chat")
	if err != nil {
		t.Fatal(err)
	}
	suite := steps.NewProtocols("1.0.0", p)
	profile, err := suite.Kinds().ForLauncher("the bundled server",
		"protocol: session-chat-folder\nname: bundled session-chat\ncapabilities: [options-model, restart]\n")
	if err != nil {
		t.Fatal(err)
	}
	profile.Bundled = true
	return suite, profile
}

// beyond are the mutants that the folder cannot kill for sure, with the reason.
var beyond = map[string]string{
	"result-before-save":          "the kill must come within 5 ms of a result, which takes a step of its own",
	"resumes-in-one-line":         "only the request to the model shows it",
	"resumes-answers-first":       "only the request to the model shows it",
	"rest-forgets":                "no step waits until a session is idle",
	"interrupt-by-its-asker-only": "what a client's message obliges the server to is owed to that client alone",
	"disconnect-ends-all-turns":   "that a client leaves is on record only when its connection has ended",
}

// TestSessionChat: the bundled server conforms to session-chat as a folder. All tests also restart it, and send random
// sequences, each day others.
func TestSessionChat(t *testing.T) {
	t.Parallel()
	suite, profile := chatFolder(t)
	o := runner.Options{Protocols: suite, Profile: profile, Tags: "not @restart", Concurrency: 8, Brain: llm.New()}
	if tier.All() {
		o.Tags, o.Explore, o.Seed = "", 200, int64(time.Now().YearDay())
		t.Logf("seed %d", o.Seed)
	}
	launch.RaiseLimits(&o.Profile.Limits)
	o.Launcher = bundled.All.With(protocols.All.Kinds(), "session-chat", "", "").Launcher
	res, err := runner.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Outcome != verdict.Passed {
			t.Errorf("%s %s: %s: %s %+v", sc.ID, sc.Name, sc.Outcome, sc.Reason, sc.Failures)
		}
	}
	if tier.All() && res.Exit != verdict.ExitConformant {
		t.Errorf("exit %d: %s", res.Exit, res.Verdict)
	}
}

// TestSessionChatMutants: the folder kills mutants of the bundled server by one of their clauses: a sample of them, or
// at night all but those that are beyond it.
func TestSessionChatMutants(t *testing.T) {
	t.Parallel()
	suite, profile := chatFolder(t)
	profile.Limits.Event.Duration, profile.Limits.Turn.Duration = 2*time.Second, 4*time.Second
	var mu sync.Mutex
	var survived []string
	tried, gate := 0, make(chan bool, 12)
	var wg sync.WaitGroup
	for _, m := range bundled.All.Mutants(protocols.All.Kinds(), "session-chat", "") {
		if !tier.All() && !slices.Contains(sampled, m.ID) {
			continue
		}
		tried++
		wg.Go(func() {
			gate <- true
			defer func() { <-gate }()
			o := runner.Options{Protocols: suite, Profile: profile.Clone()}
			// A second time, as on a busy machine a turn may be over too soon.
			if isKilled(t, o, m, 1) || beyond[m.ID] == "" && isKilled(t, o, m, 1) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if survived = append(survived, m.ID); beyond[m.ID] == "" {
				t.Errorf("%s survived: %s", m.ID, m.Why)
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d survived: %s", len(survived), tried, strings.Join(survived, " "))
}

// TestPingEndsTurns: a mutant whose ping ends the turns of all clients is also killed by the clause that it breaks
// while other scenarios send pings.
func TestPingEndsTurns(t *testing.T) {
	t.Parallel()
	suite, profile := chatFolder(t)
	profile.Limits.Event.Duration, profile.Limits.Turn.Duration = 2*time.Second, 4*time.Second
	all := bundled.All.Mutants(protocols.All.Kinds(), "session-chat", "")
	m := all[slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == "ping-ends-turns" })]
	for range 5 {
		if !isKilled(t, runner.Options{Protocols: suite, Profile: profile.Clone()}, m, 2) {
			t.Error("it survived")
		}
	}
}

// isKilled reports whether the folder finds one of a mutant's clauses broken, with that many scenarios at a time: a
// fault may disturb what goes on on other connections. It stops at the first.
func isKilled(t *testing.T, o runner.Options, m runner.Mutant, concurrency int) bool {
	var tags []string
	for _, id := range m.Clauses {
		if tag := "@" + strings.Replace(id, "SC-", "SF-", 1); tag != "@SF-053" { // which the folder has not
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return false
	}
	var found atomic.Bool
	o.Brain, o.Drivers, o.Concurrency, o.Tags = llm.New(), m.Drivers, concurrency, strings.Join(tags, " or ")
	o.Launcher, o.Observer = m.Launch(o.Brain), breaks{tags, &found}
	o.Enough = func(runner.Planned) bool { return found.Load() }
	_, err := runner.Run(t.Context(), o)
	if err != nil {
		t.Errorf("%s: %v", m.ID, err)
	}
	return found.Load()
}

// breaks observes whether one of some clauses is broken.
type breaks struct {
	tags  []string
	found *atomic.Bool
}

// Planned implements runner.Observer.
func (breaks) Planned(int) {}

// ScenarioDone implements runner.Observer.
func (b breaks) ScenarioDone(sc reports.Scenario) {
	for _, f := range sc.Failures {
		if slices.Contains(b.tags, "@"+f.Clause) {
			b.found.Store(true)
		}
	}
}
