package agentselect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
)

func (r registry) refusing() {
	r.step(`^client (\w+) is refused$`, func(ctx context.Context, c *client) error { return r.isRefused(ctx, c) })
	r.step(`^client (\w+) is refused with (?:one of )?"([^"]*)"$`,
		func(ctx context.Context, c *client, codes string) error {
			return r.isRefused(ctx, c, strings.Split(codes, ", ")...)
		})
	r.step(`^the refusal of client (\w+) (says|contains|lists|does not list) "([^"]*)"$`, r.refusalTells)
	r.step(`^the refusal of client (\w+) lists the agents that it was offered$`, func(c *client) error {
		return r.refusalTells(c, "has", "availableAgents")
	})
	r.step(`^the agents in the refusal of client (\w+), if any, are those that it was offered$`, func(c *client) error {
		return r.refusalTells(c, "may have", "availableAgents")
	})
	for _, what := range []string{"text", "time"} { // the model has found what there is to say of it
		r.step(`^the `+what+` of the refusal of client (\w+) is recorded$`, func(c *client) error {
			return r.refusalTells(c, "may have", what)
		})
	}
}

// isRefused waits for the refusal of a client's last switch, and reports what the model finds of it. Without codes, any
// of the five is accepted. It counts only if this scenario has shown a legal switch accepted: a target that refuses
// everything proves nothing.
func (s *suite) isRefused(ctx context.Context, c *client, codes ...string) error {
	if len(codes) == 0 {
		codes = vocab.ErrorCodes
	}
	c.refusal = nil // an earlier one says nothing of this switch
	rec, miss := s.outcome(ctx, c, rejection)
	if miss != nil {
		return s.waited(c, model.AnswerTo(c.act.mark), rec, miss)
	}
	s.RecordReach(steps.Answered)
	if !isError(&rec) {
		s.confirmed(c, fmt.Sprint(c.act.agent))
		_ = s.report(rec.N, nil)
		return nil
	}
	if s.accepted == 0 {
		return steps.NotTestedf("no legal switch was accepted in this scenario, so a refusal proves nothing")
	}
	c.refusal = &rec
	return s.isAsTold(rec, contains(codes, codeOf(rec)), "an error event with errorCode "+strings.Join(codes, " or "))
}

func contains(list []string, v string) bool { return slices.Contains(list, v) }

// refusalTells reports what the model finds of a client's last refusal. An availableAgents that is optional may be
// missing.
func (s *suite) refusalTells(c *client, how, want string) error {
	if c.refusal == nil {
		return steps.NotTestedf("client %s was not refused", c.name)
	}
	text, _ := field(*c.refusal, vocab.Message).(string)
	lists := field(*c.refusal, vocab.AvailableAgents)
	listed := hasAgent(agentInfos(lists), want)
	if how == "may have" && lists == nil {
		for _, id := range []string{"AS-072", "AS-075", "AS-086"} {
			s.Observe(id, "no availableAgents, which is optional here")
		}
	}
	met := map[string]bool{"says": text == want, "contains": strings.Contains(text, want), "lists": listed,
		"does not list": !listed, "has": lists != nil, "may have": true}
	return s.isAsTold(*c.refusal, met[how], fmt.Sprintf("a refusal that %s %q", how, want))
}
