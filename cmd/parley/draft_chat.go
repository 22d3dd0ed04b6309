package main

import (
	"maps"
	"slices"
	"strings"

	"parley/target"
)

// chatDraft is the text of a profile of session-chat: what was heard, with what was seen beside it, what could not be
// recognised, and what a probe cannot see as commented keys to fill in.
func chatDraft(p *target.Profile, h hearsay, seen map[string][]string) string {
	w := &drafter{seen: seen}
	w.head(p)
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "# The optional features that it has: options-model, where the model that a chat's options name is used. That cannot be")
	w.line(0, "# seen without the model stub behind the target.")
	w.line(0, "capabilities: []")
	w.line(0, "")
	w.line(0, "session-chat:")
	w.said(1, "path")
	w.line(1, "ws:")
	w.line(2, "path: %s", quote(h.wire.WS.Path))
	w.line(2, "#subprotocols: [chat.v1]")
	w.line(1, "# Its own limit, after which a session without activity leaves its memory.")
	w.line(1, "#idle: 30s")
	w.unseen()
	w.fields(h.wire.Fields, target.DefaultSessionChat().Fields)
	w.names("types", "What this wire calls the types of messages: default name, then its own.", h.wire.Types)
	w.names("outcomes", "How a turn has ended, in the same way. None was interrupted, and none failed.", h.wire.Outcomes)
	w.hints(p.Protocol)
	return w.String()
}

// names writes renamings.
func (w *drafter) names(key, about string, names map[string]target.Names) {
	w.said(1, key)
	if len(names) == 0 {
		return
	}
	w.line(1, "# %s", about)
	w.line(1, "%s:", key)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var own []string
		for _, n := range names[name] {
			own = append(own, quote(n))
		}
		w.line(2, "%s: [%s]", name, strings.Join(own, ", "))
	}
}
