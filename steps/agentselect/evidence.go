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
	clauses := []string{"AS-047", "AS-060", "AS-061", "AS-069"}
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
	// The turn before ran with the other agent: the tools have changed with it.
	var before []string
	for _, o := range s.client(name).turns {
		if o != t {
			before = toolSet(s.calls(o))
		}
	}
	missing := without(custom.Tools, got)
	checks := []steps.Check{{Clauses: []string{"AS-048"}, OK: before == nil || !cmp.Equal(before, got), At: s.T.Len(),
		Expected: "other tools than before the switch", Observed: "the same: " + strings.Join(got, ", ")}}
	if want {
		checks = append(checks, steps.Check{Clauses: []string{"AS-048"}, OK: len(missing) == 0, At: s.T.Len(),
			Expected: "the tools of " + custom.ID + ": " + strings.Join(custom.Tools, ", "), Observed: strings.Join(got, ", "), Diff: cmp.Diff(custom.Tools, got)})
	}
	return s.Judge(checks...)
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
