package agentselect

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/cucumber/godog"
	"github.com/google/go-cmp/cmp"

	judge "parley/monitor/agentselect"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
	wjson "parley/wire/json"
)

func (s *suite) registerRefusing(sc *godog.ScenarioContext) {
	steps.Step(sc, `^client (\w+) is refused$`, func(ctx context.Context, name string) error { return s.isRefused(ctx, name) })
	steps.Step(sc, `^client (\w+) is refused with "(\w+)"$`, func(ctx context.Context, name, code string) error {
		return s.isRefused(ctx, name, code)
	})
	steps.Step(sc, `^client (\w+) is refused with one of "([^"]*)"$`, func(ctx context.Context, name, codes string) error {
		return s.isRefused(ctx, name, strings.Split(codes, ", ")...)
	})
	steps.Step(sc, `^the refusal of client (\w+) says "([^"]*)"$`, s.refusalSays)
	steps.Step(sc, `^the refusal of client (\w+) contains "([^"]*)"$`, s.refusalContains)
	steps.Step(sc, `^the refusal of client (\w+) lists the agents that it was offered$`, func(name string) error {
		return s.refusalLists(name, true)
	})
	steps.Step(sc, `^the agents in the refusal of client (\w+), if any, are those that it was offered$`, func(name string) error {
		return s.refusalLists(name, false)
	})
	steps.Step(sc, `^the refusal of client (\w+) lists "([^"]*)"$`, func(name, id string) error { return s.refusalHas(name, id, true) })
	steps.Step(sc, `^the refusal of client (\w+) does not list "([^"]*)"$`, func(name, id string) error { return s.refusalHas(name, id, false) })
	steps.Step(sc, `^the text of the refusal of client (\w+) is observed$`, s.busyTextObserved)
	steps.Step(sc, `^the time of the refusal of client (\w+) is observed$`, s.refusalTimeObserved)
}

// codeClauses are the clauses that speak of one error code.
var codeClauses = map[string][]string{
	vocab.InvalidAgentID:       {"AS-070", "AS-087"},
	vocab.InvalidAgentIDFormat: {"AS-073", "AS-076", "AS-079", "AS-080", "AS-088", "AS-126"},
	vocab.AgentNotFound:        {"AS-049", "AS-080", "AS-089", "AC-080"},
	vocab.AgentBusy:            {"AS-064", "AS-065", "AS-066", "AS-090", "AS-109", "AS-110", "AS-111", "AS-112", "AS-125", "AC-077"},
	vocab.SessionNotFound:      {"AS-082", "AS-091", "AS-097", "AS-104", "AS-127"},
}

// isRefused judges a refusal by the error event on the client's own connection. With no code any of the five will do.
// It counts only where this scenario has shown a legal switch accepted: a target that refuses everything refuses
// nothing in particular.
func (s *suite) isRefused(ctx context.Context, name string, codes ...string) error {
	c := s.client(name)
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
	rec, miss := s.outcome(ctx, c, rejection)
	if miss != nil {
		return s.Need(steps.Check{Clauses: append(specific, general...), Expected: want, Observed: miss.Reason, At: miss.At})
	}
	s.Reached(steps.Answered)
	if rec.Event.Type != vocab.ErrorEvent {
		s.confirmed(c, fmt.Sprint(c.act.agent))
		return s.Judge(steps.Check{Clauses: append(append(specific, general...), "AS-053", "AS-054"), Expected: want, Observed: steps.Seen(rec), At: rec.N})
	}
	if s.accepted == 0 {
		return steps.NotTestedf("no legal switch was accepted in this scenario, so a refusal says nothing")
	}
	c.refusal = &rec
	c.refusals++
	c.wasBusy = c.wasBusy || codeOf(rec) == vocab.AgentBusy
	return s.judgeRefusal(rec, codes, specific, general, want)
}

func (s *suite) judgeRefusal(rec transcript.Record, codes, specific, general []string, want string) error {
	code := codeOf(rec)
	known := contains(vocab.ErrorCodes, code)
	right := contains(codes, code)
	observed := steps.Seen(rec)
	if err := s.judgeFindings(judge.SwitchError(rec)); err != nil {
		return err
	}
	return s.Judge(
		steps.Check{Clauses: specific, OK: right, Expected: want, Observed: observed, Diff: cmp.Diff(strings.Join(codes, " | "), code), At: rec.N},
		steps.Check{Clauses: general, OK: code != "", Expected: want, Observed: observed, At: rec.N},
		steps.Check{Clauses: []string{"AS-092"}, OK: known, Expected: "one of the five codes of section 4.2", Observed: observed, At: rec.N},
	)
}

func contains(list []string, v string) bool {
	for _, e := range list {
		if e == v {
			return true
		}
	}
	return false
}

// textOf is the message of a client's last refusal.
func (s *suite) textOf(name string) (transcript.Record, string, error) {
	c := s.client(name)
	if c.refusal == nil {
		return transcript.Record{}, "", steps.NotTestedf("client %s was not refused", name)
	}
	v, _ := wjson.Lookup(c.refusal.Event.Data, "/message")
	text, _ := v.(string)
	return *c.refusal, text, nil
}

func (s *suite) refusalSays(name, want string) error {
	rec, text, err := s.textOf(name)
	if err != nil {
		return err
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-071", "AS-074"}, OK: text == want, Expected: fmt.Sprintf("message %q", want),
		Observed: steps.Seen(rec), Diff: cmp.Diff(want, text), At: rec.N})
}

func (s *suite) refusalContains(name, want string) error {
	rec, text, err := s.textOf(name)
	if err != nil {
		return err
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-050", "AC-115", "AC-081"}, OK: strings.Contains(text, want),
		Expected: fmt.Sprintf("a message that contains %q", want), Observed: steps.Seen(rec), At: rec.N})
}

// refusalLists holds the agents of a refusal against those that the client was offered when it connected: nothing has
// changed the configuration since. Where the list is optional, none is fine.
func (s *suite) refusalLists(name string, required bool) error {
	rec, _, err := s.textOf(name)
	if err != nil {
		return err
	}
	clauses := []string{"AS-014", "AS-051", "AS-052", "AS-089", "AS-124", "AS-129", "AS-072", "AS-075", "AS-122"}
	v, present := wjson.Lookup(rec.Event.Data, "/availableAgents")
	if !present && !required {
		for _, id := range []string{"AS-072", "AS-075", "AS-086"} {
			s.Observe(id, "no availableAgents, which is optional here")
		}
		return s.Judge(steps.Check{Clauses: []string{"AS-124", "AS-122"}, OK: true})
	}
	if err := s.judgeFindings(judge.AvailableAgents(rec)); err != nil {
		return err
	}
	got, want := ids(agentInfos(v)), ids(s.client(name).offered)
	return s.Judge(
		steps.Check{Clauses: clauses, OK: present && cmp.Equal(want, got), Expected: "availableAgents with the agents of agent_list",
			Observed: steps.Seen(rec), Diff: cmp.Diff(want, got), At: rec.N},
		steps.Check{Clauses: []string{"AS-086"}, OK: true},
	)
}

// ids lists agents by id, sorted: no clause states an order.
func ids(list []vocab.AgentInfo) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.ID
	}
	sort.Strings(out)
	return out
}

func (s *suite) refusalHas(name, id string, want bool) error {
	rec, _, err := s.textOf(name)
	if err != nil {
		return err
	}
	v, present := wjson.Lookup(rec.Event.Data, "/availableAgents")
	_, has := find(agentInfos(v), id)
	expected := "availableAgents with " + id
	if !want {
		expected = "availableAgents without " + id
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-052", "AS-051", "AC-082"}, OK: present && has == want, Expected: expected, Observed: steps.Seen(rec), At: rec.N})
}

// busyTextObserved records the text of agent_busy; the one that a document mentions is an example (AC-078).
func (s *suite) busyTextObserved(name string) error {
	rec, text, err := s.textOf(name)
	if err != nil {
		return err
	}
	return s.Judge(steps.Check{Clauses: []string{"AC-078"}, OK: text == "Session has ongoing task", Expected: `message "Session has ongoing task"`, Observed: fmt.Sprintf("message %q", text), At: rec.N})
}

// refusalTimeObserved records whether an error bears a time, and in which form (AC-083).
func (s *suite) refusalTimeObserved(name string) error {
	rec, _, err := s.textOf(name)
	if err != nil {
		return err
	}
	v := rec.Event.Timestamp
	if in, ok := wjson.Lookup(rec.Event.Data, "/timestamp"); ok {
		v = in
	}
	text, _ := v.(string)
	return s.Judge(steps.Check{Clauses: []string{"AC-083"}, OK: judge.ISOTime.MatchString(text), Expected: "a timestamp like 2025-12-30T15:30:00.000Z", Observed: quoted(v), At: rec.N})
}
