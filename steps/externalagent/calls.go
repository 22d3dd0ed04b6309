package externalagent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/steps/toolschema"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// callOf returns the payload of a tool.call.
func callOf(tool string, params any) object {
	return object{vocab.ToolName: tool, vocab.Params: params, "reason": "parley: a step of the scenario"}
}

// call sends a tool.call.
func (s *suite) call(ctx context.Context, p *party, tool string, params any) (*request, error) {
	return s.callAs(ctx, p, tool, callOf(tool, params))
}

// callAs sends a tool.call with a payload.
func (s *suite) callAs(ctx context.Context, p *party, tool string, body object) (*request, error) {
	q, err := s.ask(ctx, p, vocab.ToolCall, body)
	q.tool = tool
	return q, err
}

// noSuchTool is a tool that no host has.
const noSuchTool = "parley_no_such_tool"

func (s *suite) callsUnknown(ctx context.Context, p *party) error {
	_, err := s.call(ctx, p, noSuchTool, object{})
	return err
}

// callsGone calls a tool that an earlier state of the session has announced, and the latest one does not.
func (s *suite) callsGone(ctx context.Context, p *party) error {
	now, err := s.still(ctx, p) // what it shows on the way may announce less
	if err != nil {
		return err
	}
	announced, err := s.announced(now)
	if err != nil {
		return err
	}
	for _, r := range s.Between(p.name, p.opened, 0) {
		if !told(&r) {
			continue
		}
		list, _ := payload(&r)[vocab.ToolSchema].([]any)
		before, err := learnt[toolschema.Memory](s).Parse(list)
		if err != nil {
			continue
		}
		for _, t := range before {
			if announced.Find(t.Name) != nil {
				continue
			}
			if params, _ := t.Example(s.known(t.Name, payload(&r)[vocab.Spec])); params != nil {
				_, err := s.call(ctx, p, t.Name, params)
				return err
			}
		}
	}
	return &steps.NotApplicableError{Reason: "each tool that was announced before still is"}
}

// callsAnnounced calls a currently announced tool with params that keep to its schema.
func (s *suite) callsAnnounced(ctx context.Context, p *party, tool string) error {
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	p.before = now
	t := announced.Find(tool)
	if t == nil {
		return &steps.NotApplicableError{Reason: fmt.Sprintf("the host does not announce %q at this stage", tool)}
	}
	params, _ := t.Example(s.known(tool, now.UI))
	if params == nil {
		return steps.NotTestedf("no params for %q that match its schema were found", tool)
	}
	_, err = s.call(ctx, p, tool, params)
	return err
}

// callsOrChooses is callsAnnounced of a tool of the booking. A host that has forgotten what was chosen before prev
// refuses it, and then the calls before it are made again.
func (s *suite) callsOrChooses(ctx context.Context, p *party, tool string) error {
	if err := s.callsAnnounced(ctx, p, tool); err != nil {
		return err
	}
	if rec, miss := s.answer(ctx, p.last); miss == nil && s.codeOf(&rec) == vocab.ToolExecutionFailed {
		return s.upTo(ctx, p, tool)
	}
	return nil
}

// known returns values for a tool's params from the booking path, as far as it has them or takes them from a uiSpec.
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
	_, err := s.wentWell(ctx, p.last)
	return err
}

// wentWell reports on the answer to a call that is announced and keeps to its schema. A tool may still
// fail while it runs; what depends on it is not tested then.
func (s *suite) wentWell(ctx context.Context, q *request) (transcript.Record, error) {
	rec, miss := s.answer(ctx, q)
	if miss == nil && refused(&rec) {
		return rec, s.refusedThough(q, rec)
	}
	if err := s.answered(q, rec, miss); err != nil {
		return rec, err
	}
	s.namesTool(&rec, q.tool)
	s.notesQuick(&rec, q.tool)
	if payload(&rec)[vocab.OK] != true {
		return rec, steps.NotTestedf("%s was not carried out: %s", q.tool, steps.Seen(rec))
	}
	return rec, nil
}

// refusedThough reports on the refusal of an announced call, unless the tool may have failed while it ran.
func (s *suite) refusedThough(q *request, rec transcript.Record) error {
	f, ok := s.model().RefusedThough(s.recordOf(q), rec, q.sure)
	if !ok {
		return s.Need(s.quote(f))
	}
	if gone := s.lostBefore(q, rec.N); gone != "" {
		return steps.NotTestedf("%s was refused%s: %s; %s", q.tool, stageOf(q.before), steps.Seen(rec), gone)
	}
	return steps.NotTestedf("%s, a call of the booking path, was refused: %s", q.tool, steps.Seen(rec))
}

// namesTool reports on payload.toolName (EA-049), which a result may omit if it may say only ok (EA-105): not by the
// strict reading.
func (s *suite) namesTool(rec *transcript.Record, tool string) {
	if _, there := payload(rec)[vocab.ToolName]; there || !s.Env.Strict || !slices.Contains(model.Effective, tool) {
		s.reports(rec, "EA-049", "EA-105")
		return
	}
	_ = s.Judge(s.quote(model.NoName(*rec, tool)))
}

// notesQuick records whether a result has a quick uiSpec (EA-050, EA-052, EA-053).
func (s *suite) notesQuick(rec *transcript.Record, tool string) {
	_, quick := payload(rec)[vocab.Spec]
	what := fmt.Sprintf("the result of %s has a uiSpec: %v", tool, quick)
	if slices.Contains(model.Effective, tool) {
		s.Observe("EA-053", what)
		return
	}
	s.Observe("EA-050", what)
	s.Observe("EA-052", what)
}

// What is sent without waiting, by the words of features.
const (
	differentKinds = "requests of different kinds"
	announcedCalls = "calls of announced tools"
)

// pipelines lets an agent, or each of two, send requests without waiting: each must be answered on its own connection,
// under its own id, and by a message of the right kind. That each is answered once is a monitor's.
func (s *suite) pipelines(ctx context.Context, name, other string, n int, what string) (err error) {
	from, ask := []*party{s.party(name)}, []func(context.Context, *party) error{s.asksForSnapshot}
	if other != "" {
		from = append(from, s.party(other))
	}
	switch what {
	case differentKinds:
		ask = append(ask, s.callsUnknown)
	case announcedCalls:
		if ask, err = s.callsThatStay(ctx, from[0]); err != nil {
			return err
		}
	}
	var asked []*request
	for i := range n {
		for _, p := range from {
			counted := p.counting
			if other != "" {
				p.counting = i + 1 // two agents may use the same ids
			}
			err := ask[i%len(ask)](ctx, p)
			if asked = append(asked, p.last); other != "" {
				p.counting = counted
			}
			if err != nil {
				return err
			}
		}
	}
	for i, q := range asked {
		switch {
		case q.kind != vocab.ToolCall:
			_, err = s.needAnswer(ctx, q)
		case q.tool == noSuchTool:
			err = s.judgeRefusal(ctx, q, vocab.UnknownTool)
		default:
			s.answeredByItself(ctx, q, fmt.Sprintf("call %d of %d that were sent together", i+1, n))
		}
		if err != nil {
			return err
		}
	}
	if what == announcedCalls { // what follows the snapshot was not sent because of these calls
		_, err = s.snapshot(ctx, from[0])
	}
	return err
}

// callsThatStay returns calls of announced tools that do not lead away.
func (s *suite) callsThatStay(ctx context.Context, p *party) (out []func(context.Context, *party) error, err error) {
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, t := range announced {
		params, _ := t.Example(s.known(t.Name, now.UI))
		if t.Name != vocab.Next && t.Name != vocab.Prev && params != nil {
			out = append(out, func(ctx context.Context, p *party) error {
				_, err := s.call(ctx, p, t.Name, params)
				return err
			})
		}
	}
	if len(out) == 0 {
		return nil, steps.NotTestedf("the host announces no tool, except those that lead to another stage, that can be " +
			"called")
	}
	return out, nil
}

// answeredByItself judges the answer to a call that was sent together with others. The target may refuse them or carry
// them out one after the other (EA-047, EA-049).
func (s *suite) answeredByItself(ctx context.Context, q *request, which string) {
	rec, miss := s.answer(ctx, q)
	_ = s.judgeOrNeed(false, s.model().Answered(s.recordOf(q), rec, which, miss)...)
	if miss == nil && kindOf(&rec) == vocab.ToolResult && !refused(&rec) {
		s.namesTool(&rec, q.tool)
	}
}

// goesThrough lets an agent go through the whole booking, and judges quick uiSpecs. To a host that has sent none in the
// whole step, the clauses about them do not apply.
func (s *suite) goesThrough(ctx context.Context, name, how string) error {
	p := s.party(name)
	do := map[string]func(context.Context, *party) error{"books a ticket": s.books,
		"every announced tool": s.callsEverything, "the announced tools with other values": s.callsOtherwise}[how]
	if err := do(ctx, p); err != nil {
		return err
	}
	confirmed := 0
	for _, r := range s.Between(p.name, 0, 0) {
		switch {
		case !received(vocab.ToolResult)(&r) || payload(&r)[vocab.OK] != true:
		case payload(&r)[vocab.Spec] != nil:
			return nil
		default:
			confirmed++
		}
	}
	if confirmed > 0 {
		s.Observe("EA-052a", "no tool.result had a uiSpec")
		s.Observe("EA-075", "no tool.result had a uiSpec")
	}
	return nil
}

// seesEffect judges that a state.updated after the latest call shows its effect (EA-054): next and prev change uiSpec
// or toolSchema, postMessage makes messageHistory grow, and other tools may show an effect anywhere.
func (s *suite) seesEffect(ctx context.Context, p *party) error {
	q := p.last
	if q == nil || q.kind != vocab.ToolCall {
		return steps.NotTestedf("agent %s has called no tool", p.name)
	}
	return s.effectOf(ctx, q, p.before)
}

func (s *suite) effectOf(ctx context.Context, q *request, before state) error {
	kind := "a state.updated after " + q.tool
	if s.missedUpdates[q.of.name+" "+kind] {
		return nil // the earlier miss was judged already
	}
	_, miss := s.awaitEffect(ctx, q, before, 0)
	s.missedUpdates[q.of.name+" "+kind] = miss != nil
	return s.Judge(s.model().Effect(s.recordOf(q), before, q.last, miss))
}

// shows reports whether a state shows the effect of a call compared with the state before it.
func (s *suite) shows(q *request, before, after state) bool {
	return s.Shows(q.tool, q.last, before, after)
}

// awaitEffect waits for a state.updated that shows the effect of a call; within 0 means the event limit.
func (s *suite) awaitEffect(
	ctx context.Context, q *request, before state, within time.Duration,
) (transcript.Record, *verdict.Miss) {
	return s.Await(ctx, steps.Wait{Conn: q.of.name, After: q.mark, Within: within, Kind: "a state.updated after " +
		q.tool, Family: vocab.StateUpdated,
		Fence: s.fence(q.of), Match: func(r *transcript.Record) bool {
			return received(vocab.StateUpdated)(r) && s.shows(q, before, model.StateOf(r))
		}})
}

// books goes through the whole booking and judges each call and its effects.
func (s *suite) books(ctx context.Context, p *party) error {
	p.schemas = map[string]bool{}
	now, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	path := s.path()
	var end error // why the booking is not known to be complete
	for i, c := range path {
		p.schemas[wjson.Compact(now.Tools)] = true
		q, err := s.stepOf(ctx, p, c, now, i == len(path)-1)
		if err != nil {
			return err
		}
		rec, err := s.wentWell(ctx, q)
		if err != nil {
			return err
		}
		if slices.Contains(model.Effective, c.Tool) {
			if err := s.effectOf(ctx, q, p.before); err != nil {
				return err
			}
		}
		if now, err = s.stepped(ctx, p); err != nil {
			return err
		}
		if q.vain = slices.Contains(model.Effective, c.Tool) && !s.shows(q, q.before, now); q.vain && q.last {
			end = steps.NotTestedf("the booking is not known to have reached its end: %s (record %d) succeeded, and the state "+
				"is as before it", q.tool, q.mark)
		}
		if err := s.agrees(&rec, now); err != nil {
			return err
		}
	}
	return end
}

func (s *suite) toolsChanged() error {
	for _, p := range s.parties {
		if n := len(p.schemas); n > 0 {
			s.Observe("EA-095", fmt.Sprintf("%d different toolSchemas in the course of the booking", n))
		}
	}
	return nil
}

// agrees judges that a quick uiSpec does not contradict the state after it (EA-075): what both show must be the same.
func (s *suite) agrees(rec *transcript.Record, now state) error {
	return s.Judge(s.Agrees(*rec, now)...)
}
