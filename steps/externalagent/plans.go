package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/driver"
	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

// registerPlans registers what the host does otherwise than by its flow, told before the agent is started, and what has to
// come of it.
func (s *suite) registerPlans(sc *godog.ScenarioContext) {
	steps.Step(sc, `^call (\d+) is refused with "(\w+)"$`, func(n int, code string) error {
		return s.plan(n, func(p *play, _ *transcript.Record, id string) []any {
			p.undo()
			return []any{envelope(vocab.ErrorMessage, "", id, object{"code": code, "message": "the scenario refuses this call"})}
		})
	})
	steps.Step(sc, `^call (\d+) is refused by a result that is not ok$`, func(n int) error {
		return s.plan(n, func(p *play, r *transcript.Record, id string) []any {
			p.undo()
			return []any{envelope(vocab.ToolResult, "", id, object{"ok": false, "toolName": payload(r)["toolName"], "code": vocab.ToolExecutionFailed, "message": "the scenario lets this call fail"})}
		})
	})
	steps.Step(sc, `^the state behind call (\d+) is not what its result says$`, func(n int) error { return s.plan(n, s.contradicts) })
	steps.Step(sc, `^the state behind call (\d+) comes late$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any {
			return []any{p.result, s.Env.Profile.Limits.Quiet.Duration, p.updated()}
		})
	})
	steps.Step(sc, `^the state behind call (\d+) is lost$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any { return []any{p.result} })
	})
	steps.Step(sc, `^the state comes before the result of call (\d+)$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any { return []any{p.updated(), p.result} })
	})
	steps.Step(sc, `^what is announced changes during call (\d+)$`, func(n int) error {
		return s.plan(n, func(p *play, r *transcript.Record, id string) []any {
			p.undo()
			p.elsewhere()
			return []any{p.updated(), envelope(vocab.ToolResult, "", id, object{"ok": true, "toolName": payload(r)["toolName"]})}
		})
	})
	steps.Step(sc, `^nothing is announced for a while behind call (\d+)$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any {
			nothing := envelope(vocab.StateUpdated, "", "", object{"source": vocab.SourceHost, "uiSpec": object{"stage": "please wait"}, "messageHistory": p.history, "toolSchema": []any{}})
			return []any{p.result, nothing, s.Env.Profile.Limits.Quiet.Duration, p.updated()}
		})
	})
	steps.Step(sc, `^the connection is lost behind call (\d+)$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any { return []any{p.result, p.updated(), hangUp{}} })
	})
	steps.Step(sc, `^the connection is lost in call (\d+), and the booking goes on without the agent$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, _ string) []any {
			p.undo()
			p.elsewhere()
			return []any{hangUp{}}
		})
	})
	steps.Step(sc, `^the session is gone at call (\d+)$`, func(n int) error {
		return s.plan(n, func(p *play, _ *transcript.Record, id string) []any {
			p.active = false
			p.reset()
			return []any{envelope(vocab.ErrorMessage, "", id, object{"code": vocab.SessionNotActive, "message": "no session has been started"})}
		})
	})
	steps.Step(sc, `^relay\.joined comes late$`, func() error {
		s.agent.play.joins = func(_ *transcript.Record, answer object) []any {
			return []any{s.Env.Profile.Limits.Quiet.Duration, answer}
		}
		return nil
	})
	steps.Step(sc, `^the host sends (.+) behind the first state$`, s.plansJunk)
	steps.Step(sc, `^the agent lives on$`, s.agentLivesOn)
	steps.Step(sc, `^the agent goes by the state$`, func(ctx context.Context) error { return s.goesByState(ctx) })
	steps.Step(sc, `^the agent waits for the state$`, s.waitsForState)
	steps.Step(sc, `^the agent asks for a snapshot before it calls again$`, s.asksFirst)
	steps.Step(sc, `^the agent calls nothing meanwhile$`, s.callsNothing)
	steps.Step(sc, `^the agent comes back$`, s.comesBack)
}

// plan has the host do otherwise at the n-th call that goes well.
func (s *suite) plan(n int, do func(p *play, call *transcript.Record, id string) []any) error {
	if s.agent == nil {
		return fmt.Errorf("no host awaits the agent yet")
	}
	s.agent.play.plans = append(s.agent.play.plans, plan{n: n, do: do})
	return nil
}

// planned is the remark by which a plan tells that it has been carried out.
const planned = "the host has done what the scenario asks of it"

// contradicts answers with a quick uiSpec in which the call has had its effect, and then tells another state: the booking is
// elsewhere, where other tools are announced (EA-051, EA-072).
func (s *suite) contradicts(p *play, r *transcript.Record, id string) []any {
	quick := p.ui
	p.elsewhere()
	return []any{envelope(vocab.ToolResult, "", id, object{"ok": true, "toolName": payload(r)["toolName"], "uiSpec": quick}), p.updated()}
}

// elsewhere moves the booking to another stage, of whose tools those are announced that the present stage does not have. The
// caller holds the lock.
func (p *play) elsewhere() {
	was := p.flow.Stages[min(p.at, len(p.flow.Stages)-1)]
	to := p.at + 1
	if to >= len(p.flow.Stages) {
		to = 0
	}
	p.at, p.ui = to, copied(p.flow.Stages[to].UISpec)
	p.narrow = nil
	for _, item := range p.flow.Stages[to].ToolSchema {
		if name, _ := item.(object)["name"].(string); was.tools.Find(name) == nil {
			p.narrow = append(p.narrow, item)
		}
	}
}

// junk is what no agent has to expect, by the words of features.
func (s *suite) junk(what string) ([]any, error) {
	raw := func(text string) any { return driver.Message{Label: what, Body: []byte(text)} }
	other := "req-of-nobody-" + s.Nonce
	switch what {
	case "malformed JSON":
		return []any{raw(`{"v":"mvp-0.2","type":`)}, nil
	case "an empty text":
		return []any{raw("")}, nil
	case "a JSON array":
		return []any{raw(`[{"v":"mvp-0.2"}]`)}, nil
	case "a JSON null":
		return []any{raw("null")}, nil
	case "a JSON number":
		return []any{raw("42")}, nil
	case "a JSON string":
		return []any{raw(`"state.updated"`)}, nil
	case "a binary frame":
		return []any{driver.Message{Label: what, Body: []byte{0, 1, 2, 0xff}, Binary: true}}, nil
	case "an unknown type":
		return []any{envelope("parley.unknown", "", "", object{"a": 1})}, nil
	case "an envelope without payload":
		e := envelope("parley.unknown", "", "", nil)
		delete(e, "payload")
		return []any{e}, nil
	case "an envelope without type":
		e := envelope("", "", "", object{})
		delete(e, "type")
		return []any{e}, nil
	case "a presence message":
		return []any{envelope("relay.presence", "", "", object{"role": "host", "online": true})}, nil
	case "an answer to nobody":
		return []any{envelope(vocab.ToolResult, "", other, object{"ok": true, "toolName": "next"}), envelope(vocab.ErrorMessage, "", other, object{"code": vocab.InvalidParams, "message": "of nobody's call"})}, nil
	case "what the participant says":
		return []any{envelope(vocab.UserMessage, "", "", object{"text": "I prefer evening showtimes.", "stage": "time"})}, nil
	case "a state with extra members":
		return []any{func(p *play) any {
			e := p.updated()
			e["parleyExtra"] = []any{object{"a": nil}}
			e["payload"].(object)["parleyExtra"] = "x"
			return e
		}}, nil
	case "a long state":
		return []any{func(p *play) any {
			e := p.updated()
			e["payload"].(object)["parleyExtra"] = strings.Repeat("x", 300<<10)
			return e
		}}, nil
	}
	return nil, fmt.Errorf("no step sends %q", what)
}

func (s *suite) plansJunk(what string) error {
	junk, err := s.junk(what)
	if err != nil {
		return err
	}
	p := s.agent.play
	p.onState = func(n int) []any {
		if n != 1 {
			return nil
		}
		s.T.Remark("", "%s", planned)
		var out []any
		for _, v := range junk {
			if made, ok := v.(func(*play) any); ok {
				v = made(p)
			}
			out = append(out, v)
		}
		return out
	}
	return nil
}

// done waits until the host has done what was planned.
func (s *suite) done(ctx context.Context) (int, error) {
	rec, err := s.awaitRemark(ctx, planned)
	if err != nil {
		return 0, err
	}
	return rec.N, nil
}

func (s *suite) awaitRemark(ctx context.Context, label string) (transcript.Record, error) {
	at := s.agent.started
	for range 100 {
		rec, miss := s.awaitAgentOr(ctx, at, s.pace(), func(r *transcript.Record) bool {
			return r.Kind == transcript.Remark && strings.HasPrefix(r.Label, label) || received(vocab.ToolCall)(r)
		})
		if miss != nil {
			return rec, steps.NotTestedf("the agent does not get so far: %s%s", miss.Reason, s.lastWords())
		}
		if rec.Kind == transcript.Remark {
			return rec, nil
		}
		at = rec.N
	}
	return transcript.Record{}, steps.NotTestedf("the agent has made 100 calls, and has not got so far")
}

// agentLivesOn judges that an agent goes on behind what the host has done: it says something more (EA-018a, EA-074a).
func (s *suite) agentLivesOn(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	any := func(r *transcript.Record) bool { return r.Kind == transcript.Frame }
	rec, miss := s.awaitAgent(ctx, at, s.pace(), any)
	if miss == nil && s.agent.play.onState != nil {
		// It may have said that before it read what the host sent unasked. What it says behind the answer comes later.
		limit, cancel := steps.WithLimit(ctx, s.pace())
		answer, err := s.T.Await(limit, rec.N, func(r *transcript.Record) bool { return r.Dir == transcript.Sent && r.Kind == transcript.Frame })
		cancel()
		if err != nil {
			return steps.NotTestedf("the host has nothing to answer to %s", steps.Seen(rec))
		}
		rec, miss = s.awaitAgent(ctx, answer.N, s.pace(), any)
	}
	check := steps.Check{Clauses: []string{"EA-018a", "EA-074a"}, OK: miss == nil, At: rec.N, Expected: "the agent goes on"}
	if miss != nil {
		check.Observed, check.At = miss.Reason+s.lastWords(), at
	}
	return s.Judge(check)
}

// goesByState judges that the next call behind what was planned fits what the last state announces (EA-051, EA-072, EA-054a,
// EA-077): it would not fit what the agent knew before, or what a result has said.
func (s *suite) goesByState(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	at = max(at, s.agent.back)
	rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall))
	if miss != nil {
		return steps.NotTestedf("the agent makes no further call: %s%s", miss.Reason, s.lastWords())
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
		if r.N >= before || r.Dir != transcript.Sent || kindOf(&r) != vocab.StateUpdated && kindOf(&r) != vocab.SnapshotState {
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
		if r.N < before && r.Dir == transcript.Sent && (kindOf(&r) == vocab.StateUpdated || kindOf(&r) == vocab.SnapshotState) {
			return &r
		}
	}
	return nil
}

// waitsForState judges that behind an ok-only result the agent calls nothing before it has the state, or has asked for it
// (EA-054a).
func (s *suite) waitsForState(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.ToolCall))
	if miss != nil {
		return steps.NotTestedf("the agent makes no further call: %s%s", miss.Reason, s.lastWords())
	}
	told := false
	for _, r := range s.T.After(at) {
		told = told || r.N < rec.N && r.Dir == transcript.Sent && (kindOf(&r) == vocab.StateUpdated || kindOf(&r) == vocab.SnapshotState)
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-054a", "EA-051", "EA-072", "EA-077"}, OK: told, At: rec.N, Expected: "no call between an ok-only result and the state that follows it",
		Observed: steps.Seen(rec)})
}

// asksFirst judges that an agent asks for a snapshot before its next call (EA-076, EA-077).
func (s *suite) asksFirst(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	at = max(at, s.agent.back) // what it sent before it lost its connection has nothing to do with that
	rec, miss := s.awaitAgent(ctx, at, s.pace(), received(vocab.SnapshotGet, vocab.ToolCall, vocab.SessionStart, vocab.SessionEnd))
	switch {
	case miss != nil:
		return steps.NotTestedf("the agent does nothing more: %s%s", miss.Reason, s.lastWords())
	case kindOf(&rec) == vocab.SessionStart || kindOf(&rec) == vocab.SessionEnd:
		return steps.NotTestedf("the agent does not go on with its session: %s", steps.Seen(rec))
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-076", "EA-077"}, OK: kindOf(&rec) == vocab.SnapshotGet, At: rec.N,
		Expected: "snapshot.get before the next tool.call", Observed: steps.Seen(rec)})
}

// callsNothing judges that an agent calls nothing while nothing is announced (EA-096a). The end of the while is told by the
// state behind it.
func (s *suite) callsNothing(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	from, empty := 0, func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent && kindOf(r) == vocab.StateUpdated && len(stateOf(r).list()) == 0
	}
	for _, r := range s.T.After(s.agent.started) {
		if empty(&r) {
			from = r.N
		}
	}
	if from == 0 {
		return steps.NotTestedf("the host has not announced nothing")
	}
	limit, cancel := steps.WithLimit(ctx, s.pace())
	defer cancel()
	end, err := s.T.Await(limit, from, func(r *transcript.Record) bool {
		return r.Dir == transcript.Sent && (kindOf(r) == vocab.StateUpdated || kindOf(r) == vocab.SnapshotState) && !empty(r)
	})
	if err != nil {
		return steps.NotTestedf("the host did not go on: %v", err)
	}
	_ = at
	for _, r := range s.T.After(from) {
		if r.N < end.N && received(vocab.ToolCall)(&r) {
			return s.Judge(steps.Check{Clauses: []string{"EA-096a", "EA-072"}, Expected: "no call while toolSchema is empty", Observed: steps.Seen(r), At: r.N})
		}
	}
	return s.Judge(steps.Check{Clauses: []string{"EA-096a", "EA-072"}, OK: true, At: end.N})
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
