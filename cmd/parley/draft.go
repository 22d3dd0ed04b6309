package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/target"
)

// draft is the text of a profile: what was found out, with what was seen beside it, and what a probe cannot see as
// commented keys to fill in.
func draft(p *target.Profile, seen map[string][]string) string {
	w := &drafter{seen: seen}
	w.head(p)
	w.line(0, "# The transports that it offers, the preferred one first: sse, ws.")
	w.said(0, "drivers")
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "# The optional features that it has; what is listed and broken fails.")
	w.said(0, "capabilities")
	w.line(0, "capabilities: [%s]", strings.Join(p.Capabilities, ", "))
	w.line(0, "")
	w.agents(p.Agents)
	w.line(0, "")
	w.wire(p.AgentSelect)
	w.hints(p.Protocol)
	return w.String()
}

// drafter writes a profile line by line.
type drafter struct {
	strings.Builder
	seen map[string][]string
}

// head writes what every profile begins with.
func (w *drafter) head(p *target.Profile) {
	w.line(0, "# A profile of %s, written by parley init from what the server showed.", p.URL)
	w.line(0, "# What is left out stands at its default. parley doctor --target FILE tells what of it works.")
	w.line(0, "")
	w.line(0, "name: %s", quote(p.Name))
	w.line(0, "protocol: %s", p.Protocol)
	w.line(0, "url: %s", quote(p.URL))
	w.line(0, "")
}

func (w *drafter) line(depth int, format string, args ...any) {
	text := strings.TrimRight(strings.Repeat("  ", depth)+fmt.Sprintf(format, args...), " ")
	w.WriteString(text + "\n")
}

// said writes what was seen as comments.
func (w *drafter) said(depth int, key string) {
	for _, text := range w.seen[key] {
		w.line(depth, "# seen: %s", printable(text))
	}
}

// text writes a key whose value is text, unless that is empty.
func (w *drafter) text(depth int, key, value string) {
	if value != "" {
		w.line(depth, "%s: %s", key, quote(value))
	}
}

// printable keeps what a server said from ending a comment.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return ' '
		}
		return r
	}, text)
}

// quote writes text as a YAML scalar: JSON's strings are YAML's.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

func (w *drafter) agents(a target.Agents) {
	w.line(0, "agents:")
	w.line(1, "# The agent of a new session.")
	w.said(1, "default")
	w.line(1, "default: %s", a.Default)
	w.line(1, "# The configuration file, whose bytes must not change; relative to this file.")
	w.line(1, "#file: agents.toml")
	if len(a.Custom) == 0 {
		w.line(1, "# The custom agents that it is configured with; prompt is a marker text that the system prompt contains.")
		w.line(1, "#custom:")
		w.line(2, "#- id: reviewer")
		w.line(3, "#name: Reviewer")
		w.line(3, "#description: Reviews code")
		w.line(3, "#prompt: MARKER-REVIEWER")
		w.line(3, "#tools: [read_file]")
		return
	}
	w.line(1, "# seen: the agents of its list that are not built in. prompt is a marker text that the agent's system prompt contains,")
	w.line(1, "# tools are the names of its tools: by these the model stub sees whose configuration is used.")
	w.line(1, "custom:")
	for _, c := range a.Custom {
		w.line(2, "- id: %s", quote(c.ID))
		w.text(3, "name", c.Name)
		w.text(3, "description", c.Description)
		w.line(3, "#prompt: MARKER-%s", strings.ToUpper(c.ID))
		w.line(3, "#tools: [read_file]")
	}
}

// wire writes where the wire differs from the default binding.
func (w *drafter) wire(a target.AgentSelect) {
	std := target.DefaultAgentSelect()
	w.line(0, "agent-select:")
	w.line(1, "# The default endpoints, and the only ones that were tried. Change those that are elsewhere, and probe again by doctor.")
	w.line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	w.line(1, "#ws: {path: /agents/ws}")
	w.line(1, "# How a POST tells its connection: {body: NAME}, {header: NAME}, or single (it cannot tell).")
	w.said(1, "correlation")
	w.line(1, "correlation: %s", correlationWords(a.Correlation))
	if a.Envelope != std.Envelope {
		w.line(1, "# Where an event keeps its type and its data.")
		w.line(1, "envelope:")
		if a.Envelope.SSEEvent {
			w.line(2, "type: sse-event")
		} else {
			w.line(2, "type: %s", bare(a.Envelope.Type))
		}
		w.line(2, "data: %s", bare(a.Envelope.Data))
	}
	w.fields(a.Fields, std.Fields)
	if len(a.Events) > 0 {
		w.line(1, "# What this wire calls events: default name, then its own.")
		w.line(1, "events:")
		for _, name := range slices.Sorted(maps.Keys(a.Events)) {
			w.line(2, "%s: %s", name, quote(a.Events[name]))
		}
	}
}

// fields writes the fields that are not where the default binding has them: groups of pointers, by their keys.
func (w *drafter) fields(fields, std any) {
	if reflect.DeepEqual(fields, std) {
		return
	}
	w.line(1, "# Where the fields are: names, or JSON Pointers.")
	w.said(1, "answer")
	w.line(1, "fields:")
	groups, defaults := reflect.ValueOf(fields), reflect.ValueOf(std)
	for i := range groups.NumField() {
		group, standard := groups.Field(i), defaults.Field(i)
		if reflect.DeepEqual(group.Interface(), standard.Interface()) {
			continue
		}
		w.line(2, "%s:", groups.Type().Field(i).Tag.Get("yaml"))
		for j := range group.NumField() {
			if !reflect.DeepEqual(group.Field(j).Interface(), standard.Field(j).Interface()) {
				w.line(3, "%s: %s", group.Type().Field(j).Tag.Get("yaml"), places(group.Field(j).Interface()))
			}
		}
	}
}

// places is a pointer, or several, as a profile writes them.
func places(v any) string {
	list, several := v.(target.Pointers)
	if !several {
		return bare(v.(target.Pointer))
	}
	var out []string
	for _, p := range list {
		out = append(out, bare(p))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// unseen writes what could not be seen.
func (w *drafter) unseen() {
	if len(w.seen["unseen"]) == 0 {
		return
	}
	w.line(1, "# What could not be seen, or was not recognised; the defaults stand until you say otherwise.")
	for _, text := range w.seen["unseen"] {
		w.line(1, "# not seen: %s", printable(text))
	}
}

// command writes the words of a command, in comments where they are an example.
func (w *drafter) command(comment string, run []string) {
	var words []string
	for _, word := range run {
		words = append(words, quote(word))
	}
	w.line(0, "%scommand:", comment)
	w.line(1, "%srun: [%s]", comment, strings.Join(words, ", "))
}

// folder writes the folder in which a command was given, seen from the file of the profile.
func (w *drafter) folder(out, here string) {
	if dir, err := filepath.Rel(filepath.Dir(out), here); err == nil && dir != "." {
		w.line(1, "dir: %s", quote(filepath.ToSlash(dir)))
	}
}

// hinted are the keys of the examples that a probe cannot see, as they stand there; not each is in every example.
var hinted = []string{"#command:", "#headers:", "#hooks:", "#model:", "#tools:", "#provoke:"}

// hints adds what a probe cannot see, in the words of the example.
func (w *drafter) hints(protocol string) {
	w.line(0, "")
	w.line(0, "# What a probe cannot see. The more of it your profile tells, the more is tested.")
	for _, key := range hinted {
		if part := paragraph(target.ExampleFor(protocol), key); part != "" {
			w.line(0, "")
			w.WriteString(part)
		}
	}
}

// paragraph is the part of a text between empty lines that has a line which starts with a key.
func paragraph(text, key string) string {
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, key) || strings.Contains(part, "\n"+key) {
			return strings.TrimRight(part, "\n") + "\n"
		}
	}
	return ""
}
