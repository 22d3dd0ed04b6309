package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	judge "parley/monitor/externalagent"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
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
	steps.Step(sc, `^call (\d+) is refused, and what it asks for is announced no longer$`, func(n int) error {
		return s.plan(n, func(p *play, r *transcript.Record, id string) []any {
			p.undo()
			p.withdraw(payload(r))
			// The state comes first: who has read that the call was refused has read what may be called now.
			return []any{p.updated(), envelope(vocab.ErrorMessage, "", id, object{"code": vocab.ToolExecutionFailed, "message": "the scenario lets this call fail"})}
		})
	})
	steps.Step(sc, `^the state behind call (\d+) is not what its result says$`, func(n int) error { return s.plan(n, s.contradicts) })
	steps.Step(sc, `^the state behind call (\d+) comes late$`, func(n int) error {
		return s.planWhere(n, okAlone, func(p *play, _ *transcript.Record, _ string) []any {
			return []any{p.result, s.window(), p.updated()}
		})
	})
	steps.Step(sc, `^the state behind call (\d+) is lost$`, func(n int) error {
		return s.planWhere(n, okAlone, func(p *play, _ *transcript.Record, _ string) []any {
			p.lost = true
			return []any{p.result}
		})
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
	steps.Step(sc, `^nothing is announced for a while behind call (\d+)$`, func(n int) error { return s.plan(n, s.announcesNothing) })
	steps.Step(sc, `^nothing is shown for a while behind call (\d+), while tools are announced$`, func(n int) error { return s.plan(n, s.showsNothing) })
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
		s.agent.play.joins = func(_ *transcript.Record, answer object) []any { return []any{s.window(), answer} }
		return nil
	})
	steps.Step(sc, `^the host sends (.+) in front of the first state$`, s.junkFirst)
	steps.Step(sc, `^the host sends (.+) in front of the result of call (\d+)$`, s.junkBefore)
	steps.Step(sc, `^the host sends (.+) behind the first state$`, s.junkBehind)
	s.registerConsequences(sc)
}

// plan has the host do otherwise at the n-th call that goes well.
func (s *suite) plan(n int, do func(p *play, call *transcript.Record, id string) []any) error {
	return s.planWhere(n, nil, do)
}

// planWhere has the host do otherwise at the first call that fits, from the n-th that goes well on.
func (s *suite) planWhere(n int, fits func(call, result object) bool, do func(p *play, call *transcript.Record, id string) []any) error {
	if s.agent == nil {
		return fmt.Errorf("no host awaits the agent yet")
	}
	s.agent.play.plans = append(s.agent.play.plans, &plan{n: n, fits: fits, do: do})
	s.agent.planned++
	return nil
}

// okAlone fits the calls of which the document says that a result may be ok alone (EA-054a).
func okAlone(call, result object) bool {
	name, _ := call["toolName"].(string)
	_, quick := result["uiSpec"]
	return slices.Contains([]string{"next", "prev", "postMessage"}, name) && !quick
}

// window is how long the host keeps something back, from who should wait for it: the longer, the slower the agent has been so
// far to do anything, as one that does not wait would else be found waiting.
func (s *suite) window() time.Duration {
	l := s.Env.Profile.Limits
	return max(l.Quiet.Duration, min(4*slowest(s.T.All()), l.Event.Duration))
}

// slowest is the longest time that an agent has taken so far from what it was told last, or from its connection, to what it
// said next.
func slowest(t []transcript.Record) time.Duration {
	var most, told time.Duration
	waits := false
	for _, r := range t {
		switch {
		case !strings.HasPrefix(r.Conn, judge.AgentParty):
		case r.Kind == transcript.Open, r.Kind == transcript.Frame && r.Dir == transcript.Sent:
			told, waits = r.At, true
		case r.Kind == transcript.Frame && waits:
			most, waits = max(most, r.At-told), false
		}
	}
	return most
}

// contradicts answers with a quick uiSpec in which the call has had its effect, and then tells another state: the booking is
// elsewhere, where other tools are announced (EA-051, EA-072).
func (s *suite) contradicts(p *play, r *transcript.Record, id string) []any {
	quick := p.ui
	p.elsewhere()
	return []any{envelope(vocab.ToolResult, "", id, object{"ok": true, "toolName": payload(r)["toolName"], "uiSpec": quick}), p.updated()}
}

// elsewhere moves the booking to the next stage, in turn, that has tools which the present one does not have, and announces
// those. A flow without such a stage goes to any, and what leads on from there is not announced: whoever goes by what was
// there before is known by its call. The caller holds the lock.
func (p *play) elsewhere() {
	n := len(p.flow.Stages)
	was := p.flow.Stages[min(p.at, n-1)]
	for i := range n {
		to := (p.at + 1 + i) % n
		if p.at == n {
			to = i
		}
		fresh := slices.DeleteFunc(slices.Clone(p.flow.Stages[to].ToolSchema), func(item any) bool { return was.tools.Find(nameOf(item)) != nil })
		if len(fresh) > 0 {
			p.move(to, fresh)
			return
		}
	}
	to := (p.at + 1) % n
	st := p.flow.Stages[to]
	rest := slices.DeleteFunc(slices.Clone(st.ToolSchema), func(item any) bool {
		return st.Effects[nameOf(item)].Go > 0 || nameOf(item) == p.latest
	})
	p.move(to, rest)
}

// move sets the stage, and what is announced there.
func (p *play) move(to int, tools []any) {
	p.at, p.ui, p.narrow = to, copied(p.flow.Stages[to].UISpec), tools
	if tools == nil {
		p.narrow = []any{}
	}
}

// withdraw has the present stage announce no longer what a call has asked for: one of the values that a param may have, or
// else the tool. The caller holds the lock.
func (p *play) withdraw(call object) {
	name, _ := call["toolName"].(string)
	params, _ := call["params"].(object)
	p.narrow = []any{}
	for _, item := range p.flow.Stages[p.at].ToolSchema {
		if nameOf(item) == name {
			if item = fewer(item, params); item == nil {
				continue
			}
		}
		p.narrow = append(p.narrow, item)
	}
}

// nameOf is the name of an announced tool.
func nameOf(item any) string {
	name, _ := item.(object)["name"].(string)
	return name
}

// fewer is an announced tool whose params may no longer be those; nil where only the tool itself can be left out.
func fewer(item any, params object) any {
	out := copied(item).(object)
	parameters, _ := out["parameters"].(object)
	properties, isSchema := parameters["properties"].(object)
	if !isSchema {
		properties = parameters
	}
	for _, name := range names(params) {
		p, _ := properties[name].(object)
		values, _ := p["enum"].([]any)
		left := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return wjson.Equal(v, params[name]) })
		if len(left) > 0 && len(left) < len(values) {
			p["enum"] = left
			return out
		}
	}
	return nil
}

// done waits until the host has done all that was planned.
func (s *suite) done(ctx context.Context) (int, error) {
	rec, err := s.awaitRemark(ctx, string(planned), s.agent.planned)
	if err != nil {
		return 0, err
	}
	return rec.N, nil
}

// begun is the record from which on the host does the last of what was planned.
func (s *suite) begun(before int) int {
	for _, r := range slices.Backward(s.T.All()) {
		if r.N <= before && r.Kind == transcript.Remark && r.Label == string(planning) {
			return r.N
		}
	}
	return before
}

// awaitRemark waits for the n-th remark of a kind.
func (s *suite) awaitRemark(ctx context.Context, label string, n int) (transcript.Record, error) {
	calls := 0
	rec, miss := s.awaitAgentOr(ctx, s.agent.started, s.pace(), func(r *transcript.Record) bool {
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
		return rec, steps.NotTestedf("the agent does not get so far: %s%s", miss.Reason, s.lastWords())
	case n > 0:
		return rec, steps.NotTestedf("the agent has made %d calls, and has not got so far", calls)
	}
	return rec, nil
}

// tooMany calls lead nowhere.
const tooMany = 100
