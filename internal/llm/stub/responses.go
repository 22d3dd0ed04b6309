package stub

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/llm"
)

// responsesAPI is the responses API of OpenAI.
var responsesAPI = api{decode: decodeResponses, fault: openAIFault}

type responsesRequest struct {
	Model        string         `json:"model"`
	Instructions *string        `json:"instructions"`
	Input        responsesInput `json:"input"`
	Previous     string         `json:"previous_response_id"`
	Tools        []toolDef      `json:"tools"`
	Stream       bool           `json:"stream"`
}

// responsesInput is written as a string or as items.
type responsesInput []responsesItem

// responsesItem is the union of the items used here; an item of another type has none of the fields.
type responsesItem struct {
	Type      string   `json:"type"`
	Role      string   `json:"role"`
	Content   content  `json:"content"`
	CallID    string   `json:"call_id"`
	Name      string   `json:"name"`
	Arguments jsonText `json:"arguments"`
	Input     jsonText `json:"input"`
	Output    content  `json:"output"`
}

func (in *responsesInput) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		*in = responsesInput{{Role: llm.RoleUser, Content: content{{Type: "text"}}}}
		return json.UnmarshalDecode(d, &(*in)[0].Content[0].Text)
	}
	return json.UnmarshalDecode(d, (*[]responsesItem)(in))
}

func decodeResponses(body []byte) (exchange, error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return exchange{}, err
	}
	if in.Previous != "" {
		return exchange{}, errors.New("previous_response_id: no response is stored")
	}
	var c conversation
	if in.Instructions != nil {
		c.system = append(c.system, *in.Instructions)
	}
	for i, item := range in.Input {
		if err := c.addResponses(item); err != nil {
			return exchange{}, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	r, err := c.brainRequest(llm.APIResponses, in.Model, toolNames(in.Tools), in.Stream)
	if err != nil {
		return exchange{}, err
	}
	start := newResponse(r, in.Instructions)
	return exchange{
		request: r,
		stream:  func(e *events) stream { return &responsesStream{events: e, response: start, request: r} },
		whole:   func(a *answer) any { return responsesWhole(start, r, a) },
	}, nil
}

// addResponses adds an input item. Items other than messages, calls and results are left out.
func (c *conversation) addResponses(i responsesItem) error {
	switch i.Type {
	case "", "message":
		return c.addText(i.Role, i.Content.joinTexts())
	case "function_call":
		c.addCall(llm.ToolCall{ID: i.CallID, Name: i.Name, Arguments: string(i.Arguments)})
	case "custom_tool_call":
		c.addCall(llm.ToolCall{ID: i.CallID, Name: i.Name, Arguments: string(i.Input)})
	case "function_call_output", "custom_tool_call_output":
		c.addResult(i.CallID, i.Output.joinTexts())
	}
	return nil
}

// response is the response object; in a stream it appears at the start and at the end.
type response struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	CreatedAt         int64           `json:"created_at"`
	Status            string          `json:"status"`
	Error             *responseError  `json:"error"`
	IncompleteDetails *struct{}       `json:"incomplete_details"`
	Instructions      *string         `json:"instructions"`
	Model             string          `json:"model"`
	Output            []responseItem  `json:"output"`
	ParallelToolCalls bool            `json:"parallel_tool_calls"`
	PreviousID        *string         `json:"previous_response_id"`
	Store             bool            `json:"store"`
	Temperature       float64         `json:"temperature"`
	ToolChoice        string          `json:"tool_choice"`
	Tools             []struct{}      `json:"tools"`
	TopP              float64         `json:"top_p"`
	Truncation        string          `json:"truncation"`
	Usage             *responsesUsage `json:"usage"`
	Metadata          struct{}        `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// responseItem is a message or a function call of an answer.
type responseItem struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status"`
	Role      string         `json:"role,omitzero"`
	Content   []responseText `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Arguments *string        `json:"arguments,omitzero"`
}

type responseText struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations"`
	Logprobs    []struct{} `json:"logprobs"`
}

type responsesUsage struct {
	Input         int         `json:"input_tokens"`
	InputDetails  inputDetail `json:"input_tokens_details"`
	Output        int         `json:"output_tokens"`
	OutputDetails outDetail   `json:"output_tokens_details"`
	Total         int         `json:"total_tokens"`
}

type inputDetail struct {
	Cached int `json:"cached_tokens"`
}

type outDetail struct {
	Reasoning int `json:"reasoning_tokens"`
}

const (
	inProgress = "in_progress"
	completed  = "completed"
)

func newResponse(r llm.Request, instructions *string) response {
	return response{
		ID: newID("resp_"), Object: "response", CreatedAt: time.Now().Unix(), Status: inProgress,
		Instructions: instructions, Model: r.Model, ParallelToolCalls: true, Temperature: 1, ToolChoice: "auto",
		TopP: 1, Truncation: "disabled",
	}
}

// completedResponse returns the final response, with its items.
func (r response) completedResponse(in llm.Request, a *answer, items []responseItem) response {
	u := &responsesUsage{Input: inputTokens(in), Output: a.countTokens()}
	u.Total = u.Input + u.Output
	r.Status, r.Output, r.Usage = completed, items, u
	return r
}

// newItem returns an output item before it has any content.
func newItem(i *item) responseItem {
	if i.call == nil {
		return responseItem{
			ID: newID("msg_"), Type: "message", Status: inProgress, Role: llm.RoleAssistant, Content: []responseText{},
		}
	}
	return responseItem{
		ID: newID("fc_"), Type: "function_call", Status: inProgress,
		CallID: i.call.ID, Name: i.call.Name, Arguments: new(""),
	}
}

// finalItem returns the item in its final state.
func (o responseItem) finalItem(i *item) responseItem {
	o.Status = completed
	if i.call == nil {
		o.Content = []responseText{outputText(i.text.String())}
	} else {
		o.Arguments = &i.call.Arguments
	}
	return o
}

func outputText(text string) responseText { return responseText{Type: "output_text", Text: text} }

func responsesWhole(start response, in llm.Request, a *answer) any {
	var items []responseItem
	for _, i := range a.items {
		items = append(items, newItem(i).finalItem(i))
	}
	return start.completedResponse(in, a, items)
}

// responsesEvent is one event of a stream. Each type uses some of the fields.
type responsesEvent struct {
	Type         string        `json:"type"`
	Sequence     int           `json:"sequence_number"`
	Response     *response     `json:"response,omitzero"`
	OutputIndex  *int          `json:"output_index,omitzero"`
	ItemID       string        `json:"item_id,omitzero"`
	ContentIndex *int          `json:"content_index,omitzero"`
	Item         *responseItem `json:"item,omitzero"`
	Part         *responseText `json:"part,omitzero"`
	Delta        *string       `json:"delta,omitzero"`
	Text         *string       `json:"text,omitzero"`
	Name         string        `json:"name,omitzero"`
	Arguments    *string       `json:"arguments,omitzero"`
	Logprobs     []struct{}    `json:"logprobs,omitzero"`
}

// responsesStream writes the events of one answer.
type responsesStream struct {
	events   *events
	request  llm.Request
	response response // its initial state
	sequence int
	answer   answer
	items    []responseItem // the last one is open, the others are done
}

func (s *responsesStream) begin() error {
	return s.sendEvent(
		responsesEvent{Type: "response.created", Response: &s.response},
		responsesEvent{Type: "response.in_progress", Response: &s.response},
	)
}

func (s *responsesStream) writePart(p llm.Part) error {
	_, isNew := s.answer.addPart(p)
	if isNew {
		if err := s.startItem(); err != nil {
			return err
		}
	}
	if p.Call == nil {
		e := s.inText("response.output_text.delta")
		e.Delta, e.Logprobs = &p.Text, []struct{}{}
		return s.sendEvent(e)
	}
	for _, piece := range splitArguments(p.Call.Arguments) {
		e := s.inItem("response.function_call_arguments.delta")
		e.Delta = &piece
		if err := s.sendEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// startItem finishes the previous item and opens the new one.
func (s *responsesStream) startItem() error {
	if err := s.finishItem(); err != nil {
		return err
	}
	i := s.answer.lastItem()
	item := newItem(i)
	s.items = append(s.items, item)
	added := responsesEvent{Type: "response.output_item.added", OutputIndex: s.itemIndex(), Item: &item}
	if i.call != nil {
		return s.sendEvent(added)
	}
	part := s.inText("response.content_part.added")
	part.Part = new(outputText(""))
	return s.sendEvent(added, part)
}

// finishItem finishes the open item.
func (s *responsesStream) finishItem() error {
	if len(s.items) == 0 {
		return nil
	}
	i := s.answer.items[len(s.items)-1]
	item := s.items[len(s.items)-1].finalItem(i)
	s.items[len(s.items)-1] = item
	done := responsesEvent{Type: "response.output_item.done", OutputIndex: s.itemIndex(), Item: &item}
	if i.call != nil {
		arguments := s.inItem("response.function_call_arguments.done")
		arguments.Name, arguments.Arguments = item.Name, item.Arguments
		return s.sendEvent(arguments, done)
	}
	text, part := s.inText("response.output_text.done"), s.inText("response.content_part.done")
	text.Text, text.Logprobs = &item.Content[0].Text, []struct{}{}
	part.Part = &item.Content[0]
	return s.sendEvent(text, part, done)
}

func (s *responsesStream) end() error {
	if err := s.finishItem(); err != nil {
		return err
	}
	end := s.response.completedResponse(s.request, &s.answer, s.items)
	return s.sendEvent(responsesEvent{Type: "response.completed", Response: &end})
}

func (s *responsesStream) fail(f *llm.Failure) error {
	failed := s.response
	failed.Status = "failed"
	failed.Error = &responseError{Code: openAIErrorType(f.Status), Message: f.Text}
	return s.sendEvent(responsesEvent{Type: "response.failed", Response: &failed})
}

// inItem returns an event about the open item, inText one about its text.
func (s *responsesStream) inItem(kind string) responsesEvent {
	return responsesEvent{Type: kind, OutputIndex: s.itemIndex(), ItemID: s.items[len(s.items)-1].ID}
}

func (s *responsesStream) inText(kind string) responsesEvent {
	e := s.inItem(kind)
	e.ContentIndex = new(0)
	return e
}

func (s *responsesStream) itemIndex() *int { return new(len(s.items) - 1) }

func (s *responsesStream) sendEvent(all ...responsesEvent) error {
	for _, e := range all {
		e.Sequence = s.sequence
		s.sequence++
		if err := s.events.sendEvent(e.Type, e); err != nil {
			return err
		}
	}
	return nil
}
