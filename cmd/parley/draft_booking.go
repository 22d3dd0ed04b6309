package main

import (
	"slices"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/target"
)

// bookingDraft is the text of a profile of a relay, or of a relay and host: what was found out, with what was seen beside it,
// what could not be seen, and what a probe cannot see as commented keys to fill in.
func bookingDraft(p *target.Profile, seen map[string][]string) string {
	w := &drafter{seen: seen}
	w.head(p)
	w.line(0, "# Which party it is: host (a relay and a host behind one URL), or relay.")
	w.said(0, "role")
	w.line(0, "role: %s", p.Role)
	w.line(0, "")
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "# The optional features that it has: relay-sessions (a host answers in any relay session), two-agents (several agents may")
	w.line(0, "# join one). What is listed and broken fails.")
	w.said(0, "two")
	w.line(0, "capabilities: [%s]", strings.Join(p.Capabilities, ", "))
	w.line(0, "")
	w.line(0, "external-agent:")
	w.socket(p.ExternalAgent.WS)
	w.line(1, "# The relay session that the harness joins. With {nonce} each scenario has its own, so that they run side by side.")
	w.said(1, "session")
	w.line(1, "session: %s", quote(p.ExternalAgent.Session))
	w.line(1, "# What a host calls itself when it joins.")
	w.line(1, "host-role: %s", quote(p.ExternalAgent.HostRole))
	w.unseen()
	if p.Role == proto.Host {
		w.booking(p.ExternalAgent)
	}
	w.hints(p.Protocol)
	return w.String()
}

// socket writes where the WebSocket is.
func (w *drafter) socket(wire target.WSWire) {
	w.said(1, "path")
	w.line(1, "ws:")
	w.line(2, "path: %s", quote(wire.Path))
	w.line(2, "#subprotocols: [mvp-0.2]")
}

// booking writes what is to be said of a host alone.
func (w *drafter) booking(e target.ExternalAgent) {
	std := target.DefaultExternalAgent().Fields
	w.line(1, "# Where the error codes are: JSON Pointers from the top of a message, or names.")
	w.said(1, "fields")
	if e.Fields.ErrorCode != std.ErrorCode || !slices.Equal(e.Fields.ResultCode, std.ResultCode) {
		w.line(1, "fields:")
		w.line(2, "error-code: %s", bare(e.Fields.ErrorCode))
		w.line(2, "result-code: %s", places(e.Fields.ResultCode))
	}
	w.line(1, "# The way through the whole flow, from a new session: calls in order. {pointer: /items/0/id} is what is there in the")
	w.line(1, "# latest uiSpec. []: none is known, and what needs it is not tested. Left out: that of the bundled host.")
	w.said(1, "booking")
	if len(e.Booking) == 0 {
		w.line(1, "booking: []")
		w.line(2, "#- {tool: select, params: {itemId: {pointer: /items/0/id}}}")
		w.line(2, "#- {tool: next}")
		w.line(1, "# Calls from a new session of which the last one fails: with NO_ACTIVE_SPEC, and with TOOL_EXECUTION_FAILED.")
		w.line(1, "provoke:")
		w.line(2, "no-active-spec: [] # such as [{booking: true}, {tool: next}]")
		w.line(2, "tool-failure: []   # such as [{tool: next}]")
	}
	w.line(1, "# The folder from which the logFile of session.ended is meant; relative to this file. Without it logs are not tested.")
	w.said(1, "logs")
	w.line(1, "#logs: logs")
}

// agentDraft is the text of a profile of an agent. Without a command it is one that connects by itself. here is the folder
// in which the command was given.
func agentDraft(p *target.Profile, out, here string, seen map[string][]string) string {
	w := &drafter{seen: seen}
	w.line(0, "# A profile of an agent, written by parley init.")
	w.line(0, "# What is left out stands at its default. parley doctor --target FILE tells what of it works.")
	w.line(0, "")
	w.line(0, "name: %s", quote(p.Name))
	w.line(0, "protocol: %s", p.Protocol)
	w.line(0, "role: %s", p.Role)
	w.line(0, "")
	w.line(0, "# Starts the agent, maybe several times side by side. {url} is the WebSocket that it is to connect to, and {session} the")
	w.line(0, "# relay session that it is to join; it finds them as PARLEY_URL and PARLEY_SESSION too.")
	w.said(0, "agent")
	comment := "#"
	run := []string{"./my-agent", "--url", "{url}", "--session", "{session}"}
	if p.Command != nil {
		comment, run = "", p.Command.Run
	}
	w.command(comment, run)
	if p.Command != nil {
		w.folder(out, here)
	}
	w.line(1, "#env: {LOG_LEVEL: debug}")
	w.line(0, "")
	w.line(0, "drivers: [%s]", strings.Join(p.Drivers, ", "))
	w.line(0, "")
	w.line(0, "# The optional feature that it may have: reconnect (it comes back by itself when its connection is lost).")
	w.said(0, "reconnect")
	w.line(0, "capabilities: [%s]", strings.Join(p.Capabilities, ", "))
	w.line(0, "")
	w.line(0, "external-agent:")
	w.line(1, "# The relay session that it is to join. With {nonce} each scenario has its own.")
	w.said(1, "session")
	w.line(1, "session: %s", quote(p.ExternalAgent.Session))
	w.line(1, "# The script of the host that it meets, relative to this file. Without it: the built-in one, which sells cinema tickets.")
	w.line(1, "#flow: flow.yaml")
	w.line(1, "agent:")
	w.line(2, "# Where the harness listens for an agent that connects by itself: a loopback address. Without it: a free port.")
	if listen := p.ExternalAgent.Agent.Listen; listen != "" {
		w.line(2, "listen: %s", quote(listen))
	} else {
		w.line(2, "#listen: 127.0.0.1:8080")
	}
	w.line(2, "join: %v  # for it to connect and join, once it is started or its connection is lost", p.ExternalAgent.Agent.Join)
	w.line(2, "pace: %v # for the next thing that it does, as a language model takes its time", p.ExternalAgent.Agent.Pace)
	return w.String()
}
