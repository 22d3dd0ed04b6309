package agentselect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"
	"github.com/google/go-cmp/cmp"

	"parley/internal/stall"
	judge "parley/monitor/agentselect"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerSwitching(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) has switched to `+agentRef+`$`, s.hasSwitched)
	steps.Step(sc, `^client (\w+) switches to `+agentRef+`$`, s.switches)
	steps.Step(sc, `^client (\w+), once idle, switches to `+agentRef+`$`, s.switchesOnceIdle)
	steps.Step(sc, `^client (\w+) switches its session to `+agentRef+`$`, s.switchesNamed)
	steps.Step(sc, `^client (\w+) switches the session "([^"]*)" to "([^"]*)"$`, s.switchesSession)
	steps.Step(sc, `^client (\w+) switches to the agent id (.+)$`, s.switchesRaw)
	steps.Step(sc, `^client (\w+) switches to a legal id of (\d+) characters$`, s.switchesLong)
	steps.Step(sc, `^client (\w+) switches without an agent id$`, s.switchesWithout)
	steps.Step(sc, `^client (\w+) switches to "([^"]*)" with the extra fields (.+)$`, s.switchesExtra)
	steps.Step(sc, `^client (\w+) is switched from `+agentRef+` to `+agentRef+`$`, s.isSwitched)
	steps.Step(sc, `^client (\w+) is switched to `+agentRef+`$`, func(ctx context.Context, name, to string) error {
		return s.isSwitched(ctx, name, "", to)
	})
	steps.Step(sc, `^client (\w+) is switched in the session of client (\w+)$`, s.isSwitchedInLoaded)
	steps.Step(sc, `^client (\w+) can switch to every agent that it was offered$`, s.canSwitchToAll)
	steps.Step(sc, `^what client (\w+) hears of it is observed$`, s.whateverHeard)
}

// sendSwitch sends switch_agent as a client's act and moves the mark.
func (s *suite) sendSwitch(ctx context.Context, c *client, f fields, a act) (int, error) {
	if s.Env.Profile.AgentSelect.Correlation.Single && !a.stranger && f["sessionId"] == nil && c.session != "" && s.othersConnected(c) {
		f["sessionId"], a.named = c.session, true
		s.Note("client %s names its session: the target cannot tell connections apart (correlation: single)", c.name)
	}
	mark, err := s.send(ctx, c, vocab.SwitchAgentType, f)
	if err != nil {
		return 0, err
	}
	a.mark, a.kind, a.agent = mark, vocab.SwitchAgentType, f["agentId"]
	c.act, s.mark, s.actor = a, mark, c
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

// switches sends a switch without a session id: the connection's own session is meant.
func (s *suite) switches(ctx context.Context, name, ref string) error {
	c := s.client(name)
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	_, err = s.sendSwitch(ctx, c, fields{"agentId": id}, act{stranger: c.session == ""})
	return err
}

func (s *suite) switchesNamed(ctx context.Context, name, ref string) error {
	c := s.client(name)
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	_, err = s.sendSwitch(ctx, c, fields{"agentId": id, "sessionId": c.session}, act{named: true})
	return err
}

func (s *suite) switchesSession(ctx context.Context, name, session, id string) error {
	_, err := s.sendSwitch(ctx, s.client(name), fields{"agentId": id, "sessionId": session}, act{named: true, elsewhere: true})
	return err
}

func (s *suite) switchesRaw(ctx context.Context, name, literal string) error {
	if !json.Valid([]byte(literal)) {
		return fmt.Errorf("the agent id of this step is no JSON: %s", literal)
	}
	_, err := s.sendSwitch(ctx, s.client(name), fields{"agentId": raw(literal)}, act{})
	return err
}

func (s *suite) switchesLong(ctx context.Context, name string, n int) error {
	_, err := s.sendSwitch(ctx, s.client(name), fields{"agentId": strings.Repeat("a-b_", n/4)}, act{})
	return err
}

func (s *suite) switchesWithout(ctx context.Context, name string) error {
	_, err := s.sendSwitch(ctx, s.client(name), fields{}, act{})
	return err
}

func (s *suite) switchesExtra(ctx context.Context, name, id, extra string) error {
	f := fields{}
	var more map[string]raw
	if err := json.Unmarshal([]byte(extra), &more); err != nil {
		return fmt.Errorf("the extra fields of this step are no JSON object: %w", err)
	}
	for k, v := range more {
		f[k] = v
	}
	f["agentId"] = id
	_, err := s.sendSwitch(ctx, s.client(name), f, act{})
	return err
}

// hasSwitched brings a client to an agent, as a precondition: it judges nothing.
func (s *suite) hasSwitched(ctx context.Context, name, ref string) error {
	c := s.client(name)
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	if err := s.withSession(ctx, c); err != nil {
		return err
	}
	if err := s.switchIdle(ctx, c, id); err != nil {
		return err
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	switch {
	case miss != nil:
		return steps.NotTestedf("client %s could not switch to %q: %s", name, id, miss.Reason)
	case rec.Event.Type != vocab.AgentSwitchedEvent:
		return steps.NotTestedf("client %s could not switch to %q: %s", name, id, steps.Seen(rec))
	}
	s.confirmed(c, id)
	return nil
}

// confirmed notes a switch that the target has confirmed.
func (s *suite) confirmed(c *client, id string) {
	c.agent, c.refusals, c.unjudged, c.wasBusy, c.aborted = id, 0, 0, false, false
	c.switches++
	s.accepted++
}

func (s *suite) switchesOnceIdle(ctx context.Context, name, ref string) error {
	id, err := s.agentID(ref)
	if err != nil {
		return err
	}
	return s.switchIdle(ctx, s.client(name), id)
}

// switchIdle sends a switch, and again while the session is still busy, until the event limit: that a target needs a
// moment to end a turn is legal (AC-124). The last attempt's answer is left for the step that follows.
func (s *suite) switchIdle(ctx context.Context, c *client, id string) error {
	deadline := stall.In(s.Limit(s.Env.Event()))
	pause := 5 * time.Millisecond
	for {
		if _, err := s.sendSwitch(ctx, c, fields{"agentId": id}, act{}); err != nil {
			return err
		}
		rec, miss := s.outcome(ctx, c, confirmation)
		if miss != nil || codeOf(rec) != vocab.AgentBusy {
			return nil
		}
		if deadline.Over() {
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

// pace waits for the end of the client's turn, and no longer than the pause between two attempts.
func (s *suite) pace(ctx context.Context, c *client, mark int, pause time.Duration) {
	ctx, cancel := stall.WithLimit(ctx, pause)
	defer cancel()
	_, _ = s.T.Await(ctx, mark, func(r *transcript.Record) bool {
		return r.Conn == c.name && isEvent(vocab.CompleteEvent)(r)
	})
}

func codeOf(r transcript.Record) string {
	if r.Event == nil {
		return ""
	}
	v, _ := wjson.Lookup(r.Event.Data, "/errorCode")
	code, _ := v.(string)
	return code
}

// isSwitched judges a switch by what the client is told on its own connection.
func (s *suite) isSwitched(ctx context.Context, name, fromRef, toRef string) error {
	c := s.client(name)
	to, err := s.agentID(toRef)
	if err != nil {
		return err
	}
	from := ""
	if fromRef != "" {
		if from, err = s.agentID(fromRef); err != nil {
			return err
		}
	}
	return s.switchedTo(ctx, c, from, to)
}

// switchedTo judges the answer to a client's last switch. An empty from is not compared.
func (s *suite) switchedTo(ctx context.Context, c *client, from, to string) error {
	claims := s.claims(c)
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("agent_switched to %q on the connection of client %s", to, c.name)
	arrival := append(append([]string{}, always...), claims...)
	if miss == nil || miss.At > 0 {
		s.Reached(steps.Answered) // the target has said something, right or wrong
	}
	if miss != nil {
		return s.Need(steps.Check{Clauses: arrival, Expected: expected, Observed: miss.Reason, At: miss.At})
	}
	if rec.Event.Type != vocab.AgentSwitchedEvent {
		return s.Need(steps.Check{Clauses: arrival, Expected: expected, Observed: steps.Seen(rec), At: rec.N})
	}
	if err := s.judgeFindings(judge.Switched(rec)); err != nil {
		return err
	}
	if err := s.movedByRefusal(ctx, c, rec, from, to); err != nil {
		return err
	}
	return s.judgeSwitched(c, rec, from, to, claims)
}

// movedByRefusal takes note of a confirmed switch, and where it came from elsewhere than it should, looks whether it was a refused
// switch of the client's own, such as a fence, that had changed its agent: that breaks AS-053, and then nothing can be said of what
// else might have changed it. It tries a refusal alone, from an agent that the refused one did not leave.
func (s *suite) movedByRefusal(ctx context.Context, c *client, rec transcript.Record, from, to string) error {
	refused := c.refusals + c.unjudged
	s.confirmed(c, to)
	previous, _ := wjson.Lookup(rec.Event.Data, "/previousAgentId")
	if from == "" || previous == any(from) || refused == 0 {
		return nil
	}
	start := slices.DeleteFunc(slices.Clone(vocab.BuiltinIDs), func(id string) bool { return any(id) == previous || id == to })[0]
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
	return s.Need(steps.Check{Clauses: []string{"AS-053"}, At: rec.N,
		Expected: fmt.Sprintf("client %s still at %q after its refused switch", c.name, from),
		Observed: fmt.Sprintf("%s; tried again, a refused switch led from %q to %s", steps.Seen(rec), start, quoted(left))})
}

// comesFrom switches a client and returns where its session came from, nil if it was not switched.
func (s *suite) comesFrom(ctx context.Context, c *client, to string, named bool) any {
	f := fields{"agentId": to}
	if named {
		f["sessionId"] = c.session
	}
	if _, err := s.sendSwitch(ctx, c, f, act{named: named}); err != nil {
		return nil
	}
	rec, miss := s.outcome(ctx, c, confirmation)
	if miss != nil || rec.Event.Type != vocab.AgentSwitchedEvent {
		return nil
	}
	previous, _ := wjson.Lookup(rec.Event.Data, "/previousAgentId")
	return previous
}

// judgeSwitched compares agent_switched with what it must say.
func (s *suite) judgeSwitched(c *client, rec transcript.Record, from, to string, claims []string) error {
	want := map[string]any{"currentAgentId": to}
	if from != "" {
		want["previousAgentId"] = from
	}
	if name, ok := s.nameOf(c, to); ok {
		want["agentName"] = name
	}
	got := map[string]any{}
	for k := range want {
		if v, ok := wjson.Lookup(rec.Event.Data, "/"+k); ok {
			got[k] = v
		}
	}
	diff := cmp.Diff(want, got)
	about := map[string][]string{
		"currentAgentId": append([]string{"AS-044"}, claims...), "agentName": {"AS-045"},
		"previousAgentId": append([]string{"AS-043"}, claims...),
	}
	checks := []steps.Check{{Clauses: append(append([]string{}, always...), claims...), OK: true}}
	for key, w := range want {
		if custom, err := s.custom(); key == "agentName" && err == nil && to == custom.ID {
			about[key] = append(about[key], "AS-046")
		}
		check := steps.Check{Clauses: about[key], OK: wjson.Equal(w, got[key]), At: rec.N,
			Expected: fmt.Sprintf("%s %s", key, quoted(w)), Observed: steps.Seen(rec), Diff: diff}
		checks = append(checks, check)
	}
	return s.Judge(checks...)
}

// isSwitchedInLoaded judges that loading has bound the connection to the loaded session: a switch no longer speaks of
// the session that was bound before (AS-101).
func (s *suite) isSwitchedInLoaded(ctx context.Context, name, of string) error {
	c := s.client(name)
	rec, miss := s.outcome(ctx, c, confirmation)
	expected := fmt.Sprintf("agent_switched in the session of client %s", of)
	if miss != nil || rec.Event.Type != vocab.AgentSwitchedEvent {
		seen, at := "", 0
		if miss != nil {
			seen, at = miss.Reason, miss.At
		} else {
			seen, at = steps.Seen(rec), rec.N
		}
		return s.Need(steps.Check{Clauses: []string{"AS-101"}, Expected: expected, Observed: seen, At: at})
	}
	previous, _ := wjson.Lookup(rec.Event.Data, "/previousAgentId")
	id, _ := c.act.agent.(string)
	s.confirmed(c, id)
	return s.Judge(steps.Check{Clauses: []string{"AS-101"}, OK: previous != any(c.avoid), At: rec.N,
		Expected: expected + ", not in the session that client " + name + " had before, which used " + c.avoid, Observed: steps.Seen(rec)})
}

// canSwitchToAll switches to every agent of the list, the one in use last: what switching to that does is open (AS-G04).
func (s *suite) canSwitchToAll(ctx context.Context, name string) error {
	c := s.client(name)
	var order []string
	for _, a := range c.offered {
		if a.ID != s.Env.Profile.Agents.Default {
			order = append(order, a.ID)
		}
	}
	if len(order) == 0 {
		return steps.NotTestedf("client %s was offered no agent but the default one", name)
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

// whateverHeard records what a target does where no document says what it should (AS-G04).
func (s *suite) whateverHeard(ctx context.Context, name string) error {
	c := s.client(name)
	rec, miss := s.outcome(ctx, c, whichever)
	if miss != nil {
		s.Note("switching to the agent in use: %s", miss.Reason)
		return nil
	}
	s.Note("switching to the agent in use: %s", steps.Seen(rec))
	if rec.Event.Type == vocab.AgentSwitchedEvent {
		s.accepted++
	}
	return nil
}
