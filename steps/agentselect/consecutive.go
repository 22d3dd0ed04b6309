package agentselect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

// A server may need a moment between the complete of a turn and the next chat in its session. What it does with a chat
// that comes sooner is the subject of few scenarios. The others send theirs at once, too, and what they find then
// is preliminary: judged again, they wait until the session is idle.

func (r registry) consecutive() {
	r.step(`^client (\w+) is answered in each of (\d+) chats, each sent right behind the turn before it$`,
		r.answeredInEach)
	r.step(`^client (\w+) is switched (\d+) times in a row$`, r.switchedOften)
	r.step(`^every turn of client (\w+) had the prompt of the custom agent$`, r.everyTurnHadPrompt)
}

// afterTurn prepares for a client's next chat in a scenario in which a turn has ended.
func (s *suite) afterTurn(ctx context.Context, c *client) {
	if s.atOnce || !slices.ContainsFunc(s.T.All(), func(r transcript.Record) bool { return isComplete(&r) }) {
		return
	}
	if !s.Again() {
		s.hasty = true
		s.Doubt(&steps.Doubt{Settled: func() bool { return true }})
		return
	}
	s.pace(ctx, c, s.T.Len(), s.Env.Undisturbed(s.Env.Profile.Limits.Quiet.Duration))
	s.retry(ctx, c, s.Limit(s.Env.Event()), func() (again bool) {
		at := s.T.Len()
		return s.fence(ctx, c) == nil && slices.ContainsFunc(s.Between(c.name, at, 0), func(r transcript.Record) bool {
			return c.fences[r.N] && codeOf(r) == vocab.AgentBusy
		})
	})
}

// answeredInEach judges chats that follow each other without a pause, each in the session that it names. One that is
// refused is sent again until the event limit: no document says that a session is idle as soon as complete has come.
func (s *suite) answeredInEach(ctx context.Context, c *client, times int) error {
	if c.session == "" {
		return steps.NotTestedf("client %s has no session", c.name)
	}
	s.atOnce = true
	defer func() { s.atOnce = false }()
	for range times {
		if err := s.chatUntilTaken(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) chatUntilTaken(ctx context.Context, c *client) (err error) {
	s.retry(ctx, c, s.Limit(s.Env.Event()), func() (again bool) {
		if err = s.chat(ctx, c, hello+c.name); err != nil {
			return false
		}
		_, miss := s.awaitTurn(ctx, c, s.saysNonce(c, c.turn.mark), s.elsewhere)
		if miss != nil && c.turn.refused && len(c.turns) > 1 {
			s.Note("a chat right behind complete: %s", miss.Reason)
			return true
		}
		err = s.isAnswered(ctx, c)
		return false
	})
	if err == nil && c.turn.refused {
		return s.isAnswered(ctx, c)
	}
	return err
}

// everyTurnHadPrompt judges that all turns of a client since its last switch, which was to the custom agent, used it.
func (s *suite) everyTurnHadPrompt(c *client) error {
	_, custom, err := s.promptTurn(c)
	if err != nil {
		return err
	}
	var without []string
	for i, t := range c.turns {
		if calls := s.calls(t); t.agent == custom.ID && len(calls) > 0 && !anyHasPrompt(calls, custom) {
			without = append(without, fmt.Sprintf("turn %d of %d: %s", i+1, len(c.turns), systems(calls)))
		}
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AS-047", "AS-069"}, OK: len(without) == 0, At: s.T.Len(),
		Expected: fmt.Sprintf("every turn with the prompt of %s (%q)", custom.ID, custom.Prompt),
		Observed: strings.Join(without, "; ")})
}

// canSwitchToAll switches to every listed agent, the one in use last: the effect of switching to that is open
// (AS-G04).
func (s *suite) canSwitchToAll(ctx context.Context, c *client) error {
	var order []string
	for _, a := range c.offered {
		if a.ID != s.Env.Profile.Agents.Default {
			order = append(order, a.ID)
		}
	}
	if len(order) == 0 {
		return steps.NotTestedf("client %s was offered no agent but the default one", c.name)
	}
	if len(order) < len(c.offered) {
		order = append(order, s.Env.Profile.Agents.Default)
	}
	for _, id := range order {
		if _, err := s.sendSwitch(ctx, c, fields{"agentId": id}, act{}); err != nil {
			return err
		}
		if err := s.switchedTo(ctx, c, "", id); err != nil {
			return err
		}
	}
	return nil
}

// switchedOften switches a session between the built-in agents so many times, one switch behind the answer to the last.
func (s *suite) switchedOften(ctx context.Context, c *client, times int) error {
	at := slices.Index(vocab.BuiltinIDs, c.agent)
	if at < 0 {
		return steps.NotTestedf("client %s has not switched to a built-in agent", c.name)
	}
	for range times {
		at = (at + 1) % len(vocab.BuiltinIDs)
		from, to := c.agent, vocab.BuiltinIDs[at]
		if _, err := s.sendSwitch(ctx, c, fields{"agentId": to}, act{}); err != nil {
			return err
		}
		if err := s.switchedTo(ctx, c, from, to); err != nil {
			return err
		}
	}
	return nil
}
