package externalagent

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cucumber/godog"

	"parley/monitor/externalagent/toolschema"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerRefusing(sc *godog.ScenarioContext) {
	steps.Step(sc, `^agent (\w+) sends a (relay\.join|snapshot\.get|tool\.call) with (.+)$`, func(ctx context.Context, name, kind, fault string) error {
		return s.sendsSpoilt(ctx, s.party(name), kind, fault)
	})
	steps.Step(sc, `^agent (\w+) sends (malformed JSON|an empty text|a JSON array|a JSON string|a JSON number|a JSON null|two JSON values|half an envelope)$`, func(ctx context.Context, name, what string) error {
		return s.sendsJunk(ctx, s.party(name), what)
	})
	steps.Step(sc, `^agent (\w+)'s message is refused as invalid$`, func(ctx context.Context, name string) error { return s.isInvalid(ctx, s.party(name), false) })
	steps.Step(sc, `^agent (\w+)'s message is refused as invalid, or its connection closed$`, func(ctx context.Context, name string) error { return s.isInvalid(ctx, s.party(name), true) })
	steps.Step(sc, `^what comes of agent (\w+)'s message is noted$`, func(ctx context.Context, name string) error { return s.answerNoted(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) can go on$`, func(ctx context.Context, name string) error { return s.goesOn(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) calls a tool that does not exist$`, func(ctx context.Context, name string) error {
		_, err := s.call(ctx, s.party(name), "parley_no_such_tool", object{})
		return err
	})
	steps.Step(sc, `^agent (\w+) makes a call$`, func(ctx context.Context, name string) error { return s.callsAnyhow(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) makes a call before it has joined$`, func(ctx context.Context, name string) error {
		if err := s.connected(ctx, s.party(name)); err != nil {
			return err
		}
		return s.callsAnyhow(ctx, s.party(name))
	})
	steps.Step(sc, `^agent (\w+) makes every call of the booking, and each is refused with "(\w+)"$`, func(ctx context.Context, name, code string) error {
		return s.callsAllRefused(ctx, s.party(name), code)
	})
	steps.Step(sc, `^agent (\w+)'s call is refused, or its connection closed$`, func(ctx context.Context, name string) error { return s.isTurnedAway(ctx, s.party(name)) })
	steps.Step(sc, `^agent (\w+) calls the tools of other stages, at every stage of the booking, and each is refused$`, func(ctx context.Context, name string) error {
		return s.callsOtherStages(ctx, s.party(name))
	})
	steps.Step(sc, `^agent (\w+) calls every announced tool with a param (.+), and each is refused$`, func(ctx context.Context, name, how string) error {
		return s.callsWrongly(ctx, s.party(name), how)
	})
	steps.Step(sc, `^agent (\w+) calls a tool with params that are missing, null, a list, a text and a number, and is refused$`, func(ctx context.Context, name string) error {
		return s.callsShapeless(ctx, s.party(name))
	})
	steps.Step(sc, `^agent (\w+) makes the calls by which a tool fails while it runs$`, func(ctx context.Context, name string) error {
		return s.provokes(ctx, s.party(name), "tool-failure")
	})
	steps.Step(sc, `^agent (\w+) makes the calls behind which no uiSpec is active$`, func(ctx context.Context, name string) error {
		return s.provokes(ctx, s.party(name), "no-active-spec")
	})
}

// isInvalid judges that the latest message is answered with INVALID_MESSAGE, with or without its id, and not as a valid one
// (EA-020, EA-024a, EA-078).
func (s *suite) isInvalid(ctx context.Context, p *party, orClosed bool) error {
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has sent nothing", p.name)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: q.mark, Kind: "a refusal of what is no envelope", Fence: s.fence(p), Match: func(r *transcript.Record) bool {
		switch {
		case closed(r):
			return true
		case r.Dir != transcript.Received || r.Event == nil:
			return false
		case kindOf(r) == vocab.ErrorMessage:
			to := field(r, "replyTo")
			return to == q.id || to == ""
		}
		return answers(q.id)(r)
	}})
	check := steps.Check{Clauses: []string{"EA-020", "EA-024a", "EA-078"}, At: q.mark, Expected: "error with code " + vocab.InvalidMessage}
	if orClosed {
		check.Expected += ", or the connection closed"
	}
	switch {
	case miss != nil:
		check.Observed = miss.Reason
	case closed(&rec):
		check.OK, check.At, check.Observed = orClosed, rec.N, steps.Seen(rec)
		p.conn, p.joined, p.study = nil, false, ""
	default:
		check.OK, check.At, check.Observed = s.codeOf(&rec) == vocab.InvalidMessage, rec.N, steps.Seen(rec)
		named := field(&rec, "replyTo") == q.id
		switch {
		case !check.OK || q.id == "" || answerOf[q.kind] == "": // what cannot be read has no id to answer to
		case q.untyped: // nor has an envelope without a type: it may be named, and need not be
			s.Observe("EA-068", fmt.Sprintf("the answer to an envelope without a type names its id: %v", named))
		default:
			_ = s.Judge(steps.Check{Clauses: []string{"EA-068"}, OK: named, At: rec.N, Expected: fmt.Sprintf("error with replyTo %q", q.id), Observed: steps.Seen(rec)})
		}
	}
	return s.Judge(check)
}

// answerNoted records what a target does with a message of which no clause says what comes of it.
func (s *suite) answerNoted(ctx context.Context, p *party) error {
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has sent nothing", p.name)
	}
	what := "no answer before that to the next request"
	fence, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	if err == nil {
		_, _ = s.answer(ctx, fence)
	}
	for _, r := range s.Between(p.name, q.mark, 0) {
		if closed(&r) || r.Event != nil && field(&r, "replyTo") != fence.id && kindOf(&r) != vocab.StateUpdated {
			what = steps.Seen(r)
			break
		}
	}
	if s.endedAt(p) > 0 {
		p.conn, p.joined, p.study = nil, false, ""
	}
	s.Note("answered by: %s", what)
	for _, id := range []string{"EA-022", "EA-023"} {
		s.Observe(id, "answered by "+what)
	}
	return nil
}

// goesOn judges that an agent is still served, with a snapshot (EA-041, EA-077a): on its connection, or, where that was
// closed, on another.
func (s *suite) goesOn(ctx context.Context, p *party) error {
	for try := 0; ; try++ {
		if p.conn != nil && s.endedAt(p) > 0 {
			p.conn, p.joined, p.returned = nil, false, true
		}
		if err := s.hasJoined(ctx, p); err != nil {
			return err
		}
		if err := s.hasSession(ctx, p); err != nil {
			return err
		}
		q, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
		if err != nil {
			return err
		}
		if _, miss := s.answer(ctx, q); miss != nil && s.endedAt(p) > 0 && try == 0 {
			continue // it was closed meanwhile
		}
		_, err = s.getsSnapshot(ctx, p)
		return err
	}
}

// callsAnyhow makes a call whatever is announced: the first one of the booking where its params need no uiSpec, else next.
func (s *suite) callsAnyhow(ctx context.Context, p *party) error {
	tool, params := vocab.Next, object{}
	if path := s.path(); len(path) > 0 {
		tool = path[0].Tool
		if known, err := paramsFor(path[0], p.before.ui); err == nil {
			params = known
		}
	}
	_, err := s.call(ctx, p, tool, params)
	return err
}

// callsAllRefused calls each tool of the booking, and judges that each is refused with a code, whatever its params.
func (s *suite) callsAllRefused(ctx context.Context, p *party, code string) error {
	tried := map[string]bool{}
	for _, c := range s.path() {
		if tried[c.Tool] {
			continue
		}
		tried[c.Tool] = true
		params, err := paramsFor(c, p.before.ui)
		if err != nil {
			params = object{}
		}
		q, err := s.call(ctx, p, c.Tool, params)
		if err != nil {
			return err
		}
		if err := s.judgeRefusal(ctx, q, code); err != nil {
			return err
		}
	}
	if len(tried) == 0 {
		return steps.NotTestedf("there is no booking path (%s)", s.pathIn())
	}
	return nil
}

// isTurnedAway judges that a call before the join is refused (EA-079b).
func (s *suite) isTurnedAway(ctx context.Context, p *party) error {
	q := p.last
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: q.mark, Kind: "a refusal before the join", Match: func(r *transcript.Record) bool {
		return closed(r) || answers(q.id)(r) || received(vocab.ErrorMessage)(r) && field(r, "replyTo") == ""
	}})
	check := steps.Check{Clauses: []string{"EA-079b", "EA-026", "EA-025"}, At: q.mark,
		Expected: "error with " + oneOf([]string{vocab.SessionNotActive, vocab.InvalidMessage}) + ", or the connection closed"}
	switch {
	case miss != nil:
		check.Observed = miss.Reason
	case closed(&rec):
		check.OK = true
		p.conn, p.joined = nil, false
	default:
		check.OK = slices.Contains([]string{vocab.SessionNotActive, vocab.InvalidMessage}, s.codeOf(&rec))
		check.At, check.Observed = rec.N, steps.Seen(rec)
	}
	return s.Judge(check)
}

// callsOtherStages calls, at every stage, the tools that only other stages announce (EA-080, EA-096).
func (s *suite) callsOtherStages(ctx context.Context, p *party) error {
	all := map[string]object{}
	err := s.eachStage(ctx, p, func(_ int, now state, announced toolschema.Tools) (bool, error) {
		for _, t := range announced {
			if params, _ := t.Example(s.known(t.Name, now.ui)); params != nil && all[t.Name] == nil {
				all[t.Name] = params
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if err := s.anew(ctx, p); err != nil {
		return err
	}
	tried := 0
	err = s.eachStage(ctx, p, func(_ int, now state, announced toolschema.Tools) (bool, error) {
		if now.ui == nil {
			return false, nil // no uiSpec is active: NO_ACTIVE_SPEC
		}
		before := len(p.asked)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if announced.Find(name) != nil {
				continue
			}
			tried++
			q, err := s.call(ctx, p, name, all[name])
			if err != nil {
				return false, err
			}
			if err := s.judgeRefusal(ctx, q, vocab.UnknownTool); err != nil {
				return false, err
			}
		}
		return s.unmoved(ctx, p, now, p.asked[before:])
	})
	if err == nil && tried == 0 {
		return &steps.NotApplicableError{Reason: "every stage of the booking announces the same tools"}
	}
	return err
}

// ways of a wrong param, in the words of features.
var ways = map[string]string{
	"missing": "missing", "of another type": "of another type", "that is null": "null", "that is not in the enum": "not in the enum",
	"below the minimum": "below the minimum", "above the maximum": "above the maximum", "that is a fraction": "fractional",
	"that is unknown": "unknown", "that is negative": "negative",
}

// Of a host that announces very much, or refuses nothing, not every call tells something new. From manyCalls wrong ones on none is made
// again at a later stage, nor more than manyOfOne of one tool; of a tool that has taken manyTaken no further one is made, and from
// muchTaken on none of a tool that has taken any. From manyRight right ones on none is made again.
const (
	manyCalls = 300
	manyTaken = 10
	muchTaken = 50
	manyOfOne = 3
	manyRight = 150
)

// callsWrongly calls, at every stage, each announced tool with params that break its schema in one way (EA-081), and judges
// that nothing came of it. The booking that goes on between them is the twin.
func (s *suite) callsWrongly(ctx context.Context, p *party, how string) error {
	way, ok := ways[how]
	if !ok {
		return fmt.Errorf("no step makes a param %q", how)
	}
	tried, others := 0, map[string][]any{}
	made, ofOne, taken, took, left := map[string]bool{}, map[string]int{}, map[string]int{}, 0, 0
	err := s.eachStage(ctx, p, func(_ int, now state, announced toolschema.Tools) (bool, error) {
		before := len(p.asked)
		for i := range announced {
			for _, w := range announced[i].WrongWith(way, s.known(announced[i].Name, now.ui), others) {
				key := wjson.Compact([]any{w.Tool, w.Params})
				if tried >= manyCalls && (made[key] || ofOne[w.Tool] >= manyOfOne) || taken[w.Tool] >= manyTaken || took >= muchTaken && taken[w.Tool] > 0 {
					left++
					continue
				}
				tried++
				made[key] = true
				ofOne[w.Tool]++
				q, err := s.call(ctx, p, w.Tool, w.Params)
				if err != nil {
					return false, err
				}
				if err := s.judgeRefusal(ctx, q, vocab.InvalidParams); err != nil {
					return false, err
				}
				if !s.wasRefused(q) {
					taken[w.Tool]++
					took++
				}
			}
		}
		for i := range announced {
			announced[i].Enums(others)
		}
		return s.unmoved(ctx, p, now, p.asked[before:])
	})
	if left > 0 {
		s.Note("%d calls are left out, which were made at an earlier stage, or of a tool that was called wrongly often enough", left)
	}
	if err == nil && tried == 0 {
		return &steps.NotApplicableError{Reason: "no announced schema is broken by a param " + how}
	}
	return err
}

// unmoved judges that calls which were refused have done nothing (EA-074: what is refused is not executed), and that the agent
// is in step. Where one of them was accepted, which was judged by then, nobody knows what came of it: the flow may have moved.
func (s *suite) unmoved(ctx context.Context, p *party, before state, calls []*request) (moved bool, err error) {
	if len(calls) == 0 {
		return false, nil
	}
	if slices.ContainsFunc(calls, func(q *request) bool { return !s.wasRefused(q) }) {
		return true, nil
	}
	now, err := s.stepped(ctx, p)
	if err != nil {
		return false, err
	}
	now.history = before.history // a host may well tell of the mistake there
	d := s.difference(before, now)
	check := steps.Check{Clauses: []string{"EA-074"}, OK: d == "", At: now.at, Expected: "refused calls that have changed nothing"}
	if d != "" {
		check.Observed, check.Diff = "another "+firstWord(d), clip(d, 4000)
	}
	return d != "", s.Judge(check)
}

// wasRefused tells whether a request has got its answer, and that is a refusal.
func (s *suite) wasRefused(q *request) bool {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		if answers(q.id)(&r) {
			return refused(&r)
		}
	}
	return false
}

// callsShapeless calls every tool that requires a param with params that are no object (EA-081, or EA-078).
func (s *suite) callsShapeless(ctx context.Context, p *party) error {
	tried, called, left := 0, map[string]bool{}, 0
	err := s.eachStage(ctx, p, func(_ int, _ state, announced toolschema.Tools) (moved bool, err error) {
		for i := range announced {
			t := &announced[i]
			if t.Accepts(object{}) == nil {
				continue
			}
			if tried >= manyCalls && called[t.Name] {
				left++
				continue
			}
			called[t.Name] = true
			for _, params := range []any{missing{}, nil, []any{}, "{}", 1} {
				tried++
				body := object{"toolName": t.Name, "params": params, "reason": "parley: a step of the scenario"}
				if params == any(missing{}) {
					delete(body, "params")
				}
				q, err := s.ask(ctx, p, vocab.ToolCall, body)
				if err != nil {
					return false, err
				}
				q.tool = t.Name
				if err := s.judgeRefusal(ctx, q, vocab.InvalidParams, vocab.InvalidMessage); err != nil {
					return false, err
				}
				moved = moved || !s.wasRefused(q)
			}
		}
		return moved, nil
	})
	if left > 0 {
		s.Note("%d times a tool is left out that was called so at an earlier stage", left)
	}
	if err == nil && tried == 0 {
		return &steps.NotApplicableError{Reason: "no announced tool requires a param"}
	}
	return err
}

// missing stands for a member that is left out.
type missing struct{}

// provokes makes the calls by which the profile has an error code come; the last one is left to be judged.
func (s *suite) provokes(ctx context.Context, p *party, what string) error {
	prov := s.wire.Provoke.ToolFailure
	if what == "no-active-spec" {
		prov = s.wire.Provoke.NoActiveSpec
	}
	calls := s.wire.CallsOf(prov)
	if len(calls) == 0 {
		return &steps.NotApplicableError{Reason: fmt.Sprintf("the profile declares that it cannot be provoked (external-agent.provoke.%s)", what)}
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	for i, c := range calls {
		if i < len(calls)-1 {
			if now, err = s.advance(ctx, p, c, now, false); err != nil {
				return err
			}
			continue
		}
		p.before = now
		params, err := paramsFor(c, now.ui)
		if err != nil {
			return s.misfit(c, err)
		}
		if what == "tool-failure" {
			announced, err := s.announced(now)
			if err != nil {
				return steps.NotTestedf("toolSchema is not understood: %v", err)
			}
			if t := announced.Find(c.Tool); t == nil || t.Accepts(params) != nil {
				return steps.NotTestedf("external-agent.provoke.tool-failure does not fit: %s is not announced so", c.Tool)
			}
		} else if now.ui != nil {
			return steps.NotTestedf("a uiSpec is still active behind the calls of external-agent.provoke.no-active-spec")
		}
		if _, err := s.call(ctx, p, c.Tool, params); err != nil {
			return err
		}
	}
	return nil
}
