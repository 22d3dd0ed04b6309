package sessionruntime

import (
	"context"
	"fmt"
	"time"

	"parley/steps"
	judge "parley/steps/sessionruntime/invariants"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// fence waits until everything delivered has been handled.
func (s *suite) fence(ctx context.Context) error {
	if err := s.handBack(ctx); err != nil {
		return err
	}
	if !s.bind.wire.Fence {
		return s.quiet(ctx)
	}
	id, at, err := s.askFence(ctx)
	if err != nil {
		return err
	}
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: at, Kind: fenceKind, Proof: true, Match: func(r *transcript.Record) bool {
			return isFenced(r, id)
		}})
	if s.unfenced = miss != nil; s.unfenced {
		return steps.NotTestedf("fence: no answer, so absence cannot be proved: %s", miss.Reason)
	}
	return nil
}

// fenceKind names what a fence waits for.
const fenceKind = "the answer of a fence"

// askFence sends a fence without waiting for the answer.
func (s *suite) askFence(ctx context.Context) (id string, at int, err error) {
	id = fmt.Sprintf("fence-%d-%s", s.Serial(), s.Nonce)
	at, err = s.write(ctx, driver.Message{Label: judge.FenceFrame, Body: []byte(`{"parley":"fence","id":"` + id + `"}`)})
	s.pending = fenced{id, at}
	return id, at, err
}

// fenced is a sent fence: its id, and the number of its record.
type fenced struct {
	id string
	at int
}

// awaitPending waits for the answer to a fence that the scenario has not awaited, if a message is still due by it.
func (s *suite) awaitPending(ctx context.Context) {
	p := s.pending
	s.pending = fenced{}
	if p.at > 0 && s.latestFenced(p.id).N == 0 && !s.unfenced && judge.Due(s.T.All(), p.at) {
		_, miss := s.Await(ctx,
			steps.Wait{Conn: bus, After: p.at, Kind: fenceKind, Proof: true, Match: func(r *transcript.Record) bool {
				return isFenced(r, p.id)
			}})
		s.unfenced = miss != nil
	}
}

// awaitOverdue gives messages that were due by the latest fence another quiet window, because an adapter may answer
// fences too early. It is called before each delivery and at the end: after another delivery, a message after the
// fence may be an effect of that. Messages that did not come in their window are not awaited again.
func (s *suite) awaitOverdue(ctx context.Context) {
	if !s.bind.wire.Fence {
		return
	}
	s.awaitPending(ctx)
	fenced := s.lastFenced()
	if fenced.N <= s.settled {
		return
	}
	s.settled = fenced.N
	due := judge.Overdue(s.T.All())
	defer func() { s.lost = due }()
	for end := time.Now().Add(s.Env.Profile.Limits.Quiet.Duration); due > s.lost; {
		late, miss := s.Await(ctx,
			steps.Wait{Conn: bus, After: s.settled, Within: max(time.Until(end), time.Nanosecond),
				Match: func(r *transcript.Record) bool {
					m, ok := judge.Read(*r)
					return ok && !m.Delivered
				}})
		if miss != nil {
			return
		}
		s.settled = late.N
		if left := judge.Overdue(s.T.All()); left < due {
			due = left
			s.fenceIsEarly(late, fenced)
		}
	}
}

// isFenced reports whether a record answers a fence.
func isFenced(r *transcript.Record, id string) bool {
	return r.Event != nil && r.Event.Type == judge.FencedFrame && member(r, judge.ID) == id
}

// earlyFence is the key that records that this target's fences prove nothing.
const earlyFence = "session-runtime: the fence is early"

// fenceIsEarly stops trusting this target's fences: a message that was due came after one, though nothing had been
// delivered meanwhile. No clause covers fences.
func (s *suite) fenceIsEarly(late, fenced transcript.Record) {
	s.bind.wire.Fence = false
	if _, known := s.Env.Learnt.LoadOrStore(earlyFence, true); !known {
		s.Note("%s came %.1f ms after the fence (record %d), as record %d: does the adapter answer before pending tasks "+
			"have run? "+
			"From now on absence is proved by the quiet window, as with session-runtime.fence: false", late.Event.Type,
			float64((late.At-fenced.At).Microseconds())/1000, fenced.N, late.N)
	}
}

// quiet replaces a fence by a quiet window.
func (s *suite) quiet(ctx context.Context) error {
	before := s.T.Len()
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: before, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(*transcript.Record) bool { return false }})
	if miss != nil && s.endedAt() > 0 {
		return steps.NotTestedf("the bus has ended: %s", miss.Reason)
	}
	s.T.Remark("", "%s%d", judge.Quiet, before)
	return nil
}

// fenceIsLate checks that the consequences of messages are published before a later fence is answered. All are sent
// at once.
func (s *suite) fenceIsLate(ctx context.Context, inputs int) error {
	for i := range inputs {
		if err := s.says(ctx, fmt.Sprintf("t%d", i+1), ""); err != nil {
			return err
		}
	}
	id, at, err := s.askFence(ctx)
	if err != nil {
		return err
	}
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: at, Kind: fenceKind, Proof: true, Match: func(r *transcript.Record) bool {
			return isFenced(r, id)
		}})
	if s.unfenced = miss != nil; s.unfenced {
		return steps.NotTestedf("fence: no answer: %s", s.inPlace(at, miss))
	}
	fenced := s.latestFenced(id)
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: fenced.N, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(r *transcript.Record) bool {
				m, ok := judge.Read(*r)
				return ok && !m.Delivered && (m.Kind() == judge.Route || m.Kind() == judge.Accepted)
			}})
	if miss == nil {
		return steps.NotTestedf("fence: %s came %.1f ms after its answer (record %d), as record %d: the adapter answers "+
			"before pending tasks have run. "+
			"Have it wait for them, or give session-runtime.fence: false", late.Event.Type,
			float64((late.At-fenced.At).Microseconds())/1000, fenced.N, late.N)
	}
	return nil
}

// lastFenced returns the record of the latest answer to a fence.
func (s *suite) lastFenced() (fenced transcript.Record) {
	for _, r := range s.Between(bus, 0, 0) {
		if r.Event != nil && r.Event.Type == judge.FencedFrame {
			fenced = r
		}
	}
	return fenced
}

func (s *suite) latestFenced(id string) (fenced transcript.Record) {
	for _, r := range s.Between(bus, 0, 0) {
		if isFenced(&r, id) {
			fenced = r
		}
	}
	return fenced
}
