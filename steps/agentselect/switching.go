package agentselect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/deadline"
	"parley/internal/jsondiff"
	"parley/internal/jsonform"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
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
		return r.switchedTo(ctx, c, "", to.id)
	})
	r.step(`^client (\w+) is switched in the session of client (\w+)$`, r.isSwitchedInLoaded)
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
		f[vocab.SessionID] = s.client(owner).session
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
	c.agent, c.refusals, c.unjudged, c.wasBusy, c.aborted = id, 0, 0, false, false
	c.switches++
	s.accepted++
}

// switchIdle sends a switch, and repeats it while the session is still busy, until the event limit: a target may need
// a moment to end a turn (AC-124). The answer to the last attempt is left for the next step.
func (s *suite) switchIdle(ctx context.Context, c *client, id string) error {
	until := deadline.In(s.Limit(s.Env.Event()))
	pause := 5 * time.Millisecond
	for {
		if _, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: id}, act{}); err != nil {
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
		c.unjudged++
		s.pace(ctx, c, rec.N, pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// switchUnanswered retries an unanswered switch if the turn has ended since: whether the target was still busy when
// the first switch came is a race. If the second attempt is carried out, the first was not; then its refusal is
// missing (AS-064), and later steps judge the second.
func (s *suite) switchUnanswered(ctx context.Context, c *client, id string, miss *verdict.Miss) error {
	first, from := c.act, c.agent
	ended := s.has(c, isComplete)
	if !ended || miss.At > 0 || from == id {
		return nil
	}
	c.unjudged++
	if _, err := s.sendSwitch(ctx, c, fields{vocab.AgentID: id}, act{}); err != nil {
		return err
	}
	rec, missed := s.outcome(ctx, c, confirmation)
	if missed != nil {
		c.act = first
		return nil
	}
	if isSwitch(&rec) && field(rec, vocab.PreviousAgentID) == any(id) {
		return s.Need(verdict.Finding{Clauses: s.claims(c), Miss: miss,
			Expected: fmt.Sprintf("agent_switched to %q on the connection of client %s", id, c.name),
			Observed: miss.Reason + "; a second attempt shows that the switch had succeeded: " + steps.Seen(rec)})
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AS-064"}, Miss: miss,
		Expected: "agent_busy, or agent_switched, for a switch before the turn was over",
		Observed: miss.Reason + "; the turn has ended, and a second attempt was answered: " + steps.Seen(rec)})
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

// switchedTo judges the answer to a client's last switch. An empty from is not compared.
func (s *suite) switchedTo(ctx context.Context, c *client, from, to string) error {
	claims := s.claims(c)
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("agent_switched to %q on the connection of client %s", to, c.name)
	if miss == nil || miss.At > 0 {
		s.RecordReach(steps.Answered) // the target has answered, rightly or wrongly
	}
	if miss != nil && miss.NotOwed {
		return s.Need(miss.Check(expected, claims...))
	}
	if miss == nil && codeOf(rec) == vocab.SessionNotFound && c.session == "" && !c.act.named {
		return steps.NotTestedf("client %s has no session, so that its switch is refused rightly: %s", c.name,
			steps.Seen(rec))
	}
	told := s.waited(c, model.ConfirmationOf(c.act.mark), rec, miss)
	if miss != nil {
		if err := s.notSwitched(c, miss.Check(expected, claims...), nil); !isBroken(told) {
			return err
		}
		return told
	}
	if !isSwitch(&rec) {
		return s.notSwitched(c, steps.CheckOf(rec, false, expected, claims...), &rec)
	}
	if previous := field(rec, vocab.PreviousAgentID); from != "" && previous != any(from) && s.agentIsOpen(c) {
		return s.switchedFromOther(c, rec, from, to, claims)
	}
	// Check the client's own refused switches first: their effect looks like that of another session.
	if err := s.movedByRefusal(ctx, c, rec, from, to); err != nil {
		return err
	}
	if err := s.movedByOther(c, rec, from); err != nil {
		return err
	}
	s.findsRepeats(ctx, c, rec)
	return s.judgeSwitched(c, rec, from, to, claims)
}

// agentIsOpen reports whether no switch since the client loaded its session shows which agent that has: AS-G07 leaves
// open whether it is the one from before.
func (s *suite) agentIsOpen(c *client) bool {
	return c.loaded && c.switches == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(s.clients)),
		func(o *client) bool {
			return o != c && o.session == c.session && o.switches > 0 && o.act.mark > c.given
		})
}

// switchedFromOther judges a switch that did not start where the step says, in a session whose agent was open. Only
// the step is not met, and no clause broken: the suite has no such step, but users do.
func (s *suite) switchedFromOther(c *client, rec transcript.Record, from, to string, claims []string) error {
	s.confirmed(c, to)
	if err := s.judgeSwitched(c, rec, "", to, claims); err != nil {
		return err
	}
	return steps.NotTestedf("client %s was switched from %s, and this step says %q; which agent a session has after it "+
		"was loaded is open (AS-G07), so that no clause is broken", c.name, quoted(field(rec, vocab.PreviousAgentID)), from)
}

// movedByRefusal records a confirmed switch. If it came from an unexpected agent, movedByRefusal checks whether one
// of the client's own refused switches, such as a fence, changed the agent: that breaks AS-053, and other causes
// cannot be judged then. It retries a single refused switch, starting from an agent that rules out coincidence, and
// then the same without the refused switch.
func (s *suite) movedByRefusal(ctx context.Context, c *client, rec transcript.Record, from, to string) error {
	refused := c.refusals + c.unjudged
	s.confirmed(c, to)
	previous := field(rec, vocab.PreviousAgentID)
	if from == "" || previous == any(from) || refused == 0 || s.previousAlone(rec) {
		return nil
	}
	taken := func(id string) bool { return any(id) == previous || id == to }
	start := slices.DeleteFunc(slices.Clone(vocab.BuiltinIDs), taken)[0]
	was, mark, actor := c.act, s.mark, s.actor
	defer func() { c.act, s.mark, s.actor = was, mark, actor }()
	if s.comesFrom(ctx, c, start, was.named) == nil {
		return nil
	}
	if err := s.fence(ctx, c); err != nil {
		return nil
	}
	left := s.comesFrom(ctx, c, to, was.named)
	s.confirmed(c, to)
	if left == nil || left == any(start) {
		return nil
	}
	if s.comesFrom(ctx, c, start, was.named) == nil || s.comesFrom(ctx, c, to, was.named) != any(start) {
		return nil // it also leaves the agent without a refused switch
	}
	return s.Need(verdict.Finding{Clauses: []string{"AS-053"}, At: rec.N,
		Expected: fmt.Sprintf("client %s still at %q after its refused switch", c.name, from),
		Observed: fmt.Sprintf("%s; in a second attempt, a refused switch led from %q to %s", steps.Seen(rec), start,
			quoted(left))})
}

// comesFrom switches a client and returns the agent that its session came from; nil if it was not switched.
func (s *suite) comesFrom(ctx context.Context, c *client, to string, named bool) any {
	f := fields{vocab.AgentID: to}
	if named {
		f[vocab.SessionID] = c.session
	}
	if _, err := s.sendSwitch(ctx, c, f, act{named: named}); err != nil {
		return nil
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	if miss != nil || !isSwitch(&rec) {
		return nil
	}
	return field(rec, vocab.PreviousAgentID)
}

// namesAgent reports whether a value may be the id of an agent at all.
func namesAgent(id any) bool {
	text, ok := id.(string)
	return ok && text != ""
}

// judgeSwitched checks the content of agent_switched.
func (s *suite) judgeSwitched(c *client, rec transcript.Record, from, to string, claims []string) error {
	want := map[string]any{vocab.CurrentAgentID: to}
	if from != "" {
		want[vocab.PreviousAgentID] = from
	}
	if name, ok := s.nameOf(c, to); ok {
		want[vocab.AgentName] = name
	}
	got := map[string]any{}
	for k := range want {
		if v, ok := wjson.Lookup(rec.Event.Data, "/"+k); ok {
			got[k] = v
		}
	}
	diff := jsondiff.Diff(want, got)
	about := map[string][]string{
		vocab.CurrentAgentID: {"AS-044"}, vocab.PreviousAgentID: {"AS-043"}, vocab.AgentName: {"AS-045"},
	}
	if custom, err := s.custom(); err == nil && to == custom.ID && namesAgent(got[vocab.CurrentAgentID]) {
		about[vocab.AgentName] = append(about[vocab.AgentName], "AS-046")
	}
	var checks []verdict.Finding
	told := true // the message shows where the session was, and where it is
	for key, w := range want {
		check := steps.CheckOf(rec, wjson.Equal(w, got[key]), key+" "+quoted(w), about[key]...)
		check.Diff = diff
		checks = append(checks, check)
		if !check.OK && key != vocab.AgentName {
			check.Clauses, told = without(claims, admitting), false
			if err := s.situation(c, rec, key, check); err != nil {
				return err
			}
		}
	}
	if told {
		checks = append(checks, verdict.Finding{Clauses: claims, OK: true})
	} else {
		checks = append(checks, verdict.Finding{Clauses: without(claims, without(claims, admitting)), OK: true})
	}
	return s.Judge(checks...)
}

// admitting are the clauses by which a switch is not refused as busy: one that is confirmed keeps them, whatever it
// says.
var admitting = []string{"AS-111", "AS-112"}

// isSwitchedInLoaded judges that loading has bound the connection to the loaded session: a switch no longer affects
// the session bound before (AS-101).
func (s *suite) isSwitchedInLoaded(ctx context.Context, c *client, of string) error {
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("agent_switched in the session of client %s", of)
	switch {
	case miss != nil:
		return s.Need(miss.Check(expected, "AS-101"))
	case !isSwitch(&rec):
		return s.Need(steps.CheckOf(rec, false, expected, "AS-101"))
	}
	id, _ := c.act.agent.(string)
	s.confirmed(c, id)
	s.Note("the agent of a session that is loaded (open, AS-G07): %s; before it was %s",
		wjson.Compact(field(rec, vocab.PreviousAgentID)), s.client(of).agent)
	expected += ", not in the session that client " + c.name + " had before, which used " + c.avoid
	return s.judgeAgent(steps.CheckOf(rec, field(rec, vocab.PreviousAgentID) != any(c.avoid), expected, "AS-101"))
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
