package sessionchat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cucumber/godog"

	"parley/internal/recent"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// repeats finds duplicate messages whose legality the document leaves open: it neither defines pongs and errors
// (SC-G02, SC-G03) nor says how often the SDK sends the same message. Copies of the model's words and of the end of a
// turn break SC-020, which the monitors judge.
type repeats struct {
	env   *steps.Env
	conns recent.Conns[*counted]
}

// maxAgents is how many agent_ids of a connection are known at least: more than a scenario has. Traffic that lasts for
// hours has any number.
const maxAgents = 256

// counted has the messages of one connection.
type counted struct {
	pings, pongs int
	quiet        bool                                  // nothing was sent since the last pong
	last         recent.Map[string, transcript.Record] // by agent_id, until a message is sent
	streamed     recent.Map[string, bool]              // whether pieces of the current turn came, by agent_id
	interrupts   int                                   // that no error or result has answered
}

// note examines a record, and marks pongs without a ping. It must be called for all records in order.
func (s *repeats) note(r *transcript.Record) {
	c, _ := s.conns.Get(r.Conn)
	if c == nil || r.Kind == transcript.Open && r.Dir == transcript.Sent {
		c = &counted{}
		c.last.Most, c.streamed.Most = maxAgents, maxAgents
		s.conns.Set(r.Conn, c)
	}
	switch {
	case r.Event == nil || r.Late:
	case r.Dir == transcript.Sent:
		c.sent(r)
	case r.Dir == transcript.Received && c.repeats(r):
		r.Event.Again = true
		s.env.CameAgain(r.Event.Type, steps.Seen(*r))
	}
	if ends := r.Kind == transcript.Closed || r.Kind == transcript.Failure || r.Kind == transcript.Response; ends {
		s.conns.End(r.Conn) // what opens a socket is answered if it is refused
	}
}

func (c *counted) sent(r *transcript.Record) {
	c.quiet = false
	switch agent := text(r, vocab.AgentID); r.Event.Type {
	case vocab.PingType:
		c.pings++
	case vocab.InterruptType:
		c.interrupts++
		c.last.Delete(agent)
	case vocab.ChatType:
		c.streamed.Delete(agent)
		c.last.Delete(agent)
	default:
		c.last.Delete(agent)
	}
	c.last.Delete("") // an error without an agent_id may answer any message
}

// repeats reports whether a message is a copy that breaks no clause: an extra pong if every ping has its own, or a
// message that equals the previous one of its session, if nothing was sent between the two.
func (c *counted) repeats(r *transcript.Record) bool {
	agent := text(r, vocab.AgentID)
	was, followed := c.last.Get(agent)
	switch r.Event.Type {
	case vocab.PongMessage:
		again := c.quiet && c.pongs >= c.pings
		c.pongs, c.quiet = c.pongs+1, true
		return again
	case vocab.StreamMessage:
		c.streamed.Set(agent, true)
	}
	c.last.Set(agent, *r)
	asked := c.answered(r.Event.Type)
	if !followed || was.Event.Type != r.Event.Type || !wjson.Equal(member(&was, vocab.Body), member(r, vocab.Body)) {
		return false
	}
	same := wjson.Equal(was.Event.Timestamp, r.Event.Timestamp)
	if r.Event.Type == vocab.AssistantMessage {
		streamed, _ := c.streamed.Get(agent)
		return !same && !streamed // the others break SC-020
	}
	return r.Event.Type == vocab.SystemMessage || r.Event.Type == vocab.ErrorMessage && !asked
}

// answered reports whether a message may answer an interrupt, each of which may get an equal error of its own.
func (c *counted) answered(kind string) bool {
	if c.interrupts == 0 || kind != vocab.ErrorMessage && kind != vocab.ResultMessage {
		return false
	}
	c.interrupts--
	return true
}

// asked is the key, in Env.Learnt, of what clients of any scenario have done to the session of an agent_id.
type asked struct{ agentID string }

// deeds records actions that may end a turn of a session: an interrupt, a second chat, a model that fails, the end of a
// connection.
type deeds struct {
	by   string // nonce of the scenario whose session it is
	done atomic.Bool
}

func (s *suite) deeds(agentID string) *deeds {
	found, _ := s.Env.Learnt.LoadOrStore(asked{agentID}, &deeds{by: s.Nonce})
	return found.(*deeds)
}

// endsTurns records that a client's current action may end turns of a session.
func (s *suite) endsTurns(ss *session) { s.deeds(ss.agentID).done.Store(true) }

// endsTurnsOver is endsTurns for all sessions that a client uses.
func (s *suite) endsTurnsOver(c *client) {
	for _, ss := range s.sessions {
		if t := ss.turn(); ss.asker == c.name || t != nil && t.client == c.name {
			s.endsTurns(ss)
		}
	}
}

// findsStrays checks every record that a wait reads for what other scenarios cause, and no clause of this one is about.
func (s *suite) findsStrays() {
	s.AtEnd(func() {
		for _, ss := range s.sessions {
			s.endsTurns(ss)
		}
	})
	s.World.Watch = func(r *transcript.Record) {
		if !s.Beside() || r.Dir != transcript.Received || r.Event == nil {
			return
		}
		found, ok := s.Env.Learnt.Load(asked{text(r, vocab.AgentID)})
		if !ok || !slices.Contains(ofTurn, r.Event.Type) {
			return
		}
		if of := found.(*deeds); of.by != s.Nonce {
			s.findsForeign(r, of)
			return
		}
		s.findsEnded(r, found.(*deeds))
	}
}

// findsForeign finds a message of a session of another scenario, whose agent_id none of this one has sent (SC-001). The
// end of a turn that nobody there has interrupted is told as what it is: an interrupt of this scenario has ended it.
func (s *suite) findsForeign(r *transcript.Record, of *deeds) {
	id := text(r, vocab.AgentID)
	if strings.Contains(id, s.Nonce) || !strings.Contains(id, of.by) { // other scenarios may use the same
		return
	}
	if s.findsEnded(r, of) {
		return
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-001", "SC-045"},
		What: "messages of sessions arrived on connections that had not asked for them",
		Seen: fmt.Sprintf("a client of scenario %s received a message of %s, a session of scenario %s: %s", s.Nonce, id,
			of.by, steps.Seen(*r))})
}

// findsEnded finds that a turn of this or another scenario has ended as interrupted although nothing was done to its
// session that could end it: the interrupt of another session has ended it (SC-036).
func (s *suite) findsEnded(r *transcript.Record, of *deeds) bool {
	if r.Event.Type != vocab.ResultMessage || text(r, vocab.Subtype) != vocab.Interrupted || of.done.Load() {
		return false
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-036"}, What: "interrupts of one session ended turns of others",
		Seen: fmt.Sprintf("a client of scenario %s received the end of the turn of %s as interrupted, although no client "+
			"of it interrupted: %s", s.Nonce, text(r, vocab.AgentID), steps.Seen(*r))})
	return true
}

// straysIntoModel tells of a model request with turns of another scenario's session (SC-027).
func (s *suite) straysIntoModel(of *session, foreign []string) {
	if !s.Beside() || slices.ContainsFunc(foreign, func(n string) bool { return strings.HasPrefix(n, s.Nonce) }) {
		return
	}
	s.World.Strayed(steps.Stray{Clauses: []string{"SC-027"}, What: "turns of one session were in model requests of others",
		Seen: fmt.Sprintf("a model request for %s contains the turn %s, of another scenario", of.agentID, foreign[0])})
}

// registerSeries registers the steps with several chats, and with one that is sent again.
func (s *suite) registerSeries(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) has chatted (\d+) times with "(\w+)"$`, s.hasChattedOften)
	steps.Step(sc, `^client (\w+) has chatted with (\d+) other sessions$`, s.hasUsedOthers)
	steps.Step(sc, `^client (\w+) is answered in each of (\d+) new sessions$`, s.isAnsweredByEach)
	steps.Step(sc, `^client (\w+) chats with "(\w+)" with the same text again$`, s.chatsAgain)
	steps.Step(sc, `^the model was asked again for "(\w+)"$`, s.askedAgain)
}

// hasChattedOften runs several whole turns as a precondition.
func (s *suite) hasChattedOften(ctx context.Context, client string, n int, name string) error {
	for range n {
		if err := s.hasChatted(ctx, client, name); err != nil {
			return err
		}
	}
	return nil
}

// hasUsedOthers runs a whole turn of each of several sessions as a precondition. The target may let others leave its
// memory meanwhile: how many it keeps there is its own affair.
func (s *suite) hasUsedOthers(ctx context.Context, client string, n int) error {
	for range n {
		if err := s.hasChatted(ctx, client, fmt.Sprintf("other%d", s.Serial())); err != nil {
			return err
		}
	}
	s.resumes("%d other sessions were used", n)
	return nil
}

// isAnsweredByEach judges that several sessions, used one after the other, are all answered.
func (s *suite) isAnsweredByEach(ctx context.Context, client string, n int) error {
	for i := range n {
		name := fmt.Sprintf("one%d", s.Serial())
		if err := s.chat(ctx, client, name, &turn{}, hello); err != nil {
			return err
		}
		if err := s.isAnswered(ctx, client, name); err != nil {
			s.Note("client %s was answered by %d new sessions before, each in turn", client, i)
			return err
		}
	}
	return nil
}

// chatsAgain sends the text of a session's last chat once more.
func (s *suite) chatsAgain(ctx context.Context, client, name string) error {
	last, err := s.lastTurn(name)
	if err != nil {
		return err
	}
	t := &turn{of: last.of, nonce: last.nonce, text: last.text, before: len(s.calls(last))}
	return s.say(ctx, s.client(client), t, nil)
}
