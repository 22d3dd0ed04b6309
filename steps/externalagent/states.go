package externalagent

import (
	"context"
	"strings"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
)

// settled returns a member of a state without what changes by itself or is specific to a session.
func (s *suite) settled(name string, v any) any {
	s.adopt()
	return s.perSession.settled(name, s.drift.settled(name, v))
}

// leftOut notes what is not compared from now on.
func (s *suite) leftOut(news []string) {
	if len(news) > 0 {
		s.Note("not compared, as it changes on its own: %s", strings.Join(news, ", "))
	}
}

// inStep judges that a party's last state.updated and a snapshot agree (EA-072, EA-073): at once or, because the two
// may cross, within the event limit. It ignores what changes by itself.
func (s *suite) inStep(ctx context.Context, p *party) error {
	_, err := s.stepped(ctx, p)
	return err
}

// stepped is inStep, but returns the snapshot. Once a party is out of step, it counts as such for the rest of the
// scenario: no further miss is awaited or judged.
func (s *suite) stepped(ctx context.Context, p *party) (state, error) {
	from := s.model().Since(p.name)
	const kind = "a state.updated that agrees with the snapshot"
	for range 20 {
		snap, err := s.snapshot(ctx, p)
		if err != nil || s.missedUpdates[p.name+" "+kind] {
			return snap, err
		}
		f, sync, told := s.model().Sync(p.name, s.spokenAt)
		switch {
		case sync == model.InSync:
			return snap, s.Judge(f)
		case sync == model.Idle:
			return snap, nil
		case sync == model.Newer:
			continue
		case told.IsUpdate():
			from = max(from, told.N)
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: from, Within: s.dueWithin(p), Kind: kind,
			Family: vocab.StateUpdated, Fence: s.fence(p), Match: received(vocab.StateUpdated)}); miss == nil {
			continue // one was still in transit
		}
		again, err := s.snapshot(ctx, p)
		if err != nil {
			return snap, err
		}
		if f, sync, told = s.model().Sync(p.name, s.spokenAt); sync == model.OutOfSync && s.observe(ctx, told, again) {
			f, sync, _ = s.model().Sync(p.name, s.spokenAt)
		}
		switch sync {
		case model.Newer:
			continue
		case model.Idle, model.Unchanged: // the actions have changed nothing
			return again, nil
		}
		s.missedUpdates[p.name+" "+kind] = sync == model.OutOfSync
		return again, s.Judge(f)
	}
	return state{}, steps.NotTestedf("the state changes faster than snapshots can be requested")
}

// dueWithin returns how long a state may still take that is due since the latest act in a party's relay session, or the
// answer to it: the event limit, or what is left of it if the state was awaited for half of it before; at least two
// seconds.
func (s *suite) dueWithin(p *party) time.Duration {
	const least = 2 * time.Second
	limit, at := s.Env.Event(), s.spokenAt
	for _, other := range s.parties {
		for _, q := range other.asked {
			if other.session != p.session || q.kind == vocab.SnapshotGet || q.mark <= at {
				continue
			}
			at = q.mark
			if r := s.got(q); r != nil {
				at = r.N
			}
		}
	}
	acts := s.T.Page(at-1, 1)
	if at == 0 || len(acts) == 0 {
		return limit
	}
	left := limit - time.Since(s.T.Began().Add(acts[0].At))
	if left > limit/2 {
		return limit
	}
	return max(left, min(least, limit))
}

// hearsOfState judges that a party is sent a new state, unrequested, after the latest act (EA-055).
func (s *suite) hearsOfState(ctx context.Context, p *party) error {
	if p.conn == nil || s.mark <= p.opened {
		return steps.NotTestedf("nothing was done since agent %s connected", p.name)
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.mark, Kind: "a state.updated", Family: vocab.StateUpdated,
		Fence: s.fence(p), Match: received(vocab.StateUpdated)})
	return s.Need(s.model().Announced(p.name, s.mark, miss))
}
