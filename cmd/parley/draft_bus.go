package main

import (
	"reflect"
	"strings"

	"parley/target"
)

// busDraft is the text of a profile of session-runtime: what was found out, with what was seen beside it, what could not be
// seen, and what a probe cannot see as commented keys to fill in. With a command it is that of an orchestrator over stdio, in
// a file out; here is the folder in which the command was given.
func busDraft(p *target.Profile, out, here string, seen map[string][]string) string {
	w, s := &drafter{seen: seen}, p.SessionRuntime
	if p.Command == nil {
		w.head(p)
	} else {
		w.line(0, "# A profile of an orchestrator over stdio, written by parley init.")
		w.line(0, "# What is left out stands at its default. parley doctor --target FILE tells what of it works.")
		w.line(0, "")
		w.line(0, "name: %s", quote(p.Name))
		w.line(0, "protocol: %s", p.Protocol)
		w.line(0, "")
		w.line(0, "# Starts the orchestrator, maybe several times side by side: it reads one JSON message per line from stdin, and writes")
		w.line(0, "# one per line to stdout, and nothing else there.")
		w.said(0, "path")
		w.command("", p.Command.Run)
		w.folder(out, here)
		w.line(1, "#env: {LOG_LEVEL: debug}")
		w.line(0, "")
	}
	w.line(0, "# The transports that it offers: ws, stdio (which needs a command).")
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "session-runtime:")
	if p.Command == nil {
		w.said(1, "path")
		w.line(1, "ws:")
		w.line(2, "path: %s", quote(s.WS.Path))
		w.line(2, "#subprotocols: [bus.v1]")
	}
	w.line(1, "# Whether it answers the fence frame; without one the quiet window stands in.")
	w.said(1, "fence")
	w.line(1, "fence: %v", s.Fence)
	w.line(1, "# Whose messages its bus delivers to it: SYSTEM, and BROADCAST if it subscribes to that too. That cannot be seen.")
	w.line(1, "#subscribes: [SYSTEM]")
	w.line(1, "# After what time an acknowledgement counts as missing: the shortest that it can be asked for at set-up; with fixed, what")
	w.line(1, "# it goes by, as it cannot be asked.")
	w.said(1, "limits")
	w.line(1, "#limits: {input-ack: 60ms, cancel-ack: 60ms, fixed: false}")
	w.unseen()
	w.bus(s)
	if p.Command == nil {
		w.hints(p.Protocol)
	}
	return w.String()
}

// bus writes where the wire of session-runtime differs from the default binding.
func (w *drafter) bus(s target.SessionRuntime) {
	std := target.DefaultSessionRuntime()
	if s.Senders != std.Senders {
		w.line(1, "# What stands in the sender field. An agent's is its id.")
		w.line(1, "senders:")
		w.flat(s.Senders, std.Senders)
	}
	w.said(1, "fields")
	if !reflect.DeepEqual(s.Fields, std.Fields) {
		w.line(1, "# Where the fields are: names, or JSON Pointers. Those that were not seen follow from where the others are.")
		w.line(1, "fields:")
		w.flat(s.Fields, std.Fields)
	}
	for _, n := range []struct {
		key, about string
		now, usual map[string]target.Names
	}{
		{"events", "What this wire calls events: default name, then its own.", s.Events, std.Events},
		{"subtypes", "What it calls subtypes, in the same way.", s.Subtypes, std.Subtypes},
		{"targets", "What it calls targets, in the same way.", s.Targets, std.Targets},
	} {
		if reflect.DeepEqual(n.now, n.usual) {
			n.now = nil
		}
		w.names(n.key, n.about, n.now)
	}
}

// flat writes the members of a struct that differ from the usual ones, by their keys.
func (w *drafter) flat(now, usual any) {
	v, std := reflect.ValueOf(now), reflect.ValueOf(usual)
	for i := range v.NumField() {
		here := v.Field(i).Interface()
		if reflect.DeepEqual(here, std.Field(i).Interface()) {
			continue
		}
		value, isText := here.(string)
		if isText {
			value = quote(value)
		} else {
			value = places(here)
		}
		w.line(2, "%s: %s", v.Type().Field(i).Tag.Get("yaml"), value)
	}
}
