package agentclient

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/cut"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/looks"
	"parley/steps/agentclient/model"
	"parley/transport/driver/browser/snapshot"
)

// namesOf matches the names of agents in a step.
const namesOf = `"[^"]*"(?:(?:, | and )"[^"]*")*`

func (s *suite) registerLists(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the server lists (the agents|no agents|`+namesOf+`)(, with (?:"(.*)"|none) current)?$`, s.listsThose)
	steps.Step(sc, `^the server lists the agents(`+oddly+`)$`, func(ctx context.Context, odd string) error {
		return s.lists(ctx, usual, "general", odd)
	})
	steps.Step(sc, `^the server lists (\d+) agents$`, s.listsMany)
	steps.Step(sc, `^the server lists these agents, with the first one current:$`, s.listsTable)

	for _, v := range []struct {
		step string
		sight
	}{
		{`^the page has an agent selector$`, sight{"a selector for the agent", []string{"AC-011"}, s.noSelector}},
		{`^the selector is a select element$`, sight{"a select element", []string{"AC-028"}, func(l *snapshot.Page) string {
			return unless(l.Select.Tag == "select", "the selector is an element %q", l.Select.Tag)
		}}},
		{`^the selector is on the right of the chat header, next to the new-session button$`, sight{
			"the selector at the right of the chat's header, next to the button for a new session", []string{"AC-027"},
			misplaced}},
		{`^none of the options is an agent$`, sight{"none of the former agents among the options",
			[]string{"AC-072", "AC-085", "AC-086"}, anyKnown}},
	} {
		steps.Step(sc, v.step, func(ctx context.Context) error { return s.sees(ctx, v.sight) })
	}
	steps.Step(sc, `^the selector has the id "([^"]*)"$`, s.hasID)
	steps.Step(sc, `^the options( after it)? are (the agents|`+namesOf+`)$`, s.optionsAre)
	steps.Step(sc, `^the only option is "([^"]*)"(?:, and it is (enabled|disabled))?$`, s.onlyOption)
	steps.Step(sc, `^the first option is "(.*)"$`, s.firstOption)
	steps.Step(sc, `^the page reports no unknown agent$`, s.noneUnknown)
	steps.Step(sc, `^"(.*)" is (still )?selected$`, s.isSelected)
	steps.Step(sc, `^the selector is (still )?(enabled|disabled)( during the switch)?$`, s.isUsable)
}

// listsThose sends the usual agents, none, or the named ones. Of the usual ones General is current unless the step
// says otherwise.
func (s *suite) listsThose(ctx context.Context, which, stated, current string) error {
	agents, p := usual, s.now
	switch which {
	case "the agents":
		p.agents = usual
	case "no agents":
		agents = []agent{}
	default:
		agents = p.those(which)
	}
	if current != "" {
		current = s.armed(p.called(current).id)
	} else if stated == "" && which == "the agents" {
		current = "general"
	}
	return s.lists(ctx, agents, current, "")
}

// lists sends an agent_list with a distinct time.
func (s *suite) lists(ctx context.Context, agents []agent, current, odd string) error {
	s.clock(odd)
	p := s.now
	p.agents, p.current = agents, current
	d := fields{vocab.Agents: agents, vocab.CurrentAgentID: nil}
	if current != "" {
		d[vocab.CurrentAgentID] = current
	}
	if odd == undocumented {
		more := slices.Clone(agents)
		for i := range more {
			more[i].more = fields{"icon": "🤖", "tools": []any{"read_file"}, "builtin": i < 2, "label": nil}
		}
		d[vocab.Agents], d["total"], d["default"], d["page"] = more, 3, "general", fields{"of": 1}
	}
	return s.emit(ctx, vocab.AgentListEvent, d)
}

func (s *suite) listsMany(ctx context.Context, n int) error {
	var agents []agent
	for i := range n {
		agents = append(agents, agent{id: fmt.Sprintf("agent_%d", i), name: fmt.Sprintf("Agent No. %d.", 100+i),
			description: "one of many"})
	}
	return s.lists(ctx, agents, "agent_0", "")
}

// listsTable sends the agents of a table, by id and name.
func (s *suite) listsTable(ctx context.Context, table *godog.Table) error {
	var agents []agent
	for _, row := range table.Rows {
		name := s.armed(row.Cells[1].Value)
		agents = append(agents, agent{id: row.Cells[0].Value, name: name, description: name})
	}
	return s.lists(ctx, agents, agents[0].id, "")
}

// those returns the agents with the quoted names.
func (p *page) those(names string) []agent {
	var out []agent
	for _, m := range inQuotes.FindAllStringSubmatch(names, -1) {
		out = append(out, p.called(m[1]))
	}
	return out
}

var inQuotes = regexp.MustCompile(`"([^"]*)"`)

// unless returns "" if right, else the formatted message.
func unless(right bool, format string, args ...any) string {
	if right {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (s *suite) noSelector(l *snapshot.Page) string {
	if !l.Select.Found {
		return fmt.Sprintf("nothing matches the profile's hook %q", binding.Of(s.Env.Profile).Hooks.Selector)
	}
	return unless(l.Select.Visible, "it exists but is not visible")
}

func (s *suite) hasID(_ context.Context, id string) error {
	l, n := s.latest()
	if l == nil {
		return steps.NotTestedf("no look at the page was recorded")
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AC-029"}, OK: l.Select.ID == id, Expected: "the id " + id,
		Observed: fmt.Sprintf("the id %q", l.Select.ID), At: n})
}

// misplaced describes what is wrong with the selector's place; "" if nothing is.
func misplaced(l *snapshot.Page) string {
	sel, button := l.Select.Rect, l.Controls[model.NewSession].Rect
	switch {
	case !l.Select.Visible:
		return "the selector is not visible"
	case !l.Controls[model.NewSession].Visible:
		return "the button for a new session is not visible"
	case sel.Top >= button.Top+button.Height || button.Top >= sel.Top+sel.Height || l.Between < 0:
		return fmt.Sprintf("they stand in different rows: the selector from %.0f to %.0f px, the button from %.0f to %.0f px",
			sel.Top, sel.Top+sel.Height, button.Top, button.Top+button.Height)
	case l.Between > 0:
		return fmt.Sprintf("%d other controls stand between them", l.Between)
	}
	box := l.Controls[chat].Rect
	if box.Width == 0 {
		return "the chat's box is not visible"
	}
	middle, right := box.Left+box.Width/2, box.Left+box.Width
	switch {
	case sel.Top+sel.Height > box.Top+1:
		return fmt.Sprintf("the selector ends at %.0f px, below the top of the chat's box at %.0f px",
			sel.Top+sel.Height, box.Top)
	case sel.Left+sel.Width/2 > right:
		return fmt.Sprintf("the selector is at %.0f px, to the right of the chat's panel, which ends at %.0f px",
			sel.Left, right)
	case sel.Left+sel.Width/2 < middle && button.Left+button.Width/2 < middle:
		return fmt.Sprintf("both are in the left half of the chat's panel, whose middle is at %.0f px", middle)
	}
	return ""
}

func names(agents []agent) string { return strings.Join(agentNames(agents), ", ") }

func agentNames(agents []agent) (out []string) {
	for _, a := range agents {
		out = append(out, a.name)
	}
	return out
}

func clip(text string) string { return cut.Text(text, 200) }

func (s *suite) optionsAre(ctx context.Context, afterOne, which string) error {
	agents := s.now.agents
	if which != "the agents" {
		agents = s.now.those(which)
	}
	first := func(l *snapshot.Page) int {
		if afterOne != "" {
			return looks.Placeholders(l) + 1
		}
		return 0
	}
	ok, err := s.saw(ctx, sight{"an option for each of the agents, by its name: " + clip(names(agents)), []string{
		"AC-006", "AC-010", "AC-018", "AC-019", "AC-020", "AC-021", "AC-023", "AC-026", "AC-030", "AC-111", "AC-118",
		"AC-119", "AC-085", "AC-086", "AC-072", "AC-121", "AC-122",
	}, func(l *snapshot.Page) string { return looks.Unlike(l, agentNames(agents), first(l)) }}, func() ([]string, string) {
		if l, _ := s.latest(); l == nil || looks.Unlike(withoutSelected(l), agentNames(agents), first(l)) != "" {
			return nil, ""
		}
		return s.notBack(names(agents), "AC-038", "AC-048", "AC-086")
	})
	if ok {
		s.RecordReach(steps.Given)
	}
	return err
}

// onlyOption judges an option that is the only one. Whether it is enabled is a separate check, on which nothing else
// in the scenario depends.
func (s *suite) onlyOption(ctx context.Context, text, how string) error {
	alone, off := []string{"AC-098"}, []string(nil)
	switch text {
	case texts.NoAgents:
		alone = []string{"AC-032", "AC-100", "AC-121"}
		off = alone
	case texts.Disconnected:
		alone, off = []string{"AC-106", "AC-108"}, []string{"AC-108"}
	}
	err := s.sees(ctx, sight{fmt.Sprintf("%q as the only option", text), alone, func(l *snapshot.Page) string {
		i := looks.OptionWith(l, text)
		return unless(i >= 0 && !offersBeside(l, i), "the options are %s", looks.Options(l))
	}})
	switch {
	case err != nil || how == "":
		return err
	case how == "enabled":
		return s.sees(ctx, sight{"an option that can be chosen, in a selector that is enabled", []string{"AC-099"},
			closed(text)})
	}
	disabled := func(l *snapshot.Page) bool {
		i := looks.OptionWith(l, text)
		return i >= 0 && l.Select.Options[i].Disabled
	}
	if l, _ := s.latest(); !disabled(l) {
		_, _ = s.Await(ctx, steps.Wait{Conn: s.now.name, After: max(s.now.act, s.now.word), Greeting: true,
			Match: s.looking(disabled)})
	}
	l, n := s.latest()
	return s.Judge(verdict.Finding{Clauses: off, OK: disabled(l), Expected: fmt.Sprintf("the option %q disabled", text),
		Observed: "the options are " + looks.Options(l), At: n})
}

// offersBeside reports whether an option other than the i-th can be chosen or is an agent. A page may have a
// placeholder, which is neither.
func offersBeside(l *snapshot.Page, i int) bool {
	others := *l
	others.Select.Options = slices.Delete(slices.Clone(l.Select.Options), i, i+1)
	return anyKnown(&others) != "" ||
		slices.ContainsFunc(others.Select.Options, func(o snapshot.Option) bool { return !o.Disabled })
}

// closed describes why the option with a text cannot be chosen; "" if it can.
func closed(text string) func(*snapshot.Page) string {
	return func(l *snapshot.Page) string {
		i := looks.OptionWith(l, text)
		switch {
		case i < 0 || l.Select.Options[i].Disabled:
			return "the options are " + looks.Options(l)
		case l.Select.Disabled:
			return "the selector is disabled"
		}
		return unless(l.Select.Visible, "the selector is not visible")
	}
}

// anyKnown lists the options if any agent known to the scenarios is among them; "" if none is: an empty list has
// replaced the previous one.
func anyKnown(l *snapshot.Page) string {
	for _, a := range known {
		if slices.ContainsFunc(l.Select.Options, func(o snapshot.Option) bool { return looks.Contains(o.Text, a.name) }) {
			return "the options are " + looks.Options(l)
		}
	}
	return ""
}

func (s *suite) firstOption(ctx context.Context, text string) error {
	text = s.armed(text)
	return s.sees(ctx, sight{fmt.Sprintf("%q as the first option", text), []string{"AC-103", "AC-122"},
		func(l *snapshot.Page) string {
			i := looks.OptionWith(l, text)
			return unless(i >= 0 && i <= looks.Placeholders(l), "the options are %s", looks.Options(l))
		}})
}

// noneUnknown judges that a page without a current agent reports none as unknown (AC-G02).
func (s *suite) noneUnknown(ctx context.Context) error {
	before := s.now.idle
	err := s.keeps(ctx, sight{"no option for an unknown agent, because no agent is current", []string{"AC-103", "AC-106"},
		func(l *snapshot.Page) string {
			unknown := func(o snapshot.Option) bool { return looks.Contains(o.Text, texts.StalePrefix) }
			return unless(!slices.ContainsFunc(l.Select.Options, unknown), "the options are %s", looks.Options(l))
		}})
	if err != nil {
		return err
	}
	return s.keeps(ctx, sight{"no prompt about an unknown agent, because no agent is current",
		[]string{"AC-104", "AC-106"}, func(l *snapshot.Page) string {
			return unless(!looks.More(before, l, texts.StalePrompt), "the page shows %s", texts.StalePrompt)
		}})
}

// selection lists the clauses that are judged by the selected option.
var selection = []string{
	"AC-007", "AC-013", "AC-017", "AC-022", "AC-024", "AC-026", "AC-031", "AC-036", "AC-038", "AC-046", "AC-048", "AC-057",
	"AC-058", "AC-059", "AC-065", "AC-039", "AC-111", "AC-117", "AC-085", "AC-079", "AC-124", "AC-119",
}

func (s *suite) isSelected(ctx context.Context, name, still string) error {
	want := sight{fmt.Sprintf("%q selected", name), selection, looks.NotSelected(name)}
	if still != "" {
		return s.keeps(ctx, want)
	}
	_, err := s.saw(ctx, want, func() ([]string, string) { return s.notBack(name, "AC-038", "AC-048") })
	return err
}

// notBack returns the clauses if the page still shows the agent that the server refused, and none if the step names
// that agent. In that case the page has not rolled back, and its selection says nothing about other clauses.
func (s *suite) notBack(named string, clauses ...string) (broken []string, what string) {
	a := s.now.refused
	l, _ := s.latest()
	if l == nil || a.id == "" || looks.Contains(named, a.name) ||
		looks.NotSelected(a.name)(l) != "" && looks.NotSelected(a.id)(l) != "" {
		return nil, ""
	}
	return clauses, "the agent that the server refused is still selected"
}

// withoutSelected returns a snapshot without the selected option.
func withoutSelected(l *snapshot.Page) *snapshot.Page {
	out := *l
	out.Select.Options = slices.DeleteFunc(slices.Clone(l.Select.Options),
		func(o snapshot.Option) bool { return o.Selected })
	return &out
}

func (s *suite) isUsable(ctx context.Context, still, how, switching string) error {
	clauses := map[string][]string{
		"enabled": {"AC-036", "AC-037", "AC-039", "AC-040", "AC-046", "AC-048", "AC-094", "AC-101", "AC-111", "AC-121",
			"AC-020", "AC-025"},
		"disabled": {"AC-017", "AC-034", "AC-046", "AC-092", "AC-101", "AC-105", "AC-109", "AC-121"},
	}[how]
	if switching != "" {
		clauses = []string{"AC-034", "AC-046"}
	}
	return s.way(still)(ctx, sight{"a selector that is " + how, clauses, func(l *snapshot.Page) string {
		now := "enabled"
		if l.Select.Disabled {
			now = "disabled"
		}
		if !l.Select.Found {
			return "there is no selector"
		}
		return unless(now == how, "the selector is %s; the options are %s", now, looks.Options(l))
	}})
}
