package main

import "parley/target"

// sessionChatCheckup is what the doctor looks at in a session-chat target. Each item has a scenario.
var sessionChatCheckup = checkup{
	items: []item{
		{key: "ping", tag: "@doctor-ping", look: "messages.ping, types.pong and fields.message.type under session-chat",
			declared: always, needed: takes(`pings$`)},
		{key: "model", tag: "@doctor-model", look: "model.env or model.hook: whether they give the target the stub's address",
			declared: (*target.Profile).UsesModel,
			needed:   ofTag("@model")},
		{key: "interrupt", tag: "@doctor-interrupt", after: []string{"model"},
			look:     "messages.interrupt, types.result and outcomes under session-chat",
			declared: always, needed: takes(`interrupts "`)},
		{key: target.OptionsModel, tag: "@doctor-options-model", after: []string{"model"}, optional: true,
			look:     "session-chat.fields.request.model",
			declared: has(target.OptionsModel), needed: takes(`uses the model that options name`)},
		{key: "session-chat.idle", tag: "@doctor-idle", optional: true,
			look:     "session-chat.idle, and whether a session is found again by its agent_id",
			declared: func(p *target.Profile) bool { return p.SessionChat.Idle.Duration > 0 },
			needed:   takes(`rests for longer than the target keeps idle sessions`)},
		{key: "restart", tag: "@doctor-restart", look: "command or hooks.restart, and where the target keeps its sessions",
			declared: func(p *target.Profile) bool { return p.Command != nil || p.Hooks.Restart != "" },
			needed:   takes(`the target is (restarted|killed)`)},
	},
	look: map[int]string{
		1: "url, headers, and under session-chat ws.path and ws.subprotocols",
		2: "messages.chat, fields and types under session-chat",
		3: "types.result and fields.message.type under session-chat",
	},
}

func always(*target.Profile) bool { return true }
