package agentclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/driver/browser/look"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

// never is the time of an event that gives none.
var never time.Time

func (s *suite) registerSwitching(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the user chooses "([^"]*)"$`, func(ctx context.Context, name string) error { return s.chooses(ctx, s.now.called(name)) })
	steps.Step(sc, `^the user chooses the agent "([^"]*)"$`, func(ctx context.Context, id string) error { return s.chooses(ctx, s.now.called(nameOf(id))) })
	steps.Step(sc, `^the server switches to it$`, func(ctx context.Context) error {
		return s.switches(ctx, s.now.current, s.now.chosen, s.now.chosen.name, nil)
	})
	steps.Step(sc, `^the user chooses it$`, func(ctx context.Context) error { return s.chooses(ctx, s.now.chosen) })
	steps.Step(sc, `^the user looks through the selector and leaves "([^"]*)"$`, s.looksThrough)
	steps.Step(sc, `^the page asks to switch to (?:"([^"]*)"|it)$`, s.asksToSwitch)
	steps.Step(sc, `^it has asked for no switch$`, func(context.Context) error { return s.noSwitch() })
	steps.Step(sc, `^it has asked for no other switch$`, func(context.Context) error { return s.noOtherSwitch() })
	steps.Step(sc, `^the page has switched to "([^"]*)"$`, s.hasSwitched)

	steps.Step(sc, `^the server switches to "([^"]*)"$`, func(ctx context.Context, name string) error {
		a := s.now.called(name)
		return s.switches(ctx, s.now.current, a, a.name, nil)
	})
	steps.Step(sc, `^the server switches to "([^"]*)", and gives no time$`, s.switchesWithoutTime)
	steps.Step(sc, `^the server switches to "([^"]*)" with more in it than the document has$`, func(ctx context.Context, name string) error {
		a := s.now.called(name)
		return s.switches(ctx, s.now.current, a, a.name, fields{"reason": "user", "session": fields{"id": "x"}, "seq": 7})
	})
	steps.Step(sc, `^the server switches to "([^"]*)" by the name "(.*)"$`, func(ctx context.Context, name, as string) error {
		return s.switches(ctx, s.now.current, s.now.called(name), s.armed(as), nil)
	})
	steps.Step(sc, `^the server switches from (the agent )?"([^"]*)" to "([^"]*)"$`, func(ctx context.Context, byID, from, to string) error {
		if byID == "" {
			from = s.now.called(from).id
		}
		a := s.now.called(to)
		return s.switches(ctx, from, a, a.name, nil)
	})
	steps.Step(sc, `^the server refuses with "([^"]*)"$`, func(ctx context.Context, code string) error { return s.refuses(ctx, code, "", s.now.agents) })
	steps.Step(sc, `^the server refuses with "([^"]*)" and the message "(.*)"$`, func(ctx context.Context, code, text string) error {
		return s.refuses(ctx, code, text, s.now.agents)
	})
	steps.Step(sc, `^the server refuses with "agent_not_found", and has (.*)$`, func(ctx context.Context, names string) error {
		if names == "no agents" {
			return s.refuses(ctx, vocab.AgentNotFound, "", []agent{})
		}
		return s.refuses(ctx, vocab.AgentNotFound, "", s.now.those(names))
	})
	steps.Step(sc, `^the server refuses with "agent_not_found", and gives no list$`, func(ctx context.Context) error {
		return s.refuses(ctx, vocab.AgentNotFound, "", nil)
	})

	steps.Step(sc, `^the selector looks busy$`, func(ctx context.Context) error { return s.looksBusy(ctx, s.sees) })
	steps.Step(sc, `^the selector still looks busy$`, func(ctx context.Context) error { return s.looksBusy(ctx, s.keeps) })
	steps.Step(sc, `^the selector looks busy no more$`, s.looksIdle)
}

// chooses has the user choose an agent, with a session or without one.
func (s *suite) chooses(ctx context.Context, a agent) error {
	p := s.now
	s.offers(ctx, p, a)
	option := s.optionOf(p, a)
	if p.session == "" && p.preselect == 0 {
		p.preselect = s.T.Len()
	}
	p.rest, _ = s.latest(p)
	p.marks = nil
	p.chosen = a
	clauses := []string{"AC-008", "AC-012", "AC-033", "AC-053", "AC-039", "AC-040", "AC-054", "AC-094"}
	if err := s.does(ctx, p, fmt.Sprintf("the user chooses %q", a.name), fields{"do": "choose", "on": selector, "value": option}, clauses...); err != nil {
		return err
	}
	if p.session == "" {
		s.settle(ctx, p)
	}
	return nil
}

// offers waits until an agent can be chosen: what makes it so may still be on its way to the page.
func (s *suite) offers(ctx context.Context, p *page, a agent) {
	offered := func(l *look.Look) bool {
		return !l.Select.Disabled && slices.ContainsFunc(l.Select.Options, func(o look.Option) bool { return !o.Disabled && contains(o.Text, a.name) })
	}
	l, at := s.latest(p)
	if l != nil && offered(l) {
		return
	}
	_, _ = s.awaitSight(ctx, p, steps.Wait{Conn: p.name, After: at, Match: func(r *transcript.Record) bool {
		l := lookOf(r, p)
		return l != nil && offered(l)
	}})
}

// optionOf is the text of an agent's option, which may show more than its name.
func (s *suite) optionOf(p *page, a agent) string {
	if l, _ := s.latest(p); l != nil {
		best := ""
		for _, o := range l.Select.Options {
			if contains(o.Text, a.name) && (best == "" || len(o.Text) < len(best)) {
				best = o.Text
			}
		}
		if best != "" {
			return best
		}
	}
	return a.name
}

// looksThrough opens the selector and closes it without a choice.
func (s *suite) looksThrough(ctx context.Context, name string) error {
	p := s.now
	return s.does(ctx, p, "the user looks through the selector", fields{"do": "choose", "on": selector, "value": s.optionOf(p, p.called(name))})
}

func (s *suite) asksToSwitch(ctx context.Context, name string) error {
	p := s.now
	a := p.chosen
	if name != "" {
		a = p.called(name)
	}
	sending := []string{"AC-008", "AC-012", "AC-033", "AC-046", "AC-050", "AC-053", "AC-079", "AC-124"}
	r, miss := s.awaits(ctx, p, vocab.SwitchAgentType, p.act-1)
	if miss != nil {
		return s.Need(steps.Check{Clauses: append(sending, "AC-045", "AC-051", "AC-055", "AC-056", "AC-116", "AC-117"), At: p.act,
			Expected: fmt.Sprintf("a %s for %q (%s)", vocab.SwitchAgentType, a.id, s.wire.SSE.Message.Path), Observed: miss.Reason})
	}
	p.asks++
	s.Reached(steps.Answered)
	if err := s.Judge(steps.Check{Clauses: append(sending, "AC-056", "AC-117"), OK: true}); err != nil {
		return err
	}
	for _, rec := range s.T.After(p.act) {
		if rec.N < r.N && rec.Conn == p.name && rec.Kind == transcript.Dialog && rec.Type != "alert" {
			if err := s.Judge(steps.Check{Clauses: []string{"AC-033"}, Expected: "a switch that needs no more than a choice",
				Observed: fmt.Sprintf("a %s that asks %q", rec.Type, clip(string(rec.Bytes))), At: rec.N}); err != nil {
				return err
			}
		}
	}
	d := data(r)
	if err := s.Judge(steps.Check{Clauses: []string{"AC-045", "AC-050", "AC-012"}, OK: d["agentId"] == a.id,
		Expected: fmt.Sprintf("a %s whose agentId is %q", vocab.SwitchAgentType, a.id), Observed: steps.Seen(r), At: r.N}); err != nil {
		return err
	}
	return s.Judge(steps.Check{Clauses: []string{"AC-045", "AC-051", "AC-055", "AC-116", "AC-017"}, OK: d["sessionId"] == p.session,
		Expected: fmt.Sprintf("a %s whose sessionId is %q, that of the page's session", vocab.SwitchAgentType, p.session), Observed: steps.Seen(r), At: r.N})
}

// noSwitch: up to a later request of the page, which a scenario has awaited, there was none. What was made before it has been
// told, in order, by the browser.
func (s *suite) noSwitch() error {
	p := s.now
	clauses := []string{"AC-042", "AC-054", "AC-056", "AC-095", "AC-039", "AC-041"}
	for _, found := range [][]transcript.Record{s.asksOf(p, vocab.SwitchAgentType, 0), s.requests(p, vocab.SwitchAgentType, 0, 0)} {
		for _, r := range found {
			return s.Need(steps.Check{Clauses: clauses, Expected: "no " + vocab.SwitchAgentType + " without a session", Observed: steps.Seen(r), At: r.N})
		}
	}
	if len(s.requests(p, askCreate, p.preselect, 0)) == 0 {
		return steps.NotTestedf("fence: no later request of the page was seen, so absence cannot be proved")
	}
	return s.Judge(steps.Check{Clauses: clauses, OK: true})
}

// noOtherSwitch: those that the scenario has awaited were all.
func (s *suite) noOtherSwitch() error {
	p := s.now
	found := s.requests(p, vocab.SwitchAgentType, 0, 0)
	if asked := s.asksOf(p, vocab.SwitchAgentType, 0); len(asked) > len(found) {
		found = asked
	}
	c := steps.Check{Clauses: []string{"AC-052"}, OK: len(found) <= p.asks, Expected: fmt.Sprintf("%d requests to switch, one for each choice", p.asks)}
	if !c.OK {
		last := found[len(found)-1]
		c.Observed, c.At = fmt.Sprintf("%d, the last of them: %s", len(found), steps.Seen(last)), last.N
	}
	return s.Judge(c)
}

func (s *suite) hasSwitched(ctx context.Context, name string) error {
	p := s.now
	a := p.called(name)
	if err := s.chooses(ctx, a); err != nil {
		return err
	}
	if err := s.asksToSwitch(ctx, name); err != nil {
		return err
	}
	if err := s.switches(ctx, p.current, a, a.name, nil); err != nil {
		return err
	}
	_, err := s.saw(ctx, p, fmt.Sprintf("%q selected", name), nil, func(l *look.Look) string {
		if i := slices.IndexFunc(l.Select.Options, func(o look.Option) bool { return o.Selected && contains(o.Text, name) }); i >= 0 && !l.Select.Disabled {
			return ""
		}
		return "the options are " + options(l)
	})
	return err
}

// switches sends an agent_switched.
func (s *suite) switches(ctx context.Context, from string, to agent, name string, more fields) error {
	s.clock(s.now)
	return s.switchesAt(ctx, from, to, name, more)
}

func (s *suite) switchesAt(ctx context.Context, from string, to agent, name string, more fields) error {
	d := fields{"previousAgentId": from, "currentAgentId": to.id, "agentName": name}
	for k, v := range more {
		d[k] = v
	}
	s.settle(ctx, s.now) // what the page shows of its own request is not taken for what it shows of the event
	if err := s.emit(ctx, s.now, vocab.AgentSwitchedEvent, d); err != nil {
		return err
	}
	s.now.current = to.id
	return nil
}

func (s *suite) switchesWithoutTime(ctx context.Context, name string) error {
	s.now.at = never
	a := s.now.called(name)
	return s.switchesAt(ctx, s.now.current, a, a.name, nil)
}

// refuses sends an error. Only agent_not_found has a list, nil for none.
func (s *suite) refuses(ctx context.Context, code, text string, available []agent) error {
	p := s.now
	s.clock(p)
	if text == "" {
		text = map[string]string{
			vocab.InvalidAgentID: vocab.EmptyIDText, vocab.InvalidAgentIDFormat: vocab.FormatIDText, vocab.AgentNotFound: "Agent not found: " + p.chosen.id,
			vocab.AgentBusy: "Session has ongoing task", vocab.SessionNotFound: "Session not found",
		}[code]
	}
	p.refusal = s.armed(text)
	d := fields{"errorCode": code, "message": p.refusal}
	if code == vocab.AgentNotFound && available != nil {
		d["availableAgents"] = available
		p.agents = available
	}
	return s.emit(ctx, p, vocab.ErrorEvent, d)
}

// busy tells whether the selector looks other than it did at rest, in one of the ways that the profile knows. The first classes
// that change are those by which it looks busy: others may change for other reasons.
func (s *suite) busy(p *page, l *look.Look) bool {
	if s.Env.Profile.AgentClient.Hooks.Loading != "" {
		return l.Loading
	}
	if p.marks == nil && p.rest != nil {
		p.marks = changed(p.rest.Select.Classes, l.Select.Classes)
	}
	return l.Select.Busy || len(p.marks) > 0 && p.rest != nil && slices.ContainsFunc(p.marks, func(class string) bool {
		return slices.Contains(l.Select.Classes, class) != slices.Contains(p.rest.Select.Classes, class)
	})
}

// changed are the classes that only one of two looks has; nil where there are none.
func changed(before, now []string) (out []string) {
	for _, c := range before {
		if !slices.Contains(now, c) {
			out = append(out, c)
		}
	}
	for _, c := range now {
		if !slices.Contains(before, c) {
			out = append(out, c)
		}
	}
	return out
}

func (s *suite) looksBusy(ctx context.Context, how way) error {
	p := s.now
	return how(ctx, p, "a selector that looks busy", []string{"AC-035", "AC-046"}, func(l *look.Look) string {
		if s.busy(p, l) {
			return ""
		}
		if hook := s.Env.Profile.AgentClient.Hooks.Loading; hook != "" {
			return fmt.Sprintf("nothing that matches the profile's hook %q can be seen", hook)
		}
		return fmt.Sprintf("it has no aria-busy, and the same classes as before: [%s]", strings.Join(l.Select.Classes, " "))
	})
}

func (s *suite) looksIdle(ctx context.Context) error {
	p := s.now
	return s.sees(ctx, p, "a selector that does not look busy any more", []string{"AC-035"}, func(l *look.Look) string {
		if !s.busy(p, l) {
			return ""
		}
		return fmt.Sprintf("it looks busy: aria-busy %v, classes [%s]", l.Select.Busy, strings.Join(l.Select.Classes, " "))
	})
}
