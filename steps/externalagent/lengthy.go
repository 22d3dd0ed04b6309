package externalagent

import (
	"context"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transport/transcript"
)

// saysMuch sends agent.messages with long texts, without waiting. No clause sets a limit, so that a target which
// refuses one of them, or closes the connection, is not judged on them.
func (s *suite) saysMuch(ctx context.Context, p *party, n, kilobytes int) error {
	const sentence = " 一个较长的句子。"
	begun, ids := s.T.Len(), map[string]bool{}
	for range n {
		text := s.newWord("word") + strings.Repeat(sentence, kilobytes<<10/len(sentence))
		q, err := s.ask(ctx, p, vocab.AgentMessage, object{"text": text})
		if err != nil {
			return err
		}
		ids[q.id] = true
	}
	last := p.last
	fence, ok := s.asksAside(ctx, p)
	done := func(r *transcript.Record) bool {
		to := field(r, "replyTo")
		return closed(r) || refused(r) && (ids[to] || to == "") || ok && answers(fence.id)(r)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: begun, Kind: "an answer behind long messages", Match: done})
	switch p.last = last; {
	case miss != nil || ok && answers(fence.id)(&rec):
		return nil
	case closed(&rec):
		p.conn, p.joined, p.study = nil, false, ""
	}
	return &steps.NotApplicableError{Reason: "the target does not take such long messages: " + steps.Seen(rec)}
}
