package probe

import (
	"fmt"
	"strings"
	"time"

	proto "parley/protocol/sessionruntime"
	"parley/steps/probe"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// party is the orchestrator's bus and every party on it.
type party struct {
	*probe.Line
	limits  target.Limits
	nonce   string // part of every value that the probe generates
	fenced  bool   // fences are answered
	lost    bool   // a frame could not be sent
	n       int
	session string
	agents  []string // the first one is active
}

// setUp sets up a new session and reports whether the target answered.
func (c *party) setUp(limit time.Duration) bool {
	c.session = "parley-init-" + c.id()
	c.agents = []string{"agent-a-" + c.nonce, "agent-b-" + c.nonce, "agent-c-" + c.nonce}
	ms := limit.Milliseconds()
	mark := c.write(map[string]any{
		"parley": proto.Setup, "session_id": c.session, "agents": c.agents, "active_agent_id": c.agents[0],
		"limits": map[string]any{"input_ack_ms": ms, "cancel_ack_ms": ms},
	})
	answer, _ := c.await(mark, c.limits.Open.Duration, func(msg map[string]any) bool {
		return msg["parley"] == any(proto.Ready)
	})
	return answer != nil
}

// id returns a fresh id.
func (c *party) id() string {
	c.n++
	return fmt.Sprintf("%d-%s", c.n, c.nonce)
}

// write sends a frame and returns the mark for awaiting replies; 0 if it could not be sent.
func (c *party) write(doc map[string]any) int {
	mark, err := c.Send(doc)
	if err != nil {
		c.lost = true
		return 0
	}
	return mark
}

// await waits for a frame after a mark; see probe.Line. After a failed write it returns none.
func (c *party) await(mark int, limit time.Duration, match func(map[string]any) bool) (map[string]any, int) {
	if mark == 0 {
		return nil, 0
	}
	return c.Await(mark, limit, match)
}

// say sends a message and returns what is published in response, up to a fence or until nothing more comes for a
// while.
func (c *party) say(doc map[string]any) (published []map[string]any) {
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

// end describes how the connection ended; "" if it has not. After a failed send the end is sure to come, so it waits
// longer.
func (c *party) end() string {
	limit := c.limits.Quiet.Duration
	if c.lost {
		limit = c.limits.Open.Duration
	}
	r, err := c.Record(0, limit, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Kind == transcript.Closed
	})
	if err != nil {
		return ""
	}
	return probe.Shorten(r.Label)
}

// broadInput returns an input with its members under every usual name at once, for targets that do not know the
// default binding.
func (c *party) broadInput(token string) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	doc := map[string]any{"session_id": c.session, "sessionId": c.session, "sid": c.session, "session": c.session}
	var f binding.RuntimeFields
	for field, v := range map[any]any{
		&f.Event: proto.UserInput, &f.Target: proto.ToSystem, &f.Sender: proto.FromFrontend, &f.Timestamp: now,
		&f.ID: c.id(), &f.Payload: "what about " + token + "?",
	} {
		for _, name := range probe.Names(&f, field) {
			doc[name] = v
		}
	}
	for _, name := range []string{"metadata", "meta"} {
		doc[name] = map[string]any{}
	}
	return doc
}

// input returns a user input in the form of this wire.
func (h *reading) input(c *party, token string) map[string]any {
	f, doc := h.wire.Fields, map[string]any{}
	put(doc, f.Payload, "what about "+token+"?")
	put(doc, f.Metadata, map[string]any{})
	put(doc, f.ID, c.id())
	put(doc, f.Session, c.session)
	put(doc, f.Event, h.wire.EventName(proto.UserInput))
	put(doc, f.Sender, h.wire.Senders.Frontend)
	put(doc, f.Target, h.wire.TargetName(proto.ToSystem))
	put(doc, f.Timestamp, time.Now().UTC().Format(time.RFC3339Nano))
	return doc
}

// put writes a field. A field that cannot be written is omitted; its absence will be noticed.
func put(doc map[string]any, at target.Pointer, v any) { _ = at.Set(doc, v) }
