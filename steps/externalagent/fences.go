package externalagent

import (
	"context"

	vocab "parley/protocol/externalagent"
	"parley/transcript"
)

// fence is a Wait.Fence for what comes on a party's connection: a snapshot.get, which whoever handles messages in their order answers
// behind it. Of an agent behind a relay the host that the harness plays answers it, so that it goes both ways. It is no act of a scenario.
func (s *suite) fence(p *party) func(context.Context) func(*transcript.Record) bool {
	return func(ctx context.Context) func(*transcript.Record) bool {
		q, ok := s.asksAside(ctx, p)
		if !ok {
			return nil
		}
		return answers(q.id)
	}
}

// fenceAtHost is one for what an agent has sent to the host that the harness plays: a snapshot.get of that agent, as it arrives there.
func (s *suite) fenceAtHost(p *party) func(context.Context) func(*transcript.Record) bool {
	return func(ctx context.Context) func(*transcript.Record) bool {
		if q, ok := s.asksAside(ctx, p); ok {
			return func(r *transcript.Record) bool { return r.N > q.mark && received(vocab.SnapshotGet)(r) }
		}
		return nil
	}
}

// asksAside asks for a snapshot without becoming a party's latest request.
func (s *suite) asksAside(ctx context.Context, p *party) (*request, bool) {
	if p.conn == nil || !p.joined || s.endedAt(p) > 0 {
		return nil, false
	}
	q := &request{of: p, id: s.idFor(p), kind: vocab.SnapshotGet, body: object{}}
	m, err := message(envelope(q.kind, q.id, "", q.body))
	if err != nil {
		return nil, false
	}
	if q.mark, err = p.conn.Send(ctx, m); err != nil || q.mark == 0 {
		return nil, false
	}
	p.asked = append(p.asked, q)
	return q, true
}
