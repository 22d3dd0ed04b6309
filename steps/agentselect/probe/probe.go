// Package probe finds out how a running server speaks agent-select, and writes its profile.
package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
	"time"

	"parley/internal/deadline"
	proto "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/client"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Guide returns the guide for probing agent-select targets.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `agent-select: the probe uses the paths of the default binding. It finds out which transports the
server offers, what its events look like, how a request names its connection, where the id of a session is, and
which optional features seem to exist. It opens connections, creates sessions and switches their agents.`,
		Examples: []string{
			"parley init http://localhost:3000",
			"parley init http://localhost:3000/api --output my.yaml",
		},
	}
}

// profile probes the target and returns the text of its profile.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	p := &inquiry{Session: s}
	p.all(ctx)
	return draft(s), nil
}

// draft returns the text of a session's profile.
func draft(s *probe.Session) string {
	w := writer{probe.NewServerDraft(s)}
	w.Line(0, "# The transports that it offers, the preferred one first: sse, ws.")
	w.Said(0, "drivers")
	w.List("drivers", s.Profile.Drivers)
	w.Line(0, "")
	w.Line(0, "# The optional features that it has; a listed feature that is broken fails.")
	w.Said(0, "capabilities")
	w.List("capabilities", s.Profile.Capabilities)
	w.Line(0, "")
	w.agents(s.Profile.Agents)
	w.Line(1, "# If each agent offers its model only its own tools: the tools by agent; [] means none.")
	w.Line(1, "#tools:")
	w.Line(2, "#%s: [read_file]", s.Profile.Agents.Default)
	w.Line(0, "")
	w.wire(*binding.Of(s.Profile))
	w.Hints()
	return w.String()
}

// writer writes the draft.
type writer struct{ *probe.Draft }

// agents writes the agents that the target is configured with.
func (w writer) agents(a target.Agents) {
	w.Line(0, "agents:")
	w.Line(1, "# The agent of a new session.")
	w.Said(1, "default")
	w.Line(1, "default: %s", a.Default)
	w.Line(1, "# The configuration file, whose bytes must not change; relative to this file.")
	w.Line(1, "#file: agents.toml")
	if len(a.Custom) == 0 {
		w.Line(1, "# The custom agents that it is configured with; prompt is a marker text that the system prompt contains.")
		w.Line(1, "#custom:")
		w.Line(2, "#- id: reviewer")
		w.Line(3, "#name: Reviewer")
		w.Line(3, "#description: Reviews code")
		w.Line(3, "#prompt: MARKER-REVIEWER")
		w.Line(3, "#tools: [read_file]")
		return
	}
	w.Line(1, "# seen: the agents of its list that are not built in. prompt is a marker text that the agent's system "+
		"prompt contains,")
	w.Line(1, "# tools are the names of its tools: the model stub uses them to tell whose configuration is in use.")
	w.Line(1, "custom:")
	for _, c := range a.Custom {
		w.Line(2, "- id: %s", probe.Quote(c.ID))
		w.Text(3, "name", c.Name)
		w.Text(3, "description", c.Description)
		w.Line(3, "#prompt: MARKER-%s", strings.ToUpper(c.ID))
		w.Line(3, "#tools: [read_file]")
	}
}

// wire writes where the wire differs from the default binding.
func (w writer) wire(a binding.Binding) {
	std := binding.Default()
	w.Line(0, "agent-select:")
	w.Line(1, "# The default endpoints; no others were tried. Change those that differ, and "+
		"check them with doctor.")
	w.Line(1, "#sse: {stream: /events, message: /message, create: /session/create, load: /session/load}")
	w.Line(1, "#ws: {path: /agents/ws}")
	w.Line(1, "# How a POST names its connection: {body: NAME}, {header: NAME}, or single (it does not).")
	w.Line(1, "# If creating or loading a session names it differently: {body: NAME, create: {header: NAME}, load: …}.")
	w.Said(1, "correlation")
	w.Line(1, "correlation: %s", correlationWords(a.Correlation))
	if a.Envelope != std.Envelope {
		w.Line(1, "# Where an event keeps its type and its data.")
		w.Line(1, "envelope:")
		if a.Envelope.SSEEvent {
			w.Line(2, "type: sse-event")
		} else {
			w.Line(2, "type: %s", probe.Bare(a.Envelope.Type))
		}
		w.Line(2, "data: %s", probe.Bare(a.Envelope.Data))
	}
	w.Groups(a.Fields, std.Fields)
	if len(a.Events) > 0 {
		w.Line(1, "# The names of events: default name, then the target's.")
		w.Line(1, "events:")
		for _, name := range slices.Sorted(maps.Keys(a.Events)) {
			w.Line(2, "%s: %s", name, probe.Quote(a.Events[name]))
		}
	}
}

// found stores a correlation in the profile, and checks whether loading a session uses the same one.
func (p *inquiry) found(ctx context.Context, d driver.Driver, how binding.Correlation) {
	p.wire().Correlation = how
	p.Note("correlation", "%s: two connections each got a session, and each received its own switch",
		correlationWords(how))
	if how.Load = p.loading(ctx, d, how); how.Load != nil {
		p.wire().Correlation = how
	}
}

// loading finds out how loading a session identifies its connection; nil if the known way works, or none can be
// found.
func (p *inquiry) loading(ctx context.Context, d driver.Driver, how binding.Correlation) *binding.Correlation {
	first := p.loads(ctx, d, how)
	if first == nil {
		return nil
	}
	tried := how
	for _, way := range p.ways() {
		how.Load = &way
		if ctx.Err() == nil && way != tried.OfLoad() && p.loads(ctx, d, how) == nil {
			p.Note("correlation", "%s names its connection by %s: a session was loaded, and its switch was received",
				client.Label(p.wire().SSE.Load), correlationWords(way))
			return &way
		}
	}
	p.Note("correlation", "no way was found to load a session at %s: %s",
		client.Label(p.wire().SSE.Load), probe.Shorten(first.Error()))
	return nil
}

// loads loads the session of a closed connection on another one, and switches it there.
func (p *inquiry) loads(ctx context.Context, d driver.Driver, how binding.Correlation) error {
	old, err := client.Open(ctx, p.Session, d)
	if err != nil {
		return err
	}
	err = p.create(ctx, old, how, nil)
	old.Close()
	if err != nil {
		return err
	}
	c, err := client.Open(ctx, p.Session, d)
	if err != nil {
		return err
	}
	defer c.Close()
	limited, cancel := deadline.WithLimit(ctx, quick)
	defer cancel()
	for err = p.load(ctx, c, how, old.Session); isRefusal(err); err = p.load(ctx, c, how, old.Session) {
		select { // the server may need a moment to notice that the other connection has closed
		case <-limited.Done():
			return err
		case <-time.After(quick / 3):
		}
	}
	if err != nil {
		return err
	}
	_, err = p.change(ctx, c, how, p.otherAgent(0))
	return err
}

// load loads a session on a connection.
func (p *inquiry) load(ctx context.Context, c *client.Client, how binding.Correlation, session string) error {
	body := map[string]any{}
	p.wire().Fields.Request.SessionID.Put(body, session)
	_, err := c.Accepted(ctx, p.wire().SSE.Load, how, body)
	return err
}

// isRefusal reports whether a request was answered but not accepted.
func isRefusal(err error) bool {
	var refused *client.RefusedError
	return errors.As(err, &refused)
}

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
