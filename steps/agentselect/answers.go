package agentselect

import (
	"context"
	"fmt"
	"strings"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// awaitEnd waits for the end of a client's turn.
func (s *suite) awaitEnd(ctx context.Context, c *client) (transcript.Record, *verdict.Miss) {
	rec, miss := s.awaitTurn(ctx, c, func(r *transcript.Record) bool {
		return s.isNew(vocab.CompleteEvent)(r) && s.completes(c, r)
	}, s.elsewhere)
	if miss == nil {
		c.turn.over = true
		s.letRepeat(ctx, c, rec)
	}
	return rec, miss
}

// awaitTurn waits for an event of a client's turn, unless its message was refused or cannot says why the event will
// not come.
func (s *suite) awaitTurn(ctx context.Context, c *client, is match, cannot func(*client, *transcript.Record) string,
) (transcript.Record, *verdict.Miss) {
	refused := s.refusedOverHTTP(c.turn.mark)
	var piece match
	if !c.aborted { // else none may come
		piece = isEvent(vocab.MessageEvent)
	}
	return s.Await(ctx, steps.Wait{Conn: c.name, After: c.turn.mark, Within: s.Env.Turn(), Match: is, Piece: piece,
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
	limit := s.Limit(s.Env.Event())
	if s.atOnce || s.hasty { // it is sent again
		limit = s.Env.Profile.Limits.Quiet.Duration
	}
	limited, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	_, err := s.T.Await(limited, r.N, func(n *transcript.Record) bool {
		return n.Conn == c.name && (isEvent(vocab.MessageEvent, vocab.CompleteEvent)(n) || n.Kind == transcript.Closed)
	})
	if err == nil || ctx.Err() != nil || asked() {
		return ""
	}
	t.refused = true
	return "the chat was refused: " + steps.Seen(*r)
}

// completes reports whether a complete event may be about the session that a client's turn named: it names that
// session or none.
func (s *suite) completes(c *client, r *transcript.Record) bool {
	id, named := wjson.Lookup(r.Event.Data, "/sessionId")
	return !named || id == nil || id == any(c.turn.session)
}

// elsewhere detects that a turn ran in another session than its message named: a complete for a session that the
// client never had came on its connection. Turns of its earlier sessions may end there too.
func (s *suite) elsewhere(c *client, r *transcript.Record) string {
	if !isComplete(r) || s.completes(c, r) {
		return ""
	}
	id := field(*r, "sessionId")
	if text, ok := id.(string); ok && (text == c.session || contains(c.earlier, text)) {
		return ""
	}
	return fmt.Sprintf("complete came for session %s, but the chat named %q: %s", quoted(id), c.turn.session,
		steps.Seen(*r))
}

// isAnswered judges an ordinary turn: the model's answer reaches the client, and the turn ends (AS-019).
func (s *suite) isAnswered(ctx context.Context, c *client) error {
	if c.turn == nil {
		return steps.NotTestedf("client %s has not chatted", c.name)
	}
	rec, miss := s.awaitTurn(ctx, c, s.saysNonce(c, c.turn.mark), s.elsewhere)
	clauses := []string{"AS-019", "AS-100"}
	if c.loaded {
		clauses[1] = "AS-101"
	}
	if miss != nil {
		return s.Need(miss.Check("the model's answer in a message event", clauses...))
	}
	if _, miss = s.awaitEnd(ctx, c); miss != nil {
		if miss.At > 0 { // it ran, in a session that is known
			clauses = append(clauses, "AS-060", "AS-093")
		}
		return s.Need(miss.Check("complete at the end of the turn, for session "+c.turn.session, clauses...))
	}
	return s.Judge(verdict.Finding{Clauses: clauses, OK: true, At: rec.N})
}

// saysNonce matches the message event that completes the nonce of a client's turn. An answer may come in pieces of
// any size that split the nonce, so all pieces since a mark are joined.
func (s *suite) saysNonce(c *client, mark int) match {
	isMessage := isEvent(vocab.MessageEvent)
	return func(r *transcript.Record) bool {
		var said strings.Builder
		for _, piece := range s.Between(c.name, mark, r.N+1) {
			if isMessage(&piece) {
				text, _ := field(piece, "content").(string)
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
	if _, miss := s.awaitEnd(ctx, c); miss != nil {
		return s.Need(miss.Check("complete at the end of the turn", "AS-062"))
	}
	return nil
}
