package parley

import (
	"context"

	"github.com/cucumber/godog"

	"parley/runner"
)

// Steps lends the steps of a protocol, with a target that they judge, to a godog suite of yours, in which they can be
// mixed with steps of your own. Its methods are safe for concurrent use.
type Steps struct{ guest *runner.Guest }

// Open starts or reaches a target for [Steps.Register]. Only the options [Protocol], [Role], [Driver] (the first one
// counts), [Settings] and [Out] (for transcripts) have an effect. The target runs until [Steps.Close]. The error is a
// *[UsageError], or says why the target cannot be started or reached.
func Open(ctx context.Context, t Target, opts ...Option) (*Steps, error) {
	s := settingsOf(opts)
	s.tags, s.baseline = "", ""
	o, err := s.options(t)
	if err != nil {
		return nil, err
	}
	if s.out != "" {
		if err := runner.PrepareOut(s.out); err != nil {
			return nil, usagef("parley.Out: %v", err)
		}
	}
	guest, err := runner.OpenGuest(ctx, o)
	if err != nil {
		return nil, translateError(err)
	}
	return &Steps{guest}, nil
}

// Register adds the steps of the protocol to a scenario: call it in the ScenarioInitializer of a godog.TestSuite,
// beside the registration of your own steps. docs/steps.md lists the steps.
//
// A step judges only the clauses that are among the tags of its scenario, such as @AS-080; a broken one fails the
// scenario in godog, too. Without such a tag the steps act and wait, and judge nothing. A scenario that could not be
// judged is skipped in godog. [Steps.Scenarios] has what was found, with reasons. Scenarios may run at the same time;
// one tagged @exclusive has the target to itself.
func (s *Steps) Register(sc *godog.ScenarioContext) { s.guest.Initialize(sc) }

// Scenarios returns the results of the scenarios that have ended, in the order of their ends. Beside what steps found,
// it has the findings of the monitors, which judge every message of a scenario against clauses that always hold; these
// do not fail a scenario in godog.
func (s *Steps) Scenarios() []Scenario {
	var all []Scenario
	for _, sc := range s.guest.Scenarios() {
		all = append(all, scenarioOf(&sc))
	}
	return all
}

// Close ends the target. It may be called again. No scenario may run any more.
func (s *Steps) Close() { s.guest.Close() }
