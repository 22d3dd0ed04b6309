package stub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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
	r, err := c.brainRequest(llm.APIChat, in.Model, toolNames(in.Tools), in.Stream)
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
		c.addResult(m.ToolCallID, m.Content.joinTexts())
		return nil
	}
	if err := c.addText(m.Role, m.Content.joinTexts()); err != nil {
		return err
	}
	if m.Role != llm.RoleAssistant {
		return nil
	}
	for _, t := range m.ToolCalls {
		c.addCall(llm.ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: string(t.Function.Arguments)})
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
	in, out := inputTokens(r), a.countTokens()
	return chatUsage{Prompt: in, Completion: out, Total: in + out}
}

func chatWhole(r llm.Request, a *answer) any {
	m := &chatReply{Role: llm.RoleAssistant, Content: a.allText()}
	for _, t := range a.toolCalls() {
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
	if len(a.toolCalls()) > 0 {
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
	return s.writeDelta(chatDelta{Role: llm.RoleAssistant, Content: new("")}, nil)
}

func (s *chatStream) writePart(p llm.Part) error {
	s.answer.addPart(p)
	if p.Call == nil {
		return s.writeDelta(chatDelta{Content: &p.Text}, nil)
	}
	index := len(s.answer.toolCalls()) - 1
	f := chatFunction{Name: p.Call.Name}
	head := chatCall{Index: &index, ID: p.Call.ID, Type: "function", Function: f}
	if err := s.writeDelta(chatDelta{ToolCalls: []chatCall{head}}, nil); err != nil {
		return err
	}
	for _, piece := range splitArguments(p.Call.Arguments) {
		more := chatCall{Index: &index, Function: chatFunction{Arguments: jsonText(piece)}}
		if err := s.writeDelta(chatDelta{ToolCalls: []chatCall{more}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatStream) end() error {
	if err := s.writeDelta(chatDelta{}, chatFinish(&s.answer)); err != nil {
		return err
	}
	if s.usage {
		c := s.newChunk()
		c.Usage = newChatUsage(s.request, &s.answer)
		if err := s.events.sendEvent("", c); err != nil {
			return err
		}
	}
	return s.events.writeEvent("", []byte("[DONE]"))
}

func (s *chatStream) fail(f *llm.Failure) error {
	return s.events.sendEvent("", openAIFault(f.Status, f.Text))
}

func (s *chatStream) writeDelta(d chatDelta, finish *string) error {
	c := s.newChunk()
	c.Choices = []chatChoice{{Delta: &d, FinishReason: finish}}
	if s.usage {
		c.Usage = jsontext.Value("null") // until the last chunk
	}
	return s.events.sendEvent("", c)
}

func (s *chatStream) newChunk() chatCompletion {
	return chatCompletion{ID: s.id, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: s.request.Model}
}

// answer collects the parts of an answer. Consecutive texts are one item.
type answer struct {
	items []*item
}

// item is a text or a tool call.
type item struct {
	text strings.Builder
	call *llm.ToolCall
}

// addPart adds a part, and returns the item it belongs to and whether that is new.
func (a *answer) addPart(p llm.Part) (i *item, isNew bool) {
	if p.Call == nil && len(a.items) > 0 && a.lastItem().call == nil {
		i = a.lastItem()
	} else {
		i, isNew = &item{call: p.Call}, true
		a.items = append(a.items, i)
	}
	i.text.WriteString(p.Text)
	return i, isNew
}

func (a *answer) lastItem() *item { return a.items[len(a.items)-1] }

// allText returns all texts; nil if there are none.
func (a *answer) allText() *string {
	var texts []string
	for _, i := range a.items {
		if i.call == nil {
			texts = append(texts, i.text.String())
		}
	}
	if texts == nil {
		return nil
	}
	return new(strings.Join(texts, "\n"))
}

func (a *answer) toolCalls() []llm.ToolCall {
	var calls []llm.ToolCall
	for _, i := range a.items {
		if i.call != nil {
			calls = append(calls, *i.call)
		}
	}
	return calls
}

// countTokens estimates the size of the answer.
func (a *answer) countTokens() int {
	n := 0
	for _, i := range a.items {
		n += estimateTokens(i.text.Len())
		if i.call != nil {
			n += estimateTokens(len(i.call.Name) + len(i.call.Arguments))
		}
	}
	return n
}

// inputTokens estimates the size of a request.
func inputTokens(r llm.Request) int {
	n := estimateTokens(len(r.System))
	for _, m := range r.Messages {
		n += 1 + estimateTokens(len(m.Text))
		for _, c := range m.Calls {
			n += estimateTokens(len(c.Name) + len(c.Arguments))
		}
	}
	for _, t := range r.Tools {
		n += estimateTokens(len(t))
	}
	return n
}

func estimateTokens(bytes int) int { return (bytes + 3) / 4 }

// splitArguments splits the arguments of a call in two, as the APIs stream them; a client has to join them.
func splitArguments(arguments string) []string {
	half := len(arguments) / 2
	for half > 0 && !utf8.RuneStart(arguments[half]) {
		half--
	}
	return []string{arguments[:half], arguments[half:]}
}

func newID(prefix string) string { return prefix + rand.Text() }

// content is what the APIs write as null, a string, one block, or an array of blocks.
type content []block

// block is one part of a content. Its fields are the union of those that the APIs use; a block of another type has
// none of them.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`

	// Anthropic tool_use and tool_result.
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Input     jsonText `json:"input"`
	ToolUseID string   `json:"tool_use_id"`
	Content   content  `json:"content"`
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		*c = content{{Type: "text"}}
		return json.UnmarshalDecode(d, &(*c)[0].Text)
	case '{':
		*c = content{{}}
		return json.UnmarshalDecode(d, &(*c)[0])
	}
	return json.UnmarshalDecode(d, (*[]block)(c))
}

func (b block) isText() bool {
	return b.Type == "text" || b.Type == "input_text" || b.Type == "output_text"
}

func (b block) isResult() bool { return b.Type == "tool_result" }

// joinTexts returns the texts of the blocks, one per line.
func (c content) joinTexts() string {
	var texts []string
	for _, b := range c {
		if b.isText() {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// jsonText is the JSON text of a tool call's arguments, which some APIs write as a string and others as the value
// itself.
type jsonText string

func (t *jsonText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		return json.UnmarshalDecode(d, (*string)(t))
	}
	v, err := d.ReadValue()
	*t = jsonText(v)
	return err
}

// conversation collects a request's messages in the form of the brain.
type conversation struct {
	system   []string
	messages []llm.Message
}

func (c *conversation) addText(role, text string) error {
	switch role {
	case "system", "developer":
		c.system = append(c.system, text)
	case llm.RoleUser, llm.RoleAssistant:
		c.messages = append(c.messages, llm.Message{Role: role, Text: text})
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// addCall adds a tool call to the last message if that is the assistant's, or to a new one.
func (c *conversation) addCall(t llm.ToolCall) {
	if n := len(c.messages); n == 0 || c.messages[n-1].Role != llm.RoleAssistant {
		c.messages = append(c.messages, llm.Message{Role: llm.RoleAssistant})
	}
	m := &c.messages[len(c.messages)-1]
	m.Calls = append(m.Calls, t)
}

func (c *conversation) addResult(id, text string) {
	c.messages = append(c.messages, llm.Message{Role: llm.RoleTool, Text: text, ResultOf: id})
}

// brainRequest returns the request for the brain.
func (c *conversation) brainRequest(api, name string, tools []string, stream bool) (llm.Request, error) {
	if name == "" {
		return llm.Request{}, errors.New("model is missing")
	}
	if len(c.messages) == 0 {
		return llm.Request{}, errors.New("there are no messages")
	}
	return llm.Request{
		API:      api,
		Model:    name,
		System:   strings.Join(c.system, "\n"),
		Tools:    tools,
		Messages: c.messages,
		Stream:   stream,
	}, nil
}

// toolDef is a tool definition, with the union of the APIs' fields.
type toolDef struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function named  `json:"function"`
	Custom   named  `json:"custom"`
}

// toolNames returns the names of tools. A tool built into the API may have only a type.
func toolNames(tools []toolDef) []string {
	var found []string
	for _, t := range tools {
		for _, name := range []string{t.Name, t.Function.Name, t.Custom.Name, t.Type} {
			if name != "" {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

type named struct {
	Name string `json:"name"`
}
