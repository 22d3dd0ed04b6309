package externalagent

import (
	"context"
	"fmt"
	"slices"

	"github.com/cucumber/godog"

	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerCalls(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent (\w+) makes the first call of the booking$`, func(ctx context.Context, name string) error {
		_, err := s.upTo(ctx, s.party(name), "")
		return err
	})
	steps.Step(sc, `^agent (\w+) books up to a call of "(\w+)"$`, func(ctx context.Context, name, tool string) error {
		_, err := s.upTo(ctx, s.party(name), tool)
		return err
	})
	steps.Step(sc, `^agent (\w+) is told that the call went well$`, func(ctx context.Context, name string) error { return s.lastWentWell(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) calls "(\w+)"$`, func(ctx context.Context, name, tool string) error { return s.callsAnnounced(ctx, s.party(name), tool) })
	steps.Step(sc, `^agent (\w+) books a ticket from the first movie to the confirmation$`, func(ctx context.Context, name string) error { return s.books(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) calls every announced tool, at every stage of the booking$`, func(ctx context.Context, name string) error { return s.callsEverything(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) sees its effect in a state that follows$`, func(ctx context.Context, name string) error { return s.seesEffect(ctx, s.party(name)) })
	steps.Step(sc, `^the tools that are announced change on the way$`, s.toolsChanged)
}

// call makes a tool.call.
func (s *suite) call(ctx context.Context, p *party, tool string, params any) (*request, error) {
	q, err := s.ask(ctx, p, vocab.ToolCall, object{"toolName": tool, "params": params, "reason": "parley: a step of the scenario"})
	q.tool = tool
	return q, err
}

// callsAnnounced makes a call of a tool that is announced now, with params that keep to its schema.
func (s *suite) callsAnnounced(ctx context.Context, p *party, tool string) error {
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	announced, err := s.announced(now)
	if err != nil {
		return steps.NotTestedf("toolSchema is not understood: %v", err)
	}
	t := announced.Find(tool)
	if t == nil {
		return &steps.NotApplicableError{Reason: fmt.Sprintf("the host does not announce %q at this stage", tool)}
	}
	params, _ := t.Example(s.known(tool, now.ui))
	if params == nil {
		return steps.NotTestedf("no params for %q that keep to its schema were found", tool)
	}
	_, err = s.call(ctx, p, tool, params)
	return err
}

// known are values for a tool's params that the booking path takes from a uiSpec, or has.
func (s *suite) known(tool string, ui any) object {
	for _, c := range s.path() {
		if c.Tool != tool {
			continue
		}
		if params, err := paramsFor(c, ui); err == nil {
			return params
		}
	}
	return nil
}

func (s *suite) lastWentWell(ctx context.Context, p *party) error {
	if p.last == nil || p.last.kind != vocab.ToolCall {
		return steps.NotTestedf("agent %s has called no tool", p.name)
	}
	_, err := s.wentWell(ctx, p.last, p.last.tool)
	return err
}

// wentWell judges the answer to a call that is announced and keeps to its schema (EA-046 to EA-049). A tool may still fail
// while it runs: what needs it is then not tested.
func (s *suite) wentWell(ctx context.Context, q *request, tool string) (transcript.Record, error) {
	rec, miss := s.answer(ctx, q)
	check := steps.Check{Clauses: []string{"EA-007", "EA-046", "EA-047", "EA-074", "EA-016"}, At: q.mark,
		Expected: fmt.Sprintf("tool.result with replyTo %q, the id of tool.call", q.id)}
	if miss != nil {
		check.Observed = miss.Reason
		if miss.At > 0 {
			check.At = miss.At
		}
		return rec, s.Need(check)
	}
	check.At = rec.N
	if refused(&rec) || kindOf(&rec) != vocab.ToolResult {
		check.Observed = steps.Seen(rec)
	}
	if refused(&rec) {
		check.Expected = "the call of an announced tool carried out"
		switch s.codeOf(&rec) {
		case vocab.UnknownTool:
			check.Clauses = []string{"EA-007", "EA-080", "EA-096", "EA-006"}
			return rec, s.Need(check)
		case vocab.InvalidParams:
			if q.sure {
				check.Clauses, check.Expected = []string{"EA-007", "EA-081"}, "params that keep to the announced schema accepted"
				return rec, s.Need(check)
			}
		case vocab.NoActiveSpec, vocab.SessionNotActive, vocab.InvalidMessage:
			check.Clauses = []string{"EA-007", "EA-046"}
			return rec, s.Need(check)
		}
		if s.Env.Role == vocab.Relay { // the host is the harness, and the path its own: what reached it was another call
			check.Clauses = []string{"EA-007"}
			return rec, s.Need(check)
		}
		if gone := s.lostBefore(q, rec.N); gone != "" {
			return rec, steps.NotTestedf("%s was refused%s: %s; %s", tool, stageOf(q.before), steps.Seen(rec), gone)
		}
		return rec, steps.NotTestedf("%s, a call of the booking path, was refused: %s", tool, steps.Seen(rec))
	}
	if kindOf(&rec) != vocab.ToolResult {
		return rec, s.Need(check)
	}
	body := payload(&rec)
	_ = s.Judge(steps.Check{Clauses: []string{"EA-047", "EA-016"}, OK: true, At: rec.N})
	done := body["ok"] == true
	_ = s.Judge(steps.Check{Clauses: []string{"EA-007", "EA-046", "EA-048", "EA-074"}, OK: done, At: rec.N,
		Expected: "payload.ok is true, for a call that is carried out", Observed: "payload.ok is " + wjson.Compact(body["ok"])})
	s.namesTool(&rec, tool)
	s.notesQuick(&rec, tool)
	if !done {
		return rec, steps.NotTestedf("%s was not carried out: %s", tool, steps.Seen(rec))
	}
	return rec, nil
}

// okOnly are the tools whose result may say only ok (EA-053, EA-105).
var okOnly = []string{vocab.Next, vocab.Prev, vocab.PostMessage}

// namesTool judges payload.toolName (EA-049), which may be missing where a result says only ok (EA-105).
func (s *suite) namesTool(rec *transcript.Record, tool string) {
	got, there := payload(rec)["toolName"]
	clauses := []string{"EA-049"}
	if slices.Contains(okOnly, tool) {
		clauses = []string{"EA-105"}
		if !there && !s.Env.Strict {
			_ = s.Judge(steps.Check{Clauses: clauses, OK: true, At: rec.N})
			return
		}
		if there {
			clauses = append(clauses, "EA-049")
		}
	}
	_ = s.Judge(steps.Check{Clauses: clauses, OK: got == tool, At: rec.N, Group: "toolName of " + tool, Expected: fmt.Sprintf("payload.toolName is %q, the called tool", tool),
		Observed: "payload.toolName is " + wjson.Compact(got)})
}

// notesQuick records whether a result has a quick uiSpec (EA-050, EA-052, EA-053).
func (s *suite) notesQuick(rec *transcript.Record, tool string) {
	_, quick := payload(rec)["uiSpec"]
	what := fmt.Sprintf("the result of %s has a uiSpec: %v", tool, quick)
	if slices.Contains(okOnly, tool) {
		s.Observe("EA-053", what)
		return
	}
	s.Observe("EA-050", what)
	s.Observe("EA-052", what)
}

// seesEffect judges that the latest call is followed by a state.updated that shows its effect (EA-054): next and prev change
// uiSpec or toolSchema, postMessage makes messageHistory grow, and what others do shows somewhere.
func (s *suite) seesEffect(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.ToolCall {
		return steps.NotTestedf("agent %s has called no tool", p.name)
	}
	return s.effectOf(ctx, q, p.before)
}

func (s *suite) effectOf(ctx context.Context, q *request, before state) error {
	clauses := []string{"EA-051", "EA-072"}
	if slices.Contains(okOnly, q.tool) {
		clauses = []string{"EA-054", "EA-072"}
	}
	kind := "a state.updated behind " + q.tool
	if s.behind[q.of.name+" "+kind] {
		return nil // it follows from the call before
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: q.of.name, After: q.mark, Kind: kind, Fence: s.fence(q.of), Match: func(r *transcript.Record) bool {
		return received(vocab.StateUpdated)(r) && s.shows(q, before, stateOf(r))
	}})
	check := steps.Check{Clauses: clauses, OK: miss == nil, At: rec.N, Expected: "a state.updated that shows the effect of " + q.tool}
	if miss != nil {
		s.behind[q.of.name+" "+kind] = true
		all := s.updates(q.of, q.mark)
		check.At, check.Observed = q.mark, "no state.updated behind the call: "+miss.Reason
		if len(all) > 0 {
			check.At = all[len(all)-1].at
			check.Observed = fmt.Sprintf("%d behind the call, and none of them differs from what was announced before it", len(all))
		}
	}
	return s.Judge(check)
}

// shows tells whether a state shows the effect of a call against the state before it. At the last stage there is no next
// screen: the effect of next may show anywhere.
func (s *suite) shows(q *request, before, after state) bool {
	if q.tool == vocab.PostMessage {
		a, _ := before.history.([]any)
		b, _ := after.history.([]any)
		return len(b) > len(a)
	}
	changed := s.differs("uiSpec", before.ui, after.ui) != "" || s.differs("toolSchema", before.tools, after.tools) != ""
	if slices.Contains(okOnly, q.tool) && !q.last {
		return changed
	}
	return changed || s.differs("messageHistory", before.history, after.history) != ""
}

// books goes through the whole booking, and judges each call and what follows it.
func (s *suite) books(ctx context.Context, p *party) error {
	seen := map[string]bool{}
	now, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	path := s.path()
	for i, c := range path {
		s.noteStage(p, now, seen)
		q, err := s.stepOf(ctx, p, c, now, i == len(path)-1)
		if err != nil {
			return err
		}
		rec, err := s.wentWell(ctx, q, c.Tool)
		if err != nil {
			return err
		}
		if slices.Contains(okOnly, c.Tool) {
			if err := s.effectOf(ctx, q, p.before); err != nil {
				return err
			}
		}
		if now, err = s.stepped(ctx, p); err != nil {
			return err
		}
		if err := s.agrees(&rec, now); err != nil {
			return err
		}
	}
	return nil
}

// noteStage remembers what was announced, for EA-095.
func (s *suite) noteStage(p *party, now state, seen map[string]bool) {
	key := wjson.Compact(now.tools)
	if !seen[key] {
		seen[key] = true
		p.schemas++
	}
}

func (s *suite) toolsChanged() error {
	for _, p := range s.parties {
		if p.schemas > 0 {
			s.Observe("EA-095", fmt.Sprintf("%d different toolSchemas on the way through the booking", p.schemas))
		}
	}
	return nil
}

// agrees judges that a quick uiSpec does not contradict the state behind it (EA-075): where both say something of the same
// thing, they say the same.
func (s *suite) agrees(rec *transcript.Record, now state) error {
	quick, ok := payload(rec)["uiSpec"].(object)
	if !ok {
		return nil
	}
	at := contradiction("", s.settled("uiSpec", quick), s.settled("uiSpec", now.ui))
	check := steps.Check{Clauses: []string{"EA-075"}, OK: at == "", At: rec.N, Expected: "a quick uiSpec that agrees with the state which follows"}
	if at != "" {
		check.Observed = "they differ at " + at
	}
	return s.Judge(check)
}

// contradiction is the first place at which both values have something, and not the same; "" where there is none.
func contradiction(at string, a, b any) string {
	x, ok := a.(object)
	y, both := b.(object)
	if !ok || !both {
		if wjson.Equal(a, b) || partOf(a, b) {
			return ""
		}
		return fmt.Sprintf("%s: %s, and then %s", at+"/", clip(wjson.Compact(a), 200), clip(wjson.Compact(b), 200))
	}
	for _, name := range names(x) {
		if other, there := y[name]; there {
			if where := contradiction(at+wjson.FormatPointer(name), x[name], other); where != "" {
				return where
			}
		}
	}
	return ""
}

// partOf tells whether an array has nothing but items of another: a quick uiSpec may show a part.
func partOf(a, b any) bool {
	part, ok := a.([]any)
	whole, both := b.([]any)
	if !ok || !both || len(part) == 0 {
		return false
	}
	for _, item := range part {
		if !slices.ContainsFunc(whole, func(other any) bool { return wjson.Equal(item, other) }) {
			return false
		}
	}
	return true
}

// callsEverything calls every announced tool at every stage with params that keep to its schema: it is known, and its params
// are not found wrong (EA-080, EA-081: the twins of the refusals). It may still fail while it runs. Where a call has led
// away from the other tools of a stage, that is come to again in a new session.
func (s *suite) callsEverything(ctx context.Context, p *party) error {
	stages, tools := []int{}, [][]string{}
	seen, all, left := map[string]bool{}, 0, 0
	err := s.eachStage(ctx, p, func(done int, now state, announced toolschema.Tools) (bool, error) {
		var here []string
		for i := range announced {
			params, _ := announced[i].Example(s.known(announced[i].Name, now.ui))
			key := wjson.Compact([]any{announced[i].Name, params})
			if seen[key] && all >= manyRight {
				left++
				continue
			}
			seen[key] = true
			all++
			here = append(here, announced[i].Name)
		}
		if len(here) > 0 {
			stages, tools = append(stages, done), append(tools, here)
		}
		return false, nil
	})
	if left > 0 {
		s.Note("%d calls are left out, which are made at an earlier stage", left)
	}
	if err != nil {
		return err
	}
	if len(stages) == 0 {
		return steps.NotTestedf("no tool is announced at any stage of the booking")
	}
	for i, done := range stages {
		now, err := s.goTo(ctx, p, done)
		if err != nil {
			return err
		}
		for fresh, left := true, tools[i]; len(left) > 0; {
			announced, err := s.announced(now)
			if err != nil {
				return steps.NotTestedf("toolSchema is not understood: %v", err)
			}
			at := slices.IndexFunc(left, func(name string) bool { return announced.Find(name) != nil })
			if at < 0 && fresh {
				break // the same calls led elsewhere: no clause says that they lead to the same place
			}
			if at < 0 {
				if now, err = s.goTo(ctx, p, done); err != nil {
					return err
				}
				fresh = true
				continue
			}
			if err := s.callsRightly(ctx, p, announced.Find(left[at]), now); err != nil {
				return err
			}
			left, fresh = slices.Delete(left, at, at+1), false
			if now, err = s.snapshot(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *suite) callsRightly(ctx context.Context, p *party, t *toolschema.Tool, now state) error {
	params, settled := t.Example(s.known(t.Name, now.ui))
	if params == nil {
		s.Note("no params for %s that keep to its schema were found", t.Name)
		return nil
	}
	q, err := s.call(ctx, p, t.Name, params)
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	check := steps.Check{Clauses: []string{"EA-007", "EA-046", "EA-047", "EA-080", "EA-081"}, At: q.mark,
		Expected: fmt.Sprintf("an answer to %s, an announced tool", t.Name)}
	if miss != nil {
		check.Observed = miss.Reason
		return s.Need(check)
	}
	code, seen := "", ""
	if refused(&rec) {
		code, seen = s.codeOf(&rec), steps.Seen(rec)
	}
	_ = s.Judge(steps.Check{Clauses: []string{"EA-080", "EA-096"}, OK: code != vocab.UnknownTool, At: rec.N, Group: "unknown: " + t.Name,
		Expected: "an announced tool that is known", Observed: seen})
	if settled {
		_ = s.Judge(steps.Check{Clauses: []string{"EA-081"}, OK: code != vocab.InvalidParams, At: rec.N, Group: "right params of " + t.Name,
			Expected: "params that keep to the announced schema accepted: " + wjson.Compact(params), Observed: seen})
	}
	if refused(&rec) {
		return nil
	}
	s.namesTool(&rec, t.Name)
	s.notesQuick(&rec, t.Name)
	_ = s.Judge(steps.Check{Clauses: []string{"EA-007", "EA-046", "EA-047"}, OK: payload(&rec)["ok"] == true, At: rec.N, Group: "ok of " + t.Name,
		Expected: "payload.ok is true or false", Observed: "payload.ok is " + wjson.Compact(payload(&rec)["ok"])})
	if t.Name == vocab.PostMessage { // a message is always to be seen; next and prev may have nowhere to go
		if err := s.effectOf(ctx, q, now); err != nil {
			return err
		}
	}
	after, err := s.stepped(ctx, p)
	if err != nil {
		return err
	}
	return s.agrees(&rec, after)
}
