package probe

import (
	"reflect"

	"parley/steps/probe"
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
	w.Line(1, "# Whether it answers the fence frame; otherwise the quiet window is used instead.")
	w.Said(1, "fence")
	w.Line(1, "fence: %v", s.Fence)
	w.Line(1, "# The channels that its bus delivers to it: SYSTEM, and BROADCAST if it subscribes to that too. This "+
		"cannot be seen.")
	w.Line(1, "#subscribes: [SYSTEM]")
	w.Line(1, "# The time after which an acknowledgement counts as missing: the shortest that it accepts at "+
		"set-up; with fixed, the time")
	w.Line(1, "# that it always uses.")
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
	w.Line(0, "# Starts the orchestrator, possibly several in parallel: it reads one JSON message per line from "+
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
		w.Line(1, "# The values of the sender field. An agent's is its id.")
		w.Line(1, "senders:")
		w.Changed(2, s.Senders, std.Senders)
	}
	w.Said(1, "fields")
	if !reflect.DeepEqual(s.Fields, std.Fields) {
		w.Line(1, "# Where the fields are: names, or JSON Pointers. Those that were not seen are derived from where the "+
			"others "+
			"are.")
		w.Line(1, "fields:")
		w.Changed(2, s.Fields, std.Fields)
	}
	for _, n := range []struct {
		key, about string
		now, usual map[string]target.Names
	}{
		{"events", "The names of events: default name, then the target's.", s.Events, std.Events},
		{"subtypes", "The names of subtypes, in the same way.", s.Subtypes, std.Subtypes},
		{"targets", "The names of targets, in the same way.", s.Targets, std.Targets},
	} {
		if reflect.DeepEqual(n.now, n.usual) {
			n.now = nil
		}
		w.Names(n.key, n.about, n.now)
	}
}
