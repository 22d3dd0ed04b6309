package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	"parley/driver"
	"parley/driver/ws"
	"parley/internal/stall"
	proto "parley/protocol/externalagent"
	"parley/target"
	"parley/transcript"
)

// bookingProbe asks a running relay, or relay and host, what it is.
type bookingProbe struct {
	notebook
	profile *target.Profile // what is found out goes into it
	run     target.Running
}

// bookingPaths are where a relay may have its WebSocket, the likeliest first.
var bookingPaths = []string{proto.Path, "/ws", "/agent", "/api/agent/ws", "/relay"}

// all asks everything: the first path where a relay.join is answered tells the wire. exact: there is one path only.
func (p *bookingProbe) all(ctx context.Context, exact bool) {
	wire := &p.profile.ExternalAgent
	paths := bookingPaths
	if exact && wire.WS.Path != proto.Path {
		paths = []string{wire.WS.Path}
	}
	for _, path := range paths {
		wire.WS.Path = path
		if c := p.at(ctx, path); c != nil {
			p.joined(ctx, c)
			c.close()
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
	wire.WS.Path = paths[0]
}

// at opens a path, and joins the usual relay session there; nil when that is not answered.
func (p *bookingProbe) at(ctx context.Context, path string) *agentLine {
	c, err := p.open(ctx)
	if err != nil {
		p.note("path", "WebSocket %s: %s", path, refusal(err))
		return nil
	}
	switch r := c.join(proto.AgentRole, proto.DefaultSession); {
	case r == nil:
		p.note("path", "WebSocket %s: it opens, but nothing answered relay.join within %v", path, p.profile.Limits.Event)
		p.profile.Limits.Event.Duration = min(p.profile.Limits.Event.Duration, another)
	case text("/type", r) != proto.RelayJoined:
		p.note("path", "WebSocket %s: it opens, but relay.join is answered by %s", path, brief(r))
	default:
		p.welcome()
		p.note("path", "WebSocket %s: it opens, and relay.join is answered by %s", path, brief(r))
		return c
	}
	c.close()
	return nil
}

// joined asks a party that has joined the usual relay session whether a host is there, and goes on with that or with the relay
// alone. What can be asked in a relay session where nobody else is, is asked there.
func (p *bookingProbe) joined(ctx context.Context, c *agentLine) {
	own := "parley-init-" + rand.Text()[:8]
	d := p.another(ctx, proto.AgentRole, own)
	if d != nil {
		defer d.close()
	}
	wire := &p.profile.ExternalAgent
	switch {
	case d.starts() != nil:
		p.note("role", "a host is there: session.start was answered by %s", brief(d.answer()))
		p.note("session", "that was in a relay session of a new name: each has a host")
		wire.Session = "s-{nonce}"
		p.profile.Capabilities = append(p.profile.Capabilities, target.RelaySessions)
		p.host(ctx, d, own)
		p.ends(d)
	case c.starts() != nil:
		p.note("role", "a host is there: session.start was answered by %s", brief(c.answer()))
		p.note("session", "in a relay session of a new name session.start was answered by %s", brief(d.answer()))
		p.host(ctx, c, proto.DefaultSession)
		p.ends(c)
	case text("/type", c.ask(proto.SnapshotGet, map[string]any{})) == proto.SnapshotState: // it is somebody else's, who ends it
		p.note("role", "a host is there, in whose study session somebody is: snapshot.get was answered by %s", brief(c.answer()))
		p.note("session", "in a relay session of a new name session.start was answered by %s", brief(d.answer()))
		p.host(ctx, c, proto.DefaultSession)
	default:
		p.note("role", "there is no host: session.start was answered by %s", brief(c.answer()))
		p.relays(ctx, d, own)
	}
}

// host asks a host, in a study session that has been started.
func (p *bookingProbe) host(ctx context.Context, c *agentLine, session string) {
	state := c.ask(proto.SnapshotGet, map[string]any{})
	if text("/type", state) == proto.SnapshotState {
		p.tools(state["payload"])
	} else {
		p.note("unseen", "snapshot.get was answered by %s", brief(state))
	}
	p.codes(c)
	p.twoAgents(ctx, c, session)
}

// ends ends the study session that the probe has started.
func (p *bookingProbe) ends(c *agentLine) {
	ended := c.ask(proto.SessionEnd, map[string]any{"reason": "parley init"})
	if file := text("/payload/logFile", ended); file != "" {
		p.note("logs", "session.ended names the log %q", file)
	}
}

// tools learns from a state which tools are announced and how, and whether the usual booking begins in this way.
func (p *bookingProbe) tools(state any) {
	obj, _ := state.(map[string]any)
	list, _ := obj["toolSchema"].([]any)
	var names []string
	forms := map[string]int{}
	for _, t := range list {
		names = append(names, text("/name", t))
		tool, _ := t.(map[string]any)
		forms[parametersForm(tool["parameters"])]++
	}
	p.note("booking", "tools of the first state: %s", strings.Join(names, ", "))
	for _, form := range []string{"JSON Schema", "a flat map", "none", "neither a JSON Schema nor a flat map"} {
		if forms[form] > 0 {
			p.note("booking", "parameters of %s: %s", counted(forms[form], "tool"), form)
		}
	}
	wire := &p.profile.ExternalAgent
	first := wire.Booking[0]
	_, err := first.ParamsFor(obj["uiSpec"])
	if slices.Contains(names, first.Tool) && err == nil {
		return
	}
	p.note("booking", "the default booking does not begin like that: give your own, and what provokes errors")
	wire.Booking, wire.Provoke = nil, target.Provocations{}
}

// parametersForm is how a tool's parameters are given: JSON Schema says "object", or has properties; a flat map has a
// description for each.
func parametersForm(parameters any) string {
	obj, ok := parameters.(map[string]any)
	switch {
	case parameters == nil:
		return "none"
	case !ok:
		return "neither a JSON Schema nor a flat map"
	case obj["type"] == any("object") || obj["properties"] != nil || obj["$schema"] != nil:
		return "JSON Schema"
	}
	for _, param := range obj {
		if !isObject(param) {
			return "neither a JSON Schema nor a flat map"
		}
	}
	return "a flat map"
}

// codes learns where error codes are: a call of no tool, and a message of no type are refused.
func (p *bookingProbe) codes(c *agentLine) {
	f := &p.profile.ExternalAgent.Fields
	for _, refused := range []map[string]any{
		c.ask(proto.ToolCall, map[string]any{"toolName": "parley_no_such_tool", "params": map[string]any{}, "reason": "parley init"}),
		c.ask("parley.init", map[string]any{}),
	} {
		at, found := codeIn(refused, "", 4)
		switch {
		case refused == nil:
			p.note("unseen", "what should be refused was not answered within %v", p.profile.Limits.Event)
			continue
		case !found:
			p.note("unseen", "no error code that the protocol knows is in %s: see fields.error-code", brief(refused))
			continue
		case text("/type", refused) == proto.ToolResult:
			if !slices.Contains(f.ResultCode, at) {
				f.ResultCode = target.Pointers{at}
			}
		default:
			f.ErrorCode = at
		}
		p.note("fields", "refused by %s", brief(refused))
	}
}

// codeIn finds the place of an error code in a message.
func codeIn(v any, at target.Pointer, depth int) (target.Pointer, bool) {
	for _, code := range proto.Codes() {
		if p, ok := holding(v, code, at, depth); ok {
			return p, true
		}
	}
	return "", false
}

// twoAgents sees whether two agents can be in one relay session, and both are answered.
func (p *bookingProbe) twoAgents(ctx context.Context, c *agentLine, session string) {
	second := p.another(ctx, proto.AgentRole, session)
	if second == nil {
		p.note("two", "a second agent cannot join the same relay session")
		return
	}
	defer second.close()
	a, b := second.ask(proto.SnapshotGet, map[string]any{}), c.ask(proto.SnapshotGet, map[string]any{})
	if text("/type", a) != proto.SnapshotState || text("/type", b) != proto.SnapshotState {
		p.note("two", "a second agent joins the same relay session, but not both are answered then")
		return
	}
	p.note("two", "a second agent joins the same relay session, and both are answered")
	p.profile.Capabilities = append(p.profile.Capabilities, target.TwoAgents)
}

// relays sees whether a relay passes on what an agent says to a host, and by which name a host joins. agent is nil where no
// agent could join the session.
func (p *bookingProbe) relays(ctx context.Context, agent *agentLine, session string) {
	p.profile.Role = proto.Relay
	p.profile.ExternalAgent.Session = "s-{nonce}"
	if agent == nil {
		p.note("unseen", "no relay session of another name can be joined, so that it was not seen whether messages pass: see role")
		p.profile.ExternalAgent.Session = proto.DefaultSession
		return
	}
	for _, role := range []string{proto.HostRole, proto.FrontendRole} {
		host := p.another(ctx, role, session)
		if host == nil {
			p.note("role", "a host does not join by the role %q", role)
			continue
		}
		defer host.close()
		p.profile.ExternalAgent.HostRole = role
		word := "parley-init-" + rand.Text()[:8]
		agent.say(proto.AgentMessage, map[string]any{"text": word})
		if host.hears(word) {
			p.note("role", "a host joins by the role %q, and what an agent says comes to it", role)
		} else {
			p.note("unseen", "a host joins by the role %q, but what an agent says did not come to it", role)
		}
		break
	}
	second := p.another(ctx, proto.AgentRole, session)
	if second == nil {
		p.note("two", "a second agent cannot join the same relay session")
		return
	}
	second.close()
	p.note("two", "a second agent joins the same relay session")
	p.profile.Capabilities = append(p.profile.Capabilities, target.TwoAgents)
}

// open opens a connection.
func (p *bookingProbe) open(ctx context.Context) (*agentLine, error) {
	limit, cancel := stall.WithLimit(ctx, p.profile.Limits.Open.Duration)
	defer cancel()
	h := http.Header{}
	for k, v := range p.profile.Headers {
		h.Set(k, v)
	}
	d, t := ws.New(), transcript.New(nil)
	o := driver.OpenOptions{Party: "probe", URL: p.run.BaseURL() + p.profile.ExternalAgent.WS.Path, Header: h, MaxEvent: int(p.profile.Limits.MaxEvent)}
	conn, err := d.Open(limit, o, t.Append)
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &agentLine{ctx: ctx, driver: d, conn: conn, t: t, limit: p.profile.Limits.Event}, nil
}

// another opens a connection that has joined a relay session; nil where it cannot.
func (p *bookingProbe) another(ctx context.Context, role, session string) *agentLine {
	c, err := p.open(ctx)
	if err != nil {
		return nil
	}
	if text("/type", c.join(role, session)) != proto.RelayJoined {
		c.close()
		return nil
	}
	return c
}
