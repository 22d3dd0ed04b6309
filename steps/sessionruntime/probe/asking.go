package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/probe"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// inquiry probes an orchestrator: it is the bus and every party on it.
type inquiry struct{ *probe.Session }

// UsualPaths lists the paths where an orchestrator may have its WebSocket, likeliest first.
var UsualPaths = []string{proto.Path, "/bus", "/ws", "/v1/bus"}

// socket probes over ws: the first path where a set-up frame is answered determines the wire.
func (p *inquiry) socket(ctx context.Context) {
	wire := p.wire()
	paths := p.Paths(wire.WS.Path, UsualPaths...)
	for _, path := range paths {
		wire.WS.Path = path
		if p.at(ctx, &ws.Driver{TLS: p.Profile.TLSConfig()}, path, "WebSocket "+path) || ctx.Err() != nil {
			return
		}
	}
	wire.WS.Path = paths[0]
}

// process probes a process over stdin and stdout.
func (p *inquiry) process(ctx context.Context) {
	if !p.at(ctx, stdio.New(), "", "stdio") {
		p.Unseen("no set-up frame was answered: see whether the command speaks one JSON message per line, each written at "+
			"once%s", p.cry())
	}
}

// cry returns what the target has written to its stderr last.
func (p *inquiry) cry() string {
	if p.Target == nil {
		return ""
	}
	return steps.QuoteStderr(transcript.NewRedactor(p.Profile.Secrets...), p.Target.Stderr())
}

// wire returns the profile's wire, as far as it is known.
func (p *inquiry) wire() *binding.Binding { return binding.Of(p.Profile) }

// at tries one way to reach the orchestrator, and reports whether it answered.
func (p *inquiry) at(ctx context.Context, d probe.Driver, path, where string) bool {
	defer d.Close()
	l, err := p.Open(ctx, d, path, nil)
	if err != nil {
		p.Note("path", "%s: %s", where, probe.Refusal(err))
		return false
	}
	defer l.Close()
	c := &party{Line: l, limits: p.Profile.Limits, nonce: strings.ToLower(rand.Text()[:8])}
	if !c.setUp(time.Minute) {
		how := fmt.Sprintf("within %v", p.Profile.Limits.Open)
		if end := c.end(); end != "" {
			how = "before " + end
		}
		p.Note("path", "%s: it opens, but a set-up frame was not answered %s", where, how)
		p.Profile.Limits.Open.Duration = min(p.Profile.Limits.Open.Duration, probe.Another)
		return false
	}
	p.Welcome()
	p.Note("path", "%s: it opens, and a set-up frame is answered", where)
	p.fence(c)
	p.learn(c)
	return true
}

// fence checks whether fences are answered.
func (p *inquiry) fence(c *party) {
	id := "parley-init-" + c.nonce
	mark := c.write(map[string]any{"parley": proto.Fence, "id": id})
	answer, _ := c.await(mark, p.Profile.Limits.Event.Duration, func(msg map[string]any) bool {
		return msg["parley"] == any(proto.Fenced)
	})
	switch {
	case answer == nil:
		p.wire().Fence = false
		p.Note("fence", "a fence was not answered within %v", p.Profile.Limits.Event)
	case answer["id"] != any(id):
		p.wire().Fence = false
		p.Note("fence", "a fence was answered by %s, which names another fence", probe.Brief(answer))
	default:
		c.fenced = true
		p.Note("fence", "a fence is answered")
	}
}

// learn sends an input in the default binding, then one under every usual name at once, and learns from what is
// published.
func (p *inquiry) learn(c *party) {
	token := "#1-" + c.nonce
	published := c.say((&reading{wire: binding.Default()}).input(c, token))
	h, ok := readInput(published, c.session, c.agents[0], token)
	if !ok {
		token = "#2-" + c.nonce
		c.setUp(time.Minute)
		published = c.say(c.broadInput(token))
		h, ok = readInput(published, c.session, c.agents[0], token)
		if ok {
			p.Note("fields", "an input in the default binding was not routed; an input with its members under every "+
				"usual name was")
		}
	}
	if !ok {
		p.Unseen("an input was not routed to the active agent: see fields, events and targets%s", p.heardInstead(published))
		return
	}
	h.wire.WS, h.wire.Fence = p.wire().WS, p.wire().Fence
	*p.wire() = h.wire
	p.Note("fields", "an input is routed, with its turn_id %s and its trace_id %s",
		whereabouts(h.turn, h.wire.Fields.TurnID), whereabouts(h.trace, h.wire.Fields.TraceID))
	for _, key := range h.unseen {
		p.Unseen("no member of a message was recognised as its %s: see fields.%[1]s", key)
	}
	if name := h.wire.SubtypeName(proto.TurnAccepted); len(published) < 2 {
		p.Unseen("the frontend did not receive that the turn is accepted: see subtypes.TURN_ACCEPTED")
	} else if name != proto.TurnAccepted {
		p.Note("subtypes", "TURN_ACCEPTED seems to be named %s", name)
	} else {
		p.Note("subtypes", "TURN_ACCEPTED is published")
	}
}

// whereabouts says where an id was found.
func whereabouts(id string, at target.Pointers) string {
	if id == "" {
		return "nowhere"
	}
	return "at " + string(at[0])
}

// heardInstead summarises what was published, or what the target wrote to its stderr instead.
func (p *inquiry) heardInstead(published []map[string]any) string {
	if len(published) == 0 {
		return "; nothing was published" + p.cry()
	}
	return "; published was " + probe.Brief(published[0])
}
