package externalagent

import (
	"context"
	"fmt"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/verdict"
)

// callsAtOnce makes calls of announced tools that do not lead away, without waiting. The target may refuse them or
// carry them out one after the other; each must be answered under its own id, with its own tool's name (EA-047,
// EA-049). That each is answered once is a monitor's.
func (s *suite) callsAtOnce(ctx context.Context, p *party, n int) error {
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	type call struct {
		tool   string
		params object
	}
	var can []call
	for i := range announced {
		t := &announced[i]
		if t.Name == vocab.Next || t.Name == vocab.Prev {
			continue
		}
		if params, _ := t.Example(s.known(t.Name, now.ui)); params != nil {
			can = append(can, call{t.Name, params})
		}
	}
	if len(can) == 0 {
		return steps.NotTestedf("the host announces no tool, except those that lead to another stage, that can be called")
	}
	var asked []*request
	for i := range n {
		q, err := s.call(ctx, p, can[i%len(can)].tool, can[i%len(can)].params)
		if err != nil {
			return err
		}
		asked = append(asked, q)
	}
	for i, q := range asked {
		expected := fmt.Sprintf("an answer with replyTo %q, the id of call %d of %d that were sent together", q.id, i+1, n)
		rec, miss := s.answer(ctx, q)
		switch {
		case miss != nil:
			_ = s.Judge(q.unanswered(miss, expected, "EA-046", "EA-047", "EA-074"))
			continue
		case kindOf(&rec) != vocab.ToolResult && kindOf(&rec) != vocab.ErrorMessage:
			_ = s.breaks(rec, expected, "EA-046", "EA-074")
			continue
		case !refused(&rec):
			s.namesTool(&rec, q.tool)
		}
		_ = s.Judge(verdict.Finding{Clauses: []string{"EA-046", "EA-047", "EA-074"}, OK: true, At: rec.N})
	}
	_, err = s.snapshot(ctx, p) // what follows it was not sent because of these calls
	return err
}
