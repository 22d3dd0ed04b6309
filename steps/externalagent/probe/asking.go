package probe

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/steps/externalagent/binding"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver/ws"
)

// inquiry probes a running relay, or relay and host.
type inquiry struct{ *probe.Session }

// UsualPaths are the usual paths of a relay's WebSocket, the likeliest first.
var UsualPaths = []string{proto.Path, "/ws", "/agent", "/api/agent/ws", "/relay"}

// wire returns the wire of the profile, as far as it is known.
func (p *inquiry) wire() *binding.Binding { return binding.Of(p.Profile) }

// all runs the whole probe: the first path that answers relay.join determines the wire.
func (p *inquiry) all(ctx context.Context) {
	wire := p.wire()
	paths := p.Paths(wire.WS.Path, UsualPaths...)
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

// at opens a path and joins the usual relay session there. It returns nil if the join is not answered.
func (p *inquiry) at(ctx context.Context, path string) *party {
	c, err := p.open(ctx)
	if err != nil {
		p.Note("path", "WebSocket %s: %s", path, probe.Refusal(err))
		return nil
	}
	switch r := c.join(proto.AgentRole, proto.DefaultSession); {
	case r == nil:
		p.Note("path", "WebSocket %s: it opens, but nothing answered relay.join within %v", path, p.Profile.Limits.Event)
		p.Profile.Limits.Event.Duration = min(p.Profile.Limits.Event.Duration, probe.Another)
	case probe.Text("/type", r) != proto.RelayJoined:
		p.Note("path", "WebSocket %s: it opens, but relay.join is answered by %s", path, probe.Brief(r))
	default:
		p.Welcome()
		p.Note("path", "WebSocket %s: it opens, and relay.join is answered by %s", path, probe.Brief(r))
		return c
	}
	c.close()
	return nil
}

// joined finds out, for a party in the usual relay session, whether there is a host, and continues with that or with
// the relay alone. As far as possible, it asks in a relay session of its own.
func (p *inquiry) joined(ctx context.Context, c *party) {
	own := "parley-init-" + rand.Text()[:8]
	d := p.another(ctx, proto.AgentRole, own)
	if d != nil {
		defer d.close()
	}
	wire := p.wire()
	switch {
	case d.starts() != nil:
		p.Note("role", "a host is present: session.start was answered by %s", probe.Brief(d.answer()))
		p.Note("session", "the relay session had a new name, so each has a host")
		wire.Session = "s-{nonce}"
		p.Profile.Capabilities = append(p.Profile.Capabilities, binding.RelaySessions)
		p.host(ctx, d, own)
		p.ends(d)
	case c.starts() != nil:
		p.Note("role", "a host is present: session.start was answered by %s", probe.Brief(c.answer()))
		p.Note("session", "in a relay session with a new name, session.start was answered by %s", probe.Brief(d.answer()))
		p.host(ctx, c, proto.DefaultSession)
		p.ends(c)
	case probe.Text("/type", c.ask(proto.SnapshotGet, map[string]any{})) == proto.SnapshotState:
		// the session belongs to another client, which ends it
		p.Note("role", "a host is present, but its study session is in use: snapshot.get was answered by "+
			"%s", probe.Brief(c.answer()))
		p.Note("session", "in a relay session with a new name, session.start was answered by %s", probe.Brief(d.answer()))
		p.host(ctx, c, proto.DefaultSession)
	default:
		p.Note("role", "no host is present: session.start was answered by %s", probe.Brief(c.answer()))
		p.relays(ctx, d, own)
	}
}

// host probes a host in a study session that has been started.
func (p *inquiry) host(ctx context.Context, c *party, session string) {
	state := c.ask(proto.SnapshotGet, map[string]any{})
	if probe.Text("/type", state) == proto.SnapshotState {
		p.tools(state[proto.Payload])
	} else {
		p.Unseen("snapshot.get was answered by %s", probe.Brief(state))
	}
	p.codes(c)
	p.twoAgents(ctx, c, session)
}

// ends ends the study session that the probe started.
func (p *inquiry) ends(c *party) {
	ended := c.ask(proto.SessionEnd, map[string]any{"reason": "parley init"})
	if file := probe.Text("/payload/logFile", ended); file != "" {
		p.Note("logs", "session.ended names the log %q", file)
	}
}

// tools learns from a state which tools are announced, and whether the usual booking can begin there.
func (p *inquiry) tools(state any) {
	obj, _ := state.(map[string]any)
	list, _ := obj[proto.ToolSchema].([]any)
	var names []string
	for _, t := range list {
		names = append(names, probe.Text("/name", t))
	}
	p.Note("booking", "tools of the first state: %s", strings.Join(names, ", "))
	wire := p.wire()
	first := wire.Booking[0]
	_, err := first.ParamsFor(obj[proto.Spec])
	if slices.Contains(names, first.Tool) && err == nil {
		return
	}
	p.Note("booking", "the default booking does not begin like this: give your own, and the calls that provoke errors")
	wire.Booking, wire.Provoke = nil, binding.Provocations{}
}

// codes learns where error codes are, from refusals of an unknown tool and of a message of an unknown type.
func (p *inquiry) codes(c *party) {
	f := &p.wire().Fields
	for _, refused := range []map[string]any{
		c.ask(proto.ToolCall, map[string]any{
			proto.ToolName: "parley_no_such_tool", proto.Params: map[string]any{}, "reason": "parley init",
		}),
		c.ask("parley.init", map[string]any{}),
	} {
		at, found := codeIn(refused, "", 4)
		switch {
		case refused == nil:
			p.Unseen("a message that must be refused was not answered within %v", p.Profile.Limits.Event)
			continue
		case !found:
			p.Unseen("%s contains no error code of the protocol: see fields.error-code", probe.Brief(refused))
			continue
		case probe.Text("/type", refused) == proto.ToolResult:
			if !slices.Contains(f.ResultCode, at) {
				f.ResultCode = target.Pointers{at}
			}
		default:
			f.ErrorCode = at
		}
		p.Note("fields", "refused by %s", probe.Brief(refused))
	}
}

// codeIn finds the place of an error code in a message.
func codeIn(v any, at target.Pointer, depth int) (target.Pointer, bool) {
	for _, code := range proto.Codes() {
		if p, ok := probe.Holding(v, code, at, depth); ok {
			return p, true
		}
	}
	return "", false
}

// twoAgents finds out whether two agents can be in one relay session and both get answers.
func (p *inquiry) twoAgents(ctx context.Context, c *party, session string) {
	second := p.another(ctx, proto.AgentRole, session)
	if second == nil {
		p.Note("two", "a second agent cannot join the same relay session")
		return
	}
	defer second.close()
	a, b := second.ask(proto.SnapshotGet, map[string]any{}), c.ask(proto.SnapshotGet, map[string]any{})
	if probe.Text("/type", a) != proto.SnapshotState || probe.Text("/type", b) != proto.SnapshotState {
		p.Note("two", "a second agent joins the same relay session, but then not both are answered")
		return
	}
	p.Note("two", "a second agent joins the same relay session, and both are answered")
	p.Profile.Capabilities = append(p.Profile.Capabilities, binding.TwoAgents)
}

// relays finds out whether a relay passes an agent's messages on to a host, and by which role a host joins. agent is
// nil if no agent could join the session.
func (p *inquiry) relays(ctx context.Context, agent *party, session string) {
	p.Profile.Role = proto.Relay
	p.wire().Session = "s-{nonce}"
	if agent == nil {
		p.Unseen("no relay session with another name can be joined, so it is unknown whether messages are relayed: see role")
		p.wire().Session = proto.DefaultSession
		return
	}
	for _, role := range []string{proto.HostRole, proto.FrontendRole} {
		host := p.another(ctx, role, session)
		if host == nil {
			p.Note("role", "a host cannot join with the role %q", role)
			continue
		}
		defer host.close()
		p.wire().HostRole = role
		word := "parley-init-" + rand.Text()[:8]
		agent.say(proto.AgentMessage, map[string]any{"text": word})
		if host.hears(word) {
			p.Note("role", "a host can join with the role %q, and it receives an agent's messages", role)
		} else {
			p.Unseen("a host can join with the role %q, but it did not receive an agent's message", role)
		}
		break
	}
	second := p.another(ctx, proto.AgentRole, session)
	if second == nil {
		p.Note("two", "a second agent cannot join the same relay session")
		return
	}
	second.close()
	p.Note("two", "a second agent joins the same relay session")
	p.Profile.Capabilities = append(p.Profile.Capabilities, binding.TwoAgents)
}

// open opens a connection.
func (p *inquiry) open(ctx context.Context) (*party, error) {
	d := &ws.Driver{TLS: p.Profile.TLSConfig()}
	l, err := p.Open(ctx, d, p.wire().WS.Path, nil)
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return &party{Line: l, driver: d, limit: p.Profile.Limits.Event}, nil
}

// another opens a connection that joins a relay session. It returns nil if that fails.
func (p *inquiry) another(ctx context.Context, role, session string) *party {
	c, err := p.open(ctx)
	if err != nil {
		return nil
	}
	if probe.Text("/type", c.join(role, session)) != proto.RelayJoined {
		c.close()
		return nil
	}
	return c
}
