package sessionruntime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/internal/deadline"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
)

// timeIsOver lets a limit expire by the orchestrator's own clock: it waits until unacknowledged inputs in other
// sessions have timed out, which is later than the limit in question.
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
	if err := s.fence(ctx); err != nil {
		return err
	}
	s.T.Remark("", "%s", judge.Past(what, from))
	return nil
}

// isLeftAlone sends an input that is not acknowledged, and expects its time-out.
func (s *suite) isLeftAlone(ctx context.Context, name, letter string) error {
	return inOrder(
		func() error { return s.says(ctx, name, "", "") },
		func() error { return s.reaches(ctx, name, letter) },
		func() error { return s.timesOut(ctx, name) },
	)
}

// unansweredTimeOut expects a time-out for every input that was routed and to which nothing has happened since: neither
// has its agent sent anything about it, nor the user anything that may end its turn.
func (s *suite) unansweredTimeOut(ctx context.Context) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.now.inputs)) {
		in, err := s.input(name)
		if err != nil {
			return err
		}
		if in.routed == 0 || !s.model().Owes(s.now.id, in.timeOut()) {
			continue
		}
		if err := s.timesOut(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// setUpFor sets up a session with the usual agents.
func (s *suite) setUpFor(ctx context.Context, session, active string) error {
	return s.setUp(ctx, session, `agents "a", "b" and "c"`, `agent "`+active+`"`)
}

// inOrder runs functions in order, up to the first that fails.
func inOrder(all ...func() error) error {
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// unlessTooSlow repeats an act that depends on a limit while this machine is too slow for it, each time in a new
// session and with a limit four times as long. Limits that are no longer than what the act took are passed over, but
// for the last. slow says how it was too slow, and took how long the act took; 0: that does not matter.
func (s *suite) unlessTooSlow(limit *time.Duration, tries int, session string,
	act func(session string) (slow string, took time.Duration, err error)) error {
	for try := 1; ; try++ {
		slow, took, err := act(fmt.Sprintf("%s%d", session, try))
		if err != nil || slow == "" {
			return err
		}
		if try == tries || binding.Of(s.Env.Profile).Limits.Fixed {
			return steps.NotTestedf("%s, but the limit is %s: this machine is too slow", slow, steps.Span(*limit))
		}
		for *limit *= 4; try < tries-1 && *limit <= took; try++ {
			*limit *= 4
		}
	}
}

// took returns the time from a record to the last one.
func (s *suite) took(since int) time.Duration {
	all := s.T.All()
	return all[len(all)-1].At - all[since-1].At
}

// cancelledInTime uses a session with the shortest limit for confirming cancels: the user cancels twice, and the
// agent confirms well within the limit. If the harness is too slow, longer limits are tried.
func (s *suite) cancelledInTime(ctx context.Context, letter, name string) error {
	s.limits.CancelAck = binding.Of(s.Env.Profile).Limits.CancelAck.Duration
	return s.unlessTooSlow(&s.limits.CancelAck, 4, "hurried", func(session string) (string, time.Duration, error) {
		asked := 0
		if err := inOrder(
			func() error { return s.setUpFor(ctx, session, letter) },
			func() error { return s.isSpeaking(ctx, letter, name) },
			func() error { asked = s.T.Len() + 1; return nil },
			func() error { return s.cancels(ctx, "cancels", "") },
			func() error { return s.askedToStop(ctx, letter, name) },
			func() error { return s.cancels(ctx, "interrupts", "") },
			func() error { return s.confirmsCancel(ctx, letter, "confirms the cancel of", name, "") },
			func() error { return s.fence(ctx) },
		); err != nil {
			return "", 0, err
		}
		if took := s.took(asked); took >= s.limits.CancelAck {
			return fmt.Sprintf("the confirmation took %s", steps.Span(took)), took, nil
		}
		return "", 0, s.cancelled(ctx, name) // handled in time by any clock
	})
}

// acknowledgedInTime sends an input in a session with the shortest limit for acknowledgements, and acknowledges it
// well within that.
func (s *suite) acknowledgedInTime(ctx context.Context, name, letter, where, other string) error {
	return s.inTime(ctx, timely{name: name, letter: letter, what: "the acknowledgement", act: func() error {
		if other != "" {
			if err := s.userAsks(ctx, "switches to", other, ""); err != nil {
				return err
			}
		}
		return s.acknowledges(ctx, letter, name, where)
	}})
}

// answeredInTime sends an input that its agent does not acknowledge, though another message comes well within the
// limit. Before that, an input in the same session times out without any answer, so the missing time-out is due to
// that message; had it come later, the time-out would have come first.
func (s *suite) answeredInTime(ctx context.Context, sender, what, name, letter string) error {
	answer := func() error { return s.confirmsCancel(ctx, sender, "confirms the cancel of", name, "") }
	if what == "sends a chunk" {
		answer = func() error { return s.sends(ctx, sender, "a chunk", name, "") }
	}
	return s.inTime(ctx, timely{name: name, letter: letter, what: "a message other than an acknowledgement", act: answer,
		first: func() error { return s.isLeftAlone(ctx, "t0", letter) }})
}

// beganInTime sends such an input, whose agent sends only a chunk well within the limit. A forwarded chunk without an
// earlier time-out also shows that it was in time.
func (s *suite) beganInTime(ctx context.Context, letter, name string) error {
	return s.inTime(ctx, timely{name: name, letter: letter, what: "the first chunk",
		act: func() error { return s.sends(ctx, letter, "a chunk", name, "") },
		shown: func() bool {
			in := s.now.inputs[name]
			forwarded, there := s.came(in.last.output())
			late, timedOut := s.came(in.timeOut())
			return there && (!timedOut || forwarded.N < late.N)
		}})
}

// acknowledgedByAnother sends an input, or mentions an agent in it, and makes another agent acknowledge it well within
// the limit. Without that, a time-out could have come before the acknowledgement, and would prove nothing.
func (s *suite) acknowledgedByAnother(ctx context.Context, sender, form, name, letter string) error {
	p := timely{name: name, letter: letter, what: "the acknowledgement",
		act: func() error { return s.acknowledges(ctx, sender, name, "") }}
	if form == "mention" {
		p.active, p.say = sender, func() error { return s.mentions(ctx, letter, name, "its payload") }
	}
	return s.inTime(ctx, p)
}

// timely is an act about an input that must be done within the limit for acknowledgements.
type timely struct {
	name, letter string       // the input, and the agent that it reaches
	what         string       // the act
	act          func() error // once the input has reached its agent
	active       string       // the agent that is active; "": the same
	say          func() error // sends the input; nil: a plain one
	first        func() error // what comes earlier in the same session; nil: nothing
	shown        func() bool  // the orchestrator's behaviour proves that it was in time; nil: nothing does
}

// inTime says an input in a session with the shortest limit for acknowledgements, and makes sure that an act is done
// well within that. If the harness is too slow, longer limits are tried.
func (s *suite) inTime(ctx context.Context, p timely) error {
	if err := s.hurried(); err != nil {
		return err
	}
	if p.first == nil {
		p.first = func() error { return nil }
	}
	if p.say == nil {
		p.say = func() error { return s.says(ctx, p.name, "", "") }
	}
	return s.unlessTooSlow(&s.limits.InputAck, 4, "hurried", func(session string) (string, time.Duration, error) {
		if err := inOrder(
			func() error { return s.setUpFor(ctx, session, cmp.Or(p.active, p.letter)) },
			p.first,
			p.say,
			func() error { return s.reaches(ctx, p.name, p.letter) },
			p.act,
			func() error { return s.fence(ctx) },
		); err != nil {
			return "", 0, err
		}
		took := s.took(s.now.inputs[p.name].said)
		if took >= s.limits.InputAck && (p.shown == nil || !p.shown()) {
			return fmt.Sprintf("%s took %s", p.what, steps.Span(took)), took, nil
		}
		return "", 0, nil // handled in time by any clock
	})
}

// undelayed is the limit for judging whether a time-out comes too early: a short limit could expire before this
// machine has read the time-out.
const undelayed = 600 * time.Millisecond

// timesOutOnTime sends an input that is not acknowledged, in a session whose limit is long compared with the delays of
// this machine: a time-out that comes early but is read late looks punctual. If the machine has stalled, a longer
// limit is tried.
func (s *suite) timesOutOnTime(ctx context.Context, name, letter string) error {
	own := binding.Of(s.Env.Profile).Limits
	s.limits.InputAck = own.InputAck.Duration
	if !own.Fixed {
		s.limits.InputAck = max(s.limits.InputAck, undelayed)
	}
	return s.unlessTooSlow(&s.limits.InputAck, 3, "patient", func(session string) (string, time.Duration, error) {
		if err := s.setUpFor(ctx, session, letter); err != nil {
			return "", 0, err
		}
		clock := deadline.In(s.limits.InputAck)
		if err := s.isLeftAlone(ctx, name, letter); err != nil {
			return "", 0, err
		}
		switch asleep, stalled := clock.Suspended(), clock.Stalled(); {
		case asleep > 0:
			return "the machine was suspended for " + steps.Span(asleep), 0, nil
		case stalled >= s.limits.InputAck/4:
			return fmt.Sprintf("the machine was so busy that the harness could not run for %s", steps.Span(stalled)), 0, nil
		}
		return "", 0, nil
	})
}
