package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
	wjson "parley/wire/json"
)

// reached is ready, which tells apart why a call does not fit: because the path is another than the host's, or because the host
// has lost what an earlier call had brought.
func (s *suite) reached(ctx context.Context, p *party, c target.ToolCall, now state) (state, fitting, error) {
	now, fits, err := s.ready(ctx, p, c, now)
	var missing *steps.NotTestedError
	if errors.As(err, &missing) {
		if gone := s.undone(p, now); gone != "" {
			err = steps.NotTestedf("%s cannot be called%s: %s", c.Tool, stageOf(now), gone)
		}
	}
	return now, fits, err
}

// undone tells what a call that went well had brought, and what is gone in a state behind it, as a host may lose a choice while it
// still loads or resets something. "" where nothing is: the state never was another than it is now, or went on from there.
func (s *suite) undone(p *party, now state) string {
	for i := len(p.asked) - 1; i >= 0; i-- {
		q := p.asked[i]
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
			if !received(vocab.StateUpdated, vocab.SnapshotState)(&r) {
				continue
			}
			shown := stateOf(&r)
			if at := s.goneAt(before, shown, now); at != "" {
				name, _, _ := strings.Cut(at, "/")
				return fmt.Sprintf("what %s had brought is gone: %s was %s in record %d, and is %s again in record %d", q.tool, at,
					there(shown.member(name), strings.TrimPrefix(at, name)), shown.at, there(now.member(name), strings.TrimPrefix(at, name)), now.at)
			}
		}
		return "" // what was brought earlier may have been meant to go
	}
	return ""
}

// goneAt is the first place that a state shows otherwise than the one before a call, and that is as before in a later state; ""
// where there is none.
func (s *suite) goneAt(before, shown, now state) string {
	for _, name := range []string{"uiSpec", "toolSchema"} {
		a, b, c := s.settled(name, before.member(name)), s.settled(name, shown.member(name)), s.settled(name, now.member(name))
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

// member is a member of a state by its name in a payload.
func (st state) member(name string) any {
	switch name {
	case "uiSpec":
		return st.ui
	case "messageHistory":
		return st.history
	}
	return st.tools
}

// wentThrough tells whether a call was answered, and not refused.
func (s *suite) wentThrough(q *request) bool {
	for _, r := range s.Between(q.of.name, q.mark, 0) {
		if answers(q.id)(&r) {
			return !refused(&r)
		}
	}
	return false
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

// still is the state with which a walk begins: once nothing has been told for a quiet window. What a host still loads or resets
// would take away what the walk has chosen.
func (s *suite) still(ctx context.Context, p *party) (state, error) {
	if s.Env.Role == vocab.Relay { // the host is the harness
		return s.snapshot(ctx, p)
	}
	return s.quieted(ctx, p)
}
