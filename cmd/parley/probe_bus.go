package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/driver"
	"parley/driver/stdio"
	"parley/driver/ws"
	"parley/internal/stall"
	proto "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// busProbe asks a running orchestrator what it is: it is the bus, and every party on it.
type busProbe struct {
	notebook
	profile *target.Profile // what is found out goes into it
	run     target.Running
}

// busPaths are where an orchestrator may have its WebSocket, the likeliest first.
var busPaths = []string{proto.Path, "/bus", "/ws", "/v1/bus"}

// all asks everything over ws: the first path where a set-up frame is answered tells the wire. exact: there is one path only.
func (p *busProbe) all(ctx context.Context, exact bool) {
	wire := &p.profile.SessionRuntime
	paths := busPaths
	if exact && wire.WS.Path != proto.Path {
		paths = []string{wire.WS.Path}
	}
	for _, path := range paths {
		wire.WS.Path = path
		o := driver.OpenOptions{URL: p.run.BaseURL() + path, Header: http.Header{}}
		for k, v := range p.profile.Headers {
			o.Header.Set(k, v)
		}
		if p.at(ctx, ws.New(), o, "WebSocket "+path) || ctx.Err() != nil {
			return
		}
	}
	wire.WS.Path = paths[0]
}

// spoken asks everything of a process that speaks over its stdin and stdout.
func (p *busProbe) spoken(ctx context.Context) {
	if !p.at(ctx, stdio.New(), driver.OpenOptions{Process: target.Starter(p.run)}, "stdio") {
		p.note("unseen", "no set-up frame was answered: see whether the command speaks one JSON message per line, each written at once%s", cried(p.profile, p.run))
	}
}

// cried is what the command wrote to stderr, as the end of a sentence.
func cried(p *target.Profile, run target.Running) string {
	w := steps.World{Env: &steps.Env{Redact: transcript.NewRedactor(p.Secrets...)}}
	return w.Cry(run.Stderr())
}

// at tries one way to reach the orchestrator.
func (p *busProbe) at(ctx context.Context, d closingDriver, o driver.OpenOptions, where string) bool {
	defer d.Close()
	c := &busLine{ctx: ctx, t: transcript.New(nil), limits: p.profile.Limits, nonce: strings.ToLower(rand.Text()[:8])}
	o.Party, o.MaxEvent = "probe", int(p.profile.Limits.MaxEvent)
	open, cancel := stall.WithLimit(ctx, p.profile.Limits.Open.Duration)
	defer cancel()
	var err error
	if c.conn, err = d.Open(open, o, c.t.Append); err != nil {
		p.note("path", "%s: %s", where, refusal(err))
		return false
	}
	defer c.conn.Close(driver.Reset)
	if !c.setUp(time.Minute) {
		how := fmt.Sprintf("within %v", p.profile.Limits.Open)
		if end := c.end(); end != "" {
			how = "before " + end
		}
		p.note("path", "%s: it opens, but a set-up frame was not answered %s", where, how)
		p.profile.Limits.Open.Duration = min(p.profile.Limits.Open.Duration, another)
		return false
	}
	p.welcome()
	p.note("path", "%s: it opens, and a set-up frame is answered", where)
	p.fence(c)
	p.wire(c)
	return true
}

// fence sees whether a fence is answered.
func (p *busProbe) fence(c *busLine) {
	id := "parley-init-" + c.nonce
	mark := c.write(map[string]any{"parley": proto.Fence, "id": id})
	answer, _ := c.await(mark, p.profile.Limits.Event.Duration, func(msg map[string]any) bool { return msg["parley"] == any(proto.Fenced) })
	switch {
	case answer == nil:
		p.profile.SessionRuntime.Fence = false
		p.note("fence", "a fence was not answered within %v", p.profile.Limits.Event)
	case answer["id"] != any(id):
		p.profile.SessionRuntime.Fence = false
		p.note("fence", "a fence was answered by %s, which names another one", brief(answer))
	default:
		c.fenced = true
		p.note("fence", "a fence is answered")
	}
}

// wire says something, in the default binding and else under every usual name at once, and learns from what is published.
func (p *busProbe) wire(c *busLine) {
	token := "#1-" + c.nonce
	published := c.say((&overheard{wire: target.DefaultSessionRuntime()}).input(c, token))
	h, ok := overhear(published, c.session, c.agents[0], token)
	if !ok {
		token = "#2-" + c.nonce
		c.setUp(time.Minute)
		published = c.say(c.broadInput(token))
		h, ok = overhear(published, c.session, c.agents[0], token)
		if ok {
			p.note("fields", "an input in the default binding was not routed; one that has its members under every usual name was")
		}
	}
	if !ok {
		p.note("unseen", "an input was not routed to the active agent: see fields, events and targets%s", heardInstead(published))
		return
	}
	h.wire.WS, h.wire.Fence = p.profile.SessionRuntime.WS, p.profile.SessionRuntime.Fence
	p.profile.SessionRuntime = h.wire
	p.note("fields", "an input is routed, with its turn_id %s and its trace_id %s", whereabouts(h.turn, h.wire.Fields.TurnID),
		whereabouts(h.trace, h.wire.Fields.TraceID))
	for _, key := range h.unseen {
		p.note("unseen", "no member was recognised as the %s of a message: see fields.%[1]s", key)
	}
	if name := h.wire.SubtypeName(proto.TurnAccepted); len(published) < 2 {
		p.note("unseen", "the frontend was not told that the turn is accepted: see subtypes.TURN_ACCEPTED")
	} else if name != proto.TurnAccepted {
		p.note("subtypes", "TURN_ACCEPTED is called %s, as far as its place tells", name)
	} else {
		p.note("subtypes", "TURN_ACCEPTED is published")
	}
	p.rest(c, h)
	p.profile.SessionRuntime = h.wire
}

// whereabouts tells where an id was found.
func whereabouts(id string, at target.Pointers) string {
	if id == "" {
		return "nowhere"
	}
	return "at " + string(at[0])
}

// heardInstead tells of messages in few words.
func heardInstead(published []map[string]any) string {
	if len(published) == 0 {
		return "; nothing was published"
	}
	return "; published was " + brief(published[0])
}

// rest takes the orchestrator through a turn that is cancelled, and one that times out, to learn what it calls that.
func (p *busProbe) rest(c *busLine, h *overheard) {
	token := "#3-" + c.nonce
	c.setUp(time.Minute)
	route := routed(c.say(h.input(c, token)), c.agents[0], token)
	if route == nil {
		p.note("unseen", "an input that was written by what was found out was not routed: see fields, events and senders")
		return
	}
	h.turn, h.trace = firstText(h.wire.Fields.TurnID, route), firstText(h.wire.Fields.TraceID, route)
	c.say(h.fromAgent(c, proto.Control, proto.InputAck))
	p.output(c, h)
	p.cancel(c, h)
	p.timeOut(c, h)
}

// output sees whether what an agent says is passed on.
func (p *busProbe) output(c *busLine, h *overheard) {
	out := h.fromAgent(c, proto.AgentOutput, "")
	f := h.wire.Fields
	put(out, f.Payload, map[string]any{"text": "#4-" + c.nonce})
	put(out, f.IsChunk, true)
	put(out, f.Seq, 0)
	put(out, f.Final, false)
	for _, msg := range c.say(out) {
		if h.to(msg, proto.ToFrontend) && strings.Contains(wjson.Compact(msg), "#4-"+c.nonce) {
			h.name(&h.wire.Events, proto.AgentOutput, text(h.wire.Fields.Event, msg))
			p.note("events", "what an agent says is passed on to the frontend")
			return
		}
	}
	p.note("unseen", "what an agent said was not passed on: see events.AGENT_OUTPUT, subtypes.INPUT_ACK, fields.turn-id and fields.is-chunk")
}

// cancel sees what a cancel, and its confirmation, are called.
func (p *busProbe) cancel(c *busLine, h *overheard) {
	sent := false
	for _, msg := range c.say(h.message(c, proto.Control, proto.Cancel, h.wire.Senders.Frontend, map[string]any{})) {
		if name := h.subtypeOf(msg); h.to(msg, proto.ToAgent) && name != "" {
			h.name(&h.wire.Subtypes, proto.Cancel, name)
			h.name(&h.wire.Events, proto.Control, text(h.wire.Fields.Event, msg))
			sent = true
		}
	}
	if !sent {
		p.note("unseen", "a cancel did not reach the agent that was speaking: see subtypes.CANCEL")
		return
	}
	for _, msg := range c.say(h.fromAgent(c, proto.Control, proto.CancelAck)) {
		if name := h.subtypeOf(msg); h.to(msg, proto.ToFrontend) && name != "" {
			h.name(&h.wire.Subtypes, proto.Canceled, name)
			p.note("subtypes", "a cancel that is confirmed is told of as %s", name)
			return
		}
	}
	p.note("unseen", "that a cancel was confirmed was not told: see subtypes.CANCEL_ACK and subtypes.CANCELED")
}

// timeOut sees whether the limits of the set-up frame are kept, and what is told then.
func (p *busProbe) timeOut(c *busLine, h *overheard) {
	limit := h.wire.Limits.InputAck.Duration
	c.setUp(limit)
	began := time.Now()
	mark := c.write(h.input(c, "#5-"+c.nonce))
	failure, _ := c.await(mark, limit+p.profile.Limits.Event.Duration, func(msg map[string]any) bool {
		event := text(h.wire.Fields.Event, msg)
		return h.to(msg, proto.ToFrontend) && event != "" && event != h.wire.EventName(proto.Event) && event != h.wire.EventName(proto.Control)
	})
	if failure == nil {
		p.note("limits", "asked for limits of %v, it had told of no time-out within %v: see limits", limit, p.profile.Limits.Event)
		return
	}
	h.name(&h.wire.Events, proto.Error, text(h.wire.Fields.Event, failure))
	name := h.subtypeOf(failure)
	if name == "" {
		name = firstText(h.wire.Fields.Code, failure)
	}
	h.name(&h.wire.Subtypes, proto.RouteTimeout, name)
	p.note("limits", "asked for limits of %v, it told of the time-out after %v: %s", limit, time.Since(began).Round(time.Millisecond),
		strings.TrimSpace(text(h.wire.Fields.Event, failure)+" "+name))
}
