package agentselect

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerAbsence(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) hears no "(\w+)"$`, func(ctx context.Context, name, event string) error {
		if event == vocab.AgentListEvent {
			return s.hearsNoList(ctx, name)
		}
		return s.hearsNone(ctx, name, event, nil, isEvent(event))
	})
	steps.Step(sc, `^client (\w+) hears of no switch$`, func(ctx context.Context, name string) error {
		clauses := []string{"AS-007", "AS-015", "AS-054", "AS-057", "AS-059", "AS-095", "AS-125", "AS-077", "AS-079", "AS-080", "AS-091", "AS-104"}
		return s.hearsNone(ctx, name, vocab.AgentSwitchedEvent, clauses, isEvent(vocab.AgentSwitchedEvent))
	})
	steps.Step(sc, `^client (\w+) hears of no refusal$`, func(ctx context.Context, name string) error {
		s.settle(ctx, s.actor) // the refusal itself may have gone astray
		return s.hearsNone(ctx, name, "error of another's switch", []string{"AS-058", "AS-059", "AS-095"}, s.foreignError(name))
	})
	steps.Step(sc, `^client (\w+) hears nothing of the message of client (\w+)$`, s.hearsNothingOf)
	steps.Step(sc, `^client (\w+) sends a message of type "(\w+)"$`, s.sendsType)
	steps.Step(sc, `^client (\w+) sends the body ?(.*)$`, s.sendsBody)
}

// foreignError matches an error that answers a switch and is no answer to a fence of this client.
func (s *suite) foreignError(name string) func(*transcript.Record) bool {
	c := s.client(name)
	return func(r *transcript.Record) bool {
		return isEvent(vocab.ErrorEvent)(r) && hasCode(r) && !c.isFence(r)
	}
}

// fence proves that everything which the target said to a client before has arrived: it asks for an agent that cannot
// exist, and waits for the error.
func (s *suite) fence(ctx context.Context, c *client) error {
	if c.conn == nil {
		return steps.NotTestedf("fence: client %s has no connection", c.name)
	}
	if at := s.endedAt(c); at > s.mark {
		return nil // the target has closed the connection since: nothing more can come on it
	} else if at > 0 {
		return steps.NotTestedf("fence: the target had closed the connection of client %s before the act, so its silence says nothing", c.name)
	}
	if s.actor != nil && !s.bind.ws {
		s.settleHTTP(ctx, s.actor, s.mark)
	}
	if s.Env.Profile.AgentSelect.Correlation.Single && c.session == "" {
		// Nothing that this client sends can be told from others' messages: a quiet window has to do.
		s.Note("no fence for client %s (correlation: single, no session): a quiet window of %v stands in", c.name, s.Env.Profile.Limits.Quiet)
		s.pace(ctx, c, s.T.Len(), s.Env.Profile.Limits.Quiet.Duration)
		return nil
	}
	nonce := fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
	f := fields{"agentId": nonce}
	if s.Env.Profile.AgentSelect.Correlation.Single && c.session != "" {
		f["sessionId"] = c.session
	}
	mark, err := s.send(ctx, c, vocab.SwitchAgentType, f)
	if err != nil {
		return err
	}
	second, sent := "", time.Time{}
	answered := time.Time{} // when that of the two was sent which was
	rec, miss := s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Kind: "the answer of a fence", Hopeless: s.refusedOverHTTP(mark),
		Match: func(r *transcript.Record) bool {
			if isEvent(vocab.ErrorEvent)(r) && second != "" && names(r, second) {
				answered = sent
				return true
			}
			return isEvent(vocab.ErrorEvent)(r) && !c.isFence(r)
		},
		Sent: func() time.Time { return answered },
		Fence: func(ctx context.Context) func(*transcript.Record) bool { // an answer may be lost; that of a second fence proves the same
			again := fmt.Sprintf("fence-%s-%d", s.Nonce, s.Serial())
			g := maps.Clone(f)
			g["agentId"] = again
			if _, err := s.send(ctx, c, vocab.SwitchAgentType, g); err == nil {
				second, sent, c.probes = again, time.Now(), append(c.probes, again)
			}
			return nil
		}})
	if miss != nil {
		return steps.NotTestedf("fence: client %s got no error for %s, so absence cannot be proved: %s", c.name, nonce, miss.Reason)
	}
	c.fences[rec.N] = true
	c.unjudged++
	if names(&rec, nonce) {
		s.Env.Learnt.Store(namesUnknown{}, true)
		c.probes = append(c.probes, nonce) // whatever else names it answers the fence too, such as an event that comes twice
	} else {
		s.secondError(ctx, c, rec, nonce)
	}
	return nil
}

// secondError looks whether the error that ended a fence was another's after all: the fence's own, which names its
// nonce, then follows at once. Texts are the target's own, so nothing is concluded where none does.
func (s *suite) secondError(ctx context.Context, c *client, first transcript.Record, nonce string) {
	if c.session == "" || codeOf(first) == vocab.AgentBusy {
		return // such an error has no reason to name the id
	}
	ctx, cancel := stall.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
	defer cancel()
	rec, err := s.T.Await(ctx, first.N, func(r *transcript.Record) bool {
		return r.Conn == c.name && isEvent(vocab.ErrorEvent)(r) && names(r, nonce)
	})
	if err == nil {
		delete(c.fences, first.N)
		c.fences[rec.N] = true
	}
}

// settleHTTP waits for the HTTP answer of an act; one that is held open is not waited for beyond the event limit.
func (s *suite) settleHTTP(ctx context.Context, c *client, mark int) {
	if c.act.mark != mark || c.act.kind == vocab.ChatType {
		return
	}
	_, _ = s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Match: func(r *transcript.Record) bool {
		return r.Kind == transcript.Response && r.Reply == mark
	}, Hopeless: func(r *transcript.Record) string { return failed(r, mark) }})
}

// hearsNone proves that nothing of a kind came to a client since the latest act of anybody: what lies before the
// answer of a fence is judged now, and what comes until the client's next message at the end of the scenario.
func (s *suite) hearsNone(ctx context.Context, name, what string, clauses []string, forbidden func(*transcript.Record) bool) error {
	c := s.client(name)
	mark := s.mark
	if err := s.fence(ctx, c); err != nil {
		return err
	}
	upTo := s.T.Len()
	if err := s.judgeAbsence(c, mark, upTo, what, clauses, forbidden); err != nil {
		return err
	}
	s.AtEnd(func() { _ = s.judgeAbsence(c, upTo, s.nextOwn(c, upTo), what, clauses, forbidden) })
	return nil
}

// nextOwn is the number of the first record that a client itself sent after a mark; the transcript's end without one.
func (s *suite) nextOwn(c *client, mark int) int {
	for _, r := range s.T.After(mark) {
		if r.Conn == c.name && r.Dir == transcript.Sent {
			return r.N
		}
	}
	return s.T.Len()
}

func (s *suite) judgeAbsence(c *client, from, to int, what string, clauses []string, forbidden func(*transcript.Record) bool) error {
	for _, r := range s.Between(c.name, from, to+1) {
		if !c.isFence(&r) && forbidden(&r) {
			return s.Need(steps.Check{Clauses: clauses, Expected: "no " + what + " on the connection of client " + c.name, Observed: steps.Seen(r), At: r.N})
		}
	}
	return s.Judge(steps.Check{Clauses: clauses, OK: true})
}

// hearsNothingOf proves that a message of another client, which named no session and had none, was not taken for this
// client's: neither a switch nor a refusal reaches it (AS-095).
func (s *suite) hearsNothingOf(ctx context.Context, name, other string) error {
	o := s.client(other)
	s.settle(ctx, o)
	return s.hearsNone(ctx, name, "answer to the message of client "+other, []string{"AS-095", "AS-096"}, func(r *transcript.Record) bool {
		return isEvent(vocab.AgentSwitchedEvent)(r) || s.foreignError(name)(r)
	})
}

// settle waits until a client's last message has been dealt with, in whatever form: its HTTP answer, an error or a
// switch on its connection, or the connection's end.
func (s *suite) settle(ctx context.Context, c *client) {
	mark := c.act.mark
	within := s.Env.Event()
	if s.bind.ws {
		within = s.Env.Profile.Limits.Quiet.Duration
	}
	_, _ = s.Await(ctx, steps.Wait{Conn: c.name, After: mark, Within: within, Match: func(r *transcript.Record) bool {
		return isEvent(vocab.AgentSwitchedEvent, vocab.ErrorEvent)(r) || r.Kind == transcript.Response && r.Reply == mark
	}})
	if !s.bind.ws {
		s.settleHTTP(ctx, c, mark)
	}
}

// sendsType sends a message of a type that no document names, with all that a curious server might look for.
func (s *suite) sendsType(ctx context.Context, name, kind string) error {
	c := s.client(name)
	mark, err := s.send(ctx, c, kind, fields{"sessionId": c.session, "requestId": "query-" + s.Nonce})
	if err != nil {
		return err
	}
	c.act, s.mark, s.actor = act{mark: mark, kind: kind, named: true}, mark, c
	return nil
}

// sendsBody sends bytes as they are, and waits until the target has dealt with them or has hung up on this client.
func (s *suite) sendsBody(ctx context.Context, name, body string) error {
	c := s.client(name)
	if c.conn == nil {
		return steps.NotTestedf("client %s has no connection", name)
	}
	mark, err := c.conn.Send(ctx, s.bind.verbatim(body, c.id))
	if err != nil {
		return fmt.Errorf("client %s: send: %w", name, err)
	}
	c.act, s.mark, s.actor = act{mark: mark, kind: "verbatim"}, mark, c
	s.settle(ctx, c)
	return nil
}
