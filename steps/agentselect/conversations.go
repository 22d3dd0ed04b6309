package agentselect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
)

func (r registry) conversations() {
	r.step(`^the model of client (\w+) was given the conversation of its session only$`, r.ownConversation)
}

// interfering are the clauses that a text of one session in another's conversation breaks (互不干扰).
var interfering = []string{"AS-007", "AS-005", "AS-059"}

// findsMixtures examines, at a scenario's end, what the model was sent for its turns, and what its clients were told:
// no text of one session reaches another.
func (s *suite) findsMixtures() {
	s.AtEnd(func() {
		for _, name := range s.clientNames() {
			c := s.clients[name]
			if f, found := s.mixtureOf(c); found {
				f.Clauses, f.Judge = interfering, verdict.ByLLM
				_ = s.ExplainedBy(model.FoundBySteps, f)
			}
			if f, found := s.answerOfOther(c); found {
				f.Clauses, f.Judge = interfering, verdict.ByLLM
				_ = s.ExplainedBy(model.FoundBySteps, f)
			}
		}
	})
}

func (s *suite) clientNames() []string { return slices.Sorted(maps.Keys(s.clients)) }

// ownConversation judges that nothing but the conversation of its own session has reached the model for a client's
// turns.
func (s *suite) ownConversation(c *client) error {
	if err := s.noModel(); err != nil {
		return err
	}
	asked := slices.ContainsFunc(c.turns, func(t *turn) bool { return len(s.Env.Brain.Requests(t.nonce)) > 0 })
	if !asked {
		return steps.NotTestedf("the model was not asked for a message of client %s", c.name)
	}
	f, found := s.mixtureOf(c)
	f.Clauses, f.OK = interfering, !found
	return s.judgeLLM(f)
}

// mixtureOf returns a finding about a text of another session in the conversation of a client's turn.
func (s *suite) mixtureOf(c *client) (verdict.Finding, bool) {
	if s.Env.Brain == nil {
		return verdict.Finding{}, false
	}
	for _, t := range c.turns {
		for _, r := range s.Env.Brain.Requests(t.nonce) {
			for _, m := range r.Messages {
				who := s.stranger(m.Text, func(o *turn) bool { return o.session == t.session })
				if who == "" || m.Role == llm.RoleTool {
					continue
				}
				return verdict.Finding{At: t.mark,
					Expected: fmt.Sprintf("a conversation of session %s only, sent to the model for client %s", t.session,
						c.name),
					Observed: fmt.Sprintf("%s message of %s in it: %q", m.Role, who, clip(m.Text))}, true
			}
		}
	}
	return verdict.Finding{}, false
}

// answerOfOther returns a finding about an answer to one client on the connection of another, which never had its
// session.
func (s *suite) answerOfOther(c *client) (verdict.Finding, bool) {
	mine := func(o *turn) bool { return o.session == c.session || slices.Contains(c.earlier, o.session) }
	for _, r := range s.T.All() {
		if r.Conn != c.name || r.Late || !isEvent(vocab.MessageEvent)(&r) || r.N < c.given {
			continue
		}
		text, _ := field(r, vocab.Content).(string)
		if who := s.stranger(text, mine); who != "" && !s.ofOthers(text) {
			return steps.CheckOf(r, false, "no answer to "+who+" on the connection of client "+c.name), true
		}
	}
	return verdict.Finding{}, false
}

// ofOthers reports whether a text bears the nonce of another scenario: findsStrays tells of those.
func (s *suite) ofOthers(text string) bool {
	find := steps.NoncesLike(s.Nonce)
	other := find != nil && find([]byte(text)) != ""
	return other && !strings.Contains(text, s.Nonce)
}

// stranger names the client or the scenario that has written a text with the nonce of a turn, unless the turn is one
// of those expected; "" if there is none.
func (s *suite) stranger(text string, expected func(*turn) bool) string {
	for _, nonce := range turnNonces(s.Nonce, text) {
		of, known := s.turnOf(nonce)
		scenario := nonce[:strings.LastIndex(nonce, "-")]
		switch {
		case known && !expected(of.turn):
			return "client " + of.client
		case !known && !strings.HasSuffix(s.Nonce, scenario): // the nonce of a user's scenario begins with a word of its own
			return "a client of scenario " + scenario
		}
	}
	return ""
}

// owned is a turn with the name of its client.
type owned struct {
	*turn
	client string
}

func (s *suite) turnOf(nonce string) (owned, bool) {
	for _, c := range s.clients {
		for _, t := range c.turns {
			if t.nonce == nonce {
				return owned{t, c.name}, true
			}
		}
	}
	return owned{}, false
}

// turnNonces returns the nonces of turns of this run in a text.
func turnNonces(nonce, text string) []string {
	parts := strings.Split(nonce, "-")
	if len(parts) < 3 {
		return nil
	}
	ending := strings.Join(parts[len(parts)-2:], "-")
	if i := strings.LastIndex(ending, "r"); i > 0 { // a rerun: its ending has a number of its own
		if number := ending[i+1:]; number != "" && strings.Trim(number, "0123456789") == "" {
			ending = ending[:i]
		}
	}
	if !strings.Contains(text, ending) {
		return nil
	}
	of := regexp.MustCompile(`[a-z]{2}(?:-[0-9]+)+-` + regexp.QuoteMeta(ending) + `(?:r[0-9]+)?-[0-9]+`)
	return of.FindAllString(text, -1)
}

// A server may need a moment between the complete of a turn and the next chat in its session. What it does with a chat
// that comes sooner is the subject of few scenarios. The others send theirs at once, too, and what they find then
// is preliminary: judged again, they wait until the session is idle.

func (r registry) consecutive() {
	r.step(`^client (\w+) is answered in each of (\d+) chats, each sent right after the previous turn$`,
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
		_, miss := s.awaitTurn(ctx, c, answerOfTurn, s.saysNonce(c, c.turn.mark), s.elsewhere)
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
	return s.judgeLLM(verdict.Finding{Clauses: []string{"AS-047", "AS-069"}, OK: len(without) == 0, At: s.T.Len(),
		Expected: fmt.Sprintf("every turn with the prompt of %s (%q)", custom.ID, custom.Prompt),
		Observed: strings.Join(without, "; ")})
}

// canSwitchToAll switches to every listed agent, the one in use last: the effect of switching to that is open
// (AS-G04).
func (s *suite) canSwitchToAll(ctx context.Context, c *client) error {
	usual := s.Env.Profile.Agents.Default
	var order []string
	for _, a := range c.offered {
		if a.ID != usual {
			order = append(order, a.ID)
		}
	}
	if len(order) == 0 {
		return steps.NotTestedf("client %s was offered no agent but the default one", c.name)
	}
	if len(order) < len(c.offered) {
		order = append(order, usual)
	}
	return s.switchesThrough(ctx, c, order)
}

// switchedOften switches a session between the built-in agents so many times, one switch behind the answer to the last.
func (s *suite) switchedOften(ctx context.Context, c *client, times int) error {
	at := slices.Index(vocab.BuiltinIDs, c.agent)
	if at < 0 {
		return steps.NotTestedf("client %s has not switched to a built-in agent", c.name)
	}
	var order []string
	for n := range times {
		order = append(order, vocab.BuiltinIDs[(at+1+n)%len(vocab.BuiltinIDs)])
	}
	return s.switchesThrough(ctx, c, order)
}

func (s *suite) switchesThrough(ctx context.Context, c *client, order []string) error {
	for _, id := range order {
		if err := s.switches(ctx, c, agentID{id}); err != nil {
			return err
		}
		if err := s.switchedTo(ctx, c, "", id); err != nil {
			return err
		}
	}
	return nil
}
