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
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// awaitEnd waits for the end of a client's turn.
func (s *suite) awaitEnd(ctx context.Context, c *client) (transcript.Record, *verdict.Miss) {
	rec, miss := s.awaitTurn(ctx, c, endOfTurn, func(r *transcript.Record) bool {
		return s.isNew(vocab.CompleteEvent)(r) && s.completes(c, r)
	}, s.elsewhere)
	if miss == nil {
		c.turn.over = true
		s.letRepeat(ctx, c, rec)
	}
	return rec, miss
}

// Kinds of waits that several steps share.
const (
	answerOfTurn = "the answer of a turn"
	endOfTurn    = "the end of a turn"
)

// awaitTurn waits for an event of a client's turn, unless its message was refused or cannot says why the event will
// not come. An empty kind is that of the step.
func (s *suite) awaitTurn(ctx context.Context, c *client, kind string, is match,
	cannot func(*client, *transcript.Record) string) (transcript.Record, *verdict.Miss) {
	refused := s.refusedOverHTTP(ctx, c, c.turn.mark)
	var piece match
	if !c.aborted { // else none may come
		piece = isEvent(vocab.MessageEvent)
	}
	return s.Await(ctx, steps.Wait{Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(), Kind: kind, Match: is,
		Piece: piece,
		Hopeless: func(r *transcript.Record) string {
			if why := cannot(c, r); why != "" {
				return why
			}
			if why := s.chatRefused(ctx, c, r); why != "" {
				return why
			}
			return refused(r)
		}})
}

// chatRefused detects that an error has refused the message of a client's turn: the model was never asked, and nothing
// of a turn follows.
func (s *suite) chatRefused(ctx context.Context, c *client, r *transcript.Record) string {
	t := c.turn
	if r.Conn != c.name || !isError(r) || c.isFence(r) || t.nonce == "" || s.Env.Brain == nil {
		return ""
	}
	asked := func() bool { return len(s.Env.Brain.Requests(t.nonce)) > 0 }
	if asked() {
		return ""
	}
	turnOrEnd := func(n *transcript.Record) bool {
		return n.Conn == c.name && (isEvent(vocab.MessageEvent, vocab.CompleteEvent)(n) || n.Kind == transcript.Closed)
	}
	limit := s.Env.Event()
	try := s.TryFor("a turn behind an error", limit, limit)
	if s.atOnce || s.hasty { // it is sent again
		try.Within = s.Env.Profile.Limits.Quiet.Duration
	}
	limited, cancel := deadline.WithLimit(ctx, try.Within)
	defer cancel()
	_, err := s.T.Await(limited, r.N, turnOrEnd)
	if ctx.Err() == nil && !s.atOnce && !s.hasty {
		try.Over(err == nil)
	}
	if err == nil || ctx.Err() != nil || asked() {
		return ""
	}
	t.refused = true
	return "the chat was refused: " + steps.Seen(*r)
}

// completes reports whether a complete event may be about the session that a client's turn named: it names that
// session or none.
func (s *suite) completes(c *client, r *transcript.Record) bool {
	id, named := wjson.Lookup(r.Event.Data, "/"+vocab.SessionID)
	return !named || id == nil || id == any(c.turn.session)
}

// elsewhere detects that a turn ran in another session than its message named: a complete for a session that the
// client never had came on its connection. Turns of its earlier sessions may end there too.
func (s *suite) elsewhere(c *client, r *transcript.Record) string {
	if !isComplete(r) || s.completes(c, r) {
		return ""
	}
	id := field(*r, vocab.SessionID)
	if text, ok := id.(string); ok && (text == c.session || contains(c.earlier, text)) {
		return ""
	}
	return fmt.Sprintf("complete came for session %s, but the chat named %q: %s", quoted(id), c.turn.session,
		steps.Seen(*r))
}

// isAnswered reports an ordinary turn: the model's answer reaches the client, and the turn ends (AS-019).
func (s *suite) isAnswered(ctx context.Context, c *client) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	rec, miss := s.awaitTurn(ctx, c, answerOfTurn, s.saysNonce(c, c.turn.mark), s.elsewhere)
	if miss != nil {
		return s.waited(c, model.ReplyTo(c.turn.mark), rec, miss)
	}
	rec, miss = s.awaitEnd(ctx, c)
	return s.waited(c, model.EndOf(c.turn.mark), rec, miss)
}

// saysNonce matches the message event that completes the nonce of a client's turn. An answer may come in pieces of
// any size that split the nonce, so all pieces since a mark are joined.
func (s *suite) saysNonce(c *client, mark int) match {
	isMessage := isEvent(vocab.MessageEvent)
	return func(r *transcript.Record) bool {
		var said strings.Builder
		for _, piece := range s.Between(c.name, mark, r.N+1) {
			if isMessage(&piece) {
				text, _ := field(piece, vocab.Content).(string)
				said.WriteString(text)
			}
		}
		return isMessage(r) && strings.Contains(said.String(), c.turn.nonce)
	}
}

// turnEnds waits for the end of a turn as a precondition; AS-062 requires that a turn in progress completes at all.
func (s *suite) turnEnds(ctx context.Context, c *client) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	rec, miss := s.awaitEnd(ctx, c)
	return s.waited(c, model.EndOf(c.turn.mark), rec, miss)
}

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
		Match:    func(r *transcript.Record) bool { return known(r) || other(r) },
		Hopeless: s.refusedOverHTTP(ctx, c, c.act.mark)})
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
	rec, miss = s.Await(ctx, steps.Wait{Conn: c.name, After: strange.N, Kind: better, Better: true, Match: known,
		Fence: p.send})
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
	f := fields{vocab.AgentID: p.nonce}
	if c.act.named || binding.Of(s.Env.Profile).Correlation.Single {
		f[vocab.SessionID] = c.session
	}
	mark, err := s.send(ctx, c, vocab.SwitchAgentType, f)
	if err != nil {
		return nil
	}
	p.mark, c.probes = mark, append(c.probes, p.nonce)
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

// refusedOverHTTP returns a function that says that a client's message was refused by its HTTP answer, and what that
// answer was. Its event may still be on its way then, so the wait ends only if none follows soon. On a stream that had
// ended before, none follows whatever the answer is.
func (s *suite) refusedOverHTTP(ctx context.Context, c *client, mark int) func(*transcript.Record) string {
	return func(r *transcript.Record) string {
		if why := failed(r, mark); why != "" {
			return why
		}
		if r.Kind != transcript.Response || r.Reply != mark {
			return ""
		}
		over := s.endedAt(c)
		switch {
		case r.Status >= 400 && (over > 0 || !s.graceAfter(ctx, r)):
			return "HTTP " + r.Label + " " + clip(string(r.Bytes)) + ", and no event"
		case over > 0 && over < mark:
			return steps.Seen(s.T.After(over - 1)[0])
		}
		return ""
	}
}

// refusalsTell is the key that records that an event has followed an HTTP refusal.
type refusalsTell struct{}

// graceAfter waits for the event of a refused message, and reports whether one came: the stream is another
// connection, and no clause orders the two.
func (s *suite) graceAfter(ctx context.Context, r *transcript.Record) bool {
	limit := s.Limit(s.Env.Event())
	if _, tell := s.Env.Learnt.Load(refusalsTell{}); s.Env.RefusalIsAll.Load() && !tell {
		limit = s.Env.Profile.Limits.Quiet.Duration
	}
	limited, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	rec, err := s.T.Await(limited, r.N, func(n *transcript.Record) bool {
		return n.Conn == r.Conn && (s.isNew(vocab.AgentSwitchedEvent, vocab.ErrorEvent)(n) || n.Kind == transcript.Closed)
	})
	switch {
	case err == nil && rec.Kind == transcript.Closed, ctx.Err() != nil:
		return false
	case err == nil:
		s.Env.Learnt.Store(refusalsTell{}, true)
	case limit == s.Env.Event():
		s.Env.RefusalIsAll.Store(true)
	}
	return err == nil
}

func hasCode(r *transcript.Record) bool {
	_, ok := wjson.Lookup(r.Event.Data, "/"+vocab.ErrorCode)
	return ok
}

func clip(t string) string { return cut.Head(t, 200) }
