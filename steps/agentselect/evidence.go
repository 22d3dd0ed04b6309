package agentselect

import (
	"fmt"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"

	"parley/model"
	"parley/steps"
	"parley/target"
)

// calls are the model's calls of a turn. Side requests of a target (a title, a summary) may carry the same text: where
// some calls offer tools, those that offer none are left out.
func (s *suite) calls(t *turn) []model.Request {
	all := s.Env.Brain.Requests(t.nonce)
	var main []model.Request
	for _, r := range all {
		if len(r.Tools) > 0 {
			main = append(main, r)
		}
	}
	if len(main) > 0 {
		return main
	}
	return all
}

// modelTurn is the last turn of a client, with what is known of it by the model.
func (s *suite) modelTurn(name string) (*turn, []model.Request, target.CustomAgent, error) {
	if err := s.noModel(); err != nil {
		return nil, nil, target.CustomAgent{}, err
	}
	custom, err := s.custom()
	if err != nil {
		return nil, nil, custom, err
	}
	c := s.client(name)
	if c.turn == nil {
		return nil, nil, custom, steps.NotTestedf("client %s has not chatted", name)
	}
	calls := s.calls(c.turn)
	if len(calls) == 0 {
		return nil, nil, custom, steps.NotTestedf("the model was not asked for the message of client %s", name)
	}
	return c.turn, calls, custom, nil
}

func (s *suite) promptGiven(name string, want bool) error {
	_, calls, custom, err := s.modelTurn(name)
	if err != nil {
		return err
	}
	if custom.Prompt == "" {
		return steps.NotTestedf("the profile names no prompt marker of the custom agent (agents.custom[].prompt)")
	}
	given := false
	for _, r := range calls {
		given = given || hasPrompt(r, custom)
	}
	expected := fmt.Sprintf("a model request with the prompt of %s (%q)", custom.ID, custom.Prompt)
	if !want {
		expected = fmt.Sprintf("no model request with the prompt of %s (%q)", custom.ID, custom.Prompt)
	}
	clauses := []string{"AS-006", "AS-047", "AS-060", "AS-061", "AS-069", "AS-125"}
	return s.Judge(steps.Check{Clauses: clauses, OK: given == want, Expected: expected, Observed: systems(calls), At: s.T.Len()})
}

// hasPrompt looks for the marker of an agent's prompt wherever a target may put instructions.
func hasPrompt(r model.Request, a target.CustomAgent) bool {
	return strings.Contains(r.System, a.Prompt)
}

func systems(calls []model.Request) string {
	var out []string
	for _, r := range calls {
		out = append(out, fmt.Sprintf("system prompt %q", clip(r.System)))
	}
	return strings.Join(out, "; ")
}

func (s *suite) toolsGiven(name string, want bool) error {
	t, calls, custom, err := s.modelTurn(name)
	if err != nil {
		return err
	}
	if len(custom.Tools) == 0 {
		return steps.NotTestedf("the profile names no tools of the custom agent (agents.custom[].tools)")
	}
	got := toolSet(calls)
	if want {
		return s.judgeTools(name, t, custom, got)
	}
	return s.judgeToolsGone(name, t, custom, got)
}

// judgeTools judges the tools of a turn with the custom agent: all that the profile declares, and none that is another
// agent's own. What every other agent of the conversation was given too is common to all, and says nothing.
func (s *suite) judgeTools(name string, t *turn, custom target.CustomAgent, got []string) error {
	of := s.toolsByAgent(name, t)
	seen, agents := map[string]int{}, 0
	for agent, tools := range of {
		if agent == custom.ID {
			continue
		}
		agents++
		for _, tool := range tools {
			seen[tool]++
		}
	}
	var foreign []string
	for tool, n := range seen {
		if agents > 1 && n < agents && !contains(custom.Tools, tool) && contains(got, tool) {
			foreign = append(foreign, tool)
		}
	}
	sort.Strings(foreign)
	missing := without(custom.Tools, got)
	return s.Judge(
		steps.Check{Clauses: []string{"AS-048"}, OK: len(missing) == 0, At: s.T.Len(),
			Expected: "the tools of " + custom.ID + ": " + strings.Join(custom.Tools, ", "), Observed: strings.Join(got, ", "), Diff: cmp.Diff(custom.Tools, got)},
		steps.Check{Clauses: []string{"AS-048"}, OK: len(foreign) == 0, At: s.T.Len(),
			Expected: "no tool that only another agent has", Observed: strings.Join(foreign, ", ") + " among " + strings.Join(got, ", ")},
	)
}

// judgeToolsGone judges the tools after switching back: those that came with the custom agent have gone with it.
func (s *suite) judgeToolsGone(name string, t *turn, custom target.CustomAgent, got []string) error {
	of := s.toolsByAgent(name, t)
	own := without(of[custom.ID], of[t.agent])
	if len(own) == 0 {
		return steps.NotTestedf("the tools of %s and of %s do not differ", custom.ID, t.agent)
	}
	kept := without(own, without(own, got))
	return s.Judge(steps.Check{Clauses: []string{"AS-048"}, OK: len(kept) == 0, At: s.T.Len(),
		Expected: "none of the tools that only " + custom.ID + " has: " + strings.Join(own, ", "), Observed: strings.Join(got, ", ")})
}

// toolsByAgent is what the earlier turns of a client were given, by the agent that they ran with.
func (s *suite) toolsByAgent(name string, except *turn) map[string][]string {
	out := map[string][]string{}
	for _, o := range s.client(name).turns {
		if o != except {
			out[o.agent] = toolSet(s.calls(o))
		}
	}
	return out
}

func toolSet(calls []model.Request) []string {
	seen := map[string]bool{}
	for _, r := range calls {
		for _, t := range r.Tools {
			seen[t] = true
		}
	}
	out := make([]string, 0, len(seen))
	for t := range seen {
		out = append(out, t)
	}
	sort.Strings(out)
	return out
}

func without(list, other []string) []string {
	var out []string
	for _, e := range list {
		if !contains(other, e) {
			out = append(out, e)
		}
	}
	return out
}

func (s *suite) everyCallHadPrompt(name string) error {
	_, calls, custom, err := s.modelTurn(name)
	if err != nil {
		return err
	}
	if custom.Prompt == "" {
		return steps.NotTestedf("the profile names no prompt marker of the custom agent (agents.custom[].prompt)")
	}
	if len(calls) < 2 {
		return steps.NotTestedf("the turn called the model only once, so nothing came after the refused switch")
	}
	ok := true
	for _, r := range calls {
		ok = ok && hasPrompt(r, custom)
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-061", "AS-062", "AS-125"}, OK: ok, Expected: fmt.Sprintf("every model request of the turn with the prompt of %s (%q)", custom.ID, custom.Prompt),
		Observed: systems(calls), At: s.T.Len()})
}
