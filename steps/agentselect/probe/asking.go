package probe

import (
	"context"
	"fmt"
	"mime"
	"slices"

	"parley/internal/deadline"
	proto "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/client"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// inquiry probes a running server.
type inquiry struct {
	*probe.Session
	agents   []proto.AgentInfo // as offered
	patience target.Duration   // how long the event of a switch may take; 0: limits.event
}

// wire returns the profile's wire, as far as it is known.
func (p *inquiry) wire() *binding.Binding { return binding.Of(p.Profile) }

// all probes everything.
func (p *inquiry) all(ctx context.Context) {
	var found []string
	if p.greets(ctx, sse.NewTLS(p.Profile.TLSConfig()), "GET "+p.wire().SSE.Stream.Path) {
		found = append(found, target.SSE)
	}
	if p.greets(ctx, &ws.Driver{TLS: p.Profile.TLSConfig()}, "WebSocket "+p.wire().WS.Path) {
		found = append(found, target.WS)
	}
	if len(found) == 0 {
		return
	}
	p.Profile.Drivers = found
	if found[0] == target.SSE {
		p.correlation(ctx)
	}
	if slices.Contains(found, target.WS) {
		p.socket(ctx)
	}
	p.capabilities(ctx)
}

// greets opens a connection and learns what it can from the greeting. The first driver that gets one determines the
// wire; a second is only checked.
func (p *inquiry) greets(ctx context.Context, d probe.Driver, where string) bool {
	defer d.Close()
	l, err := p.Open(ctx, d, client.Path(p.Profile, d), nil)
	if err != nil {
		p.Note("drivers", "%s: %s", where, probe.Refusal(err))
		return false
	}
	defer l.Close()
	if media := contentType(l.Transcript); d.Name() == sse.Name && media != "text/event-stream" {
		p.Note("drivers", "%s: an answer of type %q instead of an event stream", where, media)
		return false
	}
	g := p.hear(ctx, l.Transcript, p.Profile.Limits.Event)
	if g.listed == "" {
		p.Note("drivers", "%s: it opens, but no list of agents came within %v", where, p.Profile.Limits.Event)
		return false
	}
	p.Welcome()
	p.Note("drivers", "%s: %s", where, g.words())
	if p.agents == nil {
		p.learn(g)
	}
	return true
}

// learn copies a greeting into the profile.
func (p *inquiry) learn(g greeting) {
	p.agents = g.agents
	paths := p.wire()
	g.wire.SSE, g.wire.WS = paths.SSE, paths.WS
	*p.wire() = g.wire
	if g.current != "" && proto.IDPattern.MatchString(g.current) {
		p.Profile.Agents.Default = g.current
	}
	for _, a := range g.agents {
		if !slices.Contains(proto.BuiltinIDs, a.ID) && proto.IDPattern.MatchString(a.ID) {
			custom := target.CustomAgent{ID: a.ID, Name: a.Name, Description: a.Description}
			p.Profile.Agents.Custom = append(p.Profile.Agents.Custom, custom)
		}
	}
}

// words describes a greeting in one line.
func (g greeting) words() string {
	form := "{type, data} objects"
	switch e := g.wire.Envelope; {
	case e.SSEEvent:
		form = "types in the event: field"
	case e != binding.Default().Envelope:
		form = fmt.Sprintf("types at %s, data at %q", e.Type, e.Data)
	}
	first := "no event with a connection id"
	if g.connected != "" {
		first = g.connected
	}
	return fmt.Sprintf("%s; %s, then %s with %d agents", form, first, g.listed, len(g.agents))
}

// hear reads events until the greeting is complete or the limit has passed.
func (p *inquiry) hear(ctx context.Context, t *transcript.Transcript, limit target.Duration) greeting {
	ctx, cancel := deadline.WithLimit(ctx, limit.Duration)
	defer cancel()
	var events []said
	var g greeting
	_, _ = t.Await(ctx, 0, func(r *transcript.Record) bool {
		if r.Dir == transcript.Received && (r.Kind == transcript.Stream || r.Kind == transcript.Frame) {
			if v, _, err := wjson.Decode(r.Bytes); err == nil {
				ev := said{data: v}
				if r.Kind == transcript.Stream {
					ev.name = r.Type
				}
				events = append(events, ev)
				g = readGreeting(events)
			}
		}
		return g.complete() || r.Dir == transcript.Received && r.Kind == transcript.Closed
	})
	return g
}

// contentType returns the media type of a stream's response.
func contentType(t *transcript.Transcript) string {
	for _, r := range t.All() {
		if r.Dir == transcript.Received && r.Kind == transcript.Open {
			media, _, _ := mime.ParseMediaType(r.Type)
			return media
		}
	}
	return ""
}
