package probe

import (
	"maps"
	"slices"
	"strings"

	"parley/probe"
	"parley/steps/agentselect/binding"
	"parley/target"
)

// draft returns the text of a session's profile.
func draft(s *probe.Session) string {
	w := writer{probe.NewServerDraft(s)}
	w.Line(0, "# The transports that it offers, the preferred one first: sse, ws.")
	w.Said(0, "drivers")
	w.List("drivers", s.Profile.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has; what is listed and broken fails.")
	w.Said(0, "capabilities")
	w.List("capabilities", s.Profile.Capabilities)
	w.Line(0, "")
	w.agents(s.Profile.Agents)
	w.Line(1, "# Where each agent offers its model its own tools alone: by agent, these and no others; [] is none.")
	w.Line(1, "#tools:")
	w.Line(2, "#%s: [read_file]", s.Profile.Agents.Default)
	w.Line(0, "")
	w.wire(*binding.Of(s.Profile))
	w.Hints()
	return w.String()
}

// writer writes the draft.
type writer struct{ *probe.Draft }

// agents writes the agents that the target is configured with.
func (w writer) agents(a target.Agents) {
	w.Line(0, "agents:")
	w.Line(1, "# The agent of a new session.")
	w.Said(1, "default")
	w.Line(1, "default: %s", a.Default)
	w.Line(1, "# The configuration file, whose bytes must not change; relative to this file.")
	w.Line(1, "#file: agents.toml")
	if len(a.Custom) == 0 {
		w.Line(1, "# The custom agents that it is configured with; prompt is a marker text that the system prompt contains.")
		w.Line(1, "#custom:")
		w.Line(2, "#- id: reviewer")
		w.Line(3, "#name: Reviewer")
		w.Line(3, "#description: Reviews code")
		w.Line(3, "#prompt: MARKER-REVIEWER")
		w.Line(3, "#tools: [read_file]")
		return
	}
	w.Line(1, "# seen: the agents of its list that are not built in. prompt is a marker text that the agent's system "+
		"prompt contains,")
	w.Line(1, "# tools are the names of its tools: by these the model stub sees whose configuration is used.")
	w.Line(1, "custom:")
	for _, c := range a.Custom {
		w.Line(2, "- id: %s", probe.Quote(c.ID))
		w.Text(3, "name", c.Name)
		w.Text(3, "description", c.Description)
		w.Line(3, "#prompt: MARKER-%s", strings.ToUpper(c.ID))
		w.Line(3, "#tools: [read_file]")
	}
}

// wire writes where the wire differs from the default binding.
func (w writer) wire(a binding.Binding) {
	std := binding.Default()
	w.Line(0, "agent-select:")
	w.Line(1, "# The default endpoints, and the only ones that were tried. Change those that are elsewhere, and "+
		"probe again by doctor.")
	w.Line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	w.Line(1, "#ws: {path: /agents/ws}")
	w.Line(1, "# How a POST tells its connection: {body: NAME}, {header: NAME}, or single (it cannot tell).")
	w.Line(1, "# Where creating or loading a session tells it otherwise: {body: NAME, create: {header: NAME}, load: …}.")
	w.Said(1, "correlation")
	w.Line(1, "correlation: %s", correlationWords(a.Correlation))
	if a.Envelope != std.Envelope {
		w.Line(1, "# Where an event keeps its type and its data.")
		w.Line(1, "envelope:")
		if a.Envelope.SSEEvent {
			w.Line(2, "type: sse-event")
		} else {
			w.Line(2, "type: %s", probe.Bare(a.Envelope.Type))
		}
		w.Line(2, "data: %s", probe.Bare(a.Envelope.Data))
	}
	w.Groups(a.Fields, std.Fields)
	if len(a.Events) > 0 {
		w.Line(1, "# What this wire calls events: default name, then its own.")
		w.Line(1, "events:")
		for _, name := range slices.Sorted(maps.Keys(a.Events)) {
			w.Line(2, "%s: %s", name, probe.Quote(a.Events[name]))
		}
	}
}
