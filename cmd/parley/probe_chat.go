package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/driver/ws"
	"parley/internal/stall"
	proto "parley/protocol/sessionchat"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// chatProbe asks a running session-chat server what it is.
type chatProbe struct {
	notebook
	profile *target.Profile
	run     target.Running
}

// chatPaths are where a server may have its WebSocket, the likeliest first.
var chatPaths = []string{proto.Path, "/ws", "/api/chat/ws", "/ws/chat", "/chat"}

// another is how long an answer may take at one more path, where one opens and is silent.
const another = 2 * time.Second

// all asks everything: the first path where a chat is answered tells the wire. exact: there is one path only.
func (p *chatProbe) all(ctx context.Context, exact bool) hearsay {
	paths := chatPaths
	if at := p.profile.SessionChat.WS.Path; exact && at != proto.Path {
		paths = []string{at}
	}
	for _, path := range paths {
		if h, ok := p.at(ctx, path); ok || ctx.Err() != nil {
			h.wire.WS.Path = path
			return h
		}
	}
	return hear(nil, "")
}

// at tries a path.
func (p *chatProbe) at(ctx context.Context, path string) (hearsay, bool) {
	d := ws.New()
	defer d.Close()
	t := transcript.New(nil)
	conn, err := p.dial(ctx, d, path, t)
	if err != nil {
		p.note("path", "WebSocket %s: %s", path, refusal(err))
		return hearsay{}, false
	}
	defer conn.Close(driver.Reset)
	c := &chatter{chatProbe: p, ctx: ctx, conn: conn, t: t}
	agentID := "parley-init-" + rand.Text()[:8]
	turn := c.ask(map[string]any{"type": proto.ChatType, "agent_id": agentID, "content": "Hello. Answer with one word, please."},
		p.profile.Limits.Turn)
	if len(turn) == 0 {
		p.note("path", "WebSocket %s: it opens, but nothing answered a chat within %v", path, p.profile.Limits.Turn)
		p.profile.Limits.Turn.Duration = min(p.profile.Limits.Turn.Duration, another)
		return hearsay{}, false
	}
	p.welcome()
	p.note("path", "WebSocket %s: it opens, and a chat is answered", path)
	h := hear(turn, agentID)
	p.tell(h)
	p.aside(c, &h, proto.PongMessage, "a ping", map[string]any{"type": proto.PingType})
	p.aside(c, &h, proto.ErrorMessage, "a message of no known type", map[string]any{"type": "parley-init"})
	return h, true
}

func (p *chatProbe) dial(ctx context.Context, d driver.Driver, path string, t *transcript.Transcript) (driver.Conn, error) {
	ctx, cancel := stall.WithLimit(ctx, p.profile.Limits.Open.Duration)
	defer cancel()
	h := http.Header{}
	for k, v := range p.profile.Headers {
		h.Set(k, v)
	}
	o := driver.OpenOptions{Party: "probe", URL: p.run.BaseURL() + path, Header: h, MaxEvent: int(p.profile.Limits.MaxEvent)}
	return d.Open(ctx, o, t.Append)
}

// tell tells what the messages of a turn say, and what they leave open.
func (p *chatProbe) tell(h hearsay) {
	if !h.found[chatType] {
		p.note("unseen", "the messages have no member in common that looks like their type: see fields.message.type; one was %s",
			shorten(wjson.Compact(h.turn[0])))
		return
	}
	if !h.found[chatAgent] {
		p.note("unseen", "no message bears the agent_id that was sent: see fields.message.agent-id, or it was no chat that was answered")
	}
	if !h.found[chatSession] {
		p.note("unseen", "no message bears a session's id that was recognised: see fields.message.session-id")
	}
	if !h.found[chatTime] {
		p.note("unseen", "no message bears a time that was recognised: see fields.message.timestamp")
	}
	p.note("types", "a turn of %d messages: %s", len(h.turn), h.words())
	for _, name := range h.strange {
		p.note("unseen", "what a message of type %q is was not recognised: see types", name)
	}
	if names := h.types[proto.ResultMessage]; names == nil {
		p.note("unseen", "no message was recognised that ends a turn; the last was of type %q: see types.result", h.typeOf(h.last()))
	} else {
		p.note("types", "the turn ended with %s", shorten(wjson.Compact(h.last())))
	}
	if h.types[proto.ResultMessage] != nil && !h.found[chatSubtype] {
		p.note("unseen", "how a turn has ended is not in the message that ends it: see fields.message.subtype")
	}
}

// aside asks something that is no chat, and learns what the answer is called.
func (p *chatProbe) aside(c *chatter, h *hearsay, kind, what string, body map[string]any) {
	answers := c.ask(body, p.profile.Limits.Event)
	if len(answers) == 0 {
		p.note("unseen", "%s was not answered within %v", what, p.profile.Limits.Event)
		return
	}
	name := h.aside(answers[0], kind)
	p.note("types", "%s is answered by %s", what, shorten(wjson.Compact(answers[0])))
	if !slices.Contains(h.types[kind], name) {
		p.note("unseen", "that this is the %s was not recognised: see types.%[1]s", kind)
	}
}

// chatter asks on one connection.
type chatter struct {
	*chatProbe
	ctx  context.Context
	conn driver.Conn
	t    *transcript.Transcript
}

// ask sends a message and gives the messages that follow, until the end of a turn, or until there are no more for a while;
// the first may take until a limit.
func (c *chatter) ask(body map[string]any, limit target.Duration) []map[string]any {
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil
	}
	mark, err := c.conn.Send(c.ctx, driver.Message{Body: b})
	if err != nil {
		return nil
	}
	var out []map[string]any
	for {
		r, ended := c.next(mark, limit)
		if ended {
			return out
		}
		mark = r.N
		if msg := decodeObject(r.Bytes); msg != nil {
			out = append(out, msg)
			limit = c.after(msg)
		}
	}
}

// after is how long another message may follow this one: not long where it ends a turn, or belongs to none.
func (c *chatter) after(msg map[string]any) target.Duration {
	for _, name := range typeNames {
		if key := textMember(msg, name); key != "" {
			switch meaning(text(pointer(key), msg)) {
			case proto.ResultMessage, proto.PongMessage:
				return c.profile.Limits.Quiet
			case proto.ErrorMessage: // that of a turn may have its result long behind it
				return target.Duration{Duration: max(c.profile.Limits.Quiet.Duration, min(c.profile.Limits.Event.Duration, lateResult))}
			}
			break
		}
	}
	return c.profile.Limits.Event
}

// lateResult is how long behind an error a result is waited for. Whether one comes at all is up to the target.
const lateResult = time.Second

// next waits for a text frame.
func (c *chatter) next(mark int, limit target.Duration) (r transcript.Record, ended bool) {
	ctx, cancel := stall.WithLimit(c.ctx, limit.Duration)
	defer cancel()
	r, err := c.t.Await(ctx, mark, func(r *transcript.Record) bool {
		ended = r.Dir == transcript.Received && (r.Kind == transcript.Closed || r.Kind == transcript.Failure)
		return ended || r.Dir == transcript.Received && r.Kind == transcript.Frame && r.Type == "text"
	})
	return r, ended || err != nil
}
