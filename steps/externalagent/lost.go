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
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// reached is ready, but says why a call does not fit: either the host has another path, or the host has lost the
// effect of an earlier call.
func (s *suite) reached(ctx context.Context, p *party, c binding.ToolCall, now state) (state, fitting, error) {
	now, fits, err := s.ready(ctx, p, c, now)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		if start := s.refusedStart(p); start != nil {
			err = steps.NotTestedf("%s cannot be called: the host has refused the session: %s", c.Tool, steps.Seen(*start))
		} else if gone := s.undone(p, now); gone != "" {
			err = steps.NotTestedf("%s cannot be called%s: %s", c.Tool, stageOf(now), gone)
		} else if q := s.inVain(p); q != nil {
			err = steps.NotTestedf("%s cannot be called%s: %s (record %d) succeeded there%s, but no state shows %s "+
				"after it", c.Tool, stageOf(now), q.tool, q.mark, stageOf(q.before), dueEffect(q))
		}
	}
	return now, fits, err
}

// refusedStart returns the refusal of a party's latest session.start, or nil.
func (s *suite) refusedStart(p *party) *transcript.Record {
	for _, q := range slices.Backward(p.asked) {
		if q.kind == vocab.SessionStart {
			if r := s.got(q); r != nil && refused(r) {
				return r
			}
			return nil
		}
	}
	return nil
}

// inVain returns the latest successful call of a party's session whose required effect shows in no later state
// (EA-053, EA-054), so that the host is not where the booking path leads. It returns nil if there is none.
func (s *suite) inVain(p *party) *request {
	for _, q := range slices.Backward(p.asked) {
		switch {
		case q.kind == vocab.SessionStart || q.kind == vocab.RelayJoin:
			return nil
		case q.vain && !s.showsLater(q):
			return q
		}
	}
	return nil
}

// showsLater reports whether a state that came late shows the effect of a call.
func (s *suite) showsLater(q *request) bool {
	return slices.ContainsFunc(s.Between(q.of.name, q.mark, 0), func(r transcript.Record) bool {
		return told(&r) && s.shows(q, q.before, stateOf(&r))
	})
}

// dueEffect says what a state must show after a call.
func dueEffect(q *request) string {
	if q.tool == vocab.PostMessage {
		return "a longer messageHistory"
	}
	return "another uiSpec or toolSchema"
}

// undone describes what a successful call had brought and a later state has lost, as when a host loses a choice while
// it still loads or resets something. It returns "" if nothing was lost: the state never changed, or went on from
// there.
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
				return fmt.Sprintf("the effect of %s was lost: %s was %s in record %d and is %s again in record %d", q.tool, at,
					there(shown.member(name), strings.TrimPrefix(at, name)), shown.at,
					there(now.member(name), strings.TrimPrefix(at, name)), now.at)
			}
		}
		return "" // effects of earlier calls may have been removed on purpose
	}
	return ""
}

// goneAt returns the first place that changed between before and shown and is back to its old value in now, or "".
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

// stageOf names the stage that a uiSpec states, if any.
func stageOf(now state) string {
	ui, _ := now.ui.(object)
	if name, ok := ui["stage"].(string); ok {
		return fmt.Sprintf(" at stage %q", name)
	}
	return ""
}

// lostBefore describes what had been undone when a call was refused.
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

// still returns the state with which a walk begins, once nothing has been announced for a quiet window. A host that
// still loads or resets something would otherwise undo the walk's choices.
func (s *suite) still(ctx context.Context, p *party) (state, error) {
	if s.Env.Role == vocab.Relay { // the host is the harness
		return s.snapshot(ctx, p)
	}
	return s.quieted(ctx, p)
}
