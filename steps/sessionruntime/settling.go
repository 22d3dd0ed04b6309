package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/steps"
	"parley/steps/obligation"
	judge "parley/steps/sessionruntime/model"
	"parley/transport/transcript"
)

// model returns the model of the bus, which has taken all records so far.
func (s *suite) model() *judge.Bus {
	for _, r := range transcript.Judged(s.T.After(s.seen)) {
		s.bus.Take(r)
		s.seen = r.N
	}
	return s.bus
}

// fate returns what has become of a duty in the current session, and the message that fulfilled it.
func (s *suite) fate(d judge.Duty) (obligation.State, judge.Message) {
	return s.model().Fate(s.now.id, d)
}

// came returns the message that has fulfilled a duty in the current session, and whether one has.
func (s *suite) came(d judge.Duty) (judge.Message, bool) {
	state, m := s.fate(d)
	return m, state == obligation.Came
}

// settled waits until what an act obliges the orchestrator to has come, up to a fence, after which it cannot come, and
// reports what the model has found by then. It returns the message that came. If none did, or a wrong one, the scenario
// ends.
func (s *suite) settled(ctx context.Context, d judge.Duty) (judge.Message, error) {
	return s.settledWithin(ctx, d, 0)
}

// settledWithin is settled for a message that comes by itself when a limit expires; a fence does not help there. within
// is 0 for any other.
func (s *suite) settledWithin(ctx context.Context, d judge.Duty, within time.Duration) (judge.Message, error) {
	var miss *verdict.Miss
	if state, _ := s.fate(d); state != obligation.Came && state != obligation.Missing {
		var err error
		if miss, err = s.awaitFate(ctx, d, within); err != nil {
			return judge.Message{}, err
		}
	}
	s.awaitOverdue(ctx)
	state, m := s.fate(d)
	last := s.T.Len()
	if state == obligation.Came { // what comes later is reported by the step that waits for it
		last = m.N
	}
	broken := s.report(s.now.id, last, func(f verdict.Finding) (*verdict.Miss, bool) {
		if state == obligation.Came {
			return nil, f.At == m.N && f.Model != ""
		}
		return miss, state == obligation.Missing && f.Model != ""
	})
	switch {
	case broken != nil:
		return m, broken
	case state == obligation.Came:
		return m, nil
	case state == obligation.Missing:
		return m, steps.NotTestedf("%s is missing", d.Kinds[0])
	}
	return m, steps.NotTestedf("nothing that has happened requires %s, and it was not published", d.Kinds[0])
}

// awaitFate waits until a duty is fulfilled, or cannot be fulfilled any more. It returns why it was not, or what kept
// it from waiting.
func (s *suite) awaitFate(ctx context.Context, d judge.Duty, within time.Duration) (*verdict.Miss, error) {
	fence := ""
	if within == 0 && s.bind.wire.Fence && s.endedAt() == 0 {
		if err := s.handBack(ctx); err != nil {
			return nil, err
		}
		var err error
		if fence, _, err = s.askFence(ctx); err != nil {
			return nil, err
		}
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: bus, After: d.After(), Within: within,
		Match: func(r *transcript.Record) bool {
			if m, ok := judge.Read(*r); !ok || m.Delivered {
				return false
			}
			_, came := s.came(d)
			return came
		},
		Hopeless: func(r *transcript.Record) string {
			if fence != "" && isFenced(r, fence) {
				return fmt.Sprintf("no such message up to the fence (record %d)", r.N)
			}
			return ""
		}})
	switch {
	case miss == nil:
	case miss.NotOwed:
		return nil, steps.NotTestedf("%s", miss.Reason)
	case fence == "" || s.latestFenced(fence).N == 0:
		s.T.Remark("", "%s", judge.InVain(d, strings.TrimPrefix(miss.Reason, "no such message ")))
	}
	return miss, nil
}

// report judges what the model has found in a session, or in all if it is "", up to a record, and has not been judged
// yet. awaited says of a failure whether it is about the message that the step has waited for, and why that did not
// come; report then returns the error that ends the scenario.
func (s *suite) report(session string, last int,
	awaited func(verdict.Finding) (*verdict.Miss, bool)) (err error) {
	for _, f := range s.model().Fresh(session, last) {
		s.deviated = s.deviated || !f.OK
		switch {
		case f.Follows: // the monitor reports it under the finding that it follows from
		case f.OK && f.Expected == obligation.Absence:
			s.absences = append(s.absences, verdict.Finding{Clauses: f.Clauses, OK: true, Judge: verdict.ByModel})
		case f.OK:
			_ = s.Judge(verdict.Finding{Clauses: f.Clauses, OK: true, At: f.At, Judge: verdict.ByModel})
		default:
			ends := false
			if awaited != nil {
				f.Miss, ends = awaited(f)
			}
			if strings.HasPrefix(f.Observed, "no such message") {
				f.Observed += s.inPlace(f.At)
			}
			f.Model, f.Judge = "", verdict.ByModel
			var broken *steps.BrokenError
			if e := s.Need(f); ends && !errors.As(err, &broken) {
				err = e
			}
		}
	}
	return err
}

// none proves that nothing follows from an act that must not: everything is handled, and the model has judged what was
// published. But if what the step says is absent was published, and the source permits it, the scenario ends.
func (s *suite) none(ctx context.Context, act int, there func() (judge.Message, bool)) error {
	if act == 0 {
		return steps.NotTestedf("nothing was done that it could follow from")
	}
	if err := s.handled(ctx); err != nil {
		return err
	}
	if m, ok := there(); ok && !s.deviated {
		return steps.NotTestedf("%s was published (record %d), which the source permits here", m.Name(), m.N)
	}
	return nil
}

// handled waits until everything delivered has been handled, and reports what the model has found.
func (s *suite) handled(ctx context.Context) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	s.awaitOverdue(ctx)
	_ = s.report("", s.T.Len(), nil)
	return nil
}

// inPlace describes what was published after a record instead of the awaited message. Messages of other sessions, such
// as those of earlier scenarios in a process that is reused, are only counted.
func (s *suite) inPlace(after int) string {
	var seen []string
	others := 0
	for _, r := range s.Between(bus, after, 0) {
		switch m, ok := judge.Read(r); {
		case !ok:
		case m.Session != "" && s.now != nil && m.Session != s.now.id:
			others++
		default:
			seen = append(seen, fmt.Sprintf("%s (record %d)", m.Name(), r.N))
		}
	}
	cry := ""
	if s.endedAt() == 0 {
		cry = s.QuoteStderr(strings.TrimPrefix(s.stderr(), s.cried))
		if cry == "" && len(seen) == 0 {
			cry = s.QuoteStderr(s.stderr())
		}
	}
	if len(seen)+others == 0 {
		return "; nothing was published" + cry
	}
	const most = 6
	if len(seen) > most {
		seen = append(slices.Clip(seen[:most]), fmt.Sprintf("and %d more", len(seen)-most))
	}
	if others > 0 {
		seen = append(seen, fmt.Sprintf("%d of other sessions", others))
	}
	return "; published: " + strings.Join(seen, ", ") + cry
}
