package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"parley/driver/sse"
	"parley/target"
)

// agentSelectCheckup is what the doctor looks at in an agent-select target.
var agentSelectCheckup = checkup{
	items: agentSelectItems,
	look: map[int]string{
		1: "url, headers, and under agent-select sse.stream or ws.path, envelope, events, fields.event.agents",
		2: "correlation, sse.create, fields.answer.session-id under agent-select",
		3: "sse.message, fields.request, fields.event, events under agent-select",
	},
	others: agentSelectLooks,
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

// agentSelectItems in the order in which they are looked at.
var agentSelectItems = []item{
	{key: "correlation", tag: "@doctor-correlation", look: "agent-select.correlation",
		declared: func(p *target.Profile) bool { return !p.AgentSelect.Correlation.Single },
		needed:   ofTag("@two-clients")},
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
		declared: func(p *target.Profile) bool {
			return len(p.Agents.Custom) > 0 && (len(p.Agents.Custom[0].Tools) > 0 || p.Agents.Tools[p.Agents.Custom[0].ID] != nil)
		},
		needed: takes(`given the tools of the custom agent`)},
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

// agentSelectLooks look at the optional endpoints, over a connection of their own, at the configuration and the restart.
func agentSelectLooks(ctx context.Context, d *exam) (map[string]look, func()) {
	p := &probe{notebook: notebook{say: func(string, ...any) {}, seen: map[string][]string{}}, profile: d.profile, run: d.running}
	driver := sse.New()
	var c *party
	err := errors.New("there is none")
	if slices.Contains(d.profile.Drivers, target.SSE) && d.greeted {
		c, err = p.join(ctx, driver)
	}
	end := func() {
		if c != nil {
			c.close()
		}
		_ = driver.Close()
	}
	answers := func(ask func() error) look {
		return func() (string, error) {
			if err != nil {
				return "", wants("a connection over sse: " + err.Error())
			}
			return "it answers", ask()
		}
	}
	wire := d.profile.AgentSelect.SSE
	return map[string]look{
		target.Health:      answers(func() error { return p.answers(ctx, c, wire.Health) }),
		target.SessionList: answers(func() error { return p.answers(ctx, c, wire.List) }),
		target.SessionDelete: answers(func() error {
			if err := p.create(ctx, c, d.profile.AgentSelect.Correlation, nil); err != nil {
				return err
			}
			return p.deletes(ctx, c)
		}),
		"agents.file": d.configuration,
		"restart":     func() (string, error) { return d.restart(ctx) },
	}, end
}

// configuration reads what identifies the target's configuration.
func (d *exam) configuration() (string, error) {
	b, err := d.running.ConfigBytes()
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	return fmt.Sprintf("%d bytes", len(b)), err
}

// restart restarts the target, and sees whether it is there again.
func (d *exam) restart(ctx context.Context) (string, error) {
	err := d.running.Restart(ctx, false)
	if err == nil {
		err = reachable(ctx, d.running.BaseURL(), d.profile.Limits.Open)
	}
	return "the target is there again", err
}

// reachable tells whether somebody listens at a URL.
func reachable(ctx context.Context, base string, limit target.Duration) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{Timeout: limit.Duration}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	return conn.Close()
}
