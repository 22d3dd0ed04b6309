// Package checkup is what parley doctor checks in pages, the targets of agent-client.
package checkup

import (
	"parley/features"
	vocab "parley/protocol/agentclient"
	server "parley/steps/agentselect/binding"
	"parley/steps/doctor"
)

// Guide returns the doctor's guide to agent-client.
func Guide() doctor.Guide {
	return doctor.Guide{
		Checkups: map[string]doctor.Checkup{vocab.Client: page},
		Features: features.Doctor,
		About: "For a page doctor reports which browser drives it, what each of its hooks finds, " +
			"and what it requests from its server.",
		Examples: []string{"parley doctor --target ./dist"},
	}
}

// page is the checkup of a page. Each item has a scenario; the page's hooks and first requests are checked before.
var page = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "switch", Tag: "@doctor-switch",
			Advice: "events.agent_switched and fields.event under agent-select: whether the page understands the server by " +
				"these names",
			Declared: doctor.Always, Needed: doctor.Takes(`the server switches`)},
		{Key: "chat", Tag: "@doctor-chat", After: []string{"switch"}, Advice: "agent-client.hooks.chat",
			Declared: doctor.Always, Needed: doctor.Takes(`the chat announces`)},
		{Key: "log", Tag: "@doctor-log", Advice: "log, log-row, level-info and level-error under agent-client.hooks",
			Declared: doctor.Always, Needed: doctor.Takes(`the log shows`)},
		{Key: "loading", Tag: "@doctor-loading",
			Advice: "agent-client.hooks.loading: what is visible during a switch, where neither aria-busy nor a class " +
				"tells it",
			Declared: doctor.Always, Needed: doctor.Takes(`looks busy`)},
		{Key: "disconnect", Tag: "@doctor-disconnect", Advice: "agent-client.hooks.disconnect",
			Declared: doctor.Always, Needed: doctor.Takes(`the user disconnects$`)},
		{Key: "message", Tag: "@doctor-message",
			Advice:   "message and send under agent-client.hooks; messages.chat and sse.message under agent-select",
			Declared: doctor.Always, Needed: doctor.Takes(`the user has sent "`)},
		{Key: "abort", Tag: "@doctor-abort", After: []string{"message"},
			Advice:   "agent-client.hooks.abort; messages.abort under agent-select",
			Declared: doctor.Always, Needed: doctor.Takes(`the user aborts$`)},
		{Key: server.SessionList, Tag: "@doctor-session-list", Optional: true,
			Advice:   "sessions and session under agent-client.hooks; sse.load under agent-select",
			Declared: doctor.Has(server.SessionList), Needed: doctor.Takes(`the user loads the first session$`)},
	},
	Advice: map[int]string{
		1: "server-url and connect under agent-client.hooks, agent-client.server, and agent-select.sse.stream",
		2: "agent-client.hooks.selector; envelope, events, fields.event and fields.agent under agent-select",
		3: "agent-client.hooks.new-session; sse.create, sse.message, messages and fields.request under agent-select",
	},
	Before: findBrowser,
	First:  visitPage,
}
