package externalagent

import (
	"context"
	"fmt"

	vocab "parley/protocol/externalagent"
	"parley/steps"
)

// failsLater judges the refusal of a call that fails at run time after calls that succeeded (EA-083). Whether it fails
// there, too, is the host's affair.
func (s *suite) failsLater(ctx context.Context, p *party, before int) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	if len(path) <= before {
		return steps.NotTestedf("the booking path has no more than %d calls", before)
	}
	now, err := s.still(ctx, p)
	for _, c := range path[:before] {
		if err == nil {
			now, err = s.advance(ctx, p, c, now, false)
		}
	}
	if err != nil {
		return err
	}
	if err := s.provokes(ctx, p, failing); err != nil {
		return err
	}
	p.last.mayPass = fmt.Sprintf("a call of %s need not fail at run time after %d calls of the booking", p.last.tool,
		before)
	return s.isRefused(ctx, p, vocab.ToolExecutionFailed)
}
