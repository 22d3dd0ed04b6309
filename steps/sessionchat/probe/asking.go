package probe

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	proto "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/probe"
	"parley/steps/sessionchat/binding"
	"parley/target"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// inquiry examines a running server.
type inquiry struct{ *probe.Session }

// UsualPaths lists likely WebSocket paths, likeliest first.
var UsualPaths = []string{proto.Path, "/ws", "/api/chat/ws", "/ws/chat", "/chat"}

// all examines everything: it reads the wire at the first path where a chat is answered.
func (p *inquiry) all(ctx context.Context) *answers {
	for _, path := range p.Paths(binding.Of(p.Profile).WS.Path, UsualPaths...) {
		if h, ok := p.at(ctx, path); ok || ctx.Err() != nil {
			h.wire.WS.Path = path
			return h
		}
	}
	return readTurn(nil, "")
}

// at tries a path.
func (p *inquiry) at(ctx context.Context, path string) (*answers, bool) {
	d := &ws.Driver{TLS: p.Profile.TLSConfig()}
	defer d.Close()
	l, err := p.Open(ctx, d, path, nil)
	if err != nil {
		p.Note("path", "WebSocket %s: %s", path, probe.Refusal(err))
		return &answers{}, false
	}
	defer l.Close()
	c := &chatter{p.Profile.Limits, l}
	agentID := "parley-init-" + rand.Text()[:8]
	turn := c.ask(map[string]any{
		proto.Type: proto.ChatType, proto.AgentID: agentID, proto.Content: "Hello. Answer with one word, please.",
	}, p.Profile.Limits.Turn)
	if len(turn) == 0 {
		p.Note("path", "WebSocket %s: it opens, but nothing answered a chat within %v", path, p.Profile.Limits.Turn)
		p.Profile.Limits.Turn.Duration = min(p.Profile.Limits.Turn.Duration, probe.Another)
		return &answers{}, false
	}
	p.Welcome()
	p.Note("path", "WebSocket %s: it opens, and a chat is answered", path)
	h := readTurn(turn, agentID)
	p.tell(h)
	p.aside(c, h, proto.PongMessage, "a ping", map[string]any{proto.Type: proto.PingType})
	p.aside(c, h, proto.ErrorMessage, "a message of no known type", map[string]any{proto.Type: "parley-init"})
	return h, true
}

// tell reports what the messages of a turn reveal, and what they leave open.
func (p *inquiry) tell(h *answers) {
	f := &h.wire.Fields.Message
	if !h.found[&f.Type] {
		p.Unseen("the messages have no member in common that looks like their type: see fields.message.type; one was %s",
			probe.Brief(h.turn[0]))
		return
	}
	if !h.found[&f.AgentID] {
		p.Unseen("no message has the agent_id that was sent: see fields.message.agent-id, " +
			"or something other than the chat was answered")
	}
	if !h.found[&f.SessionID] {
		p.Unseen("no session id was recognised in a message: see fields.message.session-id")
	}
	if !h.found[&f.Timestamp] {
		p.Unseen("no timestamp was recognised in a message: see fields.message.timestamp")
	}
	p.Note("types", "a turn of %d messages: %s", len(h.turn), h.words())
	for _, name := range h.strange {
		p.Unseen("the meaning of message type %q was not recognised: see types", name)
	}
	names := h.types[proto.ResultMessage]
	switch last := h.typeOf(h.last()); {
	case names == nil && slices.Contains(h.types[proto.ErrorMessage], last):
		p.Unseen("the end of a turn: the chat was answered with an error: %q (%s)", ErrorText(h.last()), steps.AsksForModel)
	case names == nil:
		p.Unseen("no message was recognised that ends a turn; the last was of type %q: see types.result", last)
	default:
		p.Note("types", "the turn ended with %s", probe.Brief(h.last()))
	}
	if names != nil && !h.found[&f.Subtype] {
		p.Unseen("the message that ends a turn does not say how it ended: see fields.message.subtype")
	}
}

// aside sends something other than a chat, and learns the type of the reply.
func (p *inquiry) aside(c *chatter, h *answers, kind, what string, body map[string]any) {
	heard := c.ask(body, p.Profile.Limits.Event)
	if len(heard) == 0 {
		p.Unseen("%s was not answered within %v", what, p.Profile.Limits.Event)
		return
	}
	name := h.aside(heard[0], kind)
	p.Note("types", "%s is answered by %s", what, probe.Brief(heard[0]))
	if !slices.Contains(h.types[kind], name) {
		p.Unseen("the answer was not recognised as a %s: see types.%[1]s", kind)
	}
}

// chatter sends messages on one connection.
type chatter struct {
	limits target.Limits
	*probe.Line
}

// ask sends a message and returns the messages that follow, until the end of a turn or a pause; the first may take up
// to limit.
func (c *chatter) ask(body map[string]any, limit target.Duration) []map[string]any {
	mark, err := c.Send(body)
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
		if msg := probe.Object(r.Bytes); msg != nil {
			out = append(out, msg)
			limit = c.after(msg)
		}
	}
}

// after returns how long to wait for a message after this one: briefly if it ends a turn or belongs to none.
func (c *chatter) after(msg map[string]any) target.Duration {
	var f binding.ChatMessageFields
	for _, name := range probe.Names(&f, &f.Type) {
		if key := probe.TextMember(msg, name); key != "" {
			switch meaning(probe.Text(probe.Pointer(key), msg)) {
			case proto.ResultMessage, proto.PongMessage:
				return c.limits.Quiet
			case proto.ErrorMessage: // the result of a failed turn may come long after its error
				return target.Duration{Duration: max(c.limits.Quiet.Duration, min(c.limits.Event.Duration, lateResult))}
			}
			break
		}
	}
	return c.limits.Event
}

// lateResult is how long to wait for a result after an error. A target may send none.
const lateResult = time.Second

// next waits for a text frame.
func (c *chatter) next(mark int, limit target.Duration) (r transcript.Record, ended bool) {
	r, err := c.Record(mark, limit.Duration, func(r *transcript.Record) bool {
		ended = r.Dir == transcript.Received && (r.Kind == transcript.Closed || r.Kind == transcript.Failure)
		return ended || r.Dir == transcript.Received && r.Kind == transcript.Frame && r.Type == "text"
	})
	return r, ended || err != nil
}
