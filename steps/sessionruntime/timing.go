package sessionruntime

import (
	"context"
	"fmt"
	"time"

	"parley/internal/deadline"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/invariants"
)

// timeIsOver goes by the orchestrator's own clock: an input of another session, that nobody acknowledges, has timed out
// later than what was awaited here.
func (s *suite) timeIsOver(ctx context.Context, what string) error {
	limit := s.limits.InputAck
	if what == "confirming a cancel" {
		limit = s.limits.CancelAck
	}
	of, limits, from := s.now, s.limits, s.mark
	defer func() { s.now, s.limits, s.mark = of, limits, from }()
	if !binding.Of(s.Env.Profile).Limits.Fixed {
		s.limits.InputAck = limit * 3 / 2
	}
	for began := time.Now(); time.Since(began) < limit*5/4; {
		name := fmt.Sprintf("clock%d", s.Serial())
		if err := s.setUpFor(ctx, name, "a"); err != nil {
			return err
		}
		if err := s.isLeftAlone(ctx, name, "a"); err != nil {
			return err
		}
	}
	return s.fence(ctx)
}

// isLeftAlone is an input that nobody acknowledges.
func (s *suite) isLeftAlone(ctx context.Context, name, letter string) error {
	return inOrder(
		func() error { return s.says(ctx, name, "") },
		func() error { return s.reaches(ctx, name, letter) },
		func() error { return s.timesOut(ctx, name) },
	)
}

// setUpFor is a session whose agents are the usual ones.
func (s *suite) setUpFor(ctx context.Context, session, active string) error {
	return s.setUp(ctx, session, `agents "a", "b" and "c"`, `agent "`+active+`"`)
}

// inOrder does one thing after the other, up to the first that fails.
func inOrder(all ...func() error) error {
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// unlessTooSlow repeats what depends on a limit, in a session of its own each time, and with a limit four times as
// long, while this machine is too slow for it. slow says how.
func (s *suite) unlessTooSlow(limit *time.Duration, tries int, session string,
	act func(session string) (slow string, err error)) error {
	for try := 1; ; try++ {
		slow, err := act(fmt.Sprintf("%s%d", session, try))
		if err != nil || slow == "" {
			return err
		}
		if try == tries || binding.Of(s.Env.Profile).Limits.Fixed {
			return steps.NotTestedf("%s, and the limit is %s: this machine is too slow for that", slow, steps.Span(*limit))
		}
		*limit *= 4
	}
}

// took is the time since a record.
func (s *suite) took(since int) time.Duration {
	all := s.T.All()
	return all[len(all)-1].At - all[since-1].At
}

// cancelledInTime is a turn of a session that waits for confirmations of cancels no longer than it must: the user has
// asked twice, and its agent has confirmed well within that. Where we are too slow for it, longer ones are asked for.
func (s *suite) cancelledInTime(ctx context.Context, letter, name string) error {
	s.limits.CancelAck = binding.Of(s.Env.Profile).Limits.CancelAck.Duration
	return s.unlessTooSlow(&s.limits.CancelAck, 4, "hurried", func(session string) (string, error) {
		if err := s.setUpFor(ctx, session, letter); err != nil {
			return "", err
		}
		if err := s.isSpeaking(ctx, letter, name); err != nil {
			return "", err
		}
		asked := s.T.Len() + 1
		if err := inOrder(
			func() error { return s.cancels(ctx, "cancels", "") },
			func() error { return s.askedToStop(ctx, letter, name) },
			func() error { return s.cancels(ctx, "interrupts", "") },
			func() error { return s.confirmsCancel(ctx, letter, "confirms the cancel of", name, "") },
			func() error { return s.fence(ctx) },
		); err != nil {
			return "", err
		}
		if took := s.took(asked); took >= s.limits.CancelAck {
			return fmt.Sprintf("the confirmation took %s", steps.Span(took)), nil
		}
		return "", s.cancelled(ctx, name) // by any clock it has been handled in time
	})
}

// acknowledgedInTime is an input of a session that waits for acknowledgements no longer than it must, and gets this one
// well within that.
func (s *suite) acknowledgedInTime(ctx context.Context, name, letter, where, other string) error {
	return s.inTime(ctx, name, letter, "the acknowledgement", func() error {
		if other != "" {
			if err := s.switches(ctx, other, ""); err != nil {
				return err
			}
		}
		return s.acknowledges(ctx, letter, name, where)
	}, func() bool { return false })
}

// answeredInTime is an input that its agent does not acknowledge, though something that is no acknowledgement comes
// well within the limit; if it came later, the time-out would be over by then. An input that nobody answers times out
// before, in the same session: that no time-out comes later is due to what was sent.
func (s *suite) answeredInTime(ctx context.Context, sender, what, name, letter string) error {
	answer := func() error { return s.confirmsCancel(ctx, sender, "confirms the cancel of", name, "") }
	if what == "sends a chunk" {
		answer = func() error { return s.sends(ctx, sender, "a chunk", name, "") }
	}
	const unanswered = "t0"
	return s.inTime(ctx, name, letter, "what is no acknowledgement", answer, func() bool { return false },
		func() error { return s.says(ctx, unanswered, "") },
		func() error { return s.reaches(ctx, unanswered, letter) },
		func() error { return s.timesOut(ctx, unanswered) },
	)
}

// beganInTime is such an input that nobody acknowledges: its agent sends a chunk well within the limit. That it was
// forwarded, and no time-out was told before, tells as much.
func (s *suite) beganInTime(ctx context.Context, letter, name string) error {
	return s.inTime(ctx, name, letter, "the first chunk", func() error {
		return s.sends(ctx, letter, "a chunk", name, "")
	}, func() bool {
		in := s.now.inputs[name]
		forwarded, there := s.find(in.last.at, isOutput(in.last))
		late, timedOut := s.find(in.said, func(m judge.Message) bool {
			return m.Kind() == judge.RouteTimeout && (m.Turn == in.turn || m.Turn == "")
		})
		return there && (!timedOut || forwarded.N < late.N)
	})
}

// inTime is an input of a session that waits for acknowledgements no longer than it must, and what its agent does well
// within that. Where we are too slow for it, longer ones are asked for; what the orchestrator has done may tell that we
// were not. What comes first happens in the same session before.
func (s *suite) inTime(ctx context.Context, name, letter, what string, act func() error, shown func() bool,
	first ...func() error) error {
	if err := s.hurried(); err != nil {
		return err
	}
	return s.unlessTooSlow(&s.limits.InputAck, 4, "hurried", func(session string) (string, error) {
		if err := s.setUpFor(ctx, session, letter); err != nil {
			return "", err
		}
		if err := inOrder(first...); err != nil {
			return "", err
		}
		if err := inOrder(
			func() error { return s.says(ctx, name, "") },
			func() error { return s.reaches(ctx, name, letter) },
			act,
			func() error { return s.fence(ctx) },
		); err != nil {
			return "", err
		}
		if took := s.took(s.now.inputs[name].said); took >= s.limits.InputAck && !shown() {
			return fmt.Sprintf("%s took %s", what, steps.Span(took)), nil
		}
		return "", nil // by any clock it has been handled in time
	})
}

// undelayed is the limit by which it is judged whether a time-out comes before its time: a short one could be over
// before this machine gets to read that.
const undelayed = 600 * time.Millisecond

// timesOutOnTime is an input that nobody acknowledges, of a session whose limit is long beside the delays of this
// machine: a time-out that comes early, and is read late, looks like one that comes in time. Where the machine has
// stood still, a longer one is asked for.
func (s *suite) timesOutOnTime(ctx context.Context, name, letter string) error {
	own := binding.Of(s.Env.Profile).Limits
	s.limits.InputAck = own.InputAck.Duration
	if !own.Fixed {
		s.limits.InputAck = max(s.limits.InputAck, undelayed)
	}
	return s.unlessTooSlow(&s.limits.InputAck, 3, "patient", func(session string) (string, error) {
		if err := s.setUpFor(ctx, session, letter); err != nil {
			return "", err
		}
		clock := deadline.In(s.limits.InputAck)
		if err := s.isLeftAlone(ctx, name, letter); err != nil {
			return "", err
		}
		if clock.Stalled() >= s.limits.InputAck/4 {
			return fmt.Sprintf("the machine stood still for %s", steps.Span(clock.Stalled())), nil
		}
		return "", nil
	})
}
