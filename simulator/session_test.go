package simulator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open begins a session with the bundled target of a protocol's first role.
func open(t testing.TB, protocol string) *simulator.Session {
	t.Helper()
	b := bundled.All.For(protocols.Kinds(), protocol, "")
	s, err := simulator.Open(t.Context(),
		runner.Options{Protocols: protocols.All, Profile: b.Profile, Launcher: b.Launcher, Brain: b.Brain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestSteps: steps run one at a time, each with its own judgements.
func TestSteps(t *testing.T) {
	s := open(t, "agent-select")
	for _, step := range []struct {
		text   string
		clause string // judged by it
		want   verdict.Outcome
	}{
		{text: "Given client A is connected"},
		{text: "client A has a session"},
		{text: `When client A switches to "debugger"`},
		{text: `client A is switched from "general" to "debugger"`, clause: "AS-042", want: verdict.Passed},
		{text: `client A switches to "nobody"`},
		{text: `client A is switched to "plan"`, clause: "AS-041", want: verdict.Failed},
	} {
		got, err := s.Do(t.Context(), step.text, steps.StepArg{})
		if err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		i := slices.IndexFunc(got.Outcomes, func(j verdict.Judgement) bool { return j.Clause == step.clause })
		if step.clause != "" && (i < 0 || got.Outcomes[i].Outcome != step.want) {
			t.Errorf("%s judged %v, want %s %s", step.text, got.Outcomes, step.clause, step.want)
		}
	}
	if got := s.Outcomes()["AS-041"]; got != verdict.Failed {
		t.Errorf("AS-041 is %q in the session", got)
	}
	if last, ok := s.Undo(); !ok || last.Text != `client A is switched to "plan"` || len(s.Steps()) != 5 {
		t.Errorf("undone: %q, %v; %d steps are left", last.Text, ok, len(s.Steps()))
	}
}

// TestTooEarly: what a step could not test for want of an act does not count once the same step judges it.
func TestTooEarly(t *testing.T) {
	s := open(t, "agent-select")
	for _, step := range []struct {
		text string
		want verdict.Outcome // of AS-041 in the session
	}{
		{`client A is switched to "debugger"`, ""},
		{"client A is connected", ""},
		{"client A has a session", ""},
		{`client A switches to "debugger"`, ""},
		{`client A is switched to "debugger"`, verdict.Passed},
		{`client A switches to "nobody"`, verdict.Passed},
		{`client A is switched to "debugger"`, verdict.Failed},
		{`client A switches to "plan"`, verdict.Failed},
		{`client A is switched to "plan"`, verdict.Failed},
	} {
		if _, err := s.Do(t.Context(), step.text, steps.StepArg{}); err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
		if got := s.Outcomes()["AS-041"]; got != step.want {
			t.Errorf("after %q, AS-041 is %q, want %s", step.text, got, step.want)
		}
	}
}

// TestMistakes: an impossible step returns an error that suggests an alternative, and the session continues.
func TestMistakes(t *testing.T) {
	s := open(t, "agent-select")
	text := "a text"
	for _, row := range []struct {
		reason, step string
		arg          steps.StepArg
		want         []string
	}{
		{"no such step", "client A switches over", steps.StepArg{}, []string{"no step matches", "client X switches to"}},
		{"a text argument for a step without one", "client A is connected", steps.StepArg{Text: &text},
			[]string{"the step takes nothing below it"}},
	} {
		_, err := s.Do(t.Context(), row.step, row.arg)
		for _, want := range row.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", row.reason, err, want)
			}
		}
	}
	if got, err := s.Party("client A").Do(t.Context(), "is connected"); err != nil || got.Err != nil {
		t.Errorf("then: %v, %v", err, got.Err)
	}
	s.Close()
	if _, err := s.Do(t.Context(), "client A is connected", steps.StepArg{}); !errors.Is(err, steps.ErrLiveOver) {
		t.Errorf("behind its end: %v", err)
	}
}

// TestJudgesLikeARun: scenarios that pass in a run also pass step by step, each in its own session, for every clause.
// It excludes scenarios that restart the target or need a target of their own, and those with step arguments.
func TestJudgesLikeARun(t *testing.T) {
	for _, protocol := range []string{"agent-select", "session-chat", "session-runtime"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p := protocols.Get(protocol)
			planned, err := runner.Scenarios(p.Features(), p)
			if err != nil {
				t.Fatal(err)
			}
			texts, err := runner.Steps(p.Features(), p)
			if err != nil {
				t.Fatal(err)
			}
			done := 0
			for i, pl := range planned {
				last := texts[pl.ID][len(texts[pl.ID])-1]
				if i%4 > 0 || pl.Exclusive() || strings.HasSuffix(last, ":") {
					continue
				}
				done++
				s := open(t, protocol)
				for _, text := range texts[pl.ID] {
					got, err := s.Do(t.Context(), text, steps.StepArg{})
					var notTested *steps.NotTestedError
					var notApplicable *steps.NotApplicableError
					if errors.As(got.Err, &notTested) || errors.As(got.Err, &notApplicable) {
						break // the bundled target does not do it in a run either
					}
					var below *steps.ArgumentError
					if errors.As(err, &below) {
						break
					}
					if err != nil || got.Err != nil || len(got.Failures) > 0 {
						t.Errorf("%s %q, %q: %v %v %v", pl.ID, pl.Name, text, err, got.Err, got.Failures)
					}
				}
				for _, c := range s.Close().Monitors {
					if c.Outcome == verdict.Failed {
						t.Errorf("%s %q: %s is %s: %s", pl.ID, pl.Name, c.Clause, c.Outcome, c.Reason)
					}
				}
			}
			t.Logf("%d scenarios", done)
			if done < 10 {
				t.Error("that proves little")
			}
		})
	}
}
