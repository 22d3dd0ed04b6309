package probe

import (
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	"parley/steps/probe"
)

// draft returns the profile of a session: the hooks that were found, with descriptions of their elements, and the
// others as comments.
func draft(s *probe.Session, found map[string]string) string {
	p := s.Profile
	w, a := probe.NewDraft(s, "a page, written by parley init from what the page showed"), binding.Of(p)
	w.List("drivers", p.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has: session-list, where it lists its sessions in hooks.sessions, "+
		"and a click on one loads it.")
	w.Line(0, "# This cannot be seen before there are some.")
	w.Line(0, "capabilities: []")
	w.Line(0, "")
	w.Line(0, "agent-client:")
	if a.Folder != "" {
		w.Line(1, "# The folder of the page, relative to this file, which the harness serves.")
		w.Line(1, "folder: %s", probe.Quote(s.Relative(a.Folder)))
	}
	if a.Page != "" && a.Page != "/" {
		w.Line(1, "page: %s", probe.Quote(a.Page))
	}
	if a.File {
		w.Line(1, "# It is opened as a file; its origin is then null.")
		w.Line(1, "file: true")
	}
	w.Line(1, "# The program of the browser; by default, a Chromium on the PATH.")
	w.Line(1, "#browser: chromium")
	w.Line(1, "# A URL parameter that gives the page its server's address, besides or instead of hooks.server-url.")
	w.Line(1, "#server: {parameter: server}")
	w.Line(1, "# The hosts that the page may send requests to, besides loopback and its own host.")
	w.Line(1, "#allow: [fonts.example.org]")
	w.Said(1, "requests")
	w.Unseen()
	hooks(w, s.Seen, found)
	w.Line(0, "")
	w.Line(0, "# The messages that it expects from its server, if they differ from the default binding: see the "+
		"example of a profile.")
	w.Line(0, "#agent-select:")
	w.Line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	if a.Folder == "" {
		w.Hints()
	}
	return w.String()
}

// hooks writes the elements of a page.
func hooks(w *probe.Draft, seen map[string][]string, found map[string]string) {
	usual := visit.Hooks(binding.Default().Hooks)
	w.Line(1, "# The elements of the page: CSS selectors, or text= and the visible text of a control.")
	w.Line(1, "hooks:")
	for _, key := range visit.Keys() {
		w.Said(2, key)
		if hook := found[key]; hook != "" {
			w.Line(2, "%s: %s", key, probe.Quote(hook))
			continue
		}
		for _, text := range seen["no "+key] {
			w.Line(2, "# not seen: %s; fill it in", probe.Printable(text))
		}
		w.Line(2, "#%s: %s", key, probe.Quote(usual[key]))
	}
	w.Line(2, "# Elements that appear later. The entries of the log; by default, its direct children.")
	w.Line(2, `#log-row: "#eventLog .entry"`)
	w.Line(2, "# What an entry of each level, or an element in it, matches; by default, its class or data-level.")
	w.Line(2, "#level-info: .badge-info")
	w.Line(2, "#level-error: .badge-error")
	w.Line(2, "# What is visible during a switch; by default, aria-busy or a change of class.")
	w.Line(2, "#loading: .spinner")
	w.Line(2, "# What closes a dialog that covers the page.")
	w.Line(2, "#dismiss: text=OK")
	w.Line(2, "# The entries of the list of sessions; by default, its direct children.")
	w.Line(2, `#session: "#sessionList button"`)
}
