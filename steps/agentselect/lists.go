package agentselect

import (
	"context"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

// hearsNoList proves that a client's act has brought no agent_list (AS-023, AS-024, AS-026). A target may send one with a session,
// which is another clause's matter, and it may come late. So where a session was given before the act, and no list has come with it, one
// list behind the act may belong to the session; a second act shows whether each brings one.
func (s *suite) hearsNoList(ctx context.Context, name string) error {
	c, mark := s.client(name), s.mark
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	upTo := s.T.Len()
	if first := s.listIn(c, mark, upTo); first != nil && s.ofSession(c, mark, *first) {
		s.Note("a list that came with the session, and late: %s", steps.Seen(*first))
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
	check := steps.Check{Clauses: []string{"AS-023", "AS-024", "AS-026"}, OK: r == nil}
	if r != nil {
		check.Expected, check.Observed, check.At = "no agent_list on the connection of client "+c.name, steps.Seen(*r), r.N
	}
	return s.Need(check)
}

// listIn is the first agent_list of a client with a number above from and up to to.
func (s *suite) listIn(c *client, from, to int) *transcript.Record {
	for _, r := range s.Between(c.name, from, to+1) {
		if isEvent(vocab.AgentListEvent)(&r) {
			return &r
		}
	}
	return nil
}

// ofSession tells whether a list behind an act of a client may belong to its session: that was given before the act, and no list has come
// since.
func (s *suite) ofSession(c *client, mark int, r transcript.Record) bool {
	return s.actor == c && c.session != "" && c.given < mark && s.listIn(c, c.given, r.N-1) == nil
}

// actsAgain repeats the last act of a client: another switch, which has to succeed, or the same message once more.
func (s *suite) actsAgain(ctx context.Context, c *client) error {
	switch c.act.kind {
	case vocab.SwitchAgentType:
	case vocab.ChatType:
		return s.hasChatted(ctx, c.name)
	default:
		return s.sendsType(ctx, c.name, c.act.kind)
	}
	for _, a := range c.offered {
		if a.ID != c.agent {
			return s.hasSwitched(ctx, c.name, `"`+s.swapped(a.ID)+`"`)
		}
	}
	return steps.NotTestedf("client %s was offered no second agent", c.name)
}
