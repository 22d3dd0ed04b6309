package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
	wjson "parley/wire/json"
)

// registerConsequences registers what has to come of what the host has done otherwise than by its flow.
func (s *suite) registerConsequences(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the agent lives on$`, s.agentLivesOn)
	steps.Step(sc, `^the agent reads on$`, s.agentReadsOn)
	steps.Step(sc, `^the agent goes by the state$`, s.goesByState)
	steps.Step(sc, `^the agent waits for the state$`, s.waitsForState)
	steps.Step(sc, `^the agent asks for a snapshot before it calls again$`, s.asksFirst)
	steps.Step(sc, `^the agent calls nothing meanwhile$`, s.callsNothing)
	steps.Step(sc, `^the agent takes nothing from what is shown no longer$`, s.takesNothingOld)
	steps.Step(sc, `^the agent comes back$`, s.comesBack)
}

// agentLivesOn judges that an agent whose call was refused goes on: it turns to the host again (EA-074a). What it does in the
// end is no clause's matter, and noted where it does nothing.
func (s *suite) agentLivesOn(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd))
	check := steps.Check{Clauses: []string{"EA-074a"}, OK: miss == nil, At: rec.N, Expected: "the agent goes on: tool.call, snapshot.get, session.start or session.end"}
	if miss != nil {
		check.Observed, check.At = miss.Reason+s.lastWords(), at
		return s.Judge(check)
	}
	if kindOf(&rec) == vocab.SnapshotGet {
		if _, miss := s.awaitAgent(ctx, rec.N, s.pace(), received(vocab.ToolCall, vocab.SessionStart, vocab.SessionEnd)); miss != nil {
			s.Note("behind its snapshot.get the agent does nothing more: %s", miss.Reason)
		}
	}
	return s.Judge(check)
}

// idle is how often an agent may turn to the host without calling a tool before it is found to have stopped.
const idle = 8

// agentReadsOn judges that an agent goes on behind what it cannot understand: it makes a call that it had not made before, which
// takes what the host has told it behind that (EA-018a). One that reads nothing more may ask again and again, or make the
// same call.
func (s *suite) agentReadsOn(ctx context.Context) error {
	end, err := s.done(ctx)
	if err != nil {
		return err
	}
	at, turns := s.begun(end), 0
	before := s.callsBefore(at)
	rec, miss := s.awaitAgent(ctx, at, s.pace(), func(r *transcript.Record) bool {
		switch {
		case received(vocab.ToolCall)(r) && !slices.Contains(before, saidBy(r)), received(vocab.SessionEnd)(r):
			return true
		case r.Kind == transcript.Frame && kindOf(r) != vocab.AgentMessage:
			turns++
		}
		return turns == idle
	})
	check := steps.Check{Clauses: []string{"EA-018a"}, At: at, Expected: "the agent goes on: a tool.call by what it is told behind that"}
	switch {
	case miss != nil:
		check.Observed = miss.Reason + s.lastWords()
	default:
		check.OK, check.At, check.Observed = kindOf(&rec) == vocab.ToolCall && turns < idle, rec.N, steps.Seen(rec)
	}
	return s.Judge(check)
}

// callsBefore are the calls that the agent has made up to a record.
func (s *suite) callsBefore(at int) []string {
	var out []string
	for _, r := range s.T.After(s.agent.started) {
		if r.N <= at && received(vocab.ToolCall)(&r) {
			out = append(out, saidBy(&r))
		}
	}
	return out
}

// saidBy is what a call asks for.
func saidBy(r *transcript.Record) string {
	body := payload(r)
	return wjson.Compact([]any{body["toolName"], body["params"]})
}

// crossing is how long what an agent sends may cross what it is told meanwhile.
const crossing = 250 * time.Millisecond

// callBehind waits for the next call behind what was planned. An agent that sends calls while others are under way may have
// sent one before it was told.
func (s *suite) callBehind(ctx context.Context, at int) (transcript.Record, error) {
	from := s.T.After(at - 1)[0].At
	rec, miss := s.awaitAgent(ctx, at, s.pace(), func(r *transcript.Record) bool {
		return received(vocab.ToolCall)(r) && (r.At-from >= crossing || !s.overlaps(r.N))
	})
	if miss != nil {
		return rec, steps.NotTestedf("the agent makes no further call: %s%s", miss.Reason, s.lastWords())
	}
	return rec, nil
}

// overlaps tells whether an agent has sent a request while a call of its own was not answered yet.
func (s *suite) overlaps(before int) bool {
	open := map[string]bool{}
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case r.N >= before:
			return false
		case r.Dir == transcript.Sent && r.Event != nil:
			delete(open, field(&r, "replyTo"))
		case received(vocab.ToolCall)(&r):
			if len(open) > 0 {
				return true
			}
			open[field(&r, "id")] = true
		case r.Kind == transcript.Open:
			clear(open)
		}
	}
	return false
}

// tells matches a state that the host has sent.
func tells(r *transcript.Record) bool {
	return r.Dir == transcript.Sent && (kindOf(r) == vocab.StateUpdated || kindOf(r) == vocab.SnapshotState)
}

// goesByState judges that the next call behind what was planned fits what the last state announces (EA-051, EA-072, EA-054a,
// EA-077): it would not fit what the agent knew before, or what a result has said.
func (s *suite) goesByState(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, err := s.callBehind(ctx, max(at, s.agent.back))
	if err != nil {
		return err
	}
	last := s.lastState(rec.N)
	clauses := []string{"EA-051", "EA-054a", "EA-072", "EA-077"}
	if last == nil {
		return s.Judge(steps.Check{Clauses: clauses, At: rec.N, Expected: "a state before the next call", Observed: steps.Seen(rec)})
	}
	announced, err := toolschema.Parse(stateOf(last).list())
	if err != nil {
		return err // our own
	}
	body := payload(&rec)
	name, _ := body["toolName"].(string)
	check := steps.Check{Clauses: clauses, At: rec.N, Expected: fmt.Sprintf("a call that fits the last state, record %d, which announces %s", last.N, strings.Join(announcedNames(announced), ", "))}
	t := announced.Find(name)
	switch {
	case t == nil:
		check.Observed = fmt.Sprintf("%q, which it does not announce: %s", name, steps.Seen(rec))
	case t.Accepts(body["params"]) != nil && s.fitted(name, body["params"], last.N):
		check.Observed = fmt.Sprintf("params that fit a state before it: %s", steps.Seen(rec))
	default:
		check.OK = true // params that fit no state are another clause's matter
	}
	return s.Judge(check)
}

// fitted tells whether a call keeps to what a state announced that the agent was sent before a record.
func (s *suite) fitted(name string, params any, before int) bool {
	for _, r := range s.T.All() {
		if r.N >= before || !tells(&r) {
			continue
		}
		announced, err := toolschema.Parse(stateOf(&r).list())
		if err != nil {
			continue
		}
		if t := announced.Find(name); t != nil && t.Accepts(params) == nil {
			return true
		}
	}
	return false
}

func announcedNames(list toolschema.Tools) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// lastState is the last state that the agent was sent before a record; nil: none.
func (s *suite) lastState(before int) *transcript.Record {
	for _, r := range slices.Backward(s.T.All()) {
		if r.N < before && tells(&r) {
			return &r
		}
	}
	return nil
}

// toldBetween tells whether the agent was told a state between two records.
func (s *suite) toldBetween(after, before int) bool {
	return slices.ContainsFunc(s.T.After(after), func(r transcript.Record) bool { return r.N < before && tells(&r) })
}

// waitsForState judges that behind an ok-only result the agent calls nothing before it has the state, or has asked for it
// (EA-054a).
func (s *suite) waitsForState(ctx context.Context) error {
	end, err := s.done(ctx)
	if err != nil {
		return err
	}
	at := s.begun(end)
	rec, err := s.callBehind(ctx, at)
	if err != nil {
		return err
	}
	if slow := calledLate(s.T.After(at-1), at, &rec); slow != "" {
		return steps.NotTestedf("%s", slow)
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-054a", "EA-051", "EA-072", "EA-077"}, OK: s.toldBetween(at, rec.N), At: rec.N,
		Expected: "no call between an ok-only result and the state that follows it", Observed: steps.Seen(rec)})
}

// calledLate tells why a call behind an ok-only result does not show that the agent has waited for the state: it has taken longer for it
// than the state was kept back. One that has asked for the state has shown it. "" where it has.
func calledLate(records []transcript.Record, result int, call *transcript.Record) string {
	var began, told time.Duration
	for _, r := range records {
		switch {
		case r.N >= call.N:
			if told == 0 {
				return ""
			}
			return tooSlow(told-began, call.At-told, "the state was kept back")
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

// asksFirst judges that an agent asks for a snapshot before its next call (EA-076, EA-077). One that was told a state in some
// other way had no need to.
func (s *suite) asksFirst(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	at = max(at, s.agent.back) // what it sent before it lost its connection has nothing to do with that
	from := s.T.After(at - 1)[0].At
	rec, miss := s.awaitAgent(ctx, at, s.pace(), func(r *transcript.Record) bool {
		return received(vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd)(r) ||
			received(vocab.ToolCall)(r) && (r.At-from >= crossing || !s.overlaps(r.N))
	})
	switch {
	case miss != nil:
		return steps.NotTestedf("the agent does nothing more: %s%s", miss.Reason, s.lastWords())
	case kindOf(&rec) == vocab.SessionStart || kindOf(&rec) == vocab.SessionEnd:
		return steps.NotTestedf("the agent does not go on with its session: %s", steps.Seen(rec))
	case kindOf(&rec) == vocab.ToolCall && s.toldBetween(at, rec.N):
		return steps.NotTestedf("the agent was told a state meanwhile, so that nothing was stale: %s", steps.Seen(rec))
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-076", "EA-077"}, OK: kindOf(&rec) == vocab.SnapshotGet, At: rec.N,
		Expected: "snapshot.get before the next tool.call", Observed: steps.Seen(rec)})
}

// comesBack waits until an agent has joined again behind the loss of its connection. One that is not declared to do so need
// not.
func (s *suite) comesBack(ctx context.Context) error {
	if !s.Env.Profile.Has(target.Reconnect) {
		return &steps.NotApplicableError{Reason: "the target does not declare the capability " + target.Reconnect}
	}
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, at, s.joinLimit(), received(vocab.RelayJoin))
	if miss != nil {
		return s.Need(steps.Check{Clauses: []string{"EA-076"}, At: at, Expected: "the agent comes back and joins", Observed: miss.Reason + s.lastWords()})
	}
	s.agent.back = rec.N
	return nil
}
