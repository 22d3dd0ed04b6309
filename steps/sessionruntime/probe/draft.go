package probe

import (
	"reflect"

	"parley/probe"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// draft returns the text of a session's profile.
func draft(session *probe.Session) string {
	p := session.Profile
	w, s := begin(session), binding.Of(p)
	w.Line(0, "# The transports that it offers: ws, stdio (which needs a command).")
	w.List("drivers", p.Drivers)
	w.Line(0, "")
	w.Line(0, "session-runtime:")
	if p.Command == nil {
		w.Said(1, "path")
		w.Line(1, "ws:")
		w.Line(2, "path: %s", probe.Quote(s.WS.Path))
		w.Line(2, "#subprotocols: [bus.v1]")
	}
	w.Line(1, "# Whether it answers the fence frame; without one the quiet window stands in.")
	w.Said(1, "fence")
	w.Line(1, "fence: %v", s.Fence)
	w.Line(1, "# Whose messages its bus delivers to it: SYSTEM, and BROADCAST if it subscribes to that too. That "+
		"cannot be seen.")
	w.Line(1, "#subscribes: [SYSTEM]")
	w.Line(1, "# After what time an acknowledgement counts as missing: the shortest that it can be asked for at "+
		"set-up; with fixed, what")
	w.Line(1, "# it goes by, as it cannot be asked.")
	w.Line(1, "#limits: {input-ack: 60ms, cancel-ack: 60ms, fixed: false}")
	w.Unseen()
	wire(w, *s)
	if p.Command == nil {
		w.Hints()
	}
	return w.String()
}

// begin returns the start of the draft: with a URL, or with the command of an orchestrator over stdio.
func begin(s *probe.Session) *probe.Draft {
	if s.Profile.Command == nil {
		return probe.NewServerDraft(s)
	}
	w := probe.NewDraft(s, "an orchestrator over stdio, written by parley init")
	w.Line(0, "")
	w.Line(0, "# Starts the orchestrator, maybe several times side by side: it reads one JSON message per line from "+
		"stdin, and writes")
	w.Line(0, "# one per line to stdout, and nothing else there.")
	w.Said(0, "path")
	w.Command(s.Profile.Command.Run, false)
	w.Line(0, "")
	return w
}

// wire writes where the session-runtime wire differs from the default binding.
func wire(w *probe.Draft, s binding.Binding) {
	std := binding.Default()
	if s.Senders != std.Senders {
		w.Line(1, "# What stands in the sender field. An agent's is its id.")
		w.Line(1, "senders:")
		w.Changed(2, s.Senders, std.Senders)
	}
	w.Said(1, "fields")
	if !reflect.DeepEqual(s.Fields, std.Fields) {
		w.Line(1, "# Where the fields are: names, or JSON Pointers. Those that were not seen follow from where the others "+
			"are.")
		w.Line(1, "fields:")
		w.Changed(2, s.Fields, std.Fields)
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
		w.Names(n.key, n.about, n.now)
	}
}
