package externalagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/toolschema"
	wjson "parley/transport/wire/json"
)

// stop is a point of the booking at which tools are called.
type stop struct {
	done  int   // number of booking calls that lead there
	at    state // the state there
	tools []string
}

// callsEverything calls every announced tool at every stage with params that keep to its schema. The tool must be
// known and its params accepted (EA-080, EA-081: the twins of the refusals), but it may fail while it runs. At each
// stage, calls that lead on come last, so that most stages are reached by them; the other calls need a new session.
// Calls that lead back come last of all.
func (s *suite) callsEverything(ctx context.Context, p *party) error {
	stops, err := s.stopsOf(ctx, p)
	var misfit *steps.NotTestedError
	switch {
	case errors.As(err, &misfit): // what is announced must be accepted even if the booking cannot continue
		return cmp.Or(s.callsAsAnnounced(ctx, p), err)
	case err != nil:
		return err
	case len(stops) == 0:
		return steps.NotTestedf("no tool is announced at any stage of the booking")
	}
	var back []stop
	for i, one := range stops {
		at := slices.Index(one.tools, vocab.Prev)
		if at < 0 {
			continue
		}
		back = append(back, stop{one.done, one.at, []string{vocab.Prev}})
		stops[i].tools = slices.Delete(one.tools, at, at+1)
	}
	slices.Reverse(back)
	now := state{}
	for _, one := range append(stops, back...) {
		if now, err = s.callsAt(ctx, p, one, now); err != nil {
			return err
		}
	}
	return nil
}

// stopsOf goes through the booking and returns which tools to call where.
func (s *suite) stopsOf(ctx context.Context, p *party) ([]stop, error) {
	var stops []stop
	seen, all, left := map[string]bool{}, 0, 0
	err := s.eachStage(ctx, p, func(done int, now state, announced toolschema.Tools) (bool, error) {
		one := stop{done: done, at: now}
		for i := range announced {
			params, _ := announced[i].Example(s.known(announced[i].Name, now.ui))
			key := wjson.Compact([]any{announced[i].Name, params})
			if seen[key] && all >= manyRight {
				left++
				continue
			}
			seen[key] = true
			all++
			one.tools = append(one.tools, announced[i].Name)
		}
		if at := slices.Index(one.tools, vocab.Next); at >= 0 { // it leads on, so it comes last
			one.tools = append(slices.Delete(one.tools, at, at+1), vocab.Next)
		}
		if len(one.tools) > 0 {
			stops = append(stops, one)
		}
		return false, nil
	})
	if left > 0 {
		s.Note("%d calls are left out, which are made at an earlier stage", left)
	}
	return stops, err
}

// callsAt calls the tools of a stage, starting from the party's state now, and returns the state after them. If a
// call has led away from the others, a new session goes to the stage again.
func (s *suite) callsAt(ctx context.Context, p *party, one stop, now state) (state, error) {
	fresh := now.at == 0 || s.differs("toolSchema", one.at, now) != ""
	if fresh && len(one.tools) > 0 {
		var err error
		if now, err = s.goTo(ctx, p, one.done); err != nil {
			return now, err
		}
	}
	for left := one.tools; len(left) > 0; {
		announced, err := s.announced(now)
		if err != nil {
			return now, err
		}
		at := slices.IndexFunc(left, func(name string) bool { return announced.Find(name) != nil })
		if at < 0 && fresh {
			break // the same calls led elsewhere; no clause forbids that
		}
		if at < 0 {
			if now, err = s.goTo(ctx, p, one.done); err != nil {
				return now, err
			}
			fresh = true
			continue
		}
		if err := s.callsRightly(ctx, p, announced.Find(left[at]), now, ""); err != nil {
			return now, err
		}
		left, fresh = slices.Delete(left, at, at+1), false
		if now, err = s.snapshot(ctx, p); err != nil {
			return now, err
		}
	}
	return now, nil
}

// callsAsAnnounced calls the tools of a party's state, with params that match their schemas, for as long as the
// toolSchema stays the same. Once a call is refused, what the others show follows from that.
func (s *suite) callsAsAnnounced(ctx context.Context, p *party) error {
	now, announced, err := s.announcedNow(ctx, p)
	if err != nil {
		return err
	}
	first := now
	for i := range announced[:min(len(announced), manyRight)] {
		if err := s.callsRightly(ctx, p, &announced[i], now, p.course()); err != nil {
			return err
		}
		if now, err = s.snapshot(ctx, p); err != nil || s.differs("toolSchema", first, now) != "" {
			return err
		}
	}
	return nil
}

// callsRightly calls an announced tool with params that keep to its schema; a refusal ends model, unless it is "".
func (s *suite) callsRightly(ctx context.Context, p *party, t *toolschema.Tool, now state, model string) error {
	params, settled := t.Example(s.known(t.Name, now.ui))
	if params == nil {
		s.Note("no params for %s that match its schema were found", t.Name)
		return nil
	}
	q, err := s.call(ctx, p, t.Name, params)
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	if miss != nil {
		return s.Need(q.unanswered(miss, fmt.Sprintf("an answer to %s, an announced tool", t.Name),
			"EA-007", "EA-046", "EA-047", "EA-080", "EA-081"))
	}
	code, seen := "", ""
	if refused(&rec) {
		code, seen = s.codeOf(&rec), steps.Seen(rec)
	}
	_ = s.Judge(verdict.Finding{Clauses: []string{"EA-080", "EA-096"}, OK: code != vocab.UnknownTool, At: rec.N,
		Model: model,
		Group: "unknown: " + t.Name, Expected: "an announced tool that is known", Observed: seen})
	if settled {
		_ = s.Judge(verdict.Finding{Clauses: []string{"EA-081"}, OK: code != vocab.InvalidParams, At: rec.N, Model: model,
			Group:    "valid params of " + t.Name,
			Expected: "params that match the announced schema accepted: " + wjson.Compact(params), Observed: seen})
	}
	if refused(&rec) {
		return nil
	}
	s.namesTool(&rec, t.Name)
	s.notesQuick(&rec, t.Name)
	_ = s.Judge(verdict.Finding{Clauses: []string{"EA-007", "EA-046", "EA-047"}, OK: payload(&rec)["ok"] == true,
		At:    rec.N,
		Group: "ok of " + t.Name, Expected: "payload.ok is true or false", Observed: "payload.ok is " +
			wjson.Compact(payload(&rec)["ok"])})
	if t.Name == vocab.PostMessage { // the effect of a message always shows; next and prev may have nowhere to go
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
