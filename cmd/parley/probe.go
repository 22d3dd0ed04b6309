package main

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/driver/sse"
	"parley/driver/ws"
	"parley/internal/cut"
	"parley/internal/stall"
	proto "parley/protocol/agentselect"
	"parley/steps"
	suite "parley/steps/agentselect"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// probe asks a running agent-select server what it is. What it finds out is kept in the profile, and what it saw in the
// notebook.
type probe struct {
	notebook
	profile  *target.Profile
	run      target.Running
	agents   []proto.AgentInfo // as offered
	patience target.Duration   // how long the event of a switch may take; 0: limits.event
}

// notebook keeps what a probe saw, by the key of the profile that it is about.
type notebook struct {
	say  func(format string, args ...any) // tells how it goes, a line each
	seen map[string][]string
	met  func() // called once the target has shown that it speaks the protocol; may be nil
}

// welcome tells that the target speaks the protocol.
func (n *notebook) welcome() {
	if n.met != nil {
		n.met()
	}
}

// party is one connection of the probe.
type party struct {
	conn    driver.Conn
	t       *transcript.Transcript
	driver  string
	id      any // as told
	session string
}

// close drops the connection.
func (c *party) close() { _ = c.conn.Close(driver.Reset) }

// note keeps what was seen, and tells it.
func (n *notebook) note(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	n.seen[key] = append(n.seen[key], text)
	n.say("%s", text)
}

// all asks everything.
func (p *probe) all(ctx context.Context) {
	var found []string
	if p.greets(ctx, sse.New(), "GET "+p.profile.AgentSelect.SSE.Stream.Path) {
		found = append(found, target.SSE)
	}
	if p.greets(ctx, ws.New(), "WebSocket "+p.profile.AgentSelect.WS.Path) {
		found = append(found, target.WS)
	}
	if len(found) == 0 {
		return
	}
	p.profile.Drivers = found
	if found[0] == target.SSE {
		p.correlation(ctx)
	}
	if slices.Contains(found, target.WS) {
		p.socket(ctx)
	}
	p.capabilities(ctx)
}

// greets opens a connection and learns what it can from the greeting. The first driver that is greeted says how the
// wire is; a second one is only held against that.
func (p *probe) greets(ctx context.Context, d closingDriver, where string) bool {
	defer d.Close()
	t := transcript.New(nil)
	conn, err := p.dial(ctx, d, t)
	if err != nil {
		p.note("drivers", "%s: %s", where, refusal(err))
		return false
	}
	defer conn.Close(driver.Reset)
	if media := contentType(t); d.Name() == sse.Name && media != "text/event-stream" {
		p.note("drivers", "%s: an answer of type %q, no event stream", where, media)
		return false
	}
	g := p.hear(ctx, t, p.profile.Limits.Event)
	if g.listed == "" {
		p.note("drivers", "%s: it opens, but no list of agents came within %v", where, p.profile.Limits.Event)
		return false
	}
	p.welcome()
	p.note("drivers", "%s: %s", where, g.words())
	if p.agents == nil {
		p.learn(g)
	}
	return true
}

type closingDriver interface {
	driver.Driver
	Close() error
}

// learn takes a greeting into the profile.
func (p *probe) learn(g greeting) {
	p.agents = g.agents
	paths := p.profile.AgentSelect
	g.wire.SSE, g.wire.WS = paths.SSE, paths.WS
	p.profile.AgentSelect = g.wire
	if g.current != "" && proto.IDPattern.MatchString(g.current) {
		p.profile.Agents.Default = g.current
	}
	for _, a := range g.agents {
		if !slices.Contains(proto.BuiltinIDs, a.ID) && proto.IDPattern.MatchString(a.ID) {
			p.profile.Agents.Custom = append(p.profile.Agents.Custom, target.CustomAgent{ID: a.ID, Name: a.Name, Description: a.Description})
		}
	}
}

// words tells a greeting in one line.
func (g greeting) words() string {
	form := "{type, data} objects"
	switch e := g.wire.Envelope; {
	case e.SSEEvent:
		form = "types in the event: field"
	case e != target.DefaultAgentSelect().Envelope:
		form = fmt.Sprintf("types at %s, data at %q", e.Type, e.Data)
	}
	first := "no event that tells a connection's id"
	if g.connected != "" {
		first = g.connected
	}
	return fmt.Sprintf("%s; %s, then %s with %d agents", form, first, g.listed, len(g.agents))
}

// dial opens a connection.
func (p *probe) dial(ctx context.Context, d driver.Driver, t *transcript.Transcript) (driver.Conn, error) {
	ctx, cancel := stall.WithLimit(ctx, p.profile.Limits.Open.Duration)
	defer cancel()
	path := p.profile.AgentSelect.SSE.Stream.Path
	if d.Name() == ws.Name {
		path = p.profile.AgentSelect.WS.Path
	}
	h := http.Header{}
	for k, v := range p.profile.Headers {
		h.Set(k, v)
	}
	return d.Open(ctx, driver.OpenOptions{Party: "probe", URL: p.run.BaseURL() + path, Header: h, MaxEvent: int(p.profile.Limits.MaxEvent)}, t.Append)
}

// hear reads events until they have told everything, or the limit has passed.
func (p *probe) hear(ctx context.Context, t *transcript.Transcript, limit target.Duration) greeting {
	ctx, cancel := stall.WithLimit(ctx, limit.Duration)
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

// contentType is the media type that a stream was answered with.
func contentType(t *transcript.Transcript) string {
	for _, r := range t.All() {
		if r.Dir == transcript.Received && r.Kind == transcript.Open {
			media, _, _ := mime.ParseMediaType(r.Type)
			return media
		}
	}
	return ""
}

// refusal says in few words why a connection could not be opened.
func refusal(err error) string {
	var open *driver.OpenError
	if !errors.As(err, &open) {
		return err.Error()
	}
	switch open.Status {
	case 0:
		return open.Err.Error()
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("HTTP %d: it wants to know who asks (see headers)", open.Status)
	}
	return fmt.Sprintf("HTTP %d", open.Status)
}

// join opens a connection whose events are read by the profile as far as it is known, and waits for its greeting.
func (p *probe) join(ctx context.Context, d driver.Driver) (*party, error) {
	c := &party{t: transcript.New(suite.Protocol{}.Bind(&steps.Env{Profile: p.profile, Driver: d}, p.run)), driver: d.Name()}
	var err error
	if c.conn, err = p.dial(ctx, d, c.t); err != nil {
		return nil, fmt.Errorf("no connection: %s", refusal(err))
	}
	list, err := p.await(ctx, c, 0, p.profile.Limits.Event, proto.AgentListEvent)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("no list of agents: %w", err)
	}
	for _, r := range c.t.All() {
		if r.N < list.N && r.Event != nil && r.Event.Type == proto.ConnectedEvent {
			c.id, _ = wjson.Lookup(r.Event.Data, "/connectionId")
		}
	}
	return c, nil
}

// await waits for one of some events on a connection.
func (p *probe) await(ctx context.Context, c *party, mark int, limit target.Duration, kinds ...string) (transcript.Record, error) {
	ctx, cancel := stall.WithLimitCause(ctx, limit.Duration, fmt.Errorf("nothing of the kind within %v", limit))
	defer cancel()
	ended := false
	r, err := c.t.Await(ctx, mark, func(r *transcript.Record) bool {
		ended = r.Dir == transcript.Received && r.Kind == transcript.Closed
		return ended || r.Dir == transcript.Received && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	})
	if err == nil && ended {
		err = errors.New(r.Label)
	}
	return r, err
}

// ask sends an HTTP request beside a connection and waits for its answer, which may be no JSON.
func (p *probe) ask(ctx context.Context, c *party, e target.Endpoint, how target.Correlation, body map[string]any) (status int, answer any, err error) {
	m := driver.Message{Method: e.Method, URL: p.run.BaseURL() + e.For(c.session), Header: http.Header{}}
	switch e {
	case p.profile.AgentSelect.SSE.Create:
		how = how.OfCreate()
	case p.profile.AgentSelect.SSE.Load:
		how = how.OfLoad()
	}
	if body != nil {
		if how.Body != "" {
			how.Body.Put(body, c.id)
		}
		if m.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return 0, nil, err
		}
	}
	if how.Header != "" {
		m.Header.Set(how.Header, fmt.Sprint(c.id))
	}
	ctx, cancel := stall.WithLimitCause(ctx, p.profile.Limits.HTTP.Duration, fmt.Errorf("no answer within %v", p.profile.Limits.HTTP))
	defer cancel()
	mark, err := c.conn.Send(ctx, m)
	if err != nil {
		return 0, nil, err
	}
	r, err := c.t.Await(ctx, mark, func(r *transcript.Record) bool {
		return r.Reply == mark && (r.Kind == transcript.Response || r.Kind == transcript.Failure)
	})
	if err != nil {
		return 0, nil, err
	}
	if r.Kind == transcript.Failure {
		return 0, nil, errors.New(r.Label)
	}
	answer, _, _ = wjson.Decode(r.Bytes)
	return r.Status, answer, nil
}

// accepted says why an answer is none that accepts; nil when it does.
func accepted(status int, answer any) error {
	obj, _ := answer.(map[string]any)
	key := member(obj, "success", "ok")
	switch {
	case (status < 200 || status > 299) && answer == nil:
		return fmt.Errorf("HTTP %d", status)
	case status < 200 || status > 299:
		return fmt.Errorf("HTTP %d %s", status, shorten(wjson.Compact(answer)))
	case key != "" && obj[key] == false:
		return fmt.Errorf("refused: %s", shorten(wjson.Compact(answer)))
	}
	return nil
}

// shorten keeps what a server says on one line.
func shorten(text string) string {
	return cut.Line(text, 120)
}

// joinPath is what a user sees of an endpoint.
func joinPath(e target.Endpoint) string {
	path, err := url.PathUnescape(e.Path)
	if err != nil {
		path = e.Path
	}
	return strings.TrimSpace(e.Method + " " + path)
}
