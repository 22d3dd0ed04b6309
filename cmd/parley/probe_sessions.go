package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/driver/sse"
	"parley/driver/ws"
	proto "parley/protocol/agentselect"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// quick is how long a switch may take that is tried by a guess.
const quick = 300 * time.Millisecond

// correlation finds out how a POST tells its connection: the first way by which two connections each get a session, and
// each hears of its own switch.
func (p *probe) correlation(ctx context.Context) {
	d := sse.New()
	defer d.Close()
	var why error
	for _, how := range p.ways() {
		err := p.try(ctx, d, how)
		if err == nil {
			p.patience.Duration = 0
			p.profile.AgentSelect.Correlation = how
			p.note("correlation", "%s: two connections each got a session, and heard of their own switch", correlationWords(how))
			return
		}
		if ctx.Err() != nil {
			return
		}
		p.say("%s: no (%v)", correlationWords(how), err)
		p.patience.Duration = quick // a guess is not worth a long wait
		if why == nil {
			why = err
		}
	}
	p.patience.Duration = 0
	how := target.Correlation{Single: true}
	err := p.try(ctx, d, how)
	if err == nil {
		p.profile.AgentSelect.Correlation = how
		p.note("correlation", "single: a session and a switch work on one connection that no request names")
		p.nameless(ctx, d)
		return
	}
	p.note("correlation", "no way was found to create a session at %s and to switch by %s: %s",
		joinPath(p.profile.AgentSelect.SSE.Create), joinPath(p.profile.AgentSelect.SSE.Message), shorten(why.Error()))
}

// ways are those worth trying, the default first.
func (p *probe) ways() []target.Correlation {
	bodies := []target.Pointer{"/connectionId", p.profile.AgentSelect.Fields.Event.ConnectionID, "/connection_id", "/clientId"}
	var out []target.Correlation
	for _, b := range bodies {
		if how := (target.Correlation{Body: b}); b != "" && !slices.Contains(out, how) {
			out = append(out, how)
		}
	}
	for _, h := range []string{"X-Connection-Id", "X-Client-Id"} {
		out = append(out, target.Correlation{Header: h})
	}
	return out
}

// correlationWords is a correlation as a profile writes it.
func correlationWords(c target.Correlation) string {
	if c.Single {
		return "single"
	}
	words := "body: " + bare(c.Body)
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

// bare is a pointer as a profile writes it: without its slash where it is but a name, and in quotes where YAML would take
// it for something else than text.
func bare(p target.Pointer) string {
	name := strings.TrimPrefix(string(p), "/")
	if again, err := target.ParsePointer(name); err != nil || again != p {
		return quote(string(p))
	}
	if !yamlWord.MatchString(name) || slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(name)) {
		return quote(name)
	}
	return name
}

var yamlWord = regexp.MustCompile(`\A[A-Za-z_]\w*\z`)

// try creates a session on each of two connections, or on one for "single", and switches each.
func (p *probe) try(ctx context.Context, d driver.Driver, how target.Correlation) error {
	var parties []*party
	defer func() {
		for _, c := range parties {
			c.close()
		}
	}()
	for range map[bool]int{true: 1, false: 2}[how.Single] {
		c, err := p.join(ctx, d)
		if err != nil {
			return err
		}
		parties = append(parties, c)
		if c.id == nil && !how.Single {
			return errors.New("the connection was told no id")
		}
	}
	for _, c := range parties {
		if err := p.create(ctx, c, how, nil); err != nil {
			return fmt.Errorf("%s: %w", joinPath(p.profile.AgentSelect.SSE.Create), err)
		}
	}
	for i, c := range parties {
		r, err := p.change(ctx, c, how, p.otherAgent(i))
		if err != nil {
			return fmt.Errorf("%s: %w", joinPath(p.profile.AgentSelect.SSE.Message), err)
		}
		p.defaultAgent(r)
	}
	return nil
}

// nameless sees what becomes of a switch that names neither connection nor session while two connections are open: to carry it out
// is to act on somebody's session by guessing, which breaks AS-095.
func (p *probe) nameless(ctx context.Context, d driver.Driver) {
	how := target.Correlation{Single: true}
	first, err := p.join(ctx, d)
	if err != nil {
		return
	}
	defer first.close()
	if err := p.create(ctx, first, how, nil); err != nil {
		return
	}
	second, err := p.join(ctx, d)
	if err != nil {
		return
	}
	defer second.close()
	mark := first.t.Len()
	_, err = p.change(ctx, second, how, p.otherAgent(0))
	guessed := "on the connection that has no session"
	if err != nil {
		_, there := p.await(ctx, first, mark, target.Duration{Duration: quick}, proto.AgentSwitchedEvent)
		if guessed = "on the other connection"; there != nil {
			p.note("correlation", "with two connections open, a switch that names neither connection nor session is not carried out, as AS-095 demands")
			return
		}
	}
	p.note("correlation", "with two connections open, a switch that names neither connection nor session is carried out, %s: that breaks AS-095 already; "+
		"have requests tell their connection, by a field or a header, or refuse them", guessed)
}

// otherAgent picks an agent to switch to that is not the default one.
func (p *probe) otherAgent(i int) string {
	var ids []string
	for _, a := range p.agents {
		if a.ID != p.profile.Agents.Default {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return p.profile.Agents.Default
	}
	return ids[i%len(ids)]
}

// defaultAgent learns the agent of new sessions from a session's first switch.
func (p *probe) defaultAgent(r transcript.Record) {
	v, _ := wjson.Lookup(r.Event.Data, "/previousAgentId")
	if id, _ := v.(string); proto.IDPattern.MatchString(id) && p.seen["default"] == nil {
		p.profile.Agents.Default = id
		p.note("default", "a session's first switch came from %s", id)
	}
}

// create creates a session over HTTP, and learns where its id is in the answer.
func (p *probe) create(ctx context.Context, c *party, how target.Correlation, more map[target.Pointer]string) error {
	body := map[string]any{}
	for at, v := range more {
		at.Put(body, v)
	}
	status, answer, err := p.ask(ctx, c, p.profile.AgentSelect.SSE.Create, how, body)
	if err != nil {
		return err
	}
	if err := accepted(status, answer); err != nil {
		return err
	}
	at, id := findSessionID(answer)
	if id == "" {
		return fmt.Errorf("no session's id in %s", shorten(wjson.Compact(answer)))
	}
	f := &p.profile.AgentSelect.Fields.Answer
	f.SessionID = at
	obj, _ := answer.(map[string]any)
	setMember(&f.Success, obj, "success", "ok")
	c.session = id
	if p.seen["answer"] == nil {
		p.note("answer", "%s answers %s", joinPath(p.profile.AgentSelect.SSE.Create), shorten(wjson.Compact(answer)))
	}
	return nil
}

// change switches the agent of a connection's session, which no request names, and waits for the event that says so.
func (p *probe) change(ctx context.Context, c *party, how target.Correlation, agent string) (transcript.Record, error) {
	body := map[string]any{}
	f := p.profile.AgentSelect.Fields.Request
	f.Type.Put(body, p.profile.AgentSelect.MessageName(proto.SwitchAgentType))
	f.AgentID.Put(body, agent)
	mark := c.t.Len()
	if c.driver == ws.Name {
		if err := p.frame(ctx, c, body); err != nil {
			return transcript.Record{}, err
		}
	} else {
		status, answer, err := p.ask(ctx, c, p.profile.AgentSelect.SSE.Message, how, body)
		if err != nil {
			return transcript.Record{}, err
		}
		if err := accepted(status, answer); err != nil {
			return transcript.Record{}, err
		}
	}
	limit := p.patience
	if limit.Duration == 0 {
		limit = p.profile.Limits.Event
	}
	r, err := p.await(ctx, c, mark, limit, proto.AgentSwitchedEvent, proto.ErrorEvent)
	switch {
	case err != nil:
		return r, fmt.Errorf("no %s: %w", p.profile.AgentSelect.EventName(proto.AgentSwitchedEvent), err)
	case r.Event.Type == proto.ErrorEvent:
		return r, fmt.Errorf("an error: %s", shorten(wjson.Compact(r.Event.Data)))
	}
	if v, _ := wjson.Lookup(r.Event.Data, "/currentAgentId"); v != any(agent) {
		return r, fmt.Errorf("told of a switch to %s instead of %s", wjson.Compact(v), agent)
	}
	return r, nil
}

// frame sends a message over a socket.
func (p *probe) frame(ctx context.Context, c *party, body map[string]any) error {
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = c.conn.Send(ctx, driver.Message{Body: b})
	return err
}

// socket tries a session and a switch over the socket.
func (p *probe) socket(ctx context.Context) {
	d := ws.New()
	c, err := p.join(ctx, d)
	if err != nil {
		p.note("drivers", "WebSocket: %s", shorten(err.Error()))
		return
	}
	defer c.close()
	body := map[string]any{}
	f := p.profile.AgentSelect.Fields.Request
	f.Type.Put(body, p.profile.AgentSelect.MessageName(proto.SessionCreateType))
	f.RequestID.Put(body, "parley-init")
	mark := c.t.Len()
	if err := p.frame(ctx, c, body); err != nil {
		p.note("drivers", "WebSocket: %s", shorten(err.Error()))
		return
	}
	r, err := p.await(ctx, c, mark, p.profile.Limits.HTTP, proto.SessionCreatedEvent, proto.ErrorEvent)
	if err == nil && r.Event.Type == proto.ErrorEvent {
		err = fmt.Errorf("an error: %s", wjson.Compact(r.Event.Data))
	}
	if err == nil {
		r, err = p.change(ctx, c, target.Correlation{}, p.otherAgent(0))
	}
	if err != nil {
		p.note("drivers", "WebSocket: session_create and a switch did not work: %s", shorten(err.Error()))
		return
	}
	p.defaultAgent(r)
	p.note("drivers", "WebSocket: session_create and a switch work")
}

// capabilities finds out which optional features seem to be there.
func (p *probe) capabilities(ctx context.Context) {
	if !slices.Contains(p.profile.Drivers, target.SSE) {
		return
	}
	d := sse.New()
	defer d.Close()
	c, err := p.join(ctx, d)
	if err != nil {
		return
	}
	defer c.close()
	wire := p.profile.AgentSelect.SSE
	if status, _, err := p.ask(ctx, c, target.Endpoint{Method: http.MethodGet, Path: "/parley-no-such-path"}, target.Correlation{}, nil); err == nil && status < 300 {
		p.note("capabilities", "it answers HTTP %d to any path, so its optional endpoints cannot be told apart", status)
		return
	}
	found := map[string]error{
		target.Health:         p.answers(ctx, c, wire.Health),
		target.SessionList:    p.answers(ctx, c, wire.List),
		target.InitialAgentID: p.initialAgent(ctx, c),
		target.SessionDelete:  p.deletes(ctx, c),
	}
	for _, name := range target.Capabilities(p.profile.Protocol) {
		if err := found[name]; err != nil {
			p.note("capabilities", "%s: no (%s)", name, shorten(err.Error()))
			continue
		}
		p.profile.Capabilities = append(p.profile.Capabilities, name)
		p.note("capabilities", "%s: yes", name)
	}
}

// answers tells whether an endpoint is there.
func (p *probe) answers(ctx context.Context, c *party, e target.Endpoint) error {
	status, answer, err := p.ask(ctx, c, e, target.Correlation{}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", joinPath(e), err)
	}
	if err := accepted(status, answer); err != nil {
		return fmt.Errorf("%s: %w", joinPath(e), err)
	}
	return nil
}

// initialAgent tells whether a session can be created with an agent of its own.
func (p *probe) initialAgent(ctx context.Context, c *party) error {
	how, first := p.profile.AgentSelect.Correlation, p.otherAgent(0)
	at := p.profile.AgentSelect.Fields.Request.InitialAgentID
	if err := p.create(ctx, c, how, map[target.Pointer]string{at: first}); err != nil {
		return err
	}
	r, err := p.change(ctx, c, how, p.otherAgent(1))
	if err != nil {
		return err
	}
	if v, _ := wjson.Lookup(r.Event.Data, "/previousAgentId"); v != any(first) {
		return fmt.Errorf("created with %s, its first switch came from %s", first, wjson.Compact(v))
	}
	return nil
}

// deletes tells whether the session of the connection can be deleted.
func (p *probe) deletes(ctx context.Context, c *party) error {
	if c.session == "" {
		return errors.New("no session to delete")
	}
	return p.answers(ctx, c, p.profile.AgentSelect.SSE.Delete)
}
