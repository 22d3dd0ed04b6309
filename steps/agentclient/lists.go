package agentclient

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/driver/browser/look"
	"parley/internal/cut"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
)

func (s *suite) registerLists(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server lists the agents$`, func(ctx context.Context) error { return s.lists(ctx, usual, "general", nil) })
	steps.Step(sc, `^the server lists the agents, and gives no time$`, s.listsWithoutTime)
	steps.Step(sc, `^the server lists the agents, and none is current$`, func(ctx context.Context) error { return s.lists(ctx, usual, "", nil) })
	steps.Step(sc, `^the server lists the agents, and "(.*)" is current$`, func(ctx context.Context, name string) error {
		s.now.agents = usual
		return s.lists(ctx, usual, s.armed(s.now.called(name).id), nil)
	})
	steps.Step(sc, `^the server lists the agents with more in it than the document has$`, s.listsMore)
	steps.Step(sc, `^the server lists no agents$`, func(ctx context.Context) error { return s.lists(ctx, nil, "", nil) })
	steps.Step(sc, `^the server lists (\d+) agents$`, s.listsMany)
	steps.Step(sc, `^the server lists an agent named "(.*)"$`, s.listsNamed)
	steps.Step(sc, `^the server lists agents of these names:$`, s.listsNames)
	steps.Step(sc, `^the server lists "general" and agents of the ids ("[^"]*"(?:(?:, | and )"[^"]*")*)$`, s.listsIDs)
	steps.Step(sc, `^the server lists "general" under the name "([^"]*)", and it is current$`, func(ctx context.Context, name string) error {
		return s.lists(ctx, []agent{{id: "general", name: name, description: "通用主代理"}}, "general", nil)
	})
	steps.Step(sc, `^the server lists "general" under the name "([^"]*)" and "Debugger", and "general" is current$`, func(ctx context.Context, name string) error {
		return s.lists(ctx, []agent{{id: "general", name: name, description: "通用主代理"}, usual[1]}, "general", nil)
	})
	steps.Step(sc, `^the server lists ((?:"[A-Z][\w ]*"(?:, | and )?)+), and (?:"([^"]*)"|none) is current$`, func(ctx context.Context, names, current string) error {
		if current != "" {
			current = s.now.called(current).id
		}
		return s.lists(ctx, s.now.those(names), current, nil)
	})

	steps.Step(sc, `^there is a selector$`, s.isThere)
	steps.Step(sc, `^the selector is a select element$`, s.isSelect)
	steps.Step(sc, `^the selector has the id of the document$`, s.hasID)
	steps.Step(sc, `^the selector is at the right of the chat's header, next to the button for a new session$`, s.isAtTheRight)
	steps.Step(sc, `^the options are the agents$`, func(ctx context.Context) error { return s.optionsAre(ctx, s.now.agents, 0) })
	steps.Step(sc, `^the options are the agents, behind it$`, func(ctx context.Context) error { return s.optionsAre(ctx, s.now.agents, 1) })
	steps.Step(sc, `^the options are ("[^"]*"(?:(?:, | and )"[^"]*")*)$`, func(ctx context.Context, names string) error {
		return s.optionsAre(ctx, s.now.those(names), 0)
	})
	steps.Step(sc, `^"(.*)" is selected$`, func(ctx context.Context, name string) error { return s.isSelected(ctx, name, s.sees) })
	steps.Step(sc, `^"(.*)" is still selected$`, func(ctx context.Context, name string) error { return s.isSelected(ctx, name, s.keeps) })
	steps.Step(sc, `^the only option is "([^"]*)"(, and disabled)?$`, s.onlyOption)
	steps.Step(sc, `^none of the options is an agent$`, s.noneIsAgent)
	steps.Step(sc, `^the option is enabled$`, s.optionEnabled)
	steps.Step(sc, `^the first option is "(.*)"$`, s.firstOption)
	steps.Step(sc, `^no agent is said to be unknown$`, s.noneUnknown)
	steps.Step(sc, `^the selector is (enabled|disabled)$`, func(ctx context.Context, how string) error { return s.isUsable(ctx, how, s.sees) })
	steps.Step(sc, `^the selector is still (enabled|disabled)$`, func(ctx context.Context, how string) error { return s.isUsable(ctx, how, s.keeps) })
}

// lists sends an agent_list. It has a time of its own.
func (s *suite) lists(ctx context.Context, agents []agent, current string, more fields) error {
	s.clock(s.now)
	return s.listsAt(ctx, agents, current, more)
}

func (s *suite) listsAt(ctx context.Context, agents []agent, current string, more fields) error {
	p := s.now
	if agents == nil {
		agents = []agent{}
	}
	p.agents, p.current = agents, current
	d := fields{"agents": agents, "currentAgentId": nil}
	if current != "" {
		d["currentAgentId"] = current
	}
	for k, v := range more {
		d[k] = v
	}
	return s.emit(ctx, p, vocab.AgentListEvent, d)
}

func (s *suite) listsWithoutTime(ctx context.Context) error {
	s.now.at = never
	return s.listsAt(ctx, usual, "general", nil)
}

func (s *suite) listsMore(ctx context.Context) error {
	agents := append([]agent(nil), usual...)
	for i := range agents {
		agents[i].more = fields{"icon": "🤖", "tools": []any{"read_file"}, "builtin": i < 2, "label": nil}
	}
	return s.lists(ctx, agents, "general", fields{"total": 3, "default": "general", "page": fields{"of": 1}})
}

func (s *suite) listsMany(ctx context.Context, n int) error {
	var agents []agent
	for i := range n {
		agents = append(agents, agent{id: fmt.Sprintf("agent_%d", i), name: fmt.Sprintf("Agent No. %d.", 100+i), description: "one of many"})
	}
	return s.lists(ctx, agents, "agent_0", nil)
}

func (s *suite) listsNames(ctx context.Context, table *godog.Table) error {
	agents := slices.Clone(usual)
	for i, row := range table.Rows {
		agents = append(agents, agent{id: fmt.Sprintf("special_%d", i), name: s.armed(row.Cells[0].Value), description: s.armed(row.Cells[0].Value)})
	}
	return s.lists(ctx, agents, "general", nil)
}

// listsIDs lists agents whose names say which id they have.
func (s *suite) listsIDs(ctx context.Context, ids string) error {
	agents := usual[:1:1]
	for _, m := range inQuotes.FindAllStringSubmatch(ids, -1) {
		agents = append(agents, agent{id: m[1], name: nameOf(m[1]), description: "an agent"})
	}
	return s.lists(ctx, agents, "general", nil)
}

func nameOf(id string) string { return "The one of " + id + "." }

func (s *suite) listsNamed(ctx context.Context, name string) error {
	a := agent{id: "special", name: s.armed(name), description: s.armed(name)}
	s.now.chosen = a
	return s.lists(ctx, append([]agent{a}, usual...), "general", nil)
}

// those are the agents of names in quotes.
func (p *page) those(names string) []agent {
	var out []agent
	for _, m := range inQuotes.FindAllStringSubmatch(names, -1) {
		out = append(out, p.called(m[1]))
	}
	return out
}

var inQuotes = regexp.MustCompile(`"([^"]*)"`)

func (s *suite) isThere(ctx context.Context) error {
	return s.sees(ctx, s.now, "a selector for the agent", []string{"AC-011"}, func(l *look.Look) string {
		switch {
		case !l.Select.Found:
			return fmt.Sprintf("nothing matches the profile's hook %q", s.Env.Profile.AgentClient.Hooks.Selector)
		case !l.Select.Visible:
			return "it is there, and cannot be seen"
		}
		return ""
	})
}

func (s *suite) isSelect(ctx context.Context) error {
	return s.sees(ctx, s.now, "a select element", []string{"AC-028"}, func(l *look.Look) string {
		if l.Select.Tag != "select" {
			return fmt.Sprintf("the selector is an element %q", l.Select.Tag)
		}
		return ""
	})
}

func (s *suite) hasID(context.Context) error {
	l, n := s.latest(s.now)
	if l == nil {
		return steps.NotTestedf("nothing of the page was seen")
	}
	return s.Judge(steps.Check{Clauses: []string{"AC-029"}, OK: l.Select.ID == texts.SelectorID, Expected: "the id " + texts.SelectorID,
		Observed: fmt.Sprintf("the id %q", l.Select.ID), At: n})
}

func (s *suite) isAtTheRight(ctx context.Context) error {
	return s.sees(ctx, s.now, "the selector at the right of the chat's header, next to the button for a new session", []string{"AC-027"}, misplaced)
}

// misplaced says what is wrong with the selector's place; "" where nothing is.
func misplaced(l *look.Look) string {
	sel, button := l.Select.Rect, l.Controls[newSession].Rect
	switch {
	case !l.Select.Visible:
		return "the selector cannot be seen"
	case !l.Controls[newSession].Visible:
		return "the button for a new session cannot be seen"
	case sel.Top >= button.Top+button.Height || button.Top >= sel.Top+sel.Height || l.Between < 0:
		return fmt.Sprintf("they stand in different rows: the selector from %.0f to %.0f px, the button from %.0f to %.0f px", sel.Top, sel.Top+sel.Height, button.Top, button.Top+button.Height)
	case l.Between > 0:
		return fmt.Sprintf("%d other controls stand between them", l.Between)
	}
	box := l.Controls[chat].Rect
	if box.Width == 0 {
		return "the chat's box cannot be seen"
	}
	middle, bottom := box.Left+box.Width/2, box.Top
	switch {
	case sel.Top+sel.Height > bottom+1:
		return fmt.Sprintf("the selector ends at %.0f px, below the top of the chat's box at %.0f px", sel.Top+sel.Height, bottom)
	case sel.Left+sel.Width/2 > box.Left+box.Width:
		return fmt.Sprintf("the selector is at %.0f px, to the right of the chat's panel, which ends at %.0f px", sel.Left, box.Left+box.Width)
	case sel.Left+sel.Width/2 < middle && button.Left+button.Width/2 < middle:
		return fmt.Sprintf("both are in the left half of the chat's panel, whose middle is at %.0f px", middle)
	}
	return ""
}

// unlike says how the options differ from the agents, behind so many others; "" where they do not. An option may show more than
// the name.
func unlike(l *look.Look, agents []agent, behind int) string {
	var others []string
	count := make([]int, len(agents))
	for i, o := range l.Select.Options {
		if i < behind {
			continue
		}
		at := -1
		for j, a := range agents {
			if contains(o.Text, a.name) && (at < 0 || len(a.name) > len(agents[at].name)) {
				at = j
			}
		}
		switch {
		case at >= 0 && o.Disabled:
			return fmt.Sprintf("the option of %q is disabled", agents[at].name)
		case at >= 0:
			count[at]++
		case !o.Disabled && o.Value != "":
			others = append(others, o.Text)
		}
	}
	for j, n := range count {
		if n != 1 {
			return fmt.Sprintf("%d options have the name %q; the options are %s", n, agents[j].name, options(l))
		}
	}
	if len(others) > 0 {
		return fmt.Sprintf("there are also %q; the options are %s", others, options(l))
	}
	return ""
}

func options(l *look.Look) string {
	var out []string
	for _, o := range l.Select.Options {
		text := fmt.Sprintf("%q", o.Text)
		if o.Disabled {
			text += " (disabled)"
		}
		if o.Selected {
			text += " (selected)"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func names(agents []agent) string {
	var out []string
	for _, a := range agents {
		out = append(out, a.name)
	}
	return strings.Join(out, ", ")
}

func (s *suite) optionsAre(ctx context.Context, agents []agent, behind int) error {
	clauses := []string{"AC-006", "AC-010", "AC-018", "AC-019", "AC-020", "AC-021", "AC-023", "AC-026", "AC-030", "AC-111", "AC-118", "AC-119", "AC-085", "AC-086", "AC-072", "AC-121", "AC-122"}
	ok, err := s.saw(ctx, s.now, "an option for each of the agents, by its name: "+clip(names(agents)), clauses,
		func(l *look.Look) string { return unlike(l, agents, behind) })
	if ok {
		s.Reached(steps.Given)
	}
	return err
}

func clip(text string) string {
	return cut.Text(text, 200)
}

// way is sees, or keeps.
type way func(context.Context, *page, string, []string, func(*look.Look) string) error

func (s *suite) isSelected(ctx context.Context, name string, how way) error {
	clauses := []string{"AC-007", "AC-013", "AC-017", "AC-022", "AC-024", "AC-026", "AC-031", "AC-036", "AC-038", "AC-046", "AC-048", "AC-057", "AC-058", "AC-059", "AC-065",
		"AC-039", "AC-111", "AC-117", "AC-085", "AC-079", "AC-124", "AC-119"}
	return how(ctx, s.now, fmt.Sprintf("%q selected", name), clauses, func(l *look.Look) string {
		for _, o := range l.Select.Options {
			if o.Selected && contains(o.Text, name) {
				return ""
			}
		}
		return "the options are " + options(l)
	})
}

func (s *suite) onlyOption(ctx context.Context, text, disabled string) error {
	clauses := map[string][]string{texts.NoAgents: {"AC-032", "AC-100", "AC-121"}, texts.Disconnected: {"AC-106", "AC-108"}}[text]
	if clauses == nil {
		clauses = []string{"AC-098"}
	}
	var seen *look.Look
	if err := s.sees(ctx, s.now, fmt.Sprintf("%q as the only option", text), clauses, func(l *look.Look) string {
		seen = l
		if o := l.Select.Options; len(o) == 1 && contains(o[0].Text, text) {
			return ""
		}
		return "the options are " + options(l)
	}); err != nil || disabled == "" {
		return err
	}
	return s.isOff(ctx, text, seen)
}

// isOff judges that the only option is disabled, which nothing else that the scenario is about depends on.
func (s *suite) isOff(ctx context.Context, text string, seen *look.Look) error {
	p := s.now
	off := func(l *look.Look) bool { return len(l.Select.Options) > 0 && l.Select.Options[0].Disabled }
	if !off(seen) {
		_, _ = s.Await(ctx, steps.Wait{Conn: p.name, After: max(p.act, p.word), Match: s.looking(p, off)})
	}
	l, n := s.latest(p)
	return s.Judge(steps.Check{Clauses: map[string][]string{texts.NoAgents: {"AC-032", "AC-100", "AC-121"}, texts.Disconnected: {"AC-108"}}[text], OK: off(l),
		Expected: fmt.Sprintf("the option %q disabled", text), Observed: "the options are " + options(l), At: n})
}

// noneIsAgent: an empty list has taken the place of the last one.
func (s *suite) noneIsAgent(ctx context.Context) error {
	return s.sees(ctx, s.now, "none of the agents of before among the options", []string{"AC-072", "AC-085", "AC-086"}, func(l *look.Look) string {
		for _, a := range known {
			if slices.ContainsFunc(l.Select.Options, func(o look.Option) bool { return contains(o.Text, a.name) }) {
				return "the options are " + options(l)
			}
		}
		return ""
	})
}

func (s *suite) optionEnabled(ctx context.Context) error {
	return s.sees(ctx, s.now, "an option that can be chosen, in a selector that is enabled", []string{"AC-099"}, func(l *look.Look) string {
		switch {
		case len(l.Select.Options) == 0 || l.Select.Options[0].Disabled:
			return "the options are " + options(l)
		case l.Select.Disabled:
			return "the selector is disabled"
		case !l.Select.Visible:
			return "the selector cannot be seen"
		}
		return ""
	})
}

func (s *suite) firstOption(ctx context.Context, text string) error {
	text = s.armed(text)
	return s.sees(ctx, s.now, fmt.Sprintf("%q as the first option", text), []string{"AC-103", "AC-122"}, func(l *look.Look) string {
		if o := l.Select.Options; len(o) > 0 && contains(o[0].Text, text) {
			return ""
		}
		return "the options are " + options(l)
	})
}

// noneUnknown: no agent is current, and that is none that is unknown (AC-G02).
func (s *suite) noneUnknown(ctx context.Context) error {
	p := s.now
	if err := s.keeps(ctx, p, "no option for an unknown agent, as none is current", []string{"AC-103", "AC-106"}, func(l *look.Look) string {
		for _, o := range l.Select.Options {
			if contains(o.Text, texts.StalePrefix) {
				return "the options are " + options(l)
			}
		}
		return ""
	}); err != nil {
		return err
	}
	before := p.idle
	return s.keeps(ctx, p, "no prompt about an unknown agent, as none is current", []string{"AC-104", "AC-106"}, func(l *look.Look) string {
		if more(before, l, texts.StalePrompt) {
			return "the page tells " + texts.StalePrompt
		}
		return ""
	})
}

func (s *suite) isUsable(ctx context.Context, how string, way way) error {
	clauses := map[string][]string{
		"enabled":  {"AC-036", "AC-037", "AC-039", "AC-040", "AC-046", "AC-048", "AC-094", "AC-101", "AC-111", "AC-121", "AC-020", "AC-025"},
		"disabled": {"AC-017", "AC-034", "AC-046", "AC-092", "AC-101", "AC-105", "AC-109", "AC-121"},
	}[how]
	return way(ctx, s.now, "a selector that is "+how, clauses, func(l *look.Look) string {
		switch {
		case !l.Select.Found:
			return "there is no selector"
		case l.Select.Disabled && how == "enabled":
			return "the selector is disabled; the options are " + options(l)
		case !l.Select.Disabled && how == "disabled":
			return "the selector is enabled; the options are " + options(l)
		}
		return ""
	})
}
