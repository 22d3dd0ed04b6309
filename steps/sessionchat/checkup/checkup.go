// Package checkup is what parley doctor checks in targets of session-chat.
package checkup

import (
	"parley/features"
	"parley/protocol/sessionchat"
	"parley/steps/doctor"
	"parley/steps/sessionchat/binding"
	"parley/target"
)

// Guide returns the doctor's guide to session-chat.
func Guide() doctor.Guide {
	return doctor.Guide{
		Checkups: map[string]doctor.Checkup{target.Server: server},
		Features: features.Doctor,
		Examples: []string{"parley doctor --target http://localhost:3000 --protocol " + sessionchat.Protocol},
	}
}

// server is the checkup of a server. Each item has a scenario.
var server = doctor.Checkup{
	Items: []doctor.Item{
		{Key: "ping", Tag: "@doctor-ping", Advice: "messages.ping, types.pong and fields.message.type under session-chat",
			Declared: doctor.Always, Needed: doctor.Takes(`pings$`)},
		{Key: "model", Tag: "@doctor-model", CallsModel: true,
			Advice:   "model.env or model.hook: whether they give the target the stub's address",
			Declared: (*target.Profile).UsesModel,
			Needed:   doctor.OfTag("@model")},
		{Key: "interrupt", Tag: "@doctor-interrupt", After: []string{"model"},
			Advice:   "messages.interrupt, types.result and outcomes under session-chat",
			Declared: doctor.Always, Needed: doctor.Takes(`interrupts "`)},
		{Key: binding.OptionsModel, Tag: "@doctor-options-model", After: []string{"model"}, Optional: true,
			Advice:   "session-chat.fields.request.model",
			Declared: doctor.Has(binding.OptionsModel), Needed: doctor.Takes(`uses the model named in options`)},
		{Key: "session-chat.idle", Tag: "@doctor-idle", Optional: true,
			Advice:   "session-chat.idle, and whether a session is found again by its agent_id",
			Declared: func(p *target.Profile) bool { return binding.Of(p).Idle.Duration > 0 },
			Needed:   doctor.Takes(`is idle for longer than the target keeps idle sessions`)},
		{Key: "restart", Tag: "@doctor-restart",
			Advice:   "command or hooks.restart, and where the target keeps its sessions",
			Declared: doctor.Restartable,
			Needed:   doctor.Takes(`the target is (restarted|killed)`)},
	},
	Advice: map[int]string{
		1: "url, headers, and under session-chat ws.path and ws.subprotocols",
		2: "messages.chat, fields and types under session-chat",
		3: "types.result and fields.message.type under session-chat",
	},
}
