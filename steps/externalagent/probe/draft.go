package probe

import (
	"slices"

	proto "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/steps/probe"
)

// draft returns the text of the profile of a relay, or of a relay and host.
func draft(s *probe.Session) string {
	p := s.Profile
	w := probe.NewServerDraft(s)
	w.Line(0, "# Which party it is: host (a relay and a host behind one URL), or relay.")
	w.Said(0, "role")
	w.Line(0, "role: %s", p.Role)
	w.Line(0, "")
	w.List("drivers", p.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has: relay-sessions (a host answers in any relay session), two-agents "+
		"(several agents may")
	w.Line(0, "# join one). A listed feature that is broken fails.")
	w.Said(0, "two")
	w.List("capabilities", p.Capabilities)
	w.Line(0, "")
	w.Line(0, "external-agent:")
	w.Said(1, "path")
	w.Line(1, "ws:")
	w.Line(2, "path: %s", probe.Quote(binding.Of(p).WS.Path))
	w.Line(2, "#subprotocols: [mvp-0.2]")
	w.Line(1, "# The relay session that the harness joins. With {nonce} each scenario has its own, so that they run "+
		"side by side.")
	w.Said(1, "session")
	w.Line(1, "session: %s", probe.Quote(binding.Of(p).Session))
	w.Line(1, "# What a host calls itself when it joins.")
	w.Line(1, "host-role: %s", probe.Quote(binding.Of(p).HostRole))
	w.Unseen()
	if p.Role == proto.Host {
		host(w, *binding.Of(p))
	}
	w.Hints()
	return w.String()
}

// host writes what applies to a host only.
func host(w *probe.Draft, e binding.Binding) {
	std := binding.Default().Fields
	w.Line(1, "# Where the error codes are: JSON Pointers from the top of a message, or names.")
	w.Said(1, "fields")
	if e.Fields.ErrorCode != std.ErrorCode || !slices.Equal(e.Fields.ResultCode, std.ResultCode) {
		w.Line(1, "fields:")
		w.Line(2, "error-code: %s", probe.Bare(e.Fields.ErrorCode))
		w.Line(2, "result-code: %s", probe.Places(e.Fields.ResultCode))
	}
	w.Line(1, "# The calls of the whole flow, in order, from a new session. {pointer: /items/0/id} is the value "+
		"at that place in the")
	w.Line(1, "# latest uiSpec. []: no flow is known; what needs it is not tested. Default: that of the bundled host.")
	w.Said(1, "booking")
	if len(e.Booking) == 0 {
		w.Line(1, "booking: []")
		w.Line(2, "#- {tool: select, params: {itemId: {pointer: /items/0/id}}}")
		w.Line(2, "#- {tool: next}")
		w.Line(1, "# Calls from a new session, the last of which fails: with NO_ACTIVE_SPEC, and with "+
			"TOOL_EXECUTION_FAILED.")
		w.Line(1, "provoke:")
		w.Line(2, "no-active-spec: [] # such as [{booking: true}, {tool: next}]")
		w.Line(2, "# Not tried. Default: a call of next, which need not fail. [] says that no tool ever fails: EA-083 is "+
			"not judged then.")
		w.Line(2, "#tool-failure: [{tool: next}]")
	}
	w.Line(1, "# The folder that the logFile of session.ended is relative to; itself relative to this file. Without it, "+
		"logs "+
		"are not tested.")
	w.Said(1, "logs")
	w.Line(1, "#logs: logs")
}

// draftAgent returns the text of the profile of an agent. Without a command, the agent connects by itself.
func draftAgent(s *probe.Session) string {
	p := s.Profile
	w := probe.NewDraft(s, "an agent, written by parley init")
	w.Line(0, "role: %s", p.Role)
	w.Line(0, "")
	w.Line(0, "# Starts the agent, possibly several in parallel. {url} is the WebSocket that it must connect to, "+
		"and {session} the")
	w.Line(0, "# relay session that it must join; they are also in PARLEY_URL and PARLEY_SESSION.")
	w.Said(0, "agent")
	if p.Command != nil {
		w.Command(p.Command.Run, false)
	} else {
		w.Command([]string{"./my-agent", "--url", "{url}", "--session", "{session}"}, true)
	}
	w.Line(0, "")
	w.List("drivers", p.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional feature that it may have: reconnect (it reconnects by itself after losing its connection).")
	w.Said(0, "reconnect")
	w.List("capabilities", p.Capabilities)
	w.Line(0, "")
	w.Line(0, "external-agent:")
	w.Line(1, "# The relay session that it must join. With {nonce} each scenario has its own.")
	w.Said(1, "session")
	w.Line(1, "session: %s", probe.Quote(binding.Of(p).Session))
	w.Line(1, "# The script of the host that it meets, relative to this file. Default: the built-in one, which "+
		"sells cinema tickets.")
	w.Line(1, "#flow: flow.yaml")
	w.Line(1, "agent:")
	w.Line(2, "# Where the harness listens for an agent that connects by itself: a loopback address. Without it: a "+
		"free port.")
	if listen := binding.Of(p).Agent.Listen; listen != "" {
		w.Line(2, "listen: %s", probe.Quote(listen))
	} else {
		w.Line(2, "#listen: 127.0.0.1:8080")
	}
	w.Line(2, "join: %v  # to connect and join, after it was started or lost its connection",
		binding.Of(p).Agent.Join)
	w.Line(2, "pace: %v # until its next message; language models take time", binding.Of(p).Agent.Pace)
	return w.String()
}
