package steps

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"weak"

	"github.com/cucumber/godog"
)

// watched is a toy that knows which worlds are still there.
type watched struct {
	toy

	worlds *[]weak.Pointer[World]
}

func (k watched) Register(sc *godog.ScenarioContext, w func() *World) {
	held := &struct{ *World }{} // as suites hold it
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		held.World = w()
		held.AtEnd(func() { held.noteStep(StepRef{}) })
		*k.worlds = append(*k.worlds, weak.Make(w()))
		return ctx, nil
	})
	StepsAfter(sc, func() error { _ = held.World; return nil }, func() {
		Step(sc, `^it keeps "([^"]*)"$`, func(id string) error { return held.Judge(ok(id)) })
	})
}

// TestFreesWorlds: godog keeps the steps' definitions until all scenarios have run, but what a scenario has seen is let
// go when it ends.
func TestFreesWorlds(t *testing.T) {
	var worlds []weak.Pointer[World]
	s := &Suite{Protocol: watched{worlds: &worlds}, Env: world(t, false).Env, Done: func(Result) {},
		Begin: func(_ context.Context, sc *godog.Scenario) Slot {
			runtime.GC()
			for i, w := range worlds[:max(0, len(worlds)-1)] { // godog may still hold the last one
				if w.Value() != nil {
					t.Errorf("the world of scenario %d is there when %q begins", i+1, sc.Name)
				}
			}
			return Slot{Nonce: sc.Name}
		}}
	text := "Feature: 1 Many\n" + strings.Repeat("\n  @AS-001\n  Scenario: one\n    Then it keeps \"AS-001\"\n", 5)
	godog.TestSuite{Name: "toy", ScenarioInitializer: s.Initialize, Options: &godog.Options{Concurrency: 1,
		FS:    fstest.MapFS{"toy/1_toy.feature": {Data: []byte(text)}},
		Paths: []string{"toy"}, Format: "progress", Output: io.Discard, Strict: true, NoColors: true}}.Run()
	if len(worlds) != 5 {
		t.Errorf("%d scenarios have run", len(worlds))
	}
}
