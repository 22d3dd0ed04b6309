package agentselect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/features/verdict"
	"parley/internal/jsondiff"
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
	r.step(`^the text of the refusal of client (\w+) is recorded$`, r.busyTextObserved)
	r.step(`^the time of the refusal of client (\w+) is recorded$`, r.refusalTimeObserved)
}

// firstOf are the clauses of codeClauses that ask for each code, and not for the situation in which it comes.
var firstOf = map[string][]string{
	vocab.InvalidAgentID:       {"AS-070"},
	vocab.InvalidAgentIDFormat: {"AS-073"},
	vocab.AgentNotFound:        {"AS-049"},
	vocab.AgentBusy:            {"AS-064", "AS-090"},
	vocab.SessionNotFound:      {"AS-091"},
}

// codeClauses maps each error code to its clauses.
var codeClauses = map[string][]string{
	vocab.InvalidAgentID:       {"AS-070", "AS-087"},
	vocab.InvalidAgentIDFormat: {"AS-073", "AS-076", "AS-079", "AS-080", "AS-088", "AS-126"},
	vocab.AgentNotFound:        {"AS-049", "AS-080", "AC-080"},
	vocab.AgentBusy: {"AS-064", "AS-065", "AS-066", "AS-090", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125",
		"AC-077"},
	vocab.SessionNotFound: {"AS-082", "AS-091", "AS-097", "AS-104", "AS-127"},
}

// isRefused judges a refusal by the error event on the client's own connection. Without codes, any of the five is
// accepted. It counts only if this scenario has shown a legal switch accepted: a target that refuses everything
// proves nothing.
func (s *suite) isRefused(ctx context.Context, c *client, codes ...string) error {
	general := []string{"AS-013", "AS-085"}
	var specific []string
	for _, code := range codes {
		specific = append(specific, codeClauses[code]...)
	}
	if len(codes) > 1 {
		specific = append(specific, "AS-077", "AS-080", "AS-049", "AS-092")
	}
	if len(codes) == 0 {
		codes = vocab.ErrorCodes
	}
	want := "an error event with errorCode " + strings.Join(codes, " or ")
	c.refusal = nil // an earlier one says nothing of this switch
	rec, miss := s.outcome(ctx, c, rejection)
	if miss != nil && miss.NotOwed {
		return s.Need(miss.Check(want, append(specific, general...)...))
	}
	if miss != nil {
		check := miss.Check(want, append(specific, general...)...)
		if breaks := s.whyNotRefused(c, codes); len(breaks) > 0 {
			return s.needNarrow(check, breaks...)
		}
		return s.Need(check)
	}
	s.RecordReach(steps.Answered)
	if !isError(&rec) {
		s.confirmed(c, fmt.Sprint(c.act.agent))
		return s.Judge(steps.CheckOf(rec, false, want, append(append(specific, general...), "AS-053", "AS-054")...))
	}
	if s.accepted == 0 {
		return steps.NotTestedf("no legal switch was accepted in this scenario, so a refusal proves nothing")
	}
	c.refusal = &rec
	c.refusals++
	c.wasBusy = c.wasBusy || codeOf(rec) == vocab.AgentBusy
	err := s.judgeRefusal(c, rec, codes, specific, general, want)
	_ = s.report(rec.N, nil)
	return err
}

func (s *suite) judgeRefusal(c *client, rec transcript.Record, codes, specific, general []string, want string) error {
	code := codeOf(rec)
	formed := model.SwitchError(rec)
	if code == "" { // which refusal it is remains unknown
		for i := range formed {
			formed[i].Clauses = formed[i].Clauses[:1]
		}
	}
	if err := s.judgeFindings(formed); err != nil {
		return err
	}
	right := steps.CheckOf(rec, contains(codes, code), want, specific...)
	right.Diff = jsondiff.Diff(strings.Join(codes, " | "), code)
	if !right.OK && s.shownAlone(switchAfter(c.switches, code)) {
		if breaks := s.breaks(c, code); len(breaks) > 0 {
			return s.needNarrow(right, breaks...)
		}
	}
	coded := steps.CheckOf(rec, code != "", want, general...)
	known := steps.CheckOf(rec, contains(vocab.ErrorCodes, code), "one of the five codes of section 4.2", "AS-092")
	fault, found := firstBreaking(formed, "AS-120")
	if !found || code != "" && !spelt(code, codes) {
		return s.Judge(right, coded, known)
	}
	_ = s.Judge(steps.CheckOf(rec, code != "", want, "AS-085"))
	if len(codes) > 1 {
		_ = s.Judge(steps.CheckOf(rec, false, want, "AS-077"))
	}
	if code == "" {
		_ = s.ExplainedBy(model.ErrorShape, fault, right, coded, known)
		return nil
	}
	asked := known
	for _, one := range codes {
		asked.Clauses = append(asked.Clauses, firstOf[one]...)
	}
	_ = s.Judge(asked, coded)
	_ = s.ExplainedBy(model.ErrorShape, fault, right)
	return nil
}

// spelt reports whether a code is one of some codes in another spelling.
func spelt(code string, codes []string) bool {
	letters := func(text string) string {
		return strings.ToLower(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return r
			}
			return -1
		}, text))
	}
	return slices.ContainsFunc(codes, func(one string) bool { return letters(one) == letters(code) })
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

// busyTextObserved records the text of agent_busy; the documented one is only an example (AC-078).
func (s *suite) busyTextObserved(c *client) error {
	rec, text, err := s.refusal(c)
	if err != nil {
		return err
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AC-078"}, OK: text == "Session has ongoing task", At: rec.N,
		Expected: `message "Session has ongoing task"`, Observed: fmt.Sprintf("message %q", text)})
}

// refusalTimeObserved records whether an error has a timestamp, and its form (AC-083).
func (s *suite) refusalTimeObserved(c *client) error {
	rec, _, err := s.refusal(c)
	if err != nil {
		return err
	}
	v := rec.Event.Timestamp
	if in, ok := wjson.Lookup(rec.Event.Data, "/timestamp"); ok {
		v = in
	}
	text, _ := v.(string)
	return s.Judge(verdict.Finding{Clauses: []string{"AC-083"}, OK: model.ISOTime.MatchString(text), At: rec.N,
		Expected: "a timestamp like 2025-12-30T15:30:00.000Z", Observed: quoted(v)})
}
