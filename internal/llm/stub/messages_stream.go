package stub

import "parley/internal/llm"

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
	if err := s.send(messagesEvent{Type: "message_start", Message: &m}); err != nil {
		return err
	}
	return s.send(messagesEvent{Type: "ping"})
}

func (s *messagesStream) part(p llm.Part) error {
	i, isNew := s.answer.add(p)
	if isNew {
		if err := s.start(i); err != nil {
			return err
		}
	}
	if p.Call == nil {
		return s.delta(textDelta{"text_delta", p.Text})
	}
	for _, piece := range pieces(p.Call.Arguments) {
		if err := s.delta(inputDelta{"input_json_delta", piece}); err != nil {
			return err
		}
	}
	return nil
}

// start stops the previous block and opens that of an item.
func (s *messagesStream) start(i *item) error {
	if err := s.stop(len(s.answer.items) - 2); err != nil {
		return err
	}
	s.open = true
	b := messagesBlock{Type: "text", Text: new("")}
	if i.call != nil {
		b = toolUse(i.call, "{}")
	}
	return s.send(messagesEvent{Type: "content_block_start", Index: s.index(), Block: &b})
}

func (s *messagesStream) delta(d any) error {
	return s.send(messagesEvent{Type: "content_block_delta", Index: s.index(), Delta: d})
}

func (s *messagesStream) stop(index int) error {
	if !s.open {
		return nil
	}
	s.open = false
	return s.send(messagesEvent{Type: "content_block_stop", Index: &index})
}

func (s *messagesStream) index() *int { return new(len(s.answer.items) - 1) }

func (s *messagesStream) end() error {
	if err := s.stop(len(s.answer.items) - 1); err != nil {
		return err
	}
	err := s.send(messagesEvent{
		Type:  "message_delta",
		Delta: stopDelta{StopReason: messagesStop(&s.answer)},
		Usage: &outputUsage{s.answer.tokens()},
	})
	if err != nil {
		return err
	}
	return s.send(messagesEvent{Type: "message_stop"})
}

func (s *messagesStream) fail(f *llm.Failure) error {
	return s.events.send("error", anthropicFault(f.Status, f.Text))
}

func (s *messagesStream) send(e messagesEvent) error { return s.events.send(e.Type, e) }
