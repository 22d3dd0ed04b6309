package agentselect

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	"github.com/cucumber/godog"

	"parley/monitor"
	judge "parley/monitor/agentselect"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// suite is the agent-select side of one scenario's world.
type suite struct {
	*steps.World
	bind     *binding
	clients  map[string]*client
	mark     int // the latest act of anybody: absence is judged from here
	actor    *client
	accepted int // legal switches that were confirmed in this scenario: the positive twin of every refusal
	config   []byte
	gained   map[string]target.CustomAgent
}

// Protocol is the agent-select entry of the suite.
type Protocol struct{}

// Name implements steps.Protocol.
func (Protocol) Name() string { return vocab.Protocol }

// Bind implements steps.Protocol: the decoder of a scenario's records.
func (Protocol) Bind(env *steps.Env, run target.Running) func(*transcript.Record) {
	return newBinding(env.Profile, run.BaseURL(), env.Driver.Name()).decode
}

// NotRunnable implements steps.Protocol: why a scenario cannot run against this target; "" when it can.
func (Protocol) NotRunnable(env *steps.Env, tags []string) string {
	for _, t := range tags {
		if t == "@two-clients" && env.Profile.AgentSelect.Correlation.Single {
			return "correlation is single: the target cannot tell two connections apart, so it is tested with one open connection"
		}
	}
	return ""
}

// Monitors implements steps.Protocol.
func (Protocol) Monitors() []monitor.Monitor { return judge.All() }

// Subprotocols implements steps.Protocol.
func (Protocol) Subprotocols(p *target.Profile) []string { return p.AgentSelect.WS.Subprotocols }

// Certifying implements steps.Protocol: the source speaks of SSE only.
func (Protocol) Certifying() []string { return []string{target.SSE} }

// Stages implements steps.Protocol.
func (Protocol) Stages() [3]string { return [3]string{"connecting", "creating a session", "switching"} }

// Register implements steps.Protocol.
func (Protocol) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{clients: map[string]*client{}, gained: map[string]target.CustomAgent{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World = w
			s.findsStrays()
			s.bind = newBinding(w.Env.Profile, w.Target.BaseURL(), w.Env.Driver.Name())
		}
		return ctx, nil
	})
	s.registerConnecting(sc)
	s.registerSessions(sc)
	s.registerSwitching(sc)
	s.registerRefusing(sc)
	s.registerAbsence(sc)
	s.registerTurns(sc)
	s.registerHandover(sc)
	s.registerRaces(sc)
	s.registerConfiguration(sc)
}

// header is sent with every request to the target.
func (s *suite) header() http.Header {
	h := http.Header{}
	for k, v := range s.Env.Profile.Headers {
		h.Set(k, v)
	}
	return h
}

// agentRef is how steps speak of an agent that is sure to be legal.
const agentRef = `(the default agent|the custom agent|"[^"]*")`

var quotedRef = regexp.MustCompile(`\A"([^"]*)"\z`)

// agentID resolves an agentRef.
func (s *suite) agentID(ref string) (string, error) {
	switch ref {
	case "the default agent":
		return s.Env.Profile.Agents.Default, nil
	case "the custom agent":
		c, err := s.custom()
		return c.ID, err
	}
	m := quotedRef.FindStringSubmatch(ref)
	if m == nil {
		return "", fmt.Errorf("%s is no agent that a step can name", ref)
	}
	return s.swapped(m[1]), nil
}

// swapped lets the features speak of "general" as the agent that sessions start with: where a target declares another
// one of the built-in agents as its default, the two change places.
func (s *suite) swapped(id string) string {
	def := s.Env.Profile.Agents.Default
	switch {
	case id == vocab.General && contains(vocab.BuiltinIDs, def):
		return def
	case id == def && contains(vocab.BuiltinIDs, def):
		return vocab.General
	}
	return id
}

// custom is the custom agent that the target is configured with.
func (s *suite) custom() (target.CustomAgent, error) {
	if len(s.Env.Profile.Agents.Custom) == 0 {
		return target.CustomAgent{}, steps.NotTestedf("the profile names no custom agent (agents.custom)")
	}
	return s.Env.Profile.Agents.Custom[0], nil
}

// nameOf is the display name of an agent as the client was last told it.
func (s *suite) nameOf(c *client, id string) (string, bool) {
	a, ok := find(c.offered, id)
	return a.Name, ok
}
