package externalagent

import (
	"fmt"
	"strings"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/transcript"
)

// junk is what no agent has to expect, by the words of features.
func (s *suite) junk(what string) ([]any, error) {
	raw := func(text string) any { return driver.Message{Label: what, Body: []byte(text)} }
	other := "req-of-nobody-" + s.Nonce
	switch what {
	case "malformed JSON":
		return []any{raw(`{"v":"mvp-0.2","type":`)}, nil
	case "an empty text":
		return []any{raw("")}, nil
	case "a JSON array":
		return []any{raw(`[{"v":"mvp-0.2"}]`)}, nil
	case "a JSON null":
		return []any{raw("null")}, nil
	case "a JSON number":
		return []any{raw("42")}, nil
	case "a JSON string":
		return []any{raw(`"state.updated"`)}, nil
	case "a binary frame":
		return []any{driver.Message{Label: what, Body: []byte{0, 1, 2, 0xff}, Binary: true}}, nil
	case "an unknown type":
		return []any{envelope("parley.unknown", "", "", object{"a": 1})}, nil
	case "an envelope without payload":
		e := envelope("parley.unknown", "", "", nil)
		delete(e, "payload")
		return []any{e}, nil
	case "an envelope without type":
		e := envelope("", "", "", object{})
		delete(e, "type")
		return []any{e}, nil
	case "a presence message":
		return []any{envelope("relay.presence", "", "", object{"role": "host", "online": true})}, nil
	case "an answer to nobody":
		return []any{envelope(vocab.ToolResult, "", other, object{"ok": true, "toolName": "next"}), envelope(vocab.ErrorMessage, "", other, object{"code": vocab.InvalidParams, "message": "of nobody's call"})}, nil
	case "what the participant says":
		return []any{envelope(vocab.UserMessage, "", "", object{"text": "I prefer evening showtimes.", "stage": "time"})}, nil
	case "a state with extra members":
		return []any{func(p *play) any {
			e := p.updated()
			e["parleyExtra"] = []any{object{"a": nil}}
			e["payload"].(object)["parleyExtra"] = "x"
			return e
		}}, nil
	case "a long state":
		return []any{func(p *play) any {
			e := p.updated()
			e["payload"].(object)["parleyExtra"] = strings.Repeat("x", 300<<10)
			return e
		}}, nil
	}
	return nil, fmt.Errorf("no step sends %q", what)
}

// junkOf is junk that is sent from within a play.
func (s *suite) junkOf(what string) (func(p *play) []any, error) {
	junk, err := s.junk(what)
	if err != nil {
		return nil, err
	}
	return func(p *play) []any {
		var out []any
		for _, v := range junk {
			if made, ok := v.(func(*play) any); ok {
				v = made(p)
			}
			out = append(out, v)
		}
		return out
	}, nil
}

// junkFirst has the host send junk in front of the first state: whoever calls a tool has read on behind it.
func (s *suite) junkFirst(what string) error {
	junk, err := s.junkOf(what)
	if err != nil {
		return err
	}
	p := s.agent.play
	p.first = func() []any { return junk(p) }
	s.agent.planned++
	return nil
}

// junkBefore has the host send junk in front of the result of a call, for which the agent waits.
func (s *suite) junkBefore(what string, n int) error {
	junk, err := s.junkOf(what)
	if err != nil {
		return err
	}
	return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any { return append(junk(p), p.result, p.updated()) })
}

// junkBehind has the host send something behind the first state.
func (s *suite) junkBehind(what string) error {
	junk, err := s.junkOf(what)
	if err != nil {
		return err
	}
	p := s.agent.play
	p.onState = func(n int) []any {
		if n != 1 {
			return nil
		}
		return junk(p)
	}
	return nil
}
