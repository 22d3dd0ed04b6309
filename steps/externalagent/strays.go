package externalagent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
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
			return s.breaks(s.T.After(at - 1)[0],
				fmt.Sprintf("agent %s stays in its relay session, regardless of what agent %s does in another", p.name,
					other.name), "EA-025")
		}
		return err
	}
	look := func() error {
		for _, r := range s.Between(p.name, p.opened, 0) {
			has := func(word string) bool { return word != "" && strings.Contains(string(r.Bytes), word) }
			if r.Kind == transcript.Frame && (has(study) || has(s.word)) {
				s.mixed(fmt.Sprintf("in scenario %s, agent %s received a message of agent %s's relay session: %s", s.Nonce,
					p.name, other.name, steps.Seen(r)))
				return s.breaks(r, "no message from another relay session", "EA-025")
			}
		}
		return s.Judge(s.showsNothingOf(p, other))
	}
	s.AtEnd(func() { _ = look() })
	return look()
}

// showsNothingOf checks that what the latest call of an agent has named and changed in its own state has not become the
// same in the state of an agent in another relay session (EA-025). Parts that were found to change by themselves count
// as well, as what has changed them may be this.
func (s *suite) showsNothingOf(p, other *party) verdict.Finding {
	right := verdict.Finding{Clauses: []string{"EA-025"}, OK: true}
	var before state
	for _, r := range s.Between(p.name, p.opened, other.opened) {
		if told(&r) {
			before = stateOf(&r)
		}
	}
	now, its := s.lastTold(p), s.lastTold(other)
	named := namedIn(other)
	if other.before.at == 0 || before.at == 0 || len(named) == 0 {
		return right
	}
	changed := changes("uiSpec", before.ui, now.ui)
	for _, at := range changes("uiSpec", other.before.ui, its.ui) {
		pointer := strings.TrimPrefix(at, vocab.Spec)
		mine, theirs := there(now.ui, pointer), there(its.ui, pointer)
		if !slices.Contains(changed, at) || mine != theirs || !slices.ContainsFunc(named, func(word string) bool {
			return strings.Contains(mine, word) && !strings.Contains(there(before.ui, pointer), word)
		}) {
			continue
		}
		seen := fmt.Sprintf("%s is as agent %s's call has made it in another relay session: %s", at, other.name, mine)
		s.mixed(fmt.Sprintf("in scenario %s, agent %s's state in record %d: %s", s.Nonce, p.name, now.at, seen))
		return verdict.Finding{Clauses: right.Clauses, At: now.at, Observed: seen,
			Expected: fmt.Sprintf("agent %s's state as in record %d, regardless of what agent %s does in another relay session",
				p.name, before.at, other.name)}
	}
	return right
}

// namedIn returns the texts in the params of an agent's latest call, as JSON.
func namedIn(p *party) (out []string) {
	for _, q := range slices.Backward(p.asked) {
		if q.kind != vocab.ToolCall {
			continue
		}
		params, _ := q.body[vocab.Params].(object)
		for _, v := range params {
			if text, ok := v.(string); ok && text != "" {
				out = append(out, wjson.Compact(text))
			}
		}
		return out
	}
	return nil
}
