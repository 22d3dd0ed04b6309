package externalagent

import (
	"context"
	"fmt"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
)

// books is the key in Env.Learnt for whether an agent has gone through the flow in this run.
type books struct{}

// judgeStuck judges an agent that has been silent since the host has withheld the state after a call: it does not ask
// for what it waits for (EA-077). Whether it waits, and has not just finished, shows when the state comes after all, or
// in another scenario of the run. It returns an error if the agent is at fault.
func (s *suite) judgeStuck(ctx context.Context, miss *verdict.Miss, at int) error {
	pl := s.agent.play
	pl.mu.Lock()
	withheld := pl.lost
	pl.mu.Unlock()
	if !withheld || s.driven() != nil || s.gone() != "" || ctx.Err() != nil {
		return nil
	}
	mark := s.T.Len()
	pl.push(ctx, func(p *play) any {
		p.lost = false
		return p.updated()
	})
	observed := miss.Reason + "; nor once the state had come"
	rec, still := s.awaitAgent(ctx, mark, s.pace(),
		received(vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd))
	switch booked, _ := s.Env.Learnt.Load(books{}); {
	case still == nil && kindOf(&rec) != vocab.ToolCall, still != nil && (booked == nil || s.gone() != ""):
		return nil
	case still == nil:
		observed = fmt.Sprintf("%s; once the state had come, it went on: %s", miss.Reason, steps.Seen(rec))
	}
	check := s.silent(miss, at, "snapshot.get, as no state has followed the call", "EA-077")
	check.Observed = observed
	return s.Need(check)
}
