package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

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

// quick is the time limit for a switch that is only a guess.
const quick = 300 * time.Millisecond

// correlation finds out how a POST identifies its connection: the first way by which two connections each get a
// session and receive their own switch. Loading a session may identify the connection differently, which is probed
// afterwards. If creating one does, no way is found, and the draft says how to write it.
func (p *inquiry) correlation(ctx context.Context) {
	d := sse.NewTLS(p.Profile.TLSConfig())
	defer d.Close()
	var why error
	for _, how := range p.ways() {
		err := p.try(ctx, d, how)
		if err == nil {
			p.patience.Duration = 0
			p.found(ctx, d, how)
			return
		}
		if ctx.Err() != nil {
			return
		}
		p.Say("%s: no (%v)", correlationWords(how), err)
		p.patience.Duration = quick // a guess is not worth a long wait
		if why == nil {
			why = err
		}
	}
	p.patience.Duration = 0
	how := binding.Correlation{Single: true}
	err := p.try(ctx, d, how)
	if err == nil {
		p.wire().Correlation = how
		p.Note("correlation", "single: a session and a switch work on one connection that no request names")
		return
	}
	p.Note("correlation", "no way was found to create a session at %s and to switch by %s: %s",
		client.Label(p.wire().SSE.Create), client.Label(p.wire().SSE.Message), probe.Shorten(why.Error()))
}

// ways returns the correlations worth trying, the default first.
func (p *inquiry) ways() []binding.Correlation {
	bodies := []target.Pointer{"/connectionId", p.wire().Fields.Event.ConnectionID, "/connection_id", "/clientId"}
	var out []binding.Correlation
	for _, b := range bodies {
		if how := (binding.Correlation{Body: b}); b != "" && !slices.Contains(out, how) {
			out = append(out, how)
		}
	}
	for _, h := range []string{"X-Connection-Id", "X-Client-Id"} {
		out = append(out, binding.Correlation{Header: h})
	}
	return out
}

// correlationWords returns a correlation as a profile writes it.
func correlationWords(c binding.Correlation) string {
	if c.Single {
		return "single"
	}
	words := "body: " + probe.Bare(c.Body)
	if c.Header != "" {
		words = "header: " + c.Header
	}
	if c.Create != nil {
		words += ", create: " + correlationWords(*c.Create)
	}
	if c.Load != nil {
		words += ", load: " + correlationWords(*c.Load)
	}
	return "{" + words + "}"
}

// try creates a session on each of two connections, or on one for "single", and switches each.
func (p *inquiry) try(ctx context.Context, d driver.Driver, how binding.Correlation) error {
	var parties []*client.Client
	defer func() {
		for _, c := range parties {
			c.Close()
		}
	}()
	for range map[bool]int{true: 1, false: 2}[how.Single] {
		c, err := client.Open(ctx, p.Session, d)
		if err != nil {
			return err
		}
		parties = append(parties, c)
		if c.ID == nil && !how.Single {
			return errors.New("the connection received no id")
		}
	}
	for _, c := range parties {
		if err := p.create(ctx, c, how, nil); err != nil {
			return fmt.Errorf("%s: %w", client.Label(p.wire().SSE.Create), err)
		}
	}
	for i, c := range parties {
		r, err := p.change(ctx, c, how, p.otherAgent(i))
		if err != nil {
			return fmt.Errorf("%s: %w", client.Label(p.wire().SSE.Message), err)
		}
		p.defaultAgent(r)
	}
	return nil
}

// otherAgent picks an agent to switch to that is not the default one.
func (p *inquiry) otherAgent(i int) string {
	var ids []string
	for _, a := range p.agents {
		if a.ID != p.Profile.Agents.Default {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return p.Profile.Agents.Default
	}
	return ids[i%len(ids)]
}

// defaultAgent learns the agent of new sessions from a session's first switch.
func (p *inquiry) defaultAgent(r transcript.Record) {
	v, _ := wjson.Lookup(r.Event.Data, "/"+proto.PreviousAgentID)
	if id, _ := v.(string); proto.IDPattern.MatchString(id) && p.Seen["default"] == nil {
		p.Profile.Agents.Default = id
		p.Note("default", "a session's first switch came from %s", id)
	}
}

// create creates a session over HTTP, and learns where the answer has its id.
func (p *inquiry) create(
	ctx context.Context, c *client.Client, how binding.Correlation, more map[target.Pointer]string,
) error {
	body := map[string]any{}
	for at, v := range more {
		at.Put(body, v)
	}
	answer, err := c.Accepted(ctx, p.wire().SSE.Create, how, body)
	if err != nil {
		return err
	}
	at, id := findSessionID(answer)
	if id == "" {
		return fmt.Errorf("no session id in %s", probe.Shorten(wjson.Compact(answer)))
	}
	f := &p.wire().Fields.Answer
	f.SessionID = at
	obj, _ := answer.(map[string]any)
	probe.PointTo(f, &f.Success, obj)
	c.Session = id
	if p.Seen["answer"] == nil {
		p.Note("answer", "%s answers %s", client.Label(p.wire().SSE.Create), probe.Shorten(wjson.Compact(answer)))
	}
	return nil
}

// change switches the agent of a connection's session without naming it, and waits for the event that says so.
func (p *inquiry) change(
	ctx context.Context, c *client.Client, how binding.Correlation, agent string,
) (transcript.Record, error) {
	body := map[string]any{}
	f := p.wire().Fields.Request
	f.Type.Put(body, p.wire().MessageName(proto.SwitchAgentType))
	f.AgentID.Put(body, agent)
	mark := c.Transcript.Len()
	if c.Driver == ws.Name {
		if _, err := c.Send(body); err != nil {
			return transcript.Record{}, err
		}
	} else if _, err := c.Accepted(ctx, p.wire().SSE.Message, how, body); err != nil {
		return transcript.Record{}, err
	}
	limit := p.patience
	if limit.Duration == 0 {
		limit = p.Profile.Limits.Event
	}
	r, err := c.Await(ctx, mark, limit, proto.AgentSwitchedEvent, proto.ErrorEvent)
	switch {
	case err != nil:
		return r, fmt.Errorf("no %s: %w", p.wire().EventName(proto.AgentSwitchedEvent), err)
	case r.Event.Type == proto.ErrorEvent:
		return r, fmt.Errorf("an error: %s", probe.Shorten(wjson.Compact(r.Event.Data)))
	}
	if v, _ := wjson.Lookup(r.Event.Data, "/"+proto.CurrentAgentID); v != any(agent) {
		return r, fmt.Errorf("received a switch to %s instead of %s", wjson.Compact(v), agent)
	}
	return r, nil
}

// socket tries a session and a switch over the socket.
func (p *inquiry) socket(ctx context.Context) {
	d := &ws.Driver{TLS: p.Profile.TLSConfig()}
	c, err := client.Open(ctx, p.Session, d)
	if err != nil {
		p.Note("drivers", "WebSocket: %s", probe.Shorten(err.Error()))
		return
	}
	defer c.Close()
	body := map[string]any{}
	f := p.wire().Fields.Request
	f.Type.Put(body, p.wire().MessageName(proto.SessionCreateType))
	f.RequestID.Put(body, "parley-init")
	mark := c.Transcript.Len()
	if _, err := c.Send(body); err != nil {
		p.Note("drivers", "WebSocket: %s", probe.Shorten(err.Error()))
		return
	}
	r, err := c.Await(ctx, mark, p.Profile.Limits.HTTP, proto.SessionCreatedEvent, proto.ErrorEvent)
	if err == nil && r.Event.Type == proto.ErrorEvent {
		err = fmt.Errorf("an error: %s", wjson.Compact(r.Event.Data))
	}
	if err == nil {
		r, err = p.change(ctx, c, binding.Correlation{}, p.otherAgent(0))
	}
	if err != nil {
		p.Note("drivers", "WebSocket: session_create and a switch did not work: %s", probe.Shorten(err.Error()))
		return
	}
	p.defaultAgent(r)
	p.Note("drivers", "WebSocket: session_create and a switch work")
}

// capabilities finds out which optional features seem to be present.
func (p *inquiry) capabilities(ctx context.Context) {
	if !slices.Contains(p.Profile.Drivers, target.SSE) {
		return
	}
	d := sse.NewTLS(p.Profile.TLSConfig())
	defer d.Close()
	c, err := client.Open(ctx, p.Session, d)
	if err != nil {
		return
	}
	defer c.Close()
	wire := p.wire().SSE
	nowhere := binding.Endpoint{Method: http.MethodGet, Path: "/parley-no-such-path"}
	if status, _, err := c.Ask(ctx, nowhere, binding.Correlation{}, nil); err == nil && status < 300 {
		p.Note("capabilities", "it answers HTTP %d to any path, so its optional endpoints cannot be detected", status)
		return
	}
	found := map[string]error{
		binding.Health:         c.Answers(ctx, wire.Health),
		binding.SessionList:    c.Answers(ctx, wire.List),
		binding.InitialAgentID: p.initialAgent(ctx, c),
		binding.SessionDelete:  p.deletes(ctx, c),
	}
	for _, name := range p.Profile.Kind().Capabilities {
		if err := found[name]; err != nil {
			p.Note("capabilities", "%s: no (%s)", name, probe.Shorten(err.Error()))
			continue
		}
		p.Profile.Capabilities = append(p.Profile.Capabilities, name)
		p.Note("capabilities", "%s: yes", name)
	}
}

// initialAgent returns an error unless a session can be created with an initial agent.
func (p *inquiry) initialAgent(ctx context.Context, c *client.Client) error {
	how, first := p.wire().Correlation, p.otherAgent(0)
	at := p.wire().Fields.Request.InitialAgentID
	if err := p.create(ctx, c, how, map[target.Pointer]string{at: first}); err != nil {
		return err
	}
	r, err := p.change(ctx, c, how, p.otherAgent(1))
	if err != nil {
		return err
	}
	if v, _ := wjson.Lookup(r.Event.Data, "/"+proto.PreviousAgentID); v != any(first) {
		return fmt.Errorf("created with %s, its first switch came from %s", first, wjson.Compact(v))
	}
	return nil
}

// deletes returns an error unless the connection's session can be deleted.
func (p *inquiry) deletes(ctx context.Context, c *client.Client) error {
	if c.Session == "" {
		return errors.New("no session to delete")
	}
	return c.Answers(ctx, p.wire().SSE.Delete)
}
