package externalagent

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// findsStrays examines each record that a wait sees, and all others at the scenario's end, for messages of the relay
// sessions of other scenarios: they carry another nonce (EA-025). Scenarios that share one relay session have nothing
// that keeps them apart.
func (s *suite) findsStrays() {
	find := steps.NoncesLike(s.Nonce)
	if find == nil || s.fixed() || s.Env.Role == vocab.AgentRole {
		return
	}
	seen := map[int]bool{} // several waits see the same record
	look := func(r *transcript.Record) {
		if seen[r.N] || r.Dir != transcript.Received || r.Kind != transcript.Frame {
			return
		}
		seen[r.N] = true
		other := find(bytes.ReplaceAll(said(r), []byte(s.Nonce), nil))
		if other == "" {
			return
		}
		s.mixed(fmt.Sprintf("in scenario %s, %s received what belongs to a relay session of scenario %s: %s", s.Nonce,
			r.Conn, other, steps.Seen(*r)))
	}
	s.World.Watch = look
	s.AtEnd(func() {
		for _, r := range s.T.All() {
			look(&r)
		}
	})
}

// said returns what of a frame may belong to a relay session only. The text of an error may name the sessions that
// there are.
func said(r *transcript.Record) []byte {
	if kindOf(r) == vocab.ErrorMessage {
		return []byte(field(r, vocab.ReplyTo))
	}
	return r.Bytes
}

// mixed records that relay sessions of different scenarios mix.
func (s *suite) mixed(seen string) {
	learnt[restlessness](s).distrust()
	s.World.Strayed(steps.Stray{Clauses: []string{"EA-025"}, Seen: seen,
		What: "messages or states of one relay session were seen in others"})
}

// hearsNothingOf judges that nothing from another relay session reaches an agent (EA-025), including its end, up to a
// fence.
func (s *suite) hearsNothingOf(ctx context.Context, name, another string) error {
	p, other := s.party(name), s.party(another)
	study := other.study
	if study == "" || study == p.study {
		return steps.NotTestedf("agent %s has no study session of its own", other.name)
	}
	if _, err := s.snapshot(ctx, p); err != nil {
		if at := s.endedAt(p); at > 0 {
			return s.Judge(s.quote(model.OfOthers(nil, s.T.After(at - 1)[0])))
		}
		return err
	}
	look := func() error {
		f := model.OfOthers(s.Between(p.name, p.opened, 0), transcript.Record{}, study, s.word)
		if f.OK {
			f = s.showsNothingOf(p, other)
		}
		if f = s.quote(f); !f.OK {
			s.mixed(fmt.Sprintf("in scenario %s, agent %s was sent what belongs to agent %s's relay session: %s", s.Nonce,
				p.name, other.name, f.Observed))
		}
		return s.Judge(f)
	}
	s.AtEnd(func() { _ = look() })
	return look()
}

// showsNothingOf checks that what the latest call of an agent has named and changed in its own state has not become the
// same in the state of an agent in another relay session (EA-025). Parts that were found to change by themselves count
// as well, as what has changed them may be this.
func (s *suite) showsNothingOf(p, other *party) verdict.Finding {
	var before state
	for _, r := range s.Between(p.name, p.opened, other.opened) {
		if told(&r) {
			before = model.StateOf(&r)
		}
	}
	for _, q := range slices.Backward(other.asked) {
		if q.kind == vocab.ToolCall && other.before.N > 0 && before.N > 0 {
			return model.Copied(s.recordOf(q), other.before, s.model().LastTold(other.name), before, s.model().LastTold(p.name))
		}
	}
	return verdict.Finding{Clauses: []string{"EA-025"}, OK: true, Judge: verdict.ByModel}
}
