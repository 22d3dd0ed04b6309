package probe

import (
	"parley/steps/probe"
	"parley/steps/sessionchat/binding"
)

// draft returns the text of a session's profile.
func draft(s *probe.Session, h *answers) string {
	w := probe.NewServerDraft(s)
	w.List("drivers", s.Profile.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has: options-model, if it uses the model that a chat's options name. "+
		"This cannot be")
	w.Line(0, "# seen unless the target uses the model stub.")
	w.Line(0, "capabilities: []")
	w.Line(0, "")
	w.Line(0, "session-chat:")
	w.Said(1, "path")
	w.Line(1, "ws:")
	w.Line(2, "path: %s", probe.Quote(h.wire.WS.Path))
	w.Line(2, "#subprotocols: [chat.v1]")
	w.Line(1, "# The time after which it removes an inactive session from memory.")
	w.Line(1, "#idle: 30s")
	w.Unseen()
	w.Groups(h.wire.Fields, binding.Default().Fields)
	w.Names("types", "The names of message types: default name, then the target's.", h.wire.Types)
	w.Names("outcomes", "How a turn ended, in the same way. No turn was interrupted, and none failed.", h.wire.Outcomes)
	w.Hints()
	return w.String()
}
