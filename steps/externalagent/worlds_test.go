package externalagent

import (
	"testing"

	"github.com/cucumber/godog"

	"parley/steps"
	"parley/steps/externalagent/binding"
)

// single is the protocol with one step, which runs in the world of a scenario.
type single struct {
	Protocol
	do func(*suite) error
}

// Register implements steps.Protocol.
func (p single) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	steps.Step(sc, `^it is done$`, func() error {
		return p.do(&suite{World: world(), wire: binding.Default(), parties: map[string]*party{}, plays: map[string]*play{},
			hosts: map[string]*party{}, reads: map[string]logPart{}})
	})
}

// within runs a function in the world of a scenario with the given tags and returns the result.
func within(t *testing.T, role, tags string, do func(*suite) error) steps.Result {
	t.Helper()
	p := &peer{}
	return performAs(t, single{do: do}, environment(t, role, p), p, tags, "Given it is done")
}
