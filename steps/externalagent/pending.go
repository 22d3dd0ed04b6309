package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/transport/transcript"
)

// callsAtOnce makes calls of announced tools that do not lead away, without waiting. The target may refuse them or
// carry them out one after the other; each must be answered under its own id, with its own tool's name (EA-047,
// EA-049). That each is answered once is a monitor's.
func (s *suite) callsAtOnce(ctx context.Context, p *party, n int) error {
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	type call struct {
		tool   string
		params object
	}
	var can []call
	for i := range announced {
		t := &announced[i]
		if t.Name == vocab.Next || t.Name == vocab.Prev {
			continue
		}
		if params, _ := t.Example(s.known(t.Name, now.ui)); params != nil {
			can = append(can, call{t.Name, params})
		}
	}
	if len(can) == 0 {
		return steps.NotTestedf("the host announces no tool, except those that lead to another stage, that can be called")
	}
	var asked []*request
	for i := range n {
		q, err := s.call(ctx, p, can[i%len(can)].tool, can[i%len(can)].params)
		if err != nil {
			return err
		}
		asked = append(asked, q)
	}
	for i, q := range asked {
		expected := fmt.Sprintf("an answer with replyTo %q, the id of call %d of %d that were sent together", q.id, i+1, n)
		rec, miss := s.answer(ctx, q)
		switch {
		case miss != nil:
			_ = s.Judge(q.unanswered(miss, expected, "EA-046", "EA-047", "EA-074"))
			continue
		case kindOf(&rec) != vocab.ToolResult && kindOf(&rec) != vocab.ErrorMessage:
			_ = s.breaks(rec, expected, "EA-046", "EA-074")
			continue
		case !refused(&rec):
			s.namesTool(&rec, q.tool)
		}
		_ = s.Judge(verdict.Finding{Clauses: []string{"EA-046", "EA-047", "EA-074"}, OK: true, At: rec.N})
	}
	_, err = s.snapshot(ctx, p) // what follows it was not sent because of these calls
	return err
}

// mostPairs bounds the calls that are tried beside the first of the booking.
const mostPairs = 6

// callsTogether makes two calls without waiting and judges that the effects of both are there in the end, as both were
// confirmed (EA-046, EA-074). What each changes is known from a session in which they are made one by one; only calls
// that change different parts of the uiSpec are made.
func (s *suite) callsTogether(ctx context.Context, p *party) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	tried := 0
	for i := range announced {
		t := &announced[i]
		if slices.Contains(okOnly, t.Name) || t.Name == path[0].Tool {
			continue
		}
		for _, params := range t.Examples(s.known(t.Name, now.ui)) {
			if tried++; tried > mostPairs {
				break
			}
			first, second, err := s.oneByOne(ctx, p, path[0], t.Name, params)
			switch {
			case err != nil:
				return err
			case len(first) > 0 && len(second) > 0:
				return s.atOnce(ctx, p, path[0], t.Name, params, first, second)
			}
		}
	}
	return &steps.NotApplicableError{Reason: "no announced tool was seen to change another part of the uiSpec than the " +
		"first call of the booking does"}
}

// oneByOne makes two calls in a new session, the second one once the effect of the first shows. It returns the places
// in the uiSpec that only the first and only the second one has changed.
func (s *suite) oneByOne(
	ctx context.Context, p *party, c binding.ToolCall, tool string, params object,
) (first, second []string, err error) {
	if err := s.anew(ctx, p); err != nil {
		return nil, nil, err
	}
	start, err := s.still(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	middle, err := s.advance(ctx, p, c, start, false)
	if err != nil {
		return nil, nil, err
	}
	q, err := s.call(ctx, p, tool, params)
	if err != nil {
		return nil, nil, err
	}
	q.before = middle
	if rec, miss := s.answer(ctx, q); miss != nil || refused(&rec) {
		return nil, nil, nil
	}
	end, err := s.settle(ctx, q, middle)
	if err != nil {
		return nil, nil, err
	}
	first, second = s.drawn(start, middle), s.drawn(middle, end)
	return exceptAt(first, second), exceptAt(second, first), nil
}

// drawn returns the places at which the uiSpec of two states differs.
func (s *suite) drawn(a, b state) []string {
	return changes("uiSpec", s.settled("uiSpec", a.ui), s.settled("uiSpec", b.ui))
}

// exceptAt returns the places that are not at, above or below any other ones.
func exceptAt(places, others []string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(at string) bool {
		return slices.ContainsFunc(others, func(o string) bool {
			return strings.HasPrefix(at+"/", o+"/") || strings.HasPrefix(o+"/", at+"/")
		})
	})
}

// atOnce makes two calls in a new session without waiting and judges that the places that each changes have changed.
func (s *suite) atOnce(
	ctx context.Context, p *party, c binding.ToolCall, tool string, params object, first, second []string,
) error {
	if err := s.anew(ctx, p); err != nil {
		return err
	}
	start, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	one, err := s.stepOf(ctx, p, c, start, false)
	if err != nil {
		return err
	}
	two, err := s.call(ctx, p, tool, params)
	if err != nil {
		return err
	}
	for _, q := range []*request{one, two} {
		rec, miss := s.answer(ctx, q)
		switch {
		case miss != nil:
			return s.Need(q.unanswered(miss, "an answer to each of two calls that were sent together", "EA-046", "EA-074"))
		case refused(&rec):
			return steps.NotTestedf("one of two calls that were sent together is refused: %s", steps.Seen(rec))
		}
	}
	for i, places := range [][]string{first, second} {
		q, other := one, two
		if i == 1 {
			q, other = two, one
		}
		if err := s.hasEffect(ctx, q, other, start, places); err != nil {
			return err
		}
	}
	return nil
}

// hasEffect judges that a call which was confirmed has changed places in the uiSpec, at once or within the event limit.
func (s *suite) hasEffect(ctx context.Context, q, other *request, start state, places []string) error {
	clauses := []string{"EA-046", "EA-074"}
	lost := func(now state) bool {
		changed := s.drawn(start, now)
		return len(exceptAt(places, changed)) == len(places)
	}
	now, err := s.still(ctx, q.of)
	if err != nil {
		return err
	}
	if lost(now) {
		_, _ = s.Await(ctx, steps.Wait{Conn: q.of.name, After: now.at, Kind: "the effect of a call sent with another",
			Fence: s.fence(q.of), Match: func(r *transcript.Record) bool {
				return received(vocab.StateUpdated)(r) && !lost(stateOf(r))
			}})
		if now, err = s.snapshot(ctx, q.of); err != nil {
			return err
		}
	}
	answer := s.got(q)
	return s.Judge(verdict.Finding{Clauses: clauses, OK: !lost(now), At: now.at,
		Expected: fmt.Sprintf("the effect of %s, which record %d confirms, beside that of %s, which was sent at once",
			q.tool, answer.N, other.tool),
		Observed: fmt.Sprintf("in record %d, %s is as before both calls: %s", now.at, places[0],
			there(now.ui, strings.TrimPrefix(places[0], "uiSpec")))})
}
