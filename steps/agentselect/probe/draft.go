package probe

import (
	"maps"
	"slices"
	"strings"

	"parley/steps/agentselect/binding"
	"parley/steps/probe"
	"parley/target"
)

// draft returns the text of a session's profile.
func draft(s *probe.Session) string {
	w := writer{probe.NewServerDraft(s)}
	w.Line(0, "# The transports that it offers, the preferred one first: sse, ws.")
	w.Said(0, "drivers")
	w.List("drivers", s.Profile.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has; a listed feature that is broken fails.")
	w.Said(0, "capabilities")
	w.List("capabilities", s.Profile.Capabilities)
	w.Line(0, "")
	w.agents(s.Profile.Agents)
	w.Line(1, "# If each agent offers its model only its own tools: the tools by agent; [] means none.")
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
	w.Line(1, "# tools are the names of its tools: the model stub uses them to tell whose configuration is in use.")
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
	w.Line(1, "# The default endpoints; no others were tried. Change those that differ, and "+
		"check them with doctor.")
	w.Line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	w.Line(1, "#ws: {path: /agents/ws}")
	w.Line(1, "# How a POST names its connection: {body: NAME}, {header: NAME}, or single (it does not).")
	w.Line(1, "# If creating or loading a session names it differently: {body: NAME, create: {header: NAME}, load: …}.")
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
		w.Line(1, "# The names of events: default name, then the target's.")
		w.Line(1, "events:")
		for _, name := range slices.Sorted(maps.Keys(a.Events)) {
			w.Line(2, "%s: %s", name, probe.Quote(a.Events[name]))
		}
	}
}
