package externalagent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// agentLivesOn judges that an agent turns to the host again after a refused call (EA-074a). No clause says what it
// does in the end; that it does nothing is only noted.
func (s *suite) agentLivesOn(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	ahead := s.callAhead(at)
	rec, miss := s.awaitAgent(ctx, at, s.pace(), func(r *transcript.Record) bool {
		switch {
		case received(vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd)(r):
			return true
		case !received(vocab.ToolCall)(r):
			return false
		case !s.mayBeAhead(at, ahead, r):
			return true
		}
		ahead = cmp.Or(ahead, r.N)
		return false
	})
	switch {
	case miss != nil && ahead > 0 && s.gone() == "":
		return s.without(miss, "may have sent the call in record %d before it read the refusal, and sends nothing more",
			ahead)
	case miss != nil:
		_ = s.Judge(s.silent(miss, at, model.Continues))
		return s.judgeDeath()
	}
	if kindOf(&rec) == vocab.SnapshotGet {
		if _, miss := s.awaitAgent(ctx, rec.N, s.pace(), received(vocab.ToolCall, vocab.SessionStart,
			vocab.SessionEnd)); miss != nil {
			s.Note("after its snapshot.get the agent sends nothing more: %s", miss.Reason)
		}
	}
	s.reports(&rec, "EA-074", "EA-074a")
	return nil
}

// mayBeAhead reports whether an agent may have sent a call before it read the record told: the call came within
// model.Crossing, and it cannot follow from an answer to first, an earlier call after that record; first is 0 for
// none.
func (s *suite) mayBeAhead(told, first int, call *transcript.Record) bool {
	records := s.T.After(told - 1)
	if call.At-records[0].At >= model.Crossing {
		return false
	}
	if first == 0 || s.overlaps(call.N) {
		return true
	}
	id := field(&s.T.After(first - 1)[0], vocab.ID)
	return !slices.ContainsFunc(records, func(r transcript.Record) bool {
		return r.N > first && r.N < call.N && r.Dir == transcript.Sent && r.Event != nil && field(&r, vocab.ReplyTo) == id
	})
}

// callAhead returns the record of the latest call that the agent had sent before a record while an earlier one was
// unanswered, with both unanswered at that record; 0 if there is none.
func (s *suite) callAhead(before int) int {
	var open []string
	ahead := 0
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case r.N >= before:
			return ahead
		case r.Kind == transcript.Open:
			open, ahead = nil, 0
		case r.Dir == transcript.Sent && r.Event != nil:
			id := field(&r, vocab.ReplyTo)
			open = slices.DeleteFunc(open, func(c string) bool { return c == id })
		case received(vocab.ToolCall)(&r):
			open = append(open, field(&r, vocab.ID))
			ahead = r.N
		}
		if len(open) < 2 {
			ahead = 0
		}
	}
	return ahead
}

// agentReadsOn judges that an agent continues after a message that it cannot understand: it makes a new call, for which
// it needs what the host told it after that message (EA-018a). An agent that has stopped reading may repeat its
// requests or calls.
func (s *suite) agentReadsOn(ctx context.Context) error {
	end, err := s.done(ctx)
	if err != nil {
		return err
	}
	at := s.begun(end)
	settled := func() (f verdict.Finding, done, ahead int) { return s.model().ReadsOn(at) }
	_, miss := s.awaitAgent(ctx, at, s.pace(), func(r *transcript.Record) bool {
		_, done, _ := settled()
		return done > 0
	})
	f, done, ahead := settled()
	switch {
	case ahead > 0 && (done == 0 && s.gone() == "" || done > 0 && kindOf(&s.T.Page(done-1, 1)[0]) == vocab.SessionEnd):
		return steps.NotTestedf("the agent may have sent the call in record %d before it received what followed", ahead)
	case done == 0:
		_ = s.Judge(s.silent(miss, at, model.ReadsFurther))
		return s.judgeDeath()
	}
	return s.Judge(s.quote(f))
}

// callAfter waits for the next call after what was planned. It skips a call that an agent with overlapping calls may
// have sent before it was told.
func (s *suite) callAfter(ctx context.Context, at int) (transcript.Record, error) {
	rec, miss := s.awaitAgent(ctx, at, s.pace(), s.callPast(at))
	if miss != nil {
		return rec, s.without(miss, "makes no further call")
	}
	return rec, nil
}

// callPast matches a call that the agent has not sent before it was told a record.
func (s *suite) callPast(at int) func(*transcript.Record) bool {
	crosses := s.crosses(at)
	return func(r *transcript.Record) bool { return received(vocab.ToolCall)(r) && !crosses(r) }
}

// crosses matches what an agent with overlapping calls may have sent before it read a record.
func (s *suite) crosses(at int) func(*transcript.Record) bool {
	from := s.T.After(at - 1)[0].At
	return func(r *transcript.Record) bool { return r.At-from < model.Crossing && s.overlaps(r.N) }
}

// overlaps reports whether the agent has sent a call before a record while another call of its own was unanswered.
func (s *suite) overlaps(before int) bool { return model.Overlaps(s.T.After(s.agent.started), before) }

// tells matches a state sent by the host.
func tells(r *transcript.Record) bool {
	return sent(vocab.StateUpdated, vocab.SnapshotState)(r)
}

// goesByState reports whether the next call after what was planned fits the last state, and not what the agent knew
// before or what a result said.
func (s *suite) goesByState(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, err := s.callAfter(ctx, max(at, s.agent.back))
	if err != nil {
		return err
	}
	s.reports(&rec, "EA-051", "EA-054a", "EA-072", "EA-077")
	return nil
}

// toldBetween reports whether the agent was sent a state between two records.
func (s *suite) toldBetween(after, before int) bool {
	return slices.ContainsFunc(s.T.After(after), func(r transcript.Record) bool { return r.N < before && tells(&r) })
}

// waitsForState judges that after an ok-only result the agent makes no call before it has the state or has asked for
// it (EA-054a).
func (s *suite) waitsForState(ctx context.Context) error {
	return s.judgeUntilPrompt(ctx, s.waitedForState)
}

// waitedForState judges one departure. slow says why it has shown nothing, or is "".
func (s *suite) waitedForState(ctx context.Context) (slow string, err error) {
	end, err := s.done(ctx)
	if err != nil {
		return "", err
	}
	at := s.begun(end)
	rec, err := s.callAfter(ctx, at)
	if err != nil {
		return "", err
	}
	spoken := slices.ContainsFunc(s.T.After(at), func(r transcript.Record) bool {
		return r.N < end && sent(vocab.UserMessage)(&r)
	})
	if spoken && s.overlaps(at) {
		return "", steps.NotTestedf("the agent makes calls while others are under way, so it does not wait for states")
	}
	if slow := s.calledLate(at, &rec); slow != "" {
		return slow, nil
	}
	s.reports(&rec, "EA-054a", "EA-051", "EA-072", "EA-077")
	return "", nil
}

// calledLate is calledLate for a departure that began at a record.
func (s *suite) calledLate(at int, call *transcript.Record) string {
	seen := slices.Clone(s.T.After(s.agent.started))
	prompt := slowest(slices.DeleteFunc(seen, func(r transcript.Record) bool { return r.N > at }))
	return calledLate(s.T.After(at-1), at, call, prompt)
}

// calledLate says why a call after an ok-only result does not show that the agent waited for the state, or returns ""
// if it does. An agent that takes at least half as long for an act as the state was held back might by its own pace
// have called after the state anyway. prompt is the longest that it took for an act before. An agent that asked for
// the state has shown that it waits.
func calledLate(records []transcript.Record, result int, call *transcript.Record, prompt time.Duration) string {
	var began, told time.Duration
	for _, r := range records {
		switch {
		case r.N >= call.N:
			if told == 0 {
				return ""
			}
			return tooSlow((told-began)/2, max(prompt, call.At-told), "the state was delayed for twice as long")
		case r.N <= result:
			began = r.At
		case received(vocab.SnapshotGet)(&r):
			return ""
		case told == 0 && tells(&r):
			told = r.At
		}
	}
	return ""
}

// asksFirst judges that an agent asks for a snapshot before its next call (EA-076, EA-077). An agent that was told a
// state in another way need not ask.
func (s *suite) asksFirst(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	at = max(at, s.agent.back) // what it sent before it lost its connection does not count
	crosses := s.crosses(at)
	starts := 0 // an agent may begin its session anew: whether that survives is open (EA-G09)
	limit := s.pace()
	if s.withholdsState() {
		limit = s.paces(stalePaces)
	}
	rec, miss := s.awaitAgent(ctx, at, limit, func(r *transcript.Record) bool {
		if received(vocab.SessionStart)(r) {
			starts++
		}
		return starts == tooMany || received(vocab.SnapshotGet, vocab.SessionEnd)(r) ||
			received(vocab.ToolCall)(r) && !crosses(r)
	})
	switch {
	case miss != nil:
		if err := s.judgeStuck(ctx, miss, at); err != nil {
			return err
		}
		return s.without(miss, "sends nothing more")
	case kindOf(&rec) == vocab.SessionStart || kindOf(&rec) == vocab.SessionEnd:
		return steps.NotTestedf("the agent does not continue its session: %s", steps.Seen(rec))
	case kindOf(&rec) == vocab.ToolCall && s.toldBetween(at, rec.N):
		return steps.NotTestedf("the agent received a state meanwhile, so nothing was stale: %s", steps.Seen(rec))
	}
	s.reports(&rec, "EA-076", "EA-077")
	return nil
}

// comesBack waits until an agent has joined again after losing its connection. Only agents declared to reconnect must
// do so.
func (s *suite) comesBack(ctx context.Context) error {
	if err := s.declared(binding.Reconnect); err != nil {
		return err
	}
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, at, s.joinLimit(), received(vocab.RelayJoin))
	if miss != nil {
		return s.Need(s.silent(miss, at, model.Returns))
	}
	s.agent.back = rec.N
	return nil
}

// done waits until the host has done everything that was planned.
func (s *suite) done(ctx context.Context) (int, error) {
	rec, err := s.awaitRemark(ctx, string(planned), s.agent.planned)
	if err != nil {
		return 0, err
	}
	return rec.N, nil
}

// begun returns the record at which the host began the last planned departure.
func (s *suite) begun(before int) int {
	for _, r := range slices.Backward(s.T.All()) {
		if r.N <= before && r.Kind == transcript.Remark && r.Label == string(planning) {
			return r.N
		}
	}
	return before
}

// awaitRemark waits for the n-th remark with a label.
func (s *suite) awaitRemark(ctx context.Context, label string, n int) (transcript.Record, error) {
	calls := 0
	rec, miss := s.awaitAgentOr(ctx, label, s.agent.started, s.pace(), func(r *transcript.Record) bool {
		switch {
		case r.Kind == transcript.Remark && r.Label == label:
			n--
		case received(vocab.ToolCall)(r):
			calls++
		}
		return n <= 0 || calls == tooMany
	})
	switch {
	case miss != nil:
		return rec, s.without(miss, "does not reach that point")
	case n > 0:
		return rec, steps.NotTestedf("the agent has made %d calls and did not reach that point", calls)
	}
	if label == booked {
		s.Env.Learnt.Store(books{}, true)
	}
	return rec, nil
}

// tooMany is the number of calls after which the wait is given up.
const tooMany = 100
