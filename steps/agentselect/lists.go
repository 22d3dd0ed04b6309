package agentselect

import (
	"context"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

// receivesNoList proves that a client's act has brought no agent_list (AS-023, AS-024, AS-026). A target may send one
// with a session, which is another clause's matter, and send it late. So if a session was given before the act
// without a list, one list after the act may belong to the session; a second act then shows whether each act brings
// one.
func (s *suite) receivesNoList(ctx context.Context, c *client) error {
	mark := s.mark
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	upTo := s.T.Len()
	if first := s.listIn(c, mark, upTo); first != nil && s.ofSession(c, mark, *first) {
		s.Note("a list that came with the session, too late: %s", steps.Seen(*first))
		if err := s.actsAgain(ctx, c); err != nil {
			return err
		}
		mark = first.N
		if err := s.fence(ctx, c); err != nil {
			return err
		}
		upTo = s.T.Len()
	}
	if err := s.judgeList(c, s.listIn(c, mark, upTo)); err != nil {
		return err
	}
	s.AtEnd(func() {
		if r := s.listIn(c, upTo, s.nextOwn(c, upTo)); r != nil && !s.ofSession(c, mark, *r) {
			_ = s.judgeList(c, r)
		}
	})
	return nil
}

func (s *suite) judgeList(c *client, r *transcript.Record) error {
	clauses := []string{"AS-023", "AS-024", "AS-026"}
	if r == nil {
		return s.Need(verdict.Finding{Clauses: clauses, OK: true})
	}
	return s.Need(steps.CheckOf(*r, false, "no agent_list on the connection of client "+c.name, clauses...))
}

// listIn returns the first agent_list of a client with a number above from and up to to.
func (s *suite) listIn(c *client, from, to int) *transcript.Record {
	for _, r := range s.Between(c.name, from, to+1) {
		if s.isNew(vocab.AgentListEvent)(&r) {
			return &r
		}
	}
	return nil
}

// ofSession reports whether a list after a client's act may belong to its session: the session was given before the
// act, and no list has come since.
func (s *suite) ofSession(c *client, mark int, r transcript.Record) bool {
	return s.actor == c && c.session != "" && c.given < mark && s.listIn(c, c.given, r.N-1) == nil
}

// actsAgain repeats the last act of a client: another switch, which has to succeed, or the same message again.
func (s *suite) actsAgain(ctx context.Context, c *client) error {
	switch c.act.kind {
	case vocab.SwitchAgentType:
	case vocab.ChatType:
		return s.hasChatted(ctx, c)
	default:
		return s.sendsType(ctx, c, c.act.kind)
	}
	for _, a := range c.offered {
		if a.ID != c.agent {
			return s.hasSwitched(ctx, c, agentID{a.ID})
		}
	}
	return steps.NotTestedf("client %s was offered no second agent", c.name)
}
