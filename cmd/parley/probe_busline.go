package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/internal/stall"
	proto "parley/protocol/sessionruntime"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// busLine is the connection of a probe of session-runtime.
type busLine struct {
	ctx     context.Context
	conn    driver.Conn
	t       *transcript.Transcript
	limits  target.Limits
	nonce   string // stands in whatever the probe makes up
	fenced  bool   // a fence is answered
	lost    bool   // something could not be sent
	n       int
	session string
	agents  []string // the first one is active
}

// setUp sets a new session up, and tells whether that was answered.
func (c *busLine) setUp(limit time.Duration) bool {
	c.session = "parley-init-" + c.id()
	c.agents = []string{"agent-a-" + c.nonce, "agent-b-" + c.nonce, "agent-c-" + c.nonce}
	ms := limit.Milliseconds()
	mark := c.write(map[string]any{"parley": proto.Setup, "session_id": c.session, "agents": c.agents, "active_agent_id": c.agents[0],
		"limits": map[string]any{"input_ack_ms": ms, "cancel_ack_ms": ms}})
	answer, _ := c.await(mark, c.limits.Open.Duration, func(msg map[string]any) bool { return msg["parley"] == any(proto.Ready) })
	return answer != nil
}

// id is a fresh one.
func (c *busLine) id() string {
	c.n++
	return fmt.Sprintf("%d-%s", c.n, c.nonce)
}

// write sends a frame, and gives the mark for what follows; 0 where it could not be sent.
func (c *busLine) write(doc map[string]any) int {
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return 0
	}
	mark, err := c.conn.Send(c.ctx, driver.Message{Body: b})
	if err != nil {
		c.lost = true
		return 0
	}
	return mark
}

// await waits for a frame, and gives the mark for what follows it; nil where none comes.
func (c *busLine) await(mark int, limit time.Duration, match func(map[string]any) bool) (found map[string]any, at int) {
	if mark == 0 {
		return nil, 0
	}
	ctx, cancel := stall.WithLimit(c.ctx, limit)
	defer cancel()
	r, _ := c.t.Await(ctx, mark, func(r *transcript.Record) bool {
		if r.Dir != transcript.Received {
			return false
		}
		if msg := decodeObject(r.Bytes); r.Kind == transcript.Frame && msg != nil && match(msg) {
			found = msg
		}
		return found != nil || r.Kind == transcript.Closed || r.Kind == transcript.Failure
	})
	return found, r.N
}

// say sends a message, and gives what is published about it: up to a fence, or until nothing more is for a while.
func (c *busLine) say(doc map[string]any) (published []map[string]any) {
	mark, end := c.write(doc), ""
	limit, then := c.limits.Event.Duration, c.limits.Quiet.Duration
	if c.fenced {
		end, then = "fence-"+c.id(), limit
		c.write(map[string]any{"parley": proto.Fence, "id": end})
	}
	for {
		msg, at := c.await(mark, limit, func(msg map[string]any) bool {
			fence := msg["parley"] == any(proto.Fenced) && msg["id"] == any(end)
			return fence || msg["parley"] == nil && strings.Contains(wjson.Compact(msg), c.nonce)
		})
		if msg == nil || msg["parley"] != nil {
			return published
		}
		published, mark, limit = append(published, msg), at, then
	}
}

// end tells how the connection has ended; "" where it has not. What could not be sent is told before the end may be, which then
// is sure to come.
func (c *busLine) end() string {
	limit := c.limits.Quiet.Duration
	if c.lost {
		limit = c.limits.Open.Duration
	}
	ctx, cancel := stall.WithLimit(c.ctx, limit)
	defer cancel()
	r, err := c.t.Await(ctx, 0, func(r *transcript.Record) bool { return r.Dir == transcript.Received && r.Kind == transcript.Closed })
	if err != nil {
		return ""
	}
	return shorten(r.Label)
}

// broadInput is an input that has its members under every usual name at once, for who knows none of the default binding.
func (c *busLine) broadInput(token string) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	doc := map[string]any{"session_id": c.session, "sessionId": c.session, "sid": c.session, "session": c.session}
	for names, v := range map[*[]string]any{&eventNames: proto.UserInput, &targetNames: proto.ToSystem, &senderNames: proto.FromFrontend,
		&timestampNames: now, &idNames: c.id()} {
		for _, name := range *names {
			doc[name] = v
		}
	}
	for _, name := range []string{"payload", "body", "data", "content"} {
		doc[name] = "what about " + token + "?"
	}
	for _, name := range []string{"metadata", "meta"} {
		doc[name] = map[string]any{}
	}
	return doc
}

// message is a message of somebody to SYSTEM, as this wire has it.
func (h *overheard) message(c *busLine, event, subtype, sender string, payload any) map[string]any {
	f, doc := h.wire.Fields, map[string]any{}
	put(doc, f.Payload, payload)
	put(doc, f.Metadata, map[string]any{})
	put(doc, f.ID, c.id())
	put(doc, f.Session, c.session)
	put(doc, f.Event, h.wire.EventName(event))
	for _, p := range f.Subtype {
		if subtype != "" {
			put(doc, p, h.wire.SubtypeName(subtype))
		}
	}
	put(doc, f.Sender, sender)
	put(doc, f.Target, h.wire.TargetName(proto.ToSystem))
	put(doc, f.Timestamp, time.Now().UTC().Format(time.RFC3339Nano))
	return doc
}

// put writes a field. One that cannot be is left out: it will be missed.
func put(doc map[string]any, at target.Pointer, v any) { _ = at.Set(doc, v) }

// input is what the user says.
func (h *overheard) input(c *busLine, token string) map[string]any {
	return h.message(c, proto.UserInput, "", h.wire.Senders.Frontend, "what about "+token+"?")
}

// fromAgent is a message of the active agent about the turn.
func (h *overheard) fromAgent(c *busLine, event, subtype string) map[string]any {
	doc := h.message(c, event, subtype, c.agents[0], map[string]any{})
	put(doc, h.wire.Fields.TurnID[0], h.turn)
	put(doc, h.wire.Fields.TraceID[0], h.trace)
	return doc
}

// firstText is the first text at one of some places; "" where there is none.
func firstText(places target.Pointers, msg map[string]any) string {
	for _, p := range places {
		if s := text(p, msg); s != "" {
			return s
		}
	}
	return ""
}
