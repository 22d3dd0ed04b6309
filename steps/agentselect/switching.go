package agentselect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

func (r registry) switching() {
	r.step(`^client (\w+) has switched to `+agentRef+`$`, r.hasSwitched)
	r.step(`^client (\w+) switches to `+agentRef+`$`, r.switches)
	r.step(`^client (\w+), once idle, switches to `+agentRef+`$`, func(ctx context.Context, c *client, to agentID) error {
		return r.switchIdle(ctx, c, to.id)
	})
	const session = `(its session|its session in another case|its session with a blank (?:before|behind) it|` +
		`its deleted session|the session "[^"]*"|the session of client \w+)`
	r.step(`^client (\w+) switches `+session+` to `+agentRef+`$`, r.switchesNamed)
	r.step(`^client (\w+) switches to the agent id (.+)$`, r.switchesRaw)
	r.step(`^client (\w+) switches to a legal id of (\d+) characters$`, r.switchesLong)
	r.step(`^client (\w+) sends switch_agent with the fields (.+)$`, r.switchesWith)
	r.step(`^client (\w+) is switched from `+agentRef+` to `+agentRef+`$`,
		func(ctx context.Context, c *client, from, to agentID) error {
			return r.switchedTo(ctx, c, from.id, to.id)
		})
	r.step(`^client (\w+) is switched to `+agentRef+`$`, func(ctx context.Context, c *client, to agentID) error {
		if err := r.switchedTo(ctx, c, "", to.id); err != nil {
			return err
		}
		r.findsRepeats(ctx, c)
		return nil
	})
	r.step(`^client (\w+) can switch to every agent that it was offered$`, r.canSwitchToAll)
	r.step(`^the answer to client (\w+) is recorded$`, r.answerObserved)
	r.step(`^client (\w+), alone, can switch to each built-in agent and is refused invalid switches$`, r.answersAlone)
}

// sendSwitch sends switch_agent as a client's act and moves the mark.
func (s *suite) sendSwitch(ctx context.Context, c *client, f fields, a act) (int, error) {
	if binding.Of(s.Env.Profile).Correlation.Single && !a.stranger && f[vocab.SessionID] == nil && c.session != "" &&
		s.othersConnected(c) {
		f[vocab.SessionID], a.named = c.session, true
		s.Note("client %s names its session: the target cannot tell connections apart (correlation: single)", c.name)
	}
	mark, err := s.send(ctx, c, vocab.SwitchAgentType, f)
	if err != nil {
		return 0, err
	}
	a.mark, a.kind, a.agent = mark, vocab.SwitchAgentType, f[vocab.AgentID]
	s.acted(c, a)
	return mark, nil
}

func (s *suite) othersConnected(c *client) bool {
	for _, o := range s.clients {
		if o != c && o.conn != nil {
			return true
		}
	}
	return false
}

// switches sends a switch without a session id: it means the connection's own session.
func (s *suite) switches(ctx context.Context, c *client, to agentID) error {
	_, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: to.id}, act{stranger: c.session == ""})
	return err
}

// switchesNamed sends a switch that names a session.
func (s *suite) switchesNamed(ctx context.Context, c *client, which string, to agentID) error {
	f, a := fields{vocab.AgentID: to.id, vocab.SessionID: c.session}, act{named: true}
	owner, ofOther := strings.CutPrefix(which, "the session of client ")
	switch {
	case which == "its session":
	case ofOther && s.client(owner).session == "":
		return steps.NotTestedf("client %s has no session", owner)
	case ofOther:
		f[vocab.SessionID], a.of = s.client(owner).session, s.client(owner)
	case strings.HasPrefix(which, "its session "):
		f[vocab.SessionID], a.elsewhere = rewritten(c.session, which), true
		if f[vocab.SessionID] == any(c.session) {
			return steps.NotTestedf("the session id of client %s has no letter: %q", c.name, c.session)
		}
	case which == "its deleted session" && c.deleted == "":
		return steps.NotTestedf("client %s has deleted no session", c.name)
	case which == "its deleted session":
		f[vocab.SessionID] = c.deleted
	default:
		f[vocab.SessionID], a.elsewhere = strings.Trim(strings.TrimPrefix(which, "the session "), `"`), true
	}
	_, err := s.sendSwitch(ctx, c, f, a)
	return err
}

// rewritten returns a session id as a step writes it, which names no session (AS-091).
func rewritten(id, how string) string {
	switch {
	case strings.HasSuffix(how, "before it"):
		return " " + id
	case strings.HasSuffix(how, "behind it"):
		return id + " "
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, id)
}

func (s *suite) switchesRaw(ctx context.Context, c *client, literal string) error {
	return s.switchesWith(ctx, c, `{"agentId":`+literal+`}`)
}

func (s *suite) switchesLong(ctx context.Context, c *client, n int) error {
	return s.switchesRaw(ctx, c, `"`+strings.Repeat("a-b_", n/4)+`"`)
}

// switchesWith sends a switch with the members of a JSON object, unchanged.
func (s *suite) switchesWith(ctx context.Context, c *client, object string) error {
	var members map[string]raw
	if err := json.Unmarshal([]byte(object), &members, jsonform.Lenient); err != nil {
		return fmt.Errorf("the fields of this step are not a JSON object: %w", err)
	}
	f := fields{}
	for k, v := range members {
		f[k] = v
	}
	_, err := s.sendSwitch(ctx, c, f, act{})
	return err
}

// hasSwitched switches a client to an agent as a precondition: it judges nothing.
func (s *suite) hasSwitched(ctx context.Context, c *client, to agentID) error {
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	if err := s.switchIdle(ctx, c, to.id); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	switch {
	case miss != nil:
		return steps.NotTestedf("client %s could not switch to %q: %s", c.name, to.id, miss.Reason)
	case !isSwitch(&rec):
		return steps.NotTestedf("client %s could not switch to %q: %s", c.name, to.id, steps.Seen(rec))
	}
	s.confirmed(c, to.id)
	return nil
}

// confirmed records a switch that the target has confirmed.
func (s *suite) confirmed(c *client, id string) {
	c.agent, c.aborted = id, false
	s.accepted++
}

// switchIdle sends a switch, and repeats it while the session is still busy, until the event limit: a target may need
// a moment to end a turn (AC-124). The answer to the last attempt is left for the next step.
func (s *suite) switchIdle(ctx context.Context, c *client, id string) error {
	until := deadline.In(s.Limit(s.Env.Event()))
	pause := 5 * time.Millisecond
	for {
		if err := s.switches(ctx, c, agentID{id}); err != nil {
			return err
		}
		rec, miss := s.outcome(ctx, c, confirmation)
		if miss != nil {
			return s.switchUnanswered(ctx, c, id, miss)
		}
		if codeOf(rec) != vocab.AgentBusy {
			return nil
		}
		if until.Over() {
			if t := c.turn; t != nil && t.fails && len(s.Env.Brain.Requests(t.nonce)) > t.calls {
				return s.stillTried(c)
			}
			return nil
		}
		s.pace(ctx, c, rec.N, pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// switchUnanswered retries an unanswered switch if the turn has ended since: whether the target was still busy when
// the first switch came is a race, but it has to say so (AS-064).
func (s *suite) switchUnanswered(ctx context.Context, c *client, id string, miss *verdict.Miss) error {
	if !s.has(c, isComplete) || miss.At > 0 || c.agent == id {
		return nil
	}
	_ = s.waited(c, model.AnswerTo(c.act.mark), transcript.Record{}, miss)
	return s.switches(ctx, c, agentID{id})
}

// pace waits for the end of the client's turn, but at most for the pause between two attempts.
func (s *suite) pace(ctx context.Context, c *client, mark int, pause time.Duration) {
	ctx, cancel := deadline.WithLimit(ctx, pause)
	defer cancel()
	_, _ = s.T.Await(ctx, mark, func(r *transcript.Record) bool { return r.Conn == c.name && isComplete(r) })
}

func codeOf(r transcript.Record) string {
	code, _ := field(r, vocab.ErrorCode).(string)
	return code
}

// switchedTo reports what the model finds of the answer to a client's last switch, which nothing speaks against. An
// empty from is not compared.
func (s *suite) switchedTo(ctx context.Context, c *client, from, to string) error {
	rec, miss := s.outcome(ctx, c, confirmation)
	if miss == nil || miss.At > 0 {
		s.RecordReach(steps.Answered) // the target has answered, rightly or wrongly
	}
	if miss == nil && codeOf(rec) == vocab.SessionNotFound && c.session == "" && !c.act.named {
		return steps.NotTestedf("client %s has no session, so that its switch is refused rightly: %s", c.name,
			steps.Seen(rec))
	}
	if miss == nil && !isSwitch(&rec) {
		s.T.Remark(c.name, "%s", model.InVain(model.ConfirmationOf(c.act.mark), "it was refused"))
		return cmp.Or(s.report(s.T.Len(), nil), steps.NotTestedf("expected agent_switched to %q; observed %s", to,
			steps.Seen(rec)))
	}
	if miss != nil {
		return s.waited(c, model.ConfirmationOf(c.act.mark), rec, miss)
	}
	s.confirmed(c, to)
	s.tryRefusals(ctx, c, fmt.Sprint(field(rec, vocab.PreviousAgentID)), to)
	if err := s.report(s.T.Len(), nil); err != nil && s.judge.mixed > 0 {
		return err
	}
	current, previous := field(rec, vocab.CurrentAgentID), field(rec, vocab.PreviousAgentID)
	return s.isAsTold(rec, current == any(to) && (from == "" || previous == any(from)),
		fmt.Sprintf("a switch from %q to %q", from, to))
}

// tryRefusals tries whether a client's refused switches, such as fences, have moved its session to another agent than
// it had, if the model cannot tell: it repeats a refused switch, starting from an agent that rules out coincidence, and
// then the same without the refused switch.
func (s *suite) tryRefusals(ctx context.Context, c *client, from, to string) {
	if !s.model(s.T.Len()).Doubts(c.name) {
		return
	}
	was, mark, actor := c.act, s.mark, s.actor
	start := slices.DeleteFunc(slices.Clone(vocab.BuiltinIDs), func(id string) bool {
		return id == to || id == from
	})[0]
	for _, id := range []string{start, "", to, start, to} {
		if id == "" {
			_ = s.fence(ctx, c)
		} else if s.switches(ctx, c, agentID{id}) == nil {
			_, _ = s.outcome(ctx, c, confirmation)
		}
	}
	s.T.Remark(c.name, model.Tried)
	c.act, s.mark, s.actor = was, mark, actor
}

// answerObserved records behaviour that no document specifies (AS-G04).
func (s *suite) answerObserved(ctx context.Context, c *client) error {
	rec, miss := s.outcome(ctx, c, whichever)
	if miss != nil && miss.NotOwed {
		return steps.NotTestedf("%s", miss.Reason)
	}
	if miss != nil {
		s.Note("switching to the agent in use: %s", miss.Reason)
		return nil
	}
	s.Note("switching to the agent in use: %s", steps.Seen(rec))
	if isSwitch(&rec) {
		s.accepted++
	}
	return nil
}
