package externalagent

import (
	"context"
	"strings"

	"parley/driver"
	vocab "parley/protocol/externalagent"
	"parley/steps"
)

// Courses implements steps.Severer. An agent that comes back joins again and resynchronises with snapshot.get (EA-028,
// EA-077a). Whether its session has outlived the connection is left open (EA-G09), so either is right. An agent as the
// target comes back by itself; other scenarios judge that.
func (Protocol) Courses(role string) []steps.Course {
	if role != vocab.Host && role != vocab.Relay {
		return nil
	}
	return []steps.Course{{
		ID: "booking", Name: "a session of an agent up to its first call", Party: "A",
		Tags: strings.Fields(`@EA-028 @EA-038 @EA-041 @EA-077a @booking`),
		Lines: []string{
			`Given agent A has joined`, `When agent A starts a session`, `Then agent A is told that the session has started`,
			`When agent A makes the first call of the booking`, `Then agent A is told that the call succeeded`,
			`When agent A sends the participant a message`, `And agent A asks for a snapshot`, `Then agent A gets a snapshot`,
		},
		Back: []string{
			steps.ComesBack, `When agent A has joined`, `Then agent A resynchronises, or starts a session`,
			`And agent A is still served`,
		},
	}}
}

// severed takes a connection for lost that was cut on purpose; with the target's process, all of them.
func (s *suite) severed(party string, by steps.Way) error {
	for _, p := range s.parties {
		if p.name != party && by != steps.ByKill {
			continue
		}
		if p.conn != nil {
			_ = s.disconnect(p, driver.Reset)
		}
		p.conn, p.joined, p.last, p.returned = nil, false, nil, true
		if by == steps.ByKill {
			p.study = ""
		}
	}
	if by == steps.ByKill {
		for session := range s.plays {
			s.stopPlay(session)
		}
	}
	s.mark = s.T.Len()
	return nil
}

// resyncs judges that snapshot.get is answered after a connection was lost: with a snapshot, or with the error that
// there is no session, after which one can be started. A session whose start was not answered may run or not.
func (s *suite) resyncs(ctx context.Context, p *party) error {
	q, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	p.returned = false
	if miss == nil && refused(&rec) && s.codeOf(&rec) == vocab.SessionNotActive {
		p.study = ""
		if err := s.starts(ctx, p); err != nil {
			return err
		}
		return s.isStarted(ctx, p)
	}
	if _, err := s.getsSnapshot(ctx, p); err != nil {
		return err
	}
	if p.study == "" {
		p.study = "started before the cut"
	}
	return nil
}
