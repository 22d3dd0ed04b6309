package externalagent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
	"parley/steps/toolschema"
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
			params, _ := announced[i].Example(s.known(announced[i].Name, now.UI))
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
	fresh := now.N == 0 || s.Differs("toolSchema", one.at, now) != ""
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
		if now, err = s.snapshot(ctx, p); err != nil || s.Differs("toolSchema", first, now) != "" {
			return err
		}
	}
	return nil
}

// callsRightly calls an announced tool with params that keep to its schema; a refusal ends the model that course names,
// unless it is "".
func (s *suite) callsRightly(ctx context.Context, p *party, t *toolschema.Tool, now state, course string) error {
	params, settled := t.Example(s.known(t.Name, now.UI))
	if params == nil {
		s.Note("no params for %s that match its schema were found", t.Name)
		return nil
	}
	q, err := s.call(ctx, p, t.Name, params)
	if err != nil {
		return err
	}
	rec, miss := s.answer(ctx, q)
	found := s.model().Accepted(s.recordOf(q), rec, settled, miss)
	for i := range found {
		if found[i].Clauses[0] != "EA-007" {
			found[i].Model = course
		}
	}
	if err := s.judgeOrNeed(miss != nil, found...); err != nil || refused(&rec) {
		return err
	}
	s.namesTool(&rec, t.Name)
	s.notesQuick(&rec, t.Name)
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

// findsAsLeft judges what an agent sees that has reconnected to its study session (EA-073): nobody has acted meanwhile,
// so the state must not have fallen behind what the agent was told before. Its first snapshot must not show an earlier
// state; once the host keeps still, nothing must be lost. A host may react to the loss of the connection, such as by an
// entry in the history, may announce a new state, and may end the session (EA-G09); nothing is judged then.
func (s *suite) findsAsLeft(ctx context.Context, p *party) error {
	study, back := p.study, p.opened
	before := s.toldIn(p, study, back+1)
	if study == "" || !p.joined || len(before) == 0 {
		return steps.NotTestedf("agent %s has left no session of which it knew the state", p.name)
	}
	if err := s.returnNoted(ctx, p); err != nil || p.study == "" {
		return err
	}
	rec := s.got(p.last)
	if rec == nil || payload(rec)[vocab.SessionID] != study {
		s.Note("the agent has come back to another session")
		return nil
	}
	last, now := before[len(before)-1], model.StateOf(rec)
	lost := s.settledLoss(ctx, before, now, true)
	if lost == "" {
		var err error
		if now, err = s.still(ctx, p); err != nil {
			return err
		}
		lost = s.settledLoss(ctx, before, now, false)
	}
	for _, r := range s.Between(p.name, back, now.N) {
		if received(vocab.StateUpdated)(&r) {
			s.Note("the host has announced a state since the agent has come back, in record %d", r.N)
			return nil
		}
	}
	if lost == "" && !s.Same(last, now) {
		s.Note("the state is not as before the connection was lost: %s", s.Difference(last, now))
	}
	return s.Judge(s.AsLeft(last, now, lost))
}

// settledLoss returns what a state has lost of the last one of a list (Comparison.Fallen), apart from what changes by
// itself.
func (s *suite) settledLoss(ctx context.Context, list []state, now state, first bool) string {
	lost := s.Fallen(list, now, first)
	if lost != "" && s.observe(ctx, list[len(list)-1], now) { // e.g. a clock
		lost = s.Fallen(list, now, first)
	}
	return lost
}

// toldIn returns the states that a party was told in a study session before a record.
func (s *suite) toldIn(p *party, study string, before int) (out []state) {
	begun := 0 // record of session.started; 0 outside the session
	for _, r := range s.Between(p.name, 0, before) {
		switch {
		case received(vocab.SessionStarted)(&r):
			if begun, out = 0, nil; payload(&r)[vocab.SessionID] == study {
				begun = r.N
			}
		case begun > 0 && told(&r):
			out = append(out, model.StateOf(&r))
		}
	}
	return out
}
