package main

import (
	"regexp"
	"slices"
	"strings"

	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// item is something that a profile may declare, so that more can be tested.
type item struct {
	key      string // of the profile
	tag      string // of its scenario in the doctor's own feature; "" where it is looked at otherwise
	declared func(*target.Profile) bool
	needed   func(asked, *target.Profile) bool // whether a scenario of the suite cannot be run without it
	after    []string                          // keys of items without which it cannot be looked at
	optional bool                              // without it clauses are not applicable, and not untested
	instead  bool                              // it stands in for another item, so its absence is not worth telling
	look     string                            // what to look at when it fails
}

// asked is a scenario of the suite as the doctor sees it.
type asked struct {
	runner.Planned
	steps string // their texts, a line each
}

// takes makes the need of an item from the steps that cannot be taken without it.
func takes(pattern string) func(asked, *target.Profile) bool {
	re := regexp.MustCompile(`(?m)` + pattern)
	return func(a asked, _ *target.Profile) bool { return re.MatchString(a.steps) }
}

// unlessProvoked is takes for steps that a plain message of the profile can stand in for.
func unlessProvoked(pattern string, message func(target.Provoke) string) func(asked, *target.Profile) bool {
	steps := takes(pattern)
	return func(a asked, p *target.Profile) bool { return message(p.Provoke) == "" && steps(a, p) }
}

func anyOf(needs ...func(asked, *target.Profile) bool) func(asked, *target.Profile) bool {
	return func(a asked, p *target.Profile) bool {
		return slices.ContainsFunc(needs, func(need func(asked, *target.Profile) bool) bool { return need(a, p) })
	}
}

func has(capability string) func(*target.Profile) bool {
	return func(p *target.Profile) bool { return p.Has(capability) }
}

func runningTurn(p target.Provoke) string  { return p.RunningTurn }
func confirmation(p target.Provoke) string { return p.PendingConfirmation }
func question(p target.Provoke) string     { return p.PendingQuestion }

// The steps by which the suite brings a session into the states that need a model.
const (
	turnStep     = `has a turn running$`
	confirmStep  = `is asked to confirm a tool$`
	questionStep = `is asked a question$`
)

var takesTurn = takes(turnStep)

// items in the order in which they are looked at.
var items = []item{
	{key: "correlation", tag: "@doctor-correlation", look: "agent-select.correlation",
		declared: func(p *target.Profile) bool { return !p.AgentSelect.Correlation.Single },
		needed:   func(a asked, _ *target.Profile) bool { return slices.Contains(a.Tags, "@two-clients") }},
	{key: target.InitialAgentID, tag: "@doctor-initial-agent-id", optional: true, look: "agent-select.fields.request.initial-agent-id",
		declared: has(target.InitialAgentID), needed: takes(`declares "` + target.InitialAgentID + `"`)},
	{key: target.SessionList, optional: true, look: "agent-select.sse.list",
		declared: has(target.SessionList), needed: takes(`declares "` + target.SessionList + `"`)},
	{key: target.Health, optional: true, look: "agent-select.sse.health",
		declared: has(target.Health), needed: takes(`declares "` + target.Health + `"`)},
	{key: target.SessionDelete, optional: true, look: "agent-select.sse.delete",
		declared: has(target.SessionDelete), needed: takes(`declares "` + target.SessionDelete + `"`)},
	{key: "agents.custom", tag: "@doctor-agents-custom", look: "whether its list has the agent with this id",
		declared: func(p *target.Profile) bool { return len(p.Agents.Custom) > 0 },
		needed:   takes(`custom agent`)},
	{key: "model", tag: "@doctor-model", look: "model.env or model.hook: whether they give the target the stub's address",
		declared: (*target.Profile).UsesModel,
		needed: anyOf(takes(`chats|has chatted|is let go on|will ask to confirm|the model of client|every call of that turn`),
			unlessProvoked(turnStep, runningTurn), unlessProvoked(confirmStep, confirmation), unlessProvoked(questionStep, question))},
	{key: "agents.custom[0].prompt", tag: "@doctor-prompt", after: []string{"model", "agents.custom"}, look: "whether its system prompt has this marker",
		declared: func(p *target.Profile) bool { return len(p.Agents.Custom) > 0 && p.Agents.Custom[0].Prompt != "" },
		needed:   takes(`the prompt of the custom agent`)},
	{key: "agents.custom[0].tools", tag: "@doctor-agent-tools", after: []string{"model", "agents.custom"}, look: "whether its model is offered tools of these names",
		declared: func(p *target.Profile) bool { return len(p.Agents.Custom) > 0 && len(p.Agents.Custom[0].Tools) > 0 },
		needed:   takes(`given the tools of the custom agent`)},
	{key: "tools.confirm", tag: "@doctor-tools-confirm", after: []string{"model"}, look: "the tool's name, and whether the target asks before it runs it",
		declared: func(p *target.Profile) bool { return p.Tools.Confirm != nil || p.Provoke.PendingConfirmation != "" },
		needed:   takes(`(is asked|will ask) to confirm a tool$`)},
	{key: "tools.ask", tag: "@doctor-tools-ask", after: []string{"model"}, look: "the tool's name, and whether the target asks its user by it",
		declared: func(p *target.Profile) bool { return p.Tools.Ask != nil || p.Provoke.PendingQuestion != "" },
		needed:   takes(questionStep)},
	{key: "provoke.running_turn", tag: "@doctor-provoke-running-turn", instead: true, look: "whether the message makes a turn that says something",
		declared: func(p *target.Profile) bool { return p.Provoke.RunningTurn != "" },
		needed:   func(a asked, p *target.Profile) bool { return p.Provoke.RunningTurn != "" && takesTurn(a, p) }},
	{key: "agents.file", look: "agents.file or hooks.config-digest",
		declared: func(p *target.Profile) bool { return p.Agents.File != "" || p.Hooks.ConfigDigest != "" },
		needed:   takes(`the configuration of the target is noted`)},
	{key: "hooks.add-agent", tag: "@doctor-hooks-add-agent", look: "the hook, and limits.reload",
		declared: func(p *target.Profile) bool { return p.Hooks.AddAgent != "" },
		needed:   takes(`the configuration (gains|has gained)`)},
	{key: "hooks.change-agent", tag: "@doctor-hooks-change-agent", after: []string{"hooks.add-agent"}, look: "the hook, and limits.reload",
		declared: func(p *target.Profile) bool { return p.Hooks.ChangeAgent != "" },
		needed:   takes(`the configuration renames`)},
	{key: "hooks.remove-agent", tag: "@doctor-hooks-remove-agent", after: []string{"hooks.add-agent"}, look: "the hook, and limits.reload",
		declared: func(p *target.Profile) bool { return p.Hooks.RemoveAgent != "" },
		needed:   takes(`the configuration loses`)},
	{key: "restart", look: "command or hooks.restart",
		declared: func(p *target.Profile) bool { return p.Command != nil || p.Hooks.Restart != "" },
		needed:   func(asked, *target.Profile) bool { return false }},
}

// provokes tells whether plain messages stand in for the model stub in what an item is about.
func (it item) provokes(p *target.Profile) bool {
	return it.key == "tools.confirm" && p.Provoke.PendingConfirmation != "" || it.key == "tools.ask" && p.Provoke.PendingQuestion != ""
}

// audit is the suite, held against what a profile has.
type audit struct {
	profile *target.Profile
	book    *book
	asked   []asked
}

// newAudit takes the scenarios that the profile's drivers would run.
func newAudit(p *target.Profile, b *book, steps map[string][]string) *audit {
	a := &audit{profile: p, book: b}
	for _, pl := range b.scenarios {
		sseOnly, wsOnly := slices.Contains(pl.Tags, "@sse"), slices.Contains(pl.Tags, "@ws")
		if sseOnly && !slices.Contains(p.Drivers, target.SSE) || wsOnly && !slices.Contains(p.Drivers, target.WS) {
			continue
		}
		a.asked = append(a.asked, asked{pl, strings.Join(steps[pl.ID], "\n")})
	}
	return a
}

// lacks are the keys of those items that a scenario needs.
func (a *audit) lacks(sc asked, missing []item) []string {
	var keys []string
	for _, it := range missing {
		if it.needed(sc, a.profile) {
			keys = append(keys, it.key)
		}
	}
	return keys
}

// scenariosWithout counts the scenarios that would not run without an item.
func (a *audit) scenariosWithout(it item) int {
	n := 0
	for _, sc := range a.asked {
		if it.needed(sc, a.profile) {
			n++
		}
	}
	return n
}

// lost is what would not be tested for want of the same items.
type lost struct {
	want    string // the items that the scenario which lacks least lacks
	clauses []string
}

// losses lists the clauses that nothing would judge while items are missing. A monitor judges whatever is run.
func (a *audit) losses(missing []item) []lost {
	var out []lost
	for _, row := range a.tested() {
		want, lostAll := a.wanted(row.ID, missing)
		if !lostAll {
			continue
		}
		i := slices.IndexFunc(out, func(l lost) bool { return l.want == want })
		if i < 0 {
			i = len(out)
			out = append(out, lost{want: want})
		}
		out[i].clauses = append(out[i].clauses, row.ID)
	}
	slices.SortStableFunc(out, func(a, b lost) int { return len(b.clauses) - len(a.clauses) })
	return out
}

// wanted tells whether every scenario that judges a clause lacks something, and what the one lacks that lacks least.
func (a *audit) wanted(clause string, missing []item) (want string, all bool) {
	var least []string
	for _, sc := range a.asked {
		if !slices.Contains(sc.Clauses, clause) {
			continue
		}
		lacks := a.lacks(sc, missing)
		if len(lacks) == 0 {
			return "", false
		}
		if least == nil || len(lacks) < len(least) {
			least = lacks
		}
	}
	return strings.Join(least, " + "), least != nil
}

// tested are the clauses that the suite tests, apart from those that monitors judge.
func (a *audit) tested() []verdict.Row {
	var out []verdict.Row
	for _, row := range a.book.ledger.Rows() {
		if row.Tested() && len(a.book.monitorsOf(row.ID)) == 0 {
			out = append(out, row)
		}
	}
	return out
}
