package agentselect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

func (r registry) refusing() {
	r.step(`^client (\w+) is refused$`, func(ctx context.Context, c *client) error { return r.isRefused(ctx, c) })
	r.step(`^client (\w+) is refused with (?:one of )?"([^"]*)"$`,
		func(ctx context.Context, c *client, codes string) error {
			return r.isRefused(ctx, c, strings.Split(codes, ", ")...)
		})
	r.step(`^the refusal of client (\w+) says "([^"]*)"$`, r.refusalSays)
	r.step(`^the refusal of client (\w+) contains "([^"]*)"$`, r.refusalContains)
	r.step(`^the refusal of client (\w+) lists the agents that it was offered$`, func(c *client) error {
		return r.refusalLists(c, true)
	})
	r.step(`^the agents in the refusal of client (\w+), if any, are those that it was offered$`, func(c *client) error {
		return r.refusalLists(c, false)
	})
	r.step(`^the refusal of client (\w+) (lists|does not list) "([^"]*)"$`, r.refusalHas)
	for _, what := range []string{"text", "time"} { // the model has found what there is to say of it
		r.step(`^the `+what+` of the refusal of client (\w+) is recorded$`, func(c *client) error {
			_, _, err := r.refusal(c)
			return err
		})
	}
}

// busyClauses are clauses that a refusal as busy tests, beside those that the model judges by it.
var busyClauses = []string{"AS-064", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125"}

// isRefused waits for the refusal of a client's last switch, and reports what the model finds of it. Without codes, any
// of the five is accepted. It counts only if this scenario has shown a legal switch accepted: a target that refuses
// everything proves nothing.
func (s *suite) isRefused(ctx context.Context, c *client, codes ...string) error {
	var own []string
	switch {
	case len(codes) == 0:
		codes = vocab.ErrorCodes
	case slices.Equal(codes, []string{vocab.AgentBusy}):
		own = busyClauses
	}
	want := "an error event with errorCode " + strings.Join(codes, " or ")
	c.refusal = nil // an earlier one says nothing of this switch
	rec, miss := s.outcome(ctx, c, rejection)
	if miss != nil {
		err, check := s.waited(c, model.AnswerTo(c.act.mark), rec, miss), miss.Check(want, own...)
		switch {
		case own == nil:
			return err
		case s.BrokenOff(miss) || s.withOthers(c) || s.othersBusy(c): // it may have gone to somebody else
			return cmp.Or(s.Need(check), err)
		}
		return cmp.Or(s.needNarrow(check, "AS-013", "AS-064"), err)
	}
	s.RecordReach(steps.Answered)
	code := codeOf(rec)
	if !isError(&rec) {
		s.confirmed(c, fmt.Sprint(c.act.agent))
		_ = s.Judge(steps.CheckOf(rec, false, want, append([]string{"AS-053", "AS-054"}, own...)...))
		_ = s.report(rec.N, nil)
		return nil
	}
	if s.accepted == 0 {
		return steps.NotTestedf("no legal switch was accepted in this scenario, so a refusal proves nothing")
	}
	c.refusal = &rec
	c.refusals++
	c.wasBusy = c.wasBusy || code == vocab.AgentBusy
	right := steps.CheckOf(rec, contains(codes, code), want, own...)
	if breaks := s.breaks(c, code); !right.OK && s.shownAlone(switchAfter(c.switches, code)) && len(breaks) > 0 {
		s.leaves(rec.N, breaks...)
		breaks = slices.DeleteFunc(breaks, s.byModel)
		right.Clauses = append(right.Clauses, breaks...)
		return s.needNarrow(right, breaks...)
	}
	_ = s.Judge(right)
	return s.isAsTold(rec, right.OK, want)
}

func contains(list []string, v string) bool { return slices.Contains(list, v) }

// refusal returns a client's last refusal and its text.
func (s *suite) refusal(c *client) (rec transcript.Record, text string, err error) {
	if c.refusal == nil {
		return rec, "", steps.NotTestedf("client %s was not refused", c.name)
	}
	text, _ = field(*c.refusal, vocab.Message).(string)
	return *c.refusal, text, nil
}

func (s *suite) refusalSays(c *client, want string) error {
	rec, text, err := s.refusal(c)
	if err != nil {
		return err
	}
	return s.isAsTold(rec, text == want, fmt.Sprintf("message %q", want))
}

func (s *suite) refusalContains(c *client, want string) error {
	rec, text, err := s.refusal(c)
	if err != nil {
		return err
	}
	return s.isAsTold(rec, strings.Contains(text, want), fmt.Sprintf("a message that contains %q", want))
}

// refusalLists reports what the model finds of the agents of a refusal. If the list is optional, it may be missing.
func (s *suite) refusalLists(c *client, required bool) error {
	rec, _, err := s.refusal(c)
	if err != nil {
		return err
	}
	_, present := wjson.Lookup(rec.Event.Data, "/"+vocab.AvailableAgents)
	if !present && !required {
		for _, id := range []string{"AS-072", "AS-075", "AS-086"} {
			s.Observe(id, "no availableAgents, which is optional here")
		}
	}
	return s.isAsTold(rec, present || !required, "availableAgents")
}

func (s *suite) refusalHas(c *client, how, id string) error {
	rec, _, err := s.refusal(c)
	if err != nil {
		return err
	}
	has := hasAgent(agentInfos(field(rec, vocab.AvailableAgents)), id)
	want := "availableAgents with " + id
	if how == "does not list" {
		has, want = !has, "availableAgents without "+id
	}
	return s.isAsTold(rec, has, want)
}
