package stub

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/llm"
)

// messagesAPI is the messages API of Anthropic.
var messagesAPI = api{decode: decodeMessages, fault: anthropicFault}

type messagesRequest struct {
	Model    string          `json:"model"`
	System   content         `json:"system"`
	Messages []messagesInput `json:"messages"`
	Tools    []toolDef       `json:"tools"`
	Stream   bool            `json:"stream"`
}

type messagesInput struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func decodeMessages(body []byte) (exchange, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return exchange{}, err
	}
	var c conversation
	if system := in.System.text(); system != "" {
		c.system = append(c.system, system)
	}
	for i, m := range in.Messages {
		if err := c.addMessages(m); err != nil {
			return exchange{}, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	r, err := c.request(llm.APIMessages, in.Model, names(in.Tools), in.Stream)
	if err != nil {
		return exchange{}, err
	}
	return exchange{
		request: r,
		stream:  func(e *events) stream { return &messagesStream{events: e, request: r} },
		whole:   func(a *answer) any { return messagesWhole(r, a) },
	}, nil
}

// addMessages adds one message. Its texts are joined into one unless results separate them.
func (c *conversation) addMessages(m messagesInput) error {
	if m.Role == llm.RoleUser && slices.ContainsFunc(m.Content, block.isResult) {
		c.addResults(m.Content)
		return nil
	}
	if err := c.say(m.Role, m.Content.text()); err != nil {
		return err
	}
	for _, b := range m.Content {
		if b.Type == "tool_use" && m.Role == llm.RoleAssistant {
			c.call(llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	return nil
}

// addResults adds the tool results of a user message, and the texts around them, in order.
func (c *conversation) addResults(all content) {
	for len(all) > 0 {
		n := slices.IndexFunc(all, block.isResult)
		if n < 0 {
			n = len(all)
		}
		if text := all[:n].text(); text != "" {
			c.messages = append(c.messages, llm.Message{Role: llm.RoleUser, Text: text})
		}
		if n < len(all) {
			c.result(all[n].ToolUseID, all[n].Content.text())
			n++
		}
		all = all[n:]
	}
}

// messagesBlock is one block of an answer.
type messagesBlock struct {
	Type  string         `json:"type"`
	Text  *string        `json:"text,omitzero"`
	ID    string         `json:"id,omitzero"`
	Name  string         `json:"name,omitzero"`
	Input jsontext.Value `json:"input,omitzero"`
}

type messagesReply struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Role         string          `json:"role"`
	Model        string          `json:"model"`
	Content      []messagesBlock `json:"content"`
	StopReason   *string         `json:"stop_reason"`
	StopSequence *string         `json:"stop_sequence"`
	Usage        messagesUsage   `json:"usage"`
}

type messagesUsage struct {
	Input         int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Output        int `json:"output_tokens"`
}

func newMessagesReply(r llm.Request, a *answer) messagesReply {
	return messagesReply{
		ID: newID("msg_"), Type: "message", Role: llm.RoleAssistant, Model: r.Model,
		Usage: messagesUsage{Input: inputTokens(r), Output: a.tokens()},
	}
}

func messagesWhole(r llm.Request, a *answer) any {
	m := newMessagesReply(r, a)
	m.StopReason = messagesStop(a)
	for _, i := range a.items {
		if i.call == nil {
			m.Content = append(m.Content, messagesBlock{Type: "text", Text: new(i.text.String())})
		} else {
			m.Content = append(m.Content, toolUse(i.call, i.call.Arguments))
		}
	}
	return m
}

func toolUse(c *llm.ToolCall, input string) messagesBlock {
	return messagesBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: jsontext.Value(input)}
}

func messagesStop(a *answer) *string {
	if len(a.calls()) > 0 {
		return new("tool_use")
	}
	return new("end_turn")
}
