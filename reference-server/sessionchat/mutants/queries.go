package mutants

import (
	"context"
	"strings"
	"sync"

	"parley/internal/llm"
	"parley/reference-server/sessionchat"
)

// queryFaults do not ask the model for every chat.
var queryFaults = map[string]fault{
	"equal-chat-dropped": equalDropped,
	"equal-chat-cached":  func(o *options) { o.Backend = &cache{o.Backend, sync.Mutex{}, map[string][]llm.Part{}} },
	"slash-is-a-command": func(o *options) { o.Backend = commands{o.Backend} },
}

// equalDropped drops a chat that equals the one before it of its session.
func equalDropped(o *options) {
	last := map[string]any{} // by agent_id
	o.Inbound = func(_ manager, _ connInfo, msg message) []message {
		id := asked(msg)
		if id == "" {
			return []message{msg}
		}
		if msg["content"] == last[id] {
			return nil
		}
		last[id] = msg["content"]
		return []message{msg}
	}
}

// cache is a backend that answers a text as it was answered before.
type cache struct {
	backend sessionchat.Backend
	mu      sync.Mutex
	answers map[string][]llm.Part
}

func (c *cache) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	text := r.Messages[len(r.Messages)-1].Text
	c.mu.Lock()
	known, found := c.answers[text]
	c.mu.Unlock()
	if found {
		for _, p := range known {
			if err := emit(p); err != nil {
				return err
			}
		}
		return nil
	}
	var said []llm.Part
	err := c.backend.Answer(ctx, r, func(p llm.Part) error {
		said = append(said, p)
		return emit(p)
	})
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.answers[text] = said
	}
	return err
}

// commands is a backend that answers a text with a slash before it itself.
type commands struct{ backend sessionchat.Backend }

func (c commands) Answer(ctx context.Context, r llm.Request, emit func(llm.Part) error) error {
	if text := r.Messages[len(r.Messages)-1].Text; strings.HasPrefix(text, "/") {
		return emit(llm.Part{Text: "There is no such command."})
	}
	return c.backend.Answer(ctx, r, emit)
}
