package stress_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// newest applies a message without a session to the session that was bound last, whoever owns it.
func newest() agentselect.Policy {
	last, p := "", agentselect.Correct
	bind := p.Bind
	p.Bind = func(m agentselect.Manager, on agentselect.Occasion, c agentselect.ConnInfo, id string) agentselect.Binding {
		last = id
		return bind(m, on, c, id)
	}
	p.Target = func(m agentselect.Manager, c agentselect.ConnInfo, msg agentselect.Message) string {
		if _, present := msg["sessionId"]; !present && m.DefaultSession(c.ID) != "" {
			return last
		}
		return agentselect.Correct.Target(m, c, msg)
	}
	return p
}

// TestSessionsMixedUp checks a server that acts on another client's session, and so announces a switch to a client
// that did not request it. This always breaks AS-095, whatever runs concurrently; what other scenarios miss or
// receive in addition is not tested.
func TestSessionsMixedUp(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		o.Policy = newest()
		return agentselect.New(o)
	})
	o := runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "not @model", AllowIncomplete: true}
	res := suitetest.Judge(t, o)
	failsAsAlone(t, res, o, l)
	if !slices.Contains(suitetest.Broken(res), "AS-095") ||
		!notes(res, "answers arrived on the connection of another client") {
		t.Errorf("broken %v, want AS-095 among them, told in a note\n%s", suitetest.Broken(res), suitetest.Console(t, res))
	}
}

// failsAsAlone checks that no scenario of a run in parallel breaks a clause that it keeps one at a time, and with each
// of some servers to itself: one at a time, a server that mixes connections up may still hold those of the scenario
// before.
func failsAsAlone(t *testing.T, res *reports.Results, o runner.Options, alone ...target.Launcher) {
	t.Helper()
	o.Concurrency, o.AllowIncomplete = 1, true
	broken := map[string]bool{}
	for _, sc := range suitetest.Judge(t, o).Runs[0].Scenarios {
		for _, c := range sc.Clauses {
			broken[sc.ID+" "+c.Clause] = c.Outcome == verdict.Failed
		}
	}
	for _, sc := range res.Runs[0].Scenarios {
		for _, c := range sc.Clauses {
			if c.Outcome != verdict.Failed || c.Clause == "AS-095" || broken[sc.ID+" "+c.Clause] {
				continue
			}
			o.Tags = "@" + sc.ID
			if !slices.ContainsFunc(alone, func(l target.Launcher) bool {
				o.Launcher = l
				return slices.Contains(suitetest.Broken(suitetest.Judge(t, o)), c.Clause)
			}) {
				t.Errorf("%s: %s failed, and does not alone: %s", sc.Name, c.Clause, c.Reason)
			}
		}
	}
}

// notes reports whether a note about the target contains a text.
func notes(res *reports.Results, what string) bool {
	return slices.ContainsFunc(res.Runs[0].Notes, func(n reports.Note) bool { return strings.Contains(n.Text, what) })
}

// lastTold keeps what a run tells of each scenario last.
type lastTold struct {
	mu       sync.Mutex
	outcomes map[string]verdict.Outcome
}

func (l *lastTold) Planned(int) {}

func (l *lastTold) ScenarioDone(sc reports.Scenario) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, twice := l.outcomes[sc.ID]; twice {
		panic(sc.ID + " is told twice, first as " + string(before))
	}
	l.outcomes[sc.ID] = sc.Outcome
}

func (l *lastTold) ScenarioWithdrawn(sc reports.Scenario) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.outcomes, sc.ID)
}

// TestJudgedAlone checks a server that lets a client without a session act on the session of another. Scenarios in
// parallel disturb each other, and are judged again one at a time: the clauses that the fault breaks are named exactly,
// and none is left untested. What is told of a scenario last is what the results say of it.
func TestJudgedAlone(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	m := suitetest.Mutant(t, p.Protocol, "unbound-acts-on-last")
	told := &lastTold{outcomes: map[string]verdict.Outcome{}}
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Launcher: m.Launch(brain), Observer: told})
	for _, sc := range res.Runs[0].Scenarios {
		if told.outcomes[sc.ID] != sc.Outcome {
			t.Errorf("%s is %s, and was told last as %q", sc.ID, sc.Outcome, told.outcomes[sc.ID])
		}
	}
	for _, id := range m.Clauses {
		if !slices.Contains(suitetest.Broken(res), id) {
			t.Errorf("%s is not broken", id)
		}
	}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.NotTested {
			t.Errorf("%s is not tested: %s", c.ID, c.Reason)
		}
	}
	if t.Failed() {
		t.Errorf("broken %v\n%s", suitetest.Broken(res), suitetest.Console(t, res))
	}
}

// repeatsOthers sends each connection, before its own refusals, the last refusal of another connection, however long
// ago that was.
func repeatsOthers(o *agentselect.Options) {
	last, from := agentselect.Event{}, ""
	o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event,
		send func(string, agentselect.Event)) {
		if ev.Type == vocab.ErrorEvent {
			if from != "" && from != to.ID {
				send(to.ID, last)
			}
			last, from = ev, to.ID
		}
		send(to.ID, ev)
	}
}

// TestOneAtATime checks that the first answer which arrives in another scenario ends the running in parallel, and that
// one note says so. The server's answers go astray whichever scenarios overlap.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		repeatsOthers(&o)
		return agentselect.New(o)
	})
	res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain, AllowIncomplete: true,
		Tags: "@AS-095 or @AS-077"})
	told := slices.DeleteFunc(slices.Clone(res.Runs[0].Notes), func(n reports.Note) bool {
		return !strings.Contains(n.Text, "breaks AS-095. From then on the scenarios ran one at a time; of the ")
	})
	if got := suitetest.Broken(res); len(told) != 1 || !slices.Contains(got, "AS-095") {
		t.Errorf("broken %v, want AS-095 among them, told in one note\n%s", got, suitetest.Console(t, res))
	}
}

// TestOneAgentForAll checks a server whose sessions share one agent. It fails in every scenario that runs during
// another's switch, different ones in each run. It breaks only the clauses about that, and the agent that a switch
// names as the previous one; what else scenarios find is explained by it.
func TestOneAgentForAll(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain,
		Launcher: suitetest.Mutant(t, p.Protocol, "shared-agent").Launch(brain),
		Tags:     "not @model", AllowIncomplete: true})
	want := []string{"AS-005", "AS-007", "AS-015", "AS-043", "AS-057", "AS-058", "AS-093"}
	told := notes(res, "a switch in one session changed the agent of others")
	if got := suitetest.Broken(res); !slices.Equal(got, want) || !told {
		t.Errorf("broken %v, want %v, told in a note\n%s", got, want, suitetest.Console(t, res))
	}
}

// slowModel takes its time, so that turns of several sessions overlap.
type slowModel struct{ sessionchat.Backend }

// Answer implements sessionchat.Backend.
func (m slowModel) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return m.Backend.Answer(ctx, r, emit)
	}
}

// TestInterruptsOthers checks a server on which an interrupt of one session ends the turns of all, and so affects
// every concurrent scenario. It breaks only SC-036.
func TestInterruptsOthers(t *testing.T) {
	t.Parallel()
	brain := llm.New()
	handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
		Backend: slowModel{brain}, Policy: sessionchat.Policy{
			InterruptTargets: func(m sessionchat.Manager, _ sessionchat.ConnInfo, _ string) []string { return m.Sessions() }}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer func() {
		if err := handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
		srv.CloseClientConnections()
		srv.Close()
	}()
	p, err := protocols.Kinds().ForURL("session-chat", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	launch.RaiseLimits(&p.Limits)
	res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
	told := notes(res, "interrupts of one session ended turns of others")
	if got := suitetest.Broken(res); !slices.Equal(got, []string{"SC-036"}) || !told {
		t.Errorf("broken %v, want SC-036 alone, told in a note\n%s", got, suitetest.Console(t, res))
	}
}

// TestStrays checks a server that applies every message to the oldest connection. It breaks AS-095, which is reported
// once per run. What concurrent scenarios miss because of it is not tested.
func TestStrays(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.Turn.Duration = 3*time.Second, 6*time.Second
	launcher := func(beside bool) target.Launcher {
		return bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
			h, err := agentselect.New(o)
			return &uncorrelated{Handler: h, careless: true, beside: beside}, err
		})
	}
	o := runner.Options{Profile: p, Launcher: launcher(false), Brain: brain,
		Tags: "@AS-095 or @AS-047 or @AS-053 or @AS-060 or @AS-077"}
	res := suitetest.Judge(t, o)
	failsAsAlone(t, res, o, launcher(true), launcher(false))
	if got := suitetest.Broken(res); !slices.Contains(got, "AS-095") {
		t.Errorf("broken %v, want AS-095 among them\n%s", got, suitetest.Console(t, res))
	}
	if text := suitetest.Console(t, res); strings.Count(text, "arrived on the connection of another client, ") != 1 ||
		!strings.Contains(text, "correlation: single") {
		t.Errorf("it is not told once, with the way out:\n%s", text)
	}
}
