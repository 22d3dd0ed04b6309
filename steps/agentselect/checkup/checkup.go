// Package checkup is what parley doctor examines in agent-select targets.
package checkup

import (
	"parley/features"
	"parley/steps/agentselect/binding"
	"parley/steps/doctor"
	"parley/target"
)

// Guide returns the doctor's guide to agent-select.
func Guide() doctor.Guide {
	return doctor.Guide{
		Checkups: map[string]doctor.Checkup{target.Server: {
			Items: items,
			Advice: map[int]string{
				1: "url, headers, and under agent-select sse.stream or ws.path, envelope, events, fields.event.agents",
				2: "correlation, sse.create, fields.answer.session-id under agent-select",
				3: "sse.message, fields.request, fields.event, events under agent-select",
			},
			Others: looks,
		}},
		Features: features.Doctor,
		About: "Hooks of agent-select are tried with an agent named parley_doctor, " +
			"which is removed again if there is a hook for it.",
	}
}

func runningTurn(p target.Provoke) string  { return p.RunningTurn }
func confirmation(p target.Provoke) string { return p.PendingConfirmation }
func question(p target.Provoke) string     { return p.PendingQuestion }

// Patterns of the steps that bring a session into states that need a model.
const (
	turnStep     = `has a turn running$`
	confirmStep  = `is asked to confirm a tool$`
	questionStep = `is asked a question$`
)

var takesTurn = doctor.Takes(turnStep)

// items are examined in this order, by a scenario or otherwise.
var items = []doctor.Item{
	{Key: "correlation", Tag: "@doctor-correlation", Advice: "agent-select.correlation",
		Declared: func(p *target.Profile) bool { return !binding.Of(p).Correlation.Single },
		Needed:   doctor.OfTag("@two-clients")},
	{Key: binding.InitialAgentID, Tag: "@doctor-initial-agent-id", Optional: true,
		Advice:   "agent-select.fields.request.initial-agent-id",
		Declared: doctor.Has(binding.InitialAgentID), Needed: doctor.Takes(`declares "` + binding.InitialAgentID + `"`)},
	{Key: binding.SessionList, Optional: true, Advice: "agent-select.sse.list",
		Declared: doctor.Has(binding.SessionList), Needed: doctor.Takes(`declares "` + binding.SessionList + `"`)},
	{Key: binding.Health, Optional: true, Advice: "agent-select.sse.health",
		Declared: doctor.Has(binding.Health), Needed: doctor.Takes(`declares "` + binding.Health + `"`)},
	{Key: binding.SessionDelete, Optional: true, Advice: "agent-select.sse.delete",
		Declared: doctor.Has(binding.SessionDelete), Needed: doctor.Takes(`declares "` + binding.SessionDelete + `"`)},
	{Key: "agents.custom", Tag: "@doctor-agents-custom",
		Advice:   "whether its list has the agent with this id",
		Declared: func(p *target.Profile) bool { return len(p.Agents.Custom) > 0 },
		Needed:   doctor.Takes(`custom agent`)},
	{Key: "model", Tag: "@doctor-model", CallsModel: true,
		Advice:   "model.env or model.hook: whether they give the target the stub's address",
		Declared: (*target.Profile).UsesModel,
		Needed: doctor.AnyOf(
			doctor.Takes(`chats|has chatted|lets the turn of|that will |before the model waits|the model of client|`+
				`every call of that turn`),
			unlessProvoked(turnStep, runningTurn), unlessProvoked(confirmStep, confirmation),
			unlessProvoked(questionStep, question),
		)},
	{Key: "agents.custom[0].prompt", Tag: "@doctor-prompt", After: []string{"model", "agents.custom"},
		Advice:   "whether its system prompt has this marker",
		Declared: func(p *target.Profile) bool { return len(p.Agents.Custom) > 0 && p.Agents.Custom[0].Prompt != "" },
		Needed:   doctor.Takes(`the prompt of the custom agent`)},
	{Key: "agents.custom[0].tools", Tag: "@doctor-agent-tools", After: []string{"model", "agents.custom"},
		Advice: "whether its model is offered tools of these names",
		Declared: func(p *target.Profile) bool {
			custom := p.Agents.Custom
			return len(custom) > 0 && (len(custom[0].Tools) > 0 || p.Agents.Tools[custom[0].ID] != nil)
		},
		Needed: doctor.Takes(`given the tools of the custom agent`)},
	{Key: "tools.confirm", Tag: "@doctor-tools-confirm", After: []string{"model"},
		Provoked: func(p *target.Profile) bool { return p.Provoke.PendingConfirmation != "" },
		Advice:   "the tool's name, and whether the target asks before it runs it",
		Declared: func(p *target.Profile) bool { return p.Tools.Confirm != nil || p.Provoke.PendingConfirmation != "" },
		Needed:   doctor.Takes(`(is asked|will ask) to confirm a tool$`)},
	{Key: "tools.ask", Tag: "@doctor-tools-ask", After: []string{"model"},
		Provoked: func(p *target.Profile) bool { return p.Provoke.PendingQuestion != "" },
		Advice:   "the tool's name, and whether the target asks its user by it",
		Declared: func(p *target.Profile) bool { return p.Tools.Ask != nil || p.Provoke.PendingQuestion != "" },
		Needed:   doctor.Takes(questionStep)},
	{Key: "provoke.running_turn", Tag: "@doctor-provoke-running-turn", Instead: true,
		Advice:   "whether the message makes a turn that says something",
		Declared: func(p *target.Profile) bool { return p.Provoke.RunningTurn != "" },
		Needed:   func(s doctor.Scenario, p *target.Profile) bool { return p.Provoke.RunningTurn != "" && takesTurn(s, p) }},
	{Key: "agents.file", Advice: "agents.file or hooks.config-digest",
		Declared: func(p *target.Profile) bool { return p.Agents.File != "" || p.Hooks.ConfigDigest != "" },
		Needed:   doctor.Takes(`the configuration of the target is read`)},
	{Key: "hooks.add-agent", Tag: "@doctor-hooks-add-agent", Advice: "the hook, and limits.reload", Remark: leftBehind,
		Declared: func(p *target.Profile) bool { return p.Hooks.AddAgent != "" },
		Needed:   doctor.Takes(`(is|has been) added to the configuration`)},
	{Key: "hooks.change-agent", Tag: "@doctor-hooks-change-agent", After: []string{"hooks.add-agent"},
		Advice:   "the hook, and limits.reload",
		Declared: func(p *target.Profile) bool { return p.Hooks.ChangeAgent != "" },
		Needed:   doctor.Takes(`is renamed in the configuration`)},
	{Key: "hooks.remove-agent", Tag: "@doctor-hooks-remove-agent", After: []string{"hooks.add-agent"},
		Advice:   "the hook, and limits.reload",
		Declared: func(p *target.Profile) bool { return p.Hooks.RemoveAgent != "" },
		Needed:   doctor.Takes(`is removed from the configuration`)},
	{Key: "restart", Advice: "command or hooks.restart",
		Declared: doctor.Restartable,
		Needed:   doctor.Never},
}

// leftBehind returns a note if the agent used to try hooks remains in the configuration.
func leftBehind(p *target.Profile) string {
	if p.Hooks.RemoveAgent == "" {
		return "parley_doctor remains in the target: there is no hooks.remove-agent"
	}
	return ""
}

// unlessProvoked is the need of steps that a plain message of the profile can replace.
func unlessProvoked(pattern string, message func(target.Provoke) string) doctor.Need {
	steps := doctor.Takes(pattern)
	return func(s doctor.Scenario, p *target.Profile) bool { return message(p.Provoke) == "" && steps(s, p) }
}
