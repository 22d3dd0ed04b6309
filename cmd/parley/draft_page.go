package main

import (
	"strings"

	"parley/target"
)

// pageDraft is the text of a profile of agent-client: the hooks that were found, with what they find beside them, those that were
// not found as comments, and what a probe cannot see as commented keys to fill in.
func pageDraft(p *target.Profile, found map[string]string, seen map[string][]string) string {
	w, a := &drafter{seen: seen}, p.AgentClient
	w.line(0, "# A profile of a page, written by parley init from what the page showed.")
	w.line(0, "# What is left out stands at its default. parley doctor --target FILE tells what of it works.")
	w.line(0, "")
	w.line(0, "name: %s", quote(p.Name))
	w.line(0, "protocol: %s", p.Protocol)
	w.text(0, "url", p.URL)
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "# The optional features that it has: session-list, where it lists its sessions in hooks.sessions, and a click on one loads it.")
	w.line(0, "# That cannot be seen before there are some.")
	w.line(0, "capabilities: []")
	w.line(0, "")
	w.line(0, "agent-client:")
	if a.Folder != "" {
		w.line(1, "# The folder of the page, relative to this file, which the harness serves.")
		w.line(1, "folder: %s", quote(a.Folder))
	}
	if a.Page != "" && a.Page != "/" {
		w.line(1, "page: %s", quote(a.Page))
	}
	if a.File {
		w.line(1, "# It is opened as a file; its origin is then null.")
		w.line(1, "file: true")
	}
	w.line(1, "# The program of the browser; without it, a Chromium on the PATH.")
	w.line(1, "#browser: chromium")
	w.line(1, "# A URL parameter by which the page is told its server's address, beside hooks.server-url or in its place.")
	w.line(1, "#server: {parameter: server}")
	w.line(1, "# The hosts that the page may ask beside loopback and its own host.")
	w.line(1, "#allow: [fonts.example.org]")
	w.said(1, "requests")
	w.unseen()
	w.hooks(found)
	w.line(0, "")
	w.line(0, "# The wire that it expects of its server, where that differs from the default binding: see the example of a profile.")
	w.line(0, "#agent-select:")
	w.line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	if a.Folder == "" {
		w.hints(p.Protocol)
	}
	return w.String()
}

// hooks writes the elements of a page.
func (w *drafter) hooks(found map[string]string) {
	usual := hooksOf(target.DefaultAgentClient().Hooks)
	w.line(1, "# The elements of the page: CSS selectors, or text= and the visible text of a control.")
	w.line(1, "hooks:")
	for _, key := range hookKeys() {
		w.said(2, key)
		if hook := found[key]; hook != "" {
			w.line(2, "%s: %s", key, quote(hook))
			continue
		}
		for _, text := range w.seen["no "+key] {
			w.line(2, "# not seen: %s; say what it is", printable(text))
		}
		w.line(2, "#%s: %s", key, quote(usual[key]))
	}
	w.line(2, "# What comes later on the page. The entries of the log; without it, its direct children.")
	w.line(2, `#log-row: "#eventLog .entry"`)
	w.line(2, "# What an entry of each level matches, or something in it; without it, by its class or data-level.")
	w.line(2, "#level-info: .badge-info")
	w.line(2, "#level-error: .badge-error")
	w.line(2, "# What is visible during a switch; without it, by aria-busy or a change of class.")
	w.line(2, "#loading: .spinner")
	w.line(2, "# What closes a dialog that covers the page.")
	w.line(2, "#dismiss: text=OK")
	w.line(2, "# The entries of the list of sessions; without it, its direct children.")
	w.line(2, `#session: "#sessionList button"`)
}
