package externalagent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/steps/toolschema"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// isTurnedAway judges that the latest message is refused: as invalid, with INVALID_MESSAGE, with or without its id, and
// not as a valid one (EA-020, EA-024a, EA-078); otherwise a call or another request before the join (EA-079b).
func (s *suite) isTurnedAway(ctx context.Context, name, asInvalid, orClosed string) error {
	p := s.party(name)
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has sent nothing", p.name)
	}
	d := model.Refusal{Request: s.recordOf(q), Codes: []string{vocab.InvalidMessage}, ID: q.id, Invalid: asInvalid != "",
		Early: asInvalid == "", Closes: orClosed != ""}
	kind := "a refusal of an invalid envelope"
	if d.Early {
		kind, d.Codes = "a refusal before the join", []string{vocab.SessionNotActive, vocab.InvalidMessage}
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: q.mark, Kind: kind, Fence: s.fence(p),
		Match: func(r *transcript.Record) bool { return closed(r) || answers(q.id)(r) || namesNobody(r) }})
	switch {
	case miss != nil:
	case closed(&rec):
		p.conn, p.joined, p.study = nil, false, ""
	case q.untyped && d.Invalid: // the answer may but need not name the id
		s.Observe("EA-068", fmt.Sprintf("the answer to an envelope without a type names its id: %v",
			field(&rec, vocab.ReplyTo) == q.id))
		d.ID = ""
	case d.Early || model.AnswerOf[q.kind] == "": // an unreadable message has no id to answer to
		d.ID = ""
	}
	return s.refusal(d, rec, miss)
}

// namesNobody matches an error that names no request.
func namesNobody(r *transcript.Record) bool {
	return received(vocab.ErrorMessage)(r) && field(r, vocab.ReplyTo) == ""
}

// answerNoted records how a target reacts to a message whose effect no clause defines.
func (s *suite) answerNoted(ctx context.Context, p *party) error {
	q := p.last
	if q == nil {
		return steps.NotTestedf("agent %s has sent nothing", p.name)
	}
	what := "no earlier answer to the next request"
	fence, err := s.ask(ctx, p, vocab.SnapshotGet, object{})
	if err == nil {
		_, _ = s.answer(ctx, fence)
	}
	for _, r := range s.Between(p.name, q.mark, 0) {
		if closed(&r) || r.Event != nil && field(&r, vocab.ReplyTo) != fence.id && kindOf(&r) != vocab.StateUpdated {
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

// goesOn judges that an agent still gets a snapshot (EA-041, EA-077a), on its connection or, if that was closed, on a
// new one.
func (s *suite) goesOn(ctx context.Context, p *party) error {
	for try := 0; ; try++ {
		if p.conn != nil && s.endedAt(p) > 0 {
			p.conn, p.joined, p.returned = nil, false, true
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

// callsAnyhow makes a call regardless of the announced tools: the first one of the booking, or next if there is no
// booking path.
func (s *suite) callsAnyhow(ctx context.Context, p *party) error {
	first := binding.ToolCall{Tool: vocab.Next}
	if path := s.path(); len(path) > 0 {
		first = path[0]
	}
	_, err := s.call(ctx, p, first.Tool, s.paramsAnyhow(first, p))
	return err
}

// paramsAnyhow returns the params of a call, taken from the party's earlier uiSpec, or none if that does not suffice.
func (s *suite) paramsAnyhow(c binding.ToolCall, p *party) object {
	params, err := paramsFor(c, p.before.UI)
	if err != nil {
		return object{}
	}
	return params
}

// callsAllRefused calls each tool of the booking and judges that each is refused with a code, whatever its params.
func (s *suite) callsAllRefused(ctx context.Context, p *party, code string) error {
	path, err := s.wholePath()
	tried := map[string]bool{}
	for _, c := range path {
		if tried[c.Tool] {
			continue
		}
		tried[c.Tool] = true
		q, err := s.call(ctx, p, c.Tool, s.paramsAnyhow(c, p))
		if err != nil {
			return err
		}
		if err := s.judgeRefusal(ctx, q, code); err != nil {
			return err
		}
	}
	return err
}

// attempt is a call that must be refused.
type attempt struct {
	tool string
	body object
}

// round is what is called at each stage of the booking, and must be refused with one of the codes.
type round struct {
	codes []string
	calls func(now state, announced toolschema.Tools) []attempt
	none  string // what it means that there is nothing to call
}

// What is called at every stage, by the words of features.
const (
	otherStages = "the tools of other stages at every stage of the booking"
	shapeless   = "a tool with params that are missing, null, a list, a string and a number"
	whileNull   = "a tool whenever no uiSpec is active during the booking"
	withParam   = "every announced tool with a param "
)

// callsRefused makes calls at every stage, judges that each is refused, and that refused calls have no effect. The
// booking calls in between are the twin.
func (s *suite) callsRefused(ctx context.Context, p *party, what string) error {
	if what == whileNull {
		return s.callsAtNull(ctx, p)
	}
	r, err := s.roundOf(ctx, p, what)
	if err != nil {
		return err
	}
	tried, took, left := 0, 0, 0
	made, ofOne, taken := map[string]bool{}, map[string]int{}, map[string]int{}
	err = s.eachStage(ctx, p, func(_ int, now state, announced toolschema.Tools) (bool, error) {
		before := len(p.asked)
		for _, c := range r.calls(now, announced) {
			key := wjson.Compact(c.body)
			if tried >= manyCalls && (made[key] || ofOne[c.tool] >= manyOfOne) || taken[c.tool] >= manyTaken ||
				took >= muchTaken && taken[c.tool] > 0 {
				left++
				continue
			}
			tried++
			made[key] = true
			ofOne[c.tool]++
			q, err := s.callAs(ctx, p, c.tool, c.body)
			if err != nil {
				return false, err
			}
			if err := s.judgeRefusal(ctx, q, r.codes...); err != nil {
				return false, err
			}
			if !s.wasRefused(q) {
				taken[c.tool]++
				took++
			}
		}
		return s.unmoved(ctx, p, now, p.asked[before:])
	})
	if left > 0 {
		s.Note("%d calls are left out: made at an earlier stage, or of a tool with enough wrong calls", left)
	}
	if err == nil && tried == 0 {
		return &steps.NotApplicableError{Reason: r.none}
	}
	return err
}

// roundOf returns the round for the words of a step.
func (s *suite) roundOf(ctx context.Context, p *party, what string) (round, error) {
	how, wrong := strings.CutPrefix(what, withParam)
	way, known := ways[how]
	switch {
	case wrong && known: // EA-081
		others := map[string][]any{}
		return round{[]string{vocab.InvalidParams}, func(now state, announced toolschema.Tools) (out []attempt) {
			for i := range announced {
				for _, w := range announced[i].Wrong(way, s.known(announced[i].Name, now.UI), others) {
					out = append(out, attempt{w.Tool, callOf(w.Tool, w.Params)})
				}
			}
			for i := range announced {
				announced[i].Enums(others)
			}
			return out
		}, "no announced schema is broken by a param " + how}, nil
	case what == shapeless: // EA-081 or EA-078
		return round{[]string{vocab.InvalidParams, vocab.InvalidMessage}, shapelessCalls,
			"no announced tool requires a param"}, nil
	case what == otherStages:
		return s.otherStages(ctx, p)
	}
	return round{}, fmt.Errorf("no step calls %s", what)
}

// shapelessCalls returns calls of every tool that requires a param, with params that are not an object.
func shapelessCalls(_ state, announced toolschema.Tools) (out []attempt) {
	for i := range announced {
		name := announced[i].Name
		if announced[i].Accepts(object{}) == nil {
			continue
		}
		without := callOf(name, nil)
		delete(without, vocab.Params)
		out = append(out, attempt{name, without})
		for _, params := range []any{nil, []any{}, "{}", 1} {
			out = append(out, attempt{name, callOf(name, params)})
		}
	}
	return out
}

// otherStages returns the calls, at every stage, of the tools that only other stages announce (EA-080, EA-096), which a
// first session finds out.
func (s *suite) otherStages(ctx context.Context, p *party) (round, error) {
	all := map[string]object{}
	if err := s.eachStage(ctx, p, func(_ int, now state, announced toolschema.Tools) (bool, error) {
		for _, t := range announced {
			if params, _ := t.Example(s.known(t.Name, now.UI)); params != nil && all[t.Name] == nil {
				all[t.Name] = params
			}
		}
		return false, nil
	}); err != nil {
		return round{}, err
	}
	return round{[]string{vocab.UnknownTool}, func(now state, announced toolschema.Tools) (out []attempt) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if announced.Find(name) == nil && now.UI != nil { // without a uiSpec: NO_ACTIVE_SPEC
				out = append(out, attempt{name, callOf(name, all[name])})
			}
		}
		return out
	}, "every stage of the booking announces the same tools"}, s.anew(ctx, p)
}

// ways are the ways in which a param can be wrong, by the words of features.
var ways = map[string]string{
	"missing": "missing", "of another type": "of another type", "that is null": "null",
	"that is not in the enum": "not in the enum",
	"below the minimum":       "below the minimum", "above the maximum": "above the maximum",
	"that is a fraction": "fractional",
	"that is unknown":    "unknown", "that is negative": "negative",
}

// Limits for hosts that announce very many tools or refuse nothing. After manyCalls wrong calls, none is repeated at
// a later stage, and at most manyOfOne are made per tool. A tool that accepted manyTaken is not called any more; once
// muchTaken were accepted, neither is any tool that accepted one. After manyRight right calls, none is repeated.
const (
	manyCalls = 300
	manyTaken = 10
	muchTaken = 50
	manyOfOne = 3
	manyRight = 150
)

// failing are calls that are announced and fail.
const failing = "that make a tool fail at run time"

// provokes makes the calls by which the profile provokes an error code. The last one is left to be judged.
func (s *suite) provokes(ctx context.Context, p *party, what string) error {
	key, prov := "tool-failure", s.wire.Provoke.ToolFailure
	fails := what == failing
	if !fails {
		key, prov = "no-active-spec", s.wire.Provoke.NoActiveSpec
	}
	calls := s.wire.CallsOf(prov)
	if len(calls) == 0 {
		return &steps.NotApplicableError{Reason: fmt.Sprintf("the profile declares that it cannot be provoked "+
			"(external-agent.provoke.%s)", key)}
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return err
	}
	defer func() { s.provoking = "" }()
	for i, c := range calls {
		if !prov.Booking || i >= len(s.wire.Booking) {
			s.provoking = "external-agent.provoke." + key
		}
		if i < len(calls)-1 {
			if now, err = s.advance(ctx, p, c, now, false); err != nil {
				return err
			}
			continue
		}
		p.before = now
		params, err := paramsFor(c, now.UI)
		if err != nil {
			return s.misfit(c, err)
		}
		if fails {
			announced, err := s.announced(now)
			if err != nil {
				return err
			}
			if t := announced.Find(c.Tool); t == nil || t.Accepts(params) != nil {
				return steps.NotTestedf("external-agent.provoke.tool-failure does not match the host: %s is not announced like "+
					"that", c.Tool)
			}
		} else if now.UI != nil {
			return steps.NotTestedf("a uiSpec is still active after the calls of external-agent.provoke.no-active-spec")
		}
		q, err := s.call(ctx, p, c.Tool, params)
		if err != nil {
			return err
		}
		if prov.Assumed {
			q.mayPass = fmt.Sprintf("the profile gives no external-agent.provoke.tool-failure, and the default, a call of %s, "+
				"need not fail", q.tool)
		}
	}
	return nil
}

// unmoved judges that refused calls have had no effect (EA-074) and that the agent is in step. If one of them was
// accepted, which has been judged already, its effect is unknown: the flow may have moved.
func (s *suite) unmoved(ctx context.Context, p *party, before state, calls []*request) (moved bool, err error) {
	if slices.ContainsFunc(calls, func(q *request) bool { return !s.wasRefused(q) }) {
		return true, nil
	}
	if len(calls) == 0 || !s.Judges("EA-074") { // the scenario does not ask what refused calls have done
		return false, nil
	}
	now, err := s.snapshot(ctx, p)
	if err != nil {
		return false, err
	}
	check := s.Unmoved(before, now)
	if !check.OK && s.observe(ctx, before, now) { // e.g. a clock
		check = s.Unmoved(before, now)
	}
	if check.OK && s.carriedOut == "" {
		if now, err = s.stepped(ctx, p); err != nil {
			return false, err
		}
		check = s.Unmoved(before, now)
	}
	if check.Model = cmp.Or(s.carriedOut, p.course()); !check.OK {
		s.carriedOut = check.Model
	}
	_ = s.Judge(check)
	if s.carriedOut != "" {
		s.toldOf(p)
	}
	return !check.OK, nil
}

// toldOf compares a party's state with what it was sent, without waiting: what a host that executes refused calls
// should send is undefined (RULINGS 9).
func (s *suite) toldOf(p *party) {
	check, _, _ := s.model().Sync(p.name, s.spokenAt)
	check.Model = s.carriedOut
	_ = s.Judge(check)
}
