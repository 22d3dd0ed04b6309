package stub

import (
	"fmt"
	"net/http"
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
	if system := in.System.joinTexts(); system != "" {
		c.system = append(c.system, system)
	}
	for i, m := range in.Messages {
		if err := c.addMessages(m); err != nil {
			return exchange{}, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	r, err := c.brainRequest(llm.APIMessages, in.Model, toolNames(in.Tools), in.Stream)
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
	if err := c.addText(m.Role, m.Content.joinTexts()); err != nil {
		return err
	}
	for _, b := range m.Content {
		if b.Type == "tool_use" && m.Role == llm.RoleAssistant {
			c.addCall(llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
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
		if text := all[:n].joinTexts(); text != "" {
			c.messages = append(c.messages, llm.Message{Role: llm.RoleUser, Text: text})
		}
		if n < len(all) {
			c.addResult(all[n].ToolUseID, all[n].Content.joinTexts())
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
		Usage: messagesUsage{Input: inputTokens(r), Output: a.countTokens()},
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
	if len(a.toolCalls()) > 0 {
		return new("tool_use")
	}
	return new("end_turn")
}

// messagesEvent is one event of a stream. Each type uses some of the fields.
type messagesEvent struct {
	Type    string         `json:"type"`
	Message *messagesReply `json:"message,omitzero"`
	Index   *int           `json:"index,omitzero"`
	Block   *messagesBlock `json:"content_block,omitzero"`
	Delta   any            `json:"delta,omitzero"`
	Usage   *outputUsage   `json:"usage,omitzero"`
}

type textDelta struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type inputDelta struct {
	Type        string `json:"type"`
	PartialJSON string `json:"partial_json"`
}

type stopDelta struct {
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type outputUsage struct {
	Output int `json:"output_tokens"`
}

// messagesStream writes the events of one answer.
type messagesStream struct {
	events  *events
	request llm.Request
	answer  answer
	open    bool // the last block has not been stopped
}

func (s *messagesStream) begin() error {
	m := newMessagesReply(s.request, &s.answer)
	if err := s.sendEvent(messagesEvent{Type: "message_start", Message: &m}); err != nil {
		return err
	}
	return s.sendEvent(messagesEvent{Type: "ping"})
}

func (s *messagesStream) writePart(p llm.Part) error {
	i, isNew := s.answer.addPart(p)
	if isNew {
		if err := s.startBlock(i); err != nil {
			return err
		}
	}
	if p.Call == nil {
		return s.writeDelta(textDelta{"text_delta", p.Text})
	}
	for _, piece := range splitArguments(p.Call.Arguments) {
		if err := s.writeDelta(inputDelta{"input_json_delta", piece}); err != nil {
			return err
		}
	}
	return nil
}

// startBlock stops the previous block and opens that of an item.
func (s *messagesStream) startBlock(i *item) error {
	if err := s.stopBlock(len(s.answer.items) - 2); err != nil {
		return err
	}
	s.open = true
	b := messagesBlock{Type: "text", Text: new("")}
	if i.call != nil {
		b = toolUse(i.call, "{}")
	}
	return s.sendEvent(messagesEvent{Type: "content_block_start", Index: s.blockIndex(), Block: &b})
}

func (s *messagesStream) writeDelta(d any) error {
	return s.sendEvent(messagesEvent{Type: "content_block_delta", Index: s.blockIndex(), Delta: d})
}

func (s *messagesStream) stopBlock(index int) error {
	if !s.open {
		return nil
	}
	s.open = false
	return s.sendEvent(messagesEvent{Type: "content_block_stop", Index: &index})
}

func (s *messagesStream) blockIndex() *int { return new(len(s.answer.items) - 1) }

func (s *messagesStream) end() error {
	if err := s.stopBlock(len(s.answer.items) - 1); err != nil {
		return err
	}
	err := s.sendEvent(messagesEvent{
		Type:  "message_delta",
		Delta: stopDelta{StopReason: messagesStop(&s.answer)},
		Usage: &outputUsage{s.answer.countTokens()},
	})
	if err != nil {
		return err
	}
	return s.sendEvent(messagesEvent{Type: "message_stop"})
}

func (s *messagesStream) fail(f *llm.Failure) error {
	return s.events.sendEvent("error", anthropicFault(f.Status, f.Text))
}

func (s *messagesStream) sendEvent(e messagesEvent) error { return s.events.sendEvent(e.Type, e) }

// events writes server-sent events, and flushes each one.
type events struct {
	w     http.ResponseWriter
	flush func() error
	begun bool
	line  []byte // reused
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, flush: http.NewResponseController(w).Flush}
}

// sendEvent writes one event with JSON data. If name is empty, the event line is left out.
func (e *events) sendEvent(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal %T: %w", v, err)
	}
	return e.writeEvent(name, data)
}

func (e *events) writeEvent(name string, data []byte) error {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.Header().Set("Cache-Control", "no-cache")
		e.w.WriteHeader(http.StatusOK)
	}
	e.line = e.line[:0]
	if name != "" {
		e.line = fmt.Appendf(e.line, "event: %s\n", name)
	}
	e.line = append(append(append(e.line, "data: "...), data...), "\n\n"...)
	if _, err := e.w.Write(e.line); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := e.flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
