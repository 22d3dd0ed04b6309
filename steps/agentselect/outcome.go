package agentselect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// What is awaited after a switch.
const (
	confirmation = "the confirmation of a switch"
	rejection    = "the refusal of a switch"
	whichever    = "an answer to a switch"
	better       = "a better answer to a switch"
)

// outcome waits for the answer to a client's last switch: agent_switched, or an error with one of the five codes.
// Another error may be a malformed answer or concern something else, such as a failed turn, and an event that came
// before may be a repeat; so the wait continues for a better answer. After a failed wait there is no second one.
func (s *suite) outcome(ctx context.Context, c *client, kind string) (transcript.Record, *verdict.Miss) {
	if c.act.mark == 0 || c.act.kind == vocab.ChatType {
		return transcript.Record{}, steps.NotOwed("client %s has sent no switch", c.name)
	}
	p := &earlyFence{s: s, c: c}
	known := func(r *transcript.Record) bool {
		return !c.isFence(r) && !p.is(r) && (isSwitch(r) || isError(r) && contains(vocab.ErrorCodes, codeOf(*r))) &&
			!r.Event.Again
	}
	other := func(r *transcript.Record) bool {
		return !c.isFence(r) && !p.is(r) && (isError(r) || isSwitch(r))
	}
	either := func(r *transcript.Record) bool { return known(r) || other(r) }
	if c.act.missed != nil && !c.act.missed.NotOwed && !s.has(c, either) {
		return transcript.Record{}, c.act.missed
	}
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: c.act.mark, Kind: kind, Fence: p.send,
		Match: func(r *transcript.Record) bool { return known(r) || other(r) }, Hopeless: s.refusedOverHTTP(c.act.mark)})
	c.act.missed = miss
	if miss == nil && known(&rec) {
		s.letRepeat(ctx, c, rec)
		return rec, nil
	}
	if miss != nil {
		return rec, miss
	}
	strange := rec
	p = &earlyFence{s: s, c: c}
	rec, miss = s.Await(ctx, steps.Wait{Conn: c.name, After: strange.N, Kind: better, Match: known, Fence: p.send})
	if miss != nil {
		return strange, nil
	}
	s.letRepeat(ctx, c, rec)
	return rec, nil
}

// has reports whether a matching record has come since a client's last act.
func (s *suite) has(c *client, match match) bool {
	return slices.ContainsFunc(s.Between(c.name, c.act.mark, 0), func(r transcript.Record) bool { return match(&r) })
}

// namesUnknown is the key that records that the target's errors name the unknown agent.
type namesUnknown struct{}

// earlyFence is a fence after a switch that is not answered yet: another switch of the same session, to an agent that
// cannot exist.
type earlyFence struct {
	s     *suite
	c     *client
	mark  int // 0: not sent
	nonce string
}

// send sends the fence if its answer can be told from the switch's, and no server has a reason to handle it earlier:
// the session is the client's own, and idle.
func (p *earlyFence) send(ctx context.Context) match {
	s, c := p.s, p.c
	_, known := s.Env.Learnt.Load(namesUnknown{})
	busy := slices.ContainsFunc(c.turns, func(t *turn) bool { return !t.over })
	if !known || busy || c.session == "" || c.act.elsewhere || s.endedAt(c) > 0 {
		return nil
	}
	p.nonce = fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
	f := fields{"agentId": p.nonce}
	if c.act.named || binding.Of(s.Env.Profile).Correlation.Single {
		f["sessionId"] = c.session
	}
	mark, err := s.send(ctx, c, vocab.SwitchAgentType, f)
	if err != nil {
		return nil
	}
	p.mark, c.probes = mark, append(c.probes, p.nonce)
	c.unjudged++
	return p.is
}

// is matches the fence's answer: by its nonce, or as the refusal of another agent than the switch's.
func (p *earlyFence) is(r *transcript.Record) bool {
	if p.mark == 0 || r.N < p.mark || !p.s.isNew(vocab.ErrorEvent)(r) {
		return false
	}
	asked := strings.Trim(fmt.Sprintf("%s", p.c.act.agent), `"`) // it may be raw JSON
	return names(r, p.nonce) || codeOf(*r) == vocab.AgentNotFound && !names(r, asked)
}

// names reports whether an event contains an id anywhere.
func names(r *transcript.Record, id string) bool {
	return strings.Contains(wjson.Compact(r.Event.Data), id)
}

// isFence matches the answers to a client's fences.
func (c *client) isFence(r *transcript.Record) bool {
	return c.fences[r.N] || isError(r) && slices.ContainsFunc(c.probes, func(nonce string) bool { return names(r, nonce) })
}

// refusedOverHTTP returns a function that says that a message was refused by its HTTP answer, and what that answer
// was. Its event may still be on its way then, so the wait ends only if none follows soon.
func (s *suite) refusedOverHTTP(mark int) func(*transcript.Record) string {
	return func(r *transcript.Record) string {
		if why := failed(r, mark); why != "" {
			return why
		}
		if r.Kind == transcript.Response && r.Reply == mark && r.Status >= 400 {
			if s.graceAfter(r) {
				return ""
			}
			return "HTTP " + r.Label + " " + clip(string(r.Bytes)) + ", and no event"
		}
		return ""
	}
}

// refusalsTell is the key that records that an event has followed an HTTP refusal.
type refusalsTell struct{}

// graceAfter waits for the event of a refused message, and reports whether one came: the stream is another
// connection, and no clause orders the two.
func (s *suite) graceAfter(r *transcript.Record) bool {
	limit := s.Limit(s.Env.Event())
	if _, tell := s.Env.Learnt.Load(refusalsTell{}); s.Env.RefusalIsAll.Load() && !tell {
		limit = s.Env.Profile.Limits.Quiet.Duration
	}
	ctx, cancel := deadline.WithLimit(context.Background(), limit)
	defer cancel()
	_, err := s.T.Await(ctx, r.N, func(n *transcript.Record) bool {
		return n.Conn == r.Conn && (s.isNew(vocab.AgentSwitchedEvent, vocab.ErrorEvent)(n) || n.Kind == transcript.Closed)
	})
	switch {
	case err == nil:
		s.Env.Learnt.Store(refusalsTell{}, true)
	case limit == s.Env.Event():
		s.Env.RefusalIsAll.Store(true)
	}
	return err == nil
}

func hasCode(r *transcript.Record) bool {
	_, ok := wjson.Lookup(r.Event.Data, "/errorCode")
	return ok
}

func clip(t string) string { return cut.Head(t, 200) }
