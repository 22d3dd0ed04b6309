package stub

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/llm"
)

// chatAPI is the chat completions API of OpenAI.
var chatAPI = api{decode: decodeChat, fault: openAIFault}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Tools         []toolDef     `json:"tools"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// chatCall is a tool call, whole in a message and in pieces in a stream.
type chatCall struct {
	Index    *int         `json:"index,omitzero"`
	ID       string       `json:"id,omitzero"`
	Type     string       `json:"type,omitzero"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string   `json:"name,omitzero"`
	Arguments jsonText `json:"arguments"`
}

func decodeChat(body []byte) (exchange, error) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return exchange{}, err
	}
	var c conversation
	for i, m := range in.Messages {
		if err := c.addChat(m); err != nil {
			return exchange{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	r, err := c.request(llm.APIChat, in.Model, names(in.Tools), in.Stream)
	if err != nil {
		return exchange{}, err
	}
	return exchange{
		request: r,
		stream: func(e *events) stream {
			return &chatStream{events: e, request: r, id: newID("chatcmpl-"), usage: in.StreamOptions.IncludeUsage}
		},
		whole: func(a *answer) any { return chatWhole(r, a) },
	}, nil
}

func (c *conversation) addChat(m chatMessage) error {
	if m.Role == llm.RoleTool {
		c.result(m.ToolCallID, m.Content.text())
		return nil
	}
	if err := c.say(m.Role, m.Content.text()); err != nil {
		return err
	}
	if m.Role != llm.RoleAssistant {
		return nil
	}
	for _, t := range m.ToolCalls {
		c.call(llm.ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: string(t.Function.Arguments)})
	}
	return nil
}

// chatCompletion is a whole answer, or one chunk of a streamed one.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   any          `json:"usage,omitzero"`
}

type chatChoice struct {
	Index        int        `json:"index"`
	Message      *chatReply `json:"message,omitzero"`
	Delta        *chatDelta `json:"delta,omitzero"`
	Logprobs     *struct{}  `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
}

type chatReply struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatDelta struct {
	Role      string     `json:"role,omitzero"`
	Content   *string    `json:"content,omitzero"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func newChatUsage(r llm.Request, a *answer) chatUsage {
	in, out := inputTokens(r), a.tokens()
	return chatUsage{Prompt: in, Completion: out, Total: in + out}
}

func chatWhole(r llm.Request, a *answer) any {
	m := &chatReply{Role: llm.RoleAssistant, Content: a.text()}
	for _, t := range a.calls() {
		f := chatFunction{Name: t.Name, Arguments: jsonText(t.Arguments)}
		m.ToolCalls = append(m.ToolCalls, chatCall{ID: t.ID, Type: "function", Function: f})
	}
	return chatCompletion{
		ID:      newID("chatcmpl-"),
		Object:  "chat.completion",
		Created: time.Now().Unix(),
		Model:   r.Model,
		Choices: []chatChoice{{Message: m, FinishReason: chatFinish(a)}},
		Usage:   newChatUsage(r, a),
	}
}

func chatFinish(a *answer) *string {
	if len(a.calls()) > 0 {
		return new("tool_calls")
	}
	return new("stop")
}

// chatStream writes the chunks of one answer.
type chatStream struct {
	events  *events
	request llm.Request
	id      string
	usage   bool // the client wants a usage chunk
	answer  answer
}

func (s *chatStream) begin() error {
	return s.delta(chatDelta{Role: llm.RoleAssistant, Content: new("")}, nil)
}

func (s *chatStream) part(p llm.Part) error {
	s.answer.add(p)
	if p.Call == nil {
		return s.delta(chatDelta{Content: &p.Text}, nil)
	}
	index := len(s.answer.calls()) - 1
	f := chatFunction{Name: p.Call.Name}
	head := chatCall{Index: &index, ID: p.Call.ID, Type: "function", Function: f}
	if err := s.delta(chatDelta{ToolCalls: []chatCall{head}}, nil); err != nil {
		return err
	}
	for _, piece := range pieces(p.Call.Arguments) {
		more := chatCall{Index: &index, Function: chatFunction{Arguments: jsonText(piece)}}
		if err := s.delta(chatDelta{ToolCalls: []chatCall{more}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatStream) end() error {
	if err := s.delta(chatDelta{}, chatFinish(&s.answer)); err != nil {
		return err
	}
	if s.usage {
		c := s.chunk()
		c.Usage = newChatUsage(s.request, &s.answer)
		if err := s.events.send("", c); err != nil {
			return err
		}
	}
	return s.events.write("", []byte("[DONE]"))
}

func (s *chatStream) fail(f *llm.Failure) error {
	return s.events.send("", openAIFault(f.Status, f.Text))
}

func (s *chatStream) delta(d chatDelta, finish *string) error {
	c := s.chunk()
	c.Choices = []chatChoice{{Delta: &d, FinishReason: finish}}
	if s.usage {
		c.Usage = jsontext.Value("null") // until the last chunk
	}
	return s.events.send("", c)
}

func (s *chatStream) chunk() chatCompletion {
	return chatCompletion{ID: s.id, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: s.request.Model}
}
