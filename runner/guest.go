package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/reports"
	"parley/steps"
)

// Guest lends the steps of a protocol to a godog suite of somebody else's, with a target that they judge. Scenarios
// share the target; one tagged @exclusive has it to itself. Safe for concurrent use.
type Guest struct {
	r     *run
	d     *driverRun
	suite *steps.Suite

	end  func()
	once sync.Once

	mu    sync.Mutex
	begun int
	found []reports.Scenario
}

// OpenGuest launches the target of o, to be judged over the first of its drivers. Options that select, repeat or report
// are ignored. The error is a *UsageError, or an error of target.Launcher. The target runs until Close.
func OpenGuest(ctx context.Context, o Options) (*Guest, error) {
	o.Tags, o.Explore, o.Baseline = "", 0, nil
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	stop, err := r.launch(ctx)
	if err != nil {
		r.close()
		return nil, err
	}
	r.started = time.Now()
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { deadline.Watch(watching) })
	g := &Guest{r: r, d: r.drivers[0], end: func() { stop(); r.close(); unwatch(); watch.Wait() }}
	env := r.environment(g.d)
	g.d.envs, g.d.reached = env, steps.Answered
	g.suite = &steps.Suite{Protocol: r.protocol, Env: env, Own: true, Begin: g.begin, Done: g.done}
	return g, nil
}

// Initialize registers the steps and their hooks for a scenario, like a godog.TestSuite's ScenarioInitializer.
// A scenario with a tag that has the form of a clause's id, and names none of the protocol, fails.
func (g *Guest) Initialize(sc *godog.ScenarioContext) {
	sc.Before(func(ctx context.Context, sc *godog.Scenario) (context.Context, error) {
		for _, id := range guestPlan(sc).Clauses {
			if _, known := g.r.ledger.Row(id); !known {
				return ctx, fmt.Errorf("%s has no clause %s", steps.Name(g.r.protocol), id)
			}
		}
		return ctx, nil
	})
	g.suite.Initialize(sc)
}

// Scenarios returns the results of the scenarios that are over, in the order of their ends.
func (g *Guest) Scenarios() []reports.Scenario {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.found)
}

// Close ends the target. It may be called again. No scenario may run any more.
func (g *Guest) Close() { g.once.Do(g.end) }

// begin gives a scenario the target.
func (g *Guest) begin(ctx context.Context, sc *godog.Scenario) steps.Slot {
	pl := guestPlan(sc)
	if why := g.r.protocol.NotRunnable(g.d.envs, pl.Tags); why != "" {
		return steps.Slot{Skip: verdict.NotTested, Reason: why}
	}
	g.mu.Lock()
	g.begun++
	nonce := fmt.Sprintf("guest-%d-%s-%x", g.begun, g.d.name, g.r.salt)
	g.mu.Unlock()
	resets := g.r.o.Profile.Resets()
	if pl.Exclusive() || !resets && g.r.o.Profile.Reach().Shared != "" {
		return g.r.exclusive(ctx, nonce)
	}
	s := g.r.share(ctx, nonce, false)
	s.Beside = !resets
	return s
}

// done keeps the result of a scenario.
func (g *Guest) done(res steps.Result) {
	defer res.Release()
	sc := g.r.scenario(g.d, guestPlan(res.Scenario), res)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = append(g.found, sc)
}

// guestPlan describes a scenario of somebody else's suite, of which only the pickle is known.
func guestPlan(sc *godog.Scenario) Planned {
	pl := Planned{ID: sc.Name, Name: sc.Name, Location: sc.Uri, file: sc.Uri}
	for _, t := range sc.Tags {
		pl.Tags = append(pl.Tags, t.Name)
		if id := strings.TrimPrefix(t.Name, "@"); steps.IsClause(id) {
			pl.Clauses = append(pl.Clauses, id)
		}
	}
	return pl
}
