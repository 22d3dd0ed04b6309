package externalagent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	judge "parley/steps/externalagent/invariants"
	"parley/target"
	"parley/transport/transcript"
)

// connects is the act that hooks.call asks for first. The others are types of messages.
const connects = "connect"

// driven returns the called agent if hooks.call asks it to act; else nil.
func (s *suite) driven() target.Driven {
	if s.Env.Profile.Hooks.Call == "" || s.agent.called == nil {
		return nil
	}
	d, _ := s.agent.called.(target.Driven)
	return d
}

// Remarks around a run of hooks.call.
const (
	asking = "hooks.call asks the agent for "
	asked  = "hooks.call has ended: "
)

// asks asks the agent for an act by hooks.call. An error is of the hook; the scenario can then say no more.
func (s *suite) asks(ctx context.Context, d target.Driven, act string) error {
	s.T.Remark("", "%s%s", asking, act)
	err := d.Ask(ctx, target.AskOptions{Act: act, Scenario: s.title, Person: s.Env.Person})
	if err != nil {
		err = fmt.Errorf("the agent could not be asked for %s: %w", act, err)
		s.T.Remark("", "%s%v", asked, err)
		return err
	}
	s.T.Remark("", "%s%s", asked, endedWell)
	return nil
}

// awaitDriven is awaitAgentOr for an agent that acts when it is asked. Once nothing has been exchanged with it for the
// quiet window, it is asked for what the scenario needs, and asked again only after it has acted. While the host is
// busy, such as with a message that it holds back, nothing is asked; whether the agent may act already is for the agent
// to decide. The limit does not run while the hook does.
func (s *suite) awaitDriven(
	ctx context.Context, d target.Driven, after int, within span, match func(*transcript.Record) bool,
) (transcript.Record, *verdict.Miss) {
	w := waiting{s: s, after: after, match: match, act: s.needed()}
	left := deadline.In(within.Duration)
	for {
		rec, found := w.await(ctx, min(s.Env.Profile.Limits.Quiet.Duration, max(left.Left(), 1)))
		gone := s.gone()
		switch {
		case found:
			return rec, nil
		case ctx.Err() != nil:
			s.CutOff()
			return rec, &verdict.Miss{Reason: "the scenario was cut off"}
		case w.acted:
			w.acted, left = false, deadline.In(within.Duration)
		case gone != "":
			return rec, &verdict.Miss{Reason: gone}
		case s.agent.askedAt < s.actedAt() && s.mayBeAsked():
			rec, found, err := w.during(ctx, func() error { return s.asks(ctx, d, w.act) })
			switch {
			case found:
				return rec, nil
			case err != nil && ctx.Err() == nil:
				s.CutOffBy(err.Error())
				return rec, &verdict.Miss{Reason: err.Error()}
			}
			left = deadline.In(within.Duration)
		case left.Over():
			return rec, &verdict.Miss{Reason: within.passed(), Late: true}
		}
	}
}

// needed returns the act that the present step waits for.
func (s *suite) needed() string {
	if s.agent.needs != "" {
		return s.agent.needs
	}
	return vocab.ToolCall
}

// actedAt returns the record of the agent's latest message, or 0.
func (s *suite) actedAt() (n int) {
	for _, r := range s.T.After(s.agent.started) {
		if fromAgent(&r) && r.Kind == transcript.Frame {
			n = r.N
		}
	}
	return n
}

// mayBeAsked reports whether the agent has joined on a connection that stands, has an answer to each of its calls, and
// the host has nothing to send.
func (s *suite) mayBeAsked() bool {
	p := s.agent.play
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	conn, open := "", map[string]bool{}
	for _, r := range s.T.After(s.agent.started) {
		switch {
		case conn == r.Conn && (r.Kind == transcript.Closed || r.Kind == transcript.Failure):
			conn = ""
		case sent(vocab.RelayJoined)(&r):
			conn, open = r.Conn, map[string]bool{}
		case fromAgent(&r) && received(vocab.ToolCall)(&r):
			open[field(&r, "id")] = true
		case sent(vocab.ToolResult, vocab.ErrorMessage)(&r):
			delete(open, field(&r, "replyTo"))
		}
	}
	return p.joined && conn != "" && len(open) == 0
}

// waiting is a wait for a record, in several parts.
type waiting struct {
	s     *suite
	after int
	match func(*transcript.Record) bool // sees each record once
	act   string
	acted bool // something was exchanged with the agent in the latest part
}

// await waits for the record until nothing has happened for a while. An act of either party ends it, too.
func (w *waiting) await(ctx context.Context, quiet time.Duration) (transcript.Record, bool) {
	limited, cancel := deadline.WithLimit(ctx, quiet)
	defer cancel()
	matched := false
	rec, err := w.s.T.Await(limited, w.after, func(r *transcript.Record) bool {
		w.after, matched = r.N, w.match(r)
		return matched || strings.HasPrefix(r.Conn, judge.AgentParty) || strings.HasPrefix(r.Label, exited)
	})
	w.acted = w.acted || err == nil && !matched
	return rec, matched
}

// during waits for the record while do asks for it, and returns once do has.
func (w *waiting) during(ctx context.Context, do func() error) (transcript.Record, bool, error) {
	w.s.agent.askedAt = w.s.T.Len()
	over := make(chan error, 1)
	go func() { over <- do() }()
	matched := false
	rec, _ := w.s.T.Await(ctx, w.after, func(r *transcript.Record) bool {
		w.after, matched = r.N, w.match(r)
		return matched || strings.HasPrefix(r.Label, asked)
	})
	err := <-over // ends with ctx
	if matched && err != nil {
		w.s.Note("%v, but it acts", err)
	}
	return rec, matched, err
}
