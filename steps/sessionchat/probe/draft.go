package probe

import (
	"parley/probe"
	"parley/steps/sessionchat/binding"
)

// draft returns the text of a session's profile.
func draft(s *probe.Session, h answers) string {
	w := probe.NewServerDraft(s)
	w.List("drivers", s.Profile.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has: options-model, where the model that a chat's options name is used. "+
		"That cannot be")
	w.Line(0, "# seen without the model stub behind the target.")
	w.Line(0, "capabilities: []")
	w.Line(0, "")
	w.Line(0, "session-chat:")
	w.Said(1, "path")
	w.Line(1, "ws:")
	w.Line(2, "path: %s", probe.Quote(h.wire.WS.Path))
	w.Line(2, "#subprotocols: [chat.v1]")
	w.Line(1, "# Its own limit, after which a session without activity leaves its memory.")
	w.Line(1, "#idle: 30s")
	w.Unseen()
	w.Groups(h.wire.Fields, binding.Default().Fields)
	w.Names("types", "What this wire calls the types of messages: default name, then its own.", h.wire.Types)
	w.Names("outcomes", "How a turn has ended, in the same way. None was interrupted, and none failed.", h.wire.Outcomes)
	w.Hints()
	return w.String()
}
