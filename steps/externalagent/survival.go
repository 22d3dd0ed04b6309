package externalagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/transport/transcript"
)

// judgeDeath judges that the agent's process has not died of a message that the source allows: that breaks the clause
// of the message, whatever the agent would have done next. It returns an error if so. A process that succeeds has
// chosen to end.
func (s *suite) judgeDeath() error {
	if end := s.gone(); end == "" || strings.HasSuffix(end, endedWell) {
		return nil
	}
	f, ok := s.model().Death()
	i := slices.IndexFunc(f.Clauses, s.Judges)
	if ok || i < 0 {
		return nil
	}
	f = s.quote(f)
	f.Clauses, f.Observed = f.Clauses[i:i+1], s.explain(s.gone()+", "+f.Observed)
	return s.Need(f)
}

// books is the key in Env.Learnt for whether an agent has gone through the flow in this run.
type books struct{}

// withholdsState reports whether the host has withheld the state after the agent's latest call, and nobody else tells
// the agent to act.
func (s *suite) withholdsState() bool {
	pl := s.agent.play
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.lost && s.driven() == nil
}

// stalePaces is how many times its pace an agent may wait before it asks for a state that does not come: no clause says
// when a state seems stale.
const stalePaces = 3

// judgeStuck judges an agent that has been silent for stalePaces since the host has withheld the state after a call: it
// does not ask for what it waits for (EA-077). Whether it waits, and has not just finished, shows when the state comes
// after all, or in another scenario of the run. It returns an error if the agent is at fault.
func (s *suite) judgeStuck(ctx context.Context, miss *verdict.Miss, at int) error {
	pl := s.agent.play
	if !s.withholdsState() || s.gone() != "" || s.lastTrouble() != "" || ctx.Err() != nil {
		return nil
	}
	mark := s.T.Len()
	pl.push(ctx, func(p *play) any {
		p.lost = false
		return p.updated()
	})
	silence := strings.TrimSuffix(miss.Reason, slowInParallel)
	observed := silence + "; nor once the state had come"
	rec, still := s.awaitAgent(ctx, mark, s.pace(),
		received(vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart, vocab.SessionEnd))
	switch booked, _ := s.Env.Learnt.Load(books{}); {
	case still == nil && kindOf(&rec) != vocab.ToolCall, still != nil && (booked == nil || s.gone() != ""):
		return nil
	case still == nil:
		observed = fmt.Sprintf("%s; once the state had come, it went on (if it asks later by itself, raise "+
			"external-agent.agent.pace): %s", silence, steps.Seen(rec))
	}
	return s.Need(model.Asks.Missing(at, miss, observed))
}

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
		return told(&r) && s.shows(q, q.before, model.StateOf(&r))
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
		if q.kind != vocab.ToolCall || q.mark > now.N || !s.wentThrough(q) {
			continue
		}
		before := q.before
		if before.N == 0 {
			return ""
		}
		for _, r := range s.Between(p.name, q.mark, now.N) {
			if !told(&r) {
				continue
			}
			shown := model.StateOf(&r)
			for _, name := range []string{vocab.Spec, vocab.ToolSchema} {
				at, _ := s.Back(name, shown, now, []state{before}, true)
				if at == "" {
					continue
				}
				return fmt.Sprintf("the effect of %s was lost: %s was %s in record %d and is %s again in record %d", q.tool, at,
					model.There(shown.Member(name), strings.TrimPrefix(at, name)), shown.N,
					model.There(now.Member(name), strings.TrimPrefix(at, name)), now.N)
			}
		}
		return "" // effects of earlier calls may have been removed on purpose
	}
	return ""
}

// stageOf names the stage that a uiSpec states, if any.
func stageOf(now state) string {
	ui, _ := now.UI.(object)
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
			now = model.StateOf(&r)
		}
	}
	if now.N == 0 {
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

// saysMuch sends agent.messages with long texts, without waiting. No clause sets a limit, so that a target which
// refuses one of them, or closes the connection, is not judged on them.
func (s *suite) saysMuch(ctx context.Context, p *party, n, kilobytes int) error {
	const sentence = " 一个较长的句子。"
	begun, ids := s.T.Len(), map[string]bool{}
	for range n {
		text := s.newWord("word") + strings.Repeat(sentence, kilobytes<<10/len(sentence))
		q, err := s.ask(ctx, p, vocab.AgentMessage, object{"text": text})
		if err != nil {
			return err
		}
		ids[q.id] = true
	}
	last := p.last
	fence, ok := s.asksAside(ctx, p)
	done := func(r *transcript.Record) bool {
		to := field(r, vocab.ReplyTo)
		return closed(r) || refused(r) && (ids[to] || to == "") || ok && answers(fence.id)(r)
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: begun, Kind: "an answer behind long messages", Match: done})
	switch p.last = last; {
	case miss != nil || ok && answers(fence.id)(&rec):
		return nil
	case closed(&rec):
		p.conn, p.joined, p.study = nil, false, ""
	}
	return &steps.NotApplicableError{Reason: "the target does not take such long messages: " + steps.Seen(rec)}
}
