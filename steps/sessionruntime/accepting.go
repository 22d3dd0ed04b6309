package sessionruntime

import (
	"context"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	judge "parley/steps/sessionruntime/invariants"
	"parley/transport/transcript"
)

// acceptedLate fails a turn that was not accepted before its agent had answered. The turn is over, and so is the
// scenario.
func (s *suite) acceptedLate(ctx context.Context, in *input, clauses []string, what string,
	accepts func(judge.Message) bool, other instead) error {
	within := s.Env.Event()
	if s.bind.wire.Fence {
		within = s.Env.Profile.Limits.Quiet.Duration
	}
	of := s.now
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: in.said, Within: within, Match: func(r *transcript.Record) bool {
			m, ok := judge.Read(*r)
			return ok && !m.Delivered && s.belongs(m, of) && accepts(m)
		}})
	if miss == nil {
		m, _ := judge.Read(late)
		broken := []string{"RT-074"}
		if _, behind := s.find(in.said, func(o judge.Message) bool { return o.Kind() == judge.Output && o.N < m.N }); behind {
			broken = append(broken, "RT-170") // even after the output that it announces
		}
		return s.Need(verdict.Finding{Clauses: broken, Expected: what, Observed: "it came only after the acknowledgement: " +
			seen(m), At: m.N})
	}
	if m, there := s.find(in.said, other.match); there {
		return s.Need(verdict.Finding{Clauses: other.clauses, Expected: what, Observed: other.how + ": " + seen(m), At: m.N})
	}
	return s.Need(verdict.Finding{Clauses: clauses, Expected: what, Observed: s.inPlace(in.said, miss), At: miss.At})
}

// answeredFirst makes the agent of a turn answer and end it if TURN_ACCEPTED does not come at once, and reports whether
// the agent did.
func (s *suite) answeredFirst(ctx context.Context, in *input) (bool, error) {
	accepts := func(m judge.Message) bool { return m.Kind() == judge.Accepted }
	if _, there := s.find(in.said, accepts); there || in.routed == 0 {
		return false, nil
	}
	if there, err := s.foundByFence(ctx, in.said, accepts); err != nil || there {
		return false, err
	}
	for _, f := range []frame{
		{event: vocab.Control, subtype: vocab.InputAck, payload: map[string]any{}},
		{event: vocab.AgentOutput, payload: map[string]any{"text": "piece " + s.token()}, stream: &stream{final: true}},
	} {
		f.from, f.trace, f.turn = in.agent, in.trace, in.turn
		if _, err := s.deliver(ctx, f); err != nil {
			return false, err
		}
	}
	return true, s.fence(ctx)
}

// foundByFence reports whether a message is published by the time everything is handled. Since an adapter may answer
// a fence before its pending tasks have run, it also waits for a quiet window in which nothing is delivered.
func (s *suite) foundByFence(ctx context.Context, after int, match func(judge.Message) bool) (bool, error) {
	if err := s.fence(ctx); err != nil {
		return false, err
	}
	if _, there := s.find(after, match); there || !s.bind.wire.Fence {
		return there, nil
	}
	of, fenced := s.now, s.lastFenced()
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: fenced.N, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(r *transcript.Record) bool {
				m, ok := judge.Read(*r)
				return ok && !m.Delivered && s.belongs(m, of) && match(m)
			}})
	if miss == nil {
		s.fenceIsEarly(late, fenced)
	}
	return miss == nil, nil
}

// accepted checks that the frontend is notified at once (RT-074, RT-076).
func (s *suite) accepted(ctx context.Context, name string) error {
	in, err := s.input(name)
	if err != nil {
		return err
	}
	clauses, other := []string{"RT-009", "RT-074", "RT-076", "RT-170"}, []string{"RT-076"}
	if in.form != nil {
		clauses, other = append(clauses, "RT-093"), append(other, "RT-093")
	}
	instead := instead{clauses: other, how: "it is for another turn or another party",
		match: func(m judge.Message) bool { return m.Subtype == vocab.TurnAccepted }}
	accepts := func(m judge.Message) bool {
		return m.Kind() == judge.Accepted && (in.turn == "" || m.Turn == in.turn || m.Turn == "")
	}
	const what = "TURN_ACCEPTED to the frontend before any acknowledgement"
	if probed, err := s.answeredFirst(ctx, in); err != nil {
		return err
	} else if probed {
		return s.acceptedLate(ctx, in, clauses, what, accepts, instead)
	}
	m, err := s.published(ctx, in.said, clauses, what, accepts, instead)
	if err != nil {
		return err
	}
	return s.Judge(verdict.Finding{Clauses: []string{"RT-170"}, OK: !s.Env.Strict || m.Event == vocab.Event,
		Expected: "TURN_ACCEPTED as an EVENT", Observed: m.Name(), At: m.N})
}
