package agentselect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"parley/features/verdict"
	"parley/internal/jsondiff"
	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/target"
)

func (r registry) evidence() {
	r.step(`^the model of client (\w+) (was|was not) given the prompt of the custom agent$`,
		func(c *client, was string) error { return r.promptGiven(c, was == "was") })
	r.step(`^the model of client (\w+) (was|was not) given the tools of the custom agent$`,
		func(c *client, was string) error { return r.toolsGiven(c, was == "was") })
	r.step(`^the turn of client (\w+) used the agent from which it was switched$`, r.turnUsedPrevious)
	r.step(`^every call of that turn of client (\w+) had the prompt of the custom agent$`, r.everyCallHadPrompt)
}

// calls returns the model requests of a turn. A target's side requests (a title, a summary) may carry the same text:
// if some requests offer tools, those without tools are omitted.
func (s *suite) calls(t *turn) []llm.Request {
	all := s.Env.Brain.Requests(t.nonce)
	var main []llm.Request
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

// modelTurn returns the last turn of a client, its model requests and the custom agent.
func (s *suite) modelTurn(c *client) (*turn, []llm.Request, target.CustomAgent, error) {
	if err := s.noModel(); err != nil {
		return nil, nil, target.CustomAgent{}, err
	}
	custom, err := s.custom()
	if err != nil {
		return nil, nil, custom, err
	}
	if c.turn == nil {
		return nil, nil, custom, steps.NotTestedf("client %s has not chatted", c.name)
	}
	calls := s.calls(c.turn)
	if len(calls) == 0 {
		return nil, nil, custom, steps.NotTestedf("the model was not asked for the message of client %s", c.name)
	}
	return c.turn, calls, custom, nil
}

// promptTurn is modelTurn for checks that need the marker of the custom agent's prompt.
func (s *suite) promptTurn(c *client) ([]llm.Request, target.CustomAgent, error) {
	_, calls, custom, err := s.modelTurn(c)
	if err == nil && custom.Prompt == "" {
		err = steps.NotTestedf("the profile names no prompt marker of the custom agent (agents.custom[].prompt)")
	}
	return calls, custom, err
}

func (s *suite) promptGiven(c *client, want bool) error {
	calls, custom, err := s.promptTurn(c)
	if err != nil {
		return err
	}
	given := anyHasPrompt(calls, custom)
	clauses := []string{"AS-006", "AS-047", "AS-053", "AS-060", "AS-061", "AS-069", "AS-093", "AS-125", "AC-117"}
	expected := fmt.Sprintf(" model request with the prompt of %s (%q)", custom.ID, custom.Prompt)
	switch {
	case want:
		return s.judgeLLM(verdict.Finding{Clauses: clauses, OK: given, Expected: "a" + expected, Observed: systems(calls),
			At: s.T.Len()})
	case given:
		return s.judgeLLM(verdict.Finding{Clauses: clauses, Expected: "no" + expected, Observed: systems(calls),
			At: s.T.Len()})
	}
	if s.promptSeen(custom) {
		return s.judgeLLM(verdict.Finding{Clauses: clauses, OK: true})
	}
	s.AtEnd(func() { // a later turn may show it
		if s.promptSeen(custom) {
			_ = s.judgeLLM(verdict.Finding{Clauses: clauses, OK: true})
			return
		}
		s.Note("the prompt of %s never reached the model in this scenario, so its absence from one turn proves nothing",
			custom.ID)
	})
	return nil
}

// judgeLLM judges what the large language model was given. That sessions share one agent, if that is known, explains
// what is wrong.
func (s *suite) judgeLLM(checks ...verdict.Finding) (err error) {
	_, known := s.Env.Learnt.Load(shared{})
	for _, check := range checks {
		check.Judge = verdict.ByLLM
		if fault := check; known && !check.OK {
			fault.Clauses = sharing
			_ = s.ExplainedBy(model.FoundBySteps, fault, check)
		} else {
			err = cmp.Or(err, s.Judge(check))
		}
	}
	return err
}

// turnUsedPrevious judges that a client's last turn used the agent from which its last switch says that it was
// switched: a session has one agent, whichever that is (AS-043, AS-093).
func (s *suite) turnUsedPrevious(ctx context.Context, c *client) error {
	calls, custom, err := s.promptTurn(c)
	if err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	switch {
	case miss != nil:
		return steps.NotTestedf("client %s was not switched: %s", c.name, miss.Reason)
	case !isSwitch(&rec):
		return steps.NotTestedf("client %s was not switched: %s", c.name, steps.Seen(rec))
	case !s.promptSeen(custom):
		return steps.NotTestedf("the prompt of %s never reached the model in this scenario", custom.ID)
	}
	previous, how := field(rec, vocab.PreviousAgentID), "with"
	if previous != any(custom.ID) {
		how = "without"
	}
	return s.judgeLLM(verdict.Finding{Clauses: []string{"AS-043", "AS-093"}, At: rec.N,
		OK: anyHasPrompt(calls, custom) == (previous == any(custom.ID)),
		Expected: fmt.Sprintf("the turn before a switch from %s %s the prompt of %s (%q)", quoted(previous), how, custom.ID,
			custom.Prompt),
		Observed: systems(calls)})
}

// promptSeen reports whether a turn with the custom agent has shown that its prompt reaches the model at all: this is
// the positive counterpart of every turn without it.
func (s *suite) promptSeen(custom target.CustomAgent) bool {
	for _, c := range s.clients {
		for _, t := range c.turns {
			if t.agent == custom.ID && anyHasPrompt(s.calls(t), custom) {
				return true
			}
		}
	}
	return false
}

func anyHasPrompt(calls []llm.Request, a target.CustomAgent) bool {
	return slices.ContainsFunc(calls, func(r llm.Request) bool { return hasPrompt(r, a) })
}

// hasPrompt looks for the marker of an agent's prompt wherever a target may put instructions.
func hasPrompt(r llm.Request, a target.CustomAgent) bool {
	return slices.ContainsFunc(instructions(r), func(text string) bool { return strings.Contains(text, a.Prompt) })
}

// instructions returns the texts of a request that may tell the model its role: the system prompt, the user messages
// after the last answer, and of the earlier ones the last that the scenario did not write. Earlier texts belong to
// the turns that they began.
func instructions(r llm.Request) []string {
	texts := []string{r.System}
	turn := 0
	for i, m := range r.Messages {
		if m.Role == llm.RoleAssistant && len(m.Calls) == 0 {
			turn = i + 1
		}
	}
	for _, m := range r.Messages[turn:] {
		if m.Role == llm.RoleUser {
			texts = append(texts, m.Text)
		}
	}
	for i := turn - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == llm.RoleUser && len(llm.Directives(m.Text)) == 0 {
			return append(texts, m.Text)
		}
	}
	return texts
}

func systems(calls []llm.Request) string {
	var out []string
	for _, r := range calls {
		texts := instructions(r)
		told := fmt.Sprintf("system prompt %q", clip(texts[0]))
		for _, t := range texts[1:] {
			told += fmt.Sprintf(", user message %q", clip(t))
		}
		out = append(out, told)
	}
	return strings.Join(out, "; ")
}

func (s *suite) toolsGiven(c *client, want bool) error {
	t, calls, custom, err := s.modelTurn(c)
	if err != nil {
		return err
	}
	whole, err := s.judgeWholeLists(c)
	if err != nil {
		return err
	}
	got := toolSet(calls)
	switch {
	case len(custom.Tools) == 0 && whole[t.agent]:
		return nil
	case len(custom.Tools) == 0:
		return steps.NotTestedf("the profile names no tools of the custom agent (agents.custom[].tools)")
	case want && !whole[t.agent] && s.toolsAlike(c, t, custom, got):
		return steps.NotTestedf("every agent was offered the same tools, so nothing shows that they belong to %s: list all "+
			"tools of the agents (agents.tools)", custom.ID)
	case want:
		return s.judgeTools(c, t, custom, got)
	}
	return s.judgeToolsGone(c, t, custom, got, whole[t.agent])
}

// judgeWholeLists judges the client's turns with agents whose complete tool list is in the profile: the model was
// offered these tools and no others. It returns the agents judged.
func (s *suite) judgeWholeLists(c *client) (map[string]bool, error) {
	judged := map[string]bool{}
	for _, t := range c.turns {
		all, whole := s.Env.Profile.Agents.Tools[t.agent]
		calls := s.calls(t)
		if !whole || len(calls) == 0 {
			continue
		}
		judged[t.agent] = true
		want, got := slices.Sorted(slices.Values(all)), toolSet(calls)
		if err := s.judgeLLM(verdict.Finding{Clauses: []string{"AS-048"}, OK: slices.Equal(want, got), At: s.T.Len(),
			Expected: fmt.Sprintf("the tools of %[1]s, and no others (agents.tools.%[1]s): %[2]s", t.agent,
				strings.Join(want, ", ")),
			Observed: strings.Join(got, ", "), Diff: jsondiff.Diff(want, got)}); err != nil {
			return judged, err
		}
	}
	return judged, nil
}

// toolsAlike reports whether the agents of a conversation, of which there are several, were all offered the tools of a
// turn, which include all that the profile declares of the custom agent.
func (s *suite) toolsAlike(c *client, t *turn, custom target.CustomAgent, got []string) bool {
	others := 0
	for agent, tools := range s.toolsByAgent(c, t) {
		if agent == custom.ID {
			continue
		}
		if others++; !slices.Equal(tools, got) {
			return false
		}
	}
	return others > 0 && len(without(custom.Tools, got)) == 0
}

// judgeTools judges the tools of a turn with the custom agent: all that the profile declares, and none that belongs
// to another agent. A tool that every other agent of the conversation had is common to all, and proves nothing.
func (s *suite) judgeTools(c *client, t *turn, custom target.CustomAgent, got []string) error {
	of := s.toolsByAgent(c, t)
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
	return s.judgeLLM(
		verdict.Finding{Clauses: []string{"AS-048"}, OK: len(missing) == 0, At: s.T.Len(),
			Expected: "the tools of " + custom.ID + ": " + strings.Join(custom.Tools, ", "),
			Observed: strings.Join(got, ", "), Diff: jsondiff.Diff(custom.Tools, got)},
		verdict.Finding{Clauses: []string{"AS-048"}, OK: len(foreign) == 0, At: s.T.Len(),
			Expected: "no tool that only another agent has",
			Observed: strings.Join(foreign, ", ") + " among " + strings.Join(got, ", ")},
	)
}

// judgeToolsGone judges the tools after switching back: the custom agent's own tools are gone. If both agents were
// given the same tools, nothing can be judged, unless the profile lists all tools of the agent.
func (s *suite) judgeToolsGone(c *client, t *turn, custom target.CustomAgent, got []string, whole bool) error {
	of := s.toolsByAgent(c, t)
	own := without(of[custom.ID], of[t.agent])
	switch {
	case len(own) == 0 && whole:
		return nil
	case len(own) == 0:
		return steps.NotTestedf("the tools of %s and of %s do not differ", custom.ID, t.agent)
	}
	kept := without(own, without(own, got))
	return s.judgeLLM(verdict.Finding{Clauses: []string{"AS-048"}, OK: len(kept) == 0, At: s.T.Len(),
		Expected: "none of the tools that only " + custom.ID + " has: " + strings.Join(own, ", "),
		Observed: strings.Join(got, ", ")})
}

// toolsByAgent returns the tools offered in the client's other turns, by agent.
func (s *suite) toolsByAgent(c *client, except *turn) map[string][]string {
	out := map[string][]string{}
	for _, o := range c.turns {
		if o != except {
			out[o.agent] = toolSet(s.calls(o))
		}
	}
	return out
}

// toolSet returns the tools that requests offered, sorted.
func toolSet(calls []llm.Request) []string {
	var all []string
	for _, r := range calls {
		all = append(all, r.Tools...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(e string) bool { return contains(other, e) })
}

func (s *suite) everyCallHadPrompt(c *client) error {
	calls, custom, err := s.promptTurn(c)
	if err != nil {
		return err
	}
	if len(calls) < 2 {
		return steps.NotTestedf("the turn called the model only once, so nothing came after the refused switch")
	}
	lacks := func(r llm.Request) bool { return !hasPrompt(r, custom) }
	return s.judgeLLM(verdict.Finding{Clauses: []string{"AS-061", "AS-062", "AS-125"},
		OK:       !slices.ContainsFunc(calls, lacks),
		Expected: fmt.Sprintf("every model request of the turn with the prompt of %s (%q)", custom.ID, custom.Prompt),
		Observed: systems(calls), At: s.T.Len()})
}
