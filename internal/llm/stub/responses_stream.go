package stub

import "parley/internal/llm"

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
	return s.send(
		responsesEvent{Type: "response.created", Response: &s.response},
		responsesEvent{Type: "response.in_progress", Response: &s.response},
	)
}

func (s *responsesStream) part(p llm.Part) error {
	_, isNew := s.answer.add(p)
	if isNew {
		if err := s.start(); err != nil {
			return err
		}
	}
	if p.Call == nil {
		e := s.inText("response.output_text.delta")
		e.Delta, e.Logprobs = &p.Text, []struct{}{}
		return s.send(e)
	}
	for _, piece := range pieces(p.Call.Arguments) {
		e := s.inItem("response.function_call_arguments.delta")
		e.Delta = &piece
		if err := s.send(e); err != nil {
			return err
		}
	}
	return nil
}

// start finishes the previous item and opens the new one.
func (s *responsesStream) start() error {
	if err := s.finish(); err != nil {
		return err
	}
	i := s.answer.last()
	item := newItem(i)
	s.items = append(s.items, item)
	added := responsesEvent{Type: "response.output_item.added", OutputIndex: s.index(), Item: &item}
	if i.call != nil {
		return s.send(added)
	}
	part := s.inText("response.content_part.added")
	part.Part = new(outputText(""))
	return s.send(added, part)
}

// finish finishes the open item.
func (s *responsesStream) finish() error {
	if len(s.items) == 0 {
		return nil
	}
	i := s.answer.items[len(s.items)-1]
	item := s.items[len(s.items)-1].filled(i)
	s.items[len(s.items)-1] = item
	done := responsesEvent{Type: "response.output_item.done", OutputIndex: s.index(), Item: &item}
	if i.call != nil {
		arguments := s.inItem("response.function_call_arguments.done")
		arguments.Name, arguments.Arguments = item.Name, item.Arguments
		return s.send(arguments, done)
	}
	text, part := s.inText("response.output_text.done"), s.inText("response.content_part.done")
	text.Text, text.Logprobs = &item.Content[0].Text, []struct{}{}
	part.Part = &item.Content[0]
	return s.send(text, part, done)
}

func (s *responsesStream) end() error {
	if err := s.finish(); err != nil {
		return err
	}
	end := s.response.completed(s.request, &s.answer, s.items)
	return s.send(responsesEvent{Type: "response.completed", Response: &end})
}

func (s *responsesStream) fail(f *llm.Failure) error {
	failed := s.response
	failed.Status = "failed"
	failed.Error = &responseError{Code: openAIErrorType(f.Status), Message: f.Text}
	return s.send(responsesEvent{Type: "response.failed", Response: &failed})
}

// inItem returns an event about the open item, inText one about its text.
func (s *responsesStream) inItem(kind string) responsesEvent {
	return responsesEvent{Type: kind, OutputIndex: s.index(), ItemID: s.items[len(s.items)-1].ID}
}

func (s *responsesStream) inText(kind string) responsesEvent {
	e := s.inItem(kind)
	e.ContentIndex = new(0)
	return e
}

func (s *responsesStream) index() *int { return new(len(s.items) - 1) }

func (s *responsesStream) send(all ...responsesEvent) error {
	for _, e := range all {
		e.Sequence = s.sequence
		s.sequence++
		if err := s.events.send(e.Type, e); err != nil {
			return err
		}
	}
	return nil
}
