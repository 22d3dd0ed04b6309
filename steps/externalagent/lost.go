package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	wjson "parley/wire/json"
)

// reached is ready, which tells apart why a call does not fit: because the path is another than the host's, or because
// the host has lost what an earlier call had brought.
func (s *suite) reached(ctx context.Context, p *party, c binding.ToolCall, now state) (state, fitting, error) {
	now, fits, err := s.ready(ctx, p, c, now)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		if gone := s.undone(p, now); gone != "" {
			err = steps.NotTestedf("%s cannot be called%s: %s", c.Tool, stageOf(now), gone)
		} else if q := s.inVain(p); q != nil {
			err = steps.NotTestedf("%s cannot be called%s: %s (record %d) went well there%s, and no state has shown any "+
				"effect of it",
				c.Tool, stageOf(now), q.tool, q.mark, stageOf(q.before))
		}
	}
	return now, fits, err
}

// inVain is the latest call of a party's session that went well, and that has no effect in any state behind it, though
// it has to have one (EA-053, EA-054): the host is not where the booking path leads. Nil: there is none.
func (s *suite) inVain(p *party) *request {
	for _, q := range slices.Backward(p.asked) {
		switch {
		case q.kind == vocab.SessionStart || q.kind == vocab.RelayJoin:
			return nil
		case q.vain:
			return q
		}
	}
	return nil
}

// undone tells what a call that went well had brought, and what is gone in a state behind it, as a host may lose a
// choice while it still loads or resets something. "" where nothing is: the state never was another than it is now, or
// went on from there.
func (s *suite) undone(p *party, now state) string {
	for _, q := range slices.Backward(p.asked) {
		if q.kind == vocab.SessionStart || q.kind == vocab.RelayJoin {
			break
		}
		if q.kind != vocab.ToolCall || q.mark > now.at || !s.wentThrough(q) {
			continue
		}
		before := q.before
		if before.at == 0 {
			return ""
		}
		for _, r := range s.Between(p.name, q.mark, now.at) {
			if !told(&r) {
				continue
			}
			shown := stateOf(&r)
			if at := s.goneAt(before, shown, now); at != "" {
				name, _, _ := strings.Cut(at, "/")
				return fmt.Sprintf("what %s had brought is gone: %s was %s in record %d, and is %s again in record %d", q.tool, at,
					there(shown.member(name), strings.TrimPrefix(at, name)), shown.at,
					there(now.member(name), strings.TrimPrefix(at, name)), now.at)
			}
		}
		return "" // what was brought earlier may have been meant to go
	}
	return ""
}

// goneAt is the first place that a state shows otherwise than the one before a call, and that is as before in a later
// state; "" where there is none.
func (s *suite) goneAt(before, shown, now state) string {
	for _, name := range []string{"uiSpec", "toolSchema"} {
		a, b, c := s.settled(name, before.member(name)), s.settled(name, shown.member(name)),
			s.settled(name, now.member(name))
		for _, at := range changes(name, a, b) {
			pointer := strings.TrimPrefix(at, name)
			is, there := wjson.Lookup(c, pointer)
			was, had := wjson.Lookup(a, pointer)
			if there == had && wjson.Equal(is, was) {
				return at
			}
		}
	}
	return ""
}

// stageOf names the stage that a uiSpec says that it is at, if it does.
func stageOf(now state) string {
	ui, _ := now.ui.(object)
	if name, ok := ui["stage"].(string); ok {
		return fmt.Sprintf(" at stage %q", name)
	}
	return ""
}

// lostBefore is what was undone of the call before a refused one, by what was told up to its refusal.
func (s *suite) lostBefore(q *request, refusal int) string {
	now := q.before
	for _, r := range s.Between(q.of.name, q.mark, refusal) {
		if received(vocab.StateUpdated)(&r) {
			now = stateOf(&r)
		}
	}
	if now.at == 0 {
		return ""
	}
	return s.undone(q.of, now)
}

// still is the state with which a walk begins: once nothing has been told for a quiet window. What a host still loads
// or resets would take away what the walk has chosen.
func (s *suite) still(ctx context.Context, p *party) (state, error) {
	if s.Env.Role == vocab.Relay { // the host is the harness
		return s.snapshot(ctx, p)
	}
	return s.quieted(ctx, p)
}
