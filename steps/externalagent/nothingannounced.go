package externalagent

import (
	"context"
	"fmt"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/toolschema"
	"parley/transport/transcript"
)

// announcesNothing answers a call and then announces no tool for a while. After this gap the booking is elsewhere, with
// tools that were not announced before, so that a late call is recognisable by its tool. The caller holds the lock.
func (s *suite) announcesNothing(t turn) []any {
	nothing := envelope(vocab.StateUpdated, "", "", object{"source": vocab.SourceHost,
		"uiSpec": object{"stage": "please wait"}, "messageHistory": t.history, "toolSchema": []any{}})
	t.elsewhere()
	s.planAgain(t, func(object, object) bool { return s.tookLong(0) != "" }, s.announcesNothing)
	return []any{t.result, nothing, s.window(), t.updated()}
}

// announcesNone matches a state that announces no tool.
func announcesNone(r *transcript.Record) bool {
	return sent(vocab.StateUpdated)(r) && len(stateOf(r).list()) == 0
}

// tookLong says why a gap (the one that began with the given record, or any for 0) has shown nothing: the agent took
// longer than the gap for its next act. It returns "" if the gap was long enough or nothing can be said yet.
func (s *suite) tookLong(while int) string {
	var from, next transcript.Record
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case announcesNone(&r) && (while == 0 || r.N == while):
			from, next = r, transcript.Record{}
		case from.N > 0 && next.N == 0 && tells(&r):
			next = r
		case next.N > 0 && received(vocab.ToolCall, vocab.SessionEnd)(&r):
			if slow := tooSlow(next.At-from.At, r.At-next.At, "nothing was announced"); slow != "" {
				return slow
			}
			if while > 0 {
				return ""
			}
			from, next = transcript.Record{}, transcript.Record{}
		}
	}
	return ""
}

// callsNothing judges that an agent makes no call while nothing is announced (EA-096a). The gap ends with the state
// after it.
func (s *suite) callsNothing(ctx context.Context) error {
	return s.judgeUntilPrompt(ctx, s.calledNothing)
}

// calledNothing judges one gap. slow says why it has shown nothing, or is "".
func (s *suite) calledNothing(ctx context.Context) (slow string, err error) {
	end, err := s.done(ctx)
	if err != nil {
		return "", err
	}
	limit, cancel := deadline.WithLimit(ctx, s.pace().Duration)
	defer cancel()
	from, err := s.T.Await(limit, s.begun(end), announcesNone)
	if err != nil {
		return "", steps.NotTestedf("the host has not withdrawn its tools: %v", err)
	}
	next, err := s.T.Await(limit, from.N, func(r *transcript.Record) bool { return tells(r) && !announcesNone(r) })
	if err != nil {
		return "", steps.NotTestedf("the host did not go on: %v", err)
	}
	clauses := []string{"EA-096a", "EA-072"}
	overlaps := s.overlaps(next.N)
	early := func(r *transcript.Record) bool { return overlaps && r.At-from.At < crossing }
	for _, r := range s.T.After(from.N) {
		if r.N < next.N && received(vocab.ToolCall)(&r) && !early(&r) {
			return "", s.breaks(r, "no call while toolSchema is empty", clauses...)
		}
		// It has nothing to call and ends the session: later messages belong to another session.
		if r.N < next.N && received(vocab.SessionEnd)(&r) {
			return "", s.Judge(steps.CheckOf(r, true, "", clauses...))
		}
	}
	rec, miss := s.awaitAgent(ctx, next.N, s.pace(), func(r *transcript.Record) bool {
		return received(vocab.SessionStart, vocab.SessionEnd)(r) || received(vocab.ToolCall)(r) && !early(r)
	})
	switch {
	case miss == nil && kindOf(&rec) == vocab.SessionStart:
		return "", steps.NotTestedf("the agent has begun another session (record %d) before it did anything more in this one",
			rec.N)
	case miss != nil:
		return "", s.without(miss, "neither continues nor ends its session")
	case kindOf(&rec) == vocab.ToolCall && s.goesBackTo(&rec, &from, &next):
		return "", s.breaks(rec, fmt.Sprintf("a call of a tool that record %d announces; this one was announced last before "+
			"record %d, in which none is", next.N, from.N), clauses...)
	}
	if slow := s.tookLong(from.N); slow != "" {
		return slow, nil
	}
	return "", s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: next.N})
}

// goesBackTo reports whether a call is of a tool that was last announced before the gap and is not announced now.
func (s *suite) goesBackTo(call, while, present *transcript.Record) bool {
	before := s.lastState(while.N)
	return before != nil && announcedIn(present, call) == nil && announcedIn(before, call) != nil
}

// announcedIn returns the tool of a call as a state announces it, or nil.
func announcedIn(st, call *transcript.Record) *toolschema.Tool {
	name, _ := payload(call)["toolName"].(string)
	tools, err := toolschema.Parse(stateOf(st).list())
	if err != nil {
		return nil // our own toolSchema always parses
	}
	return tools.Find(name)
}
