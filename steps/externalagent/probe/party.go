package probe

import (
	"fmt"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	wjson "parley/transport/wire/json"
)

// party is one connection of a probe. A nil party stands for a connection that failed: it gets no answers.
type party struct {
	*probe.Line
	driver probe.Driver
	limit  target.Duration // for an answer
	asked  int
	said   map[string]any // see answer
}

func (c *party) close() {
	_ = c.Conn.Close(driver.Graceful)
	_ = c.driver.Close()
}

// say sends an envelope and returns its id and the mark for what follows, which is 0 if it could not be sent.
func (c *party) say(kind string, payload map[string]any) (id string, mark int) {
	c.asked++
	id = fmt.Sprintf("parley-init-%d", c.asked)
	mark, err := c.Send(map[string]any{"v": proto.Version, "type": kind, "id": id, proto.Payload: payload})
	if err != nil {
		return id, 0
	}
	return id, mark
}

// ask sends a request and returns its answer: a message that names its id, or an error that names none. It returns
// nil if none comes.
func (c *party) ask(kind string, payload map[string]any) map[string]any {
	if c == nil {
		return nil
	}
	id, mark := c.say(kind, payload)
	c.said = nil
	if mark > 0 {
		c.said = c.await(mark, func(msg map[string]any) bool {
			to, named := msg[proto.ReplyTo]
			return to == any(id) || !named && probe.Text("/type", msg) == proto.ErrorMessage
		})
	}
	return c.said
}

// await waits for a message. It returns nil if none comes.
func (c *party) await(mark int, match func(map[string]any) bool) map[string]any {
	msg, _ := c.Await(mark, c.limit.Duration, match)
	return msg
}

// join joins a relay session.
func (c *party) join(role, session string) map[string]any {
	return c.ask(proto.RelayJoin, map[string]any{"role": role, proto.SessionID: session})
}

// starts starts a study session and returns session.started, or nil.
func (c *party) starts() map[string]any {
	r := c.ask(proto.SessionStart, map[string]any{"studyId": "parley-init", "participantId": "parley-init"})
	if probe.Text("/type", r) != proto.SessionStarted {
		return nil
	}
	return r
}

// answer returns the latest answer, or nil.
func (c *party) answer() map[string]any {
	if c == nil {
		return nil
	}
	return c.said
}

// hears reports whether a message that contains a word comes.
func (c *party) hears(word string) bool {
	return c.await(0, func(msg map[string]any) bool { return strings.Contains(wjson.Compact(msg), word) }) != nil
}
