package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/internal/stall"
	proto "parley/protocol/externalagent"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// agentLine is one connection of a probe of external-agent. That of nil is one that could not be had: it gets no answers.
type agentLine struct {
	ctx    context.Context
	driver closingDriver
	conn   driver.Conn
	t      *transcript.Transcript
	limit  target.Duration // for an answer
	asked  int
	said   map[string]any // see answer
}

func (c *agentLine) close() {
	_ = c.conn.Close(driver.Graceful)
	_ = c.driver.Close()
}

// say sends an envelope, and gives its id and the mark for what follows; 0 where it could not be sent.
func (c *agentLine) say(kind string, payload map[string]any) (id string, mark int) {
	c.asked++
	id = fmt.Sprintf("parley-init-%d", c.asked)
	b, err := json.Marshal(map[string]any{"v": proto.Version, "type": kind, "id": id, "payload": payload}, json.Deterministic(true))
	if err != nil {
		return id, 0
	}
	mark, err = c.conn.Send(c.ctx, driver.Message{Body: b})
	if err != nil {
		return id, 0
	}
	return id, mark
}

// ask sends a request, and gives its answer: what names its id, or an error that names none; nil where none comes.
func (c *agentLine) ask(kind string, payload map[string]any) map[string]any {
	if c == nil {
		return nil
	}
	id, mark := c.say(kind, payload)
	c.said = nil
	if mark > 0 {
		c.said = c.await(mark, func(msg map[string]any) bool {
			to, named := msg["replyTo"]
			return to == any(id) || !named && text("/type", msg) == proto.ErrorMessage
		})
	}
	return c.said
}

// await waits for a message; nil where none comes.
func (c *agentLine) await(mark int, match func(map[string]any) bool) (found map[string]any) {
	ctx, cancel := stall.WithLimit(c.ctx, c.limit.Duration)
	defer cancel()
	_, _ = c.t.Await(ctx, mark, func(r *transcript.Record) bool {
		if r.Dir != transcript.Received {
			return false
		}
		if msg := decodeObject(r.Bytes); r.Kind == transcript.Frame && msg != nil && match(msg) {
			found = msg
		}
		return found != nil || r.Kind == transcript.Closed || r.Kind == transcript.Failure
	})
	return found
}

// join joins a relay session.
func (c *agentLine) join(role, session string) map[string]any {
	return c.ask(proto.RelayJoin, map[string]any{"role": role, "sessionId": session})
}

// starts starts a study session, and gives the answer that it has begun; nil where none does.
func (c *agentLine) starts() map[string]any {
	r := c.ask(proto.SessionStart, map[string]any{"studyId": "parley-init", "participantId": "parley-init"})
	if text("/type", r) != proto.SessionStarted {
		return nil
	}
	return r
}

// answer is the latest answer; nil where none came.
func (c *agentLine) answer() map[string]any {
	if c == nil {
		return nil
	}
	return c.said
}

// hears tells whether a message with a word in it comes.
func (c *agentLine) hears(word string) bool {
	return c.await(0, func(msg map[string]any) bool { return strings.Contains(wjson.Compact(msg), word) }) != nil
}

// brief is a message in few words.
func brief(msg map[string]any) string {
	if msg == nil {
		return "nothing"
	}
	return shorten(wjson.Compact(msg))
}
