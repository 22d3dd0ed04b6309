package agentclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/looks"
	"parley/steps/agentclient/model"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

func (s *suite) registerSwitching(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the user chooses "([^"]*)"$`, s.chooses)
	steps.Step(sc, `^the page requests a switch to "([^"]*)"$`, s.requestsSwitch)
	steps.Step(sc, `^it has requested no switch$`, s.noSwitch)
	steps.Step(sc, `^it has requested no other switch$`, s.noOtherSwitch)
	steps.Step(sc, `^the server switches to "([^"]*)"(?: under the name "(.*)")?(`+oddly+`)?$`, s.switchesTo)
	steps.Step(sc, `^the server switches to "([^"]*)" and at once to "([^"]*)"$`, s.switchesOn)
	steps.Step(sc, `^the server switches from (the id )?"([^"]*)" to "([^"]*)"$`, s.switchesFrom)
	steps.Step(sc, `^the server refuses with "([^"]*)"(?: and the message "(.*)")?$`, s.refuses)
	steps.Step(sc, `^the server refuses with "agent_not_found" and ((?:no|empty) availableAgents|availableAgents `+
		namesOf+`)$`, s.refusesAgents)
	steps.Step(sc, `^the selector (still )?looks busy$`, s.looksBusy)
	steps.Step(sc, `^the selector no longer looks busy$`, s.looksIdle)
}

// chooses makes the user choose an agent, with or without a session.
func (s *suite) chooses(ctx context.Context, name string) error {
	p, a := s.now, s.now.called(s.armed(name))
	s.offers(ctx, a)
	if broken, _ := s.notBack(""); broken != nil && p.refused.id == a.id {
		return steps.NotTestedf("%q is still selected although the server refused it: choosing it again changes "+
			"nothing", a.name)
	}
	option := s.optionOf(a)
	if p.session == "" && p.preselect == 0 {
		p.preselect = s.T.Len()
	}
	p.rest, p.restAt = s.latest()
	p.marks = nil
	p.chosen, p.refused, p.wished = a, agent{}, nil
	err := s.does(ctx, fmt.Sprintf("the user chooses %q", a.name),
		fields{"do": "choose", "on": model.Selector, "value": option},
		"AC-008", "AC-012", "AC-033", "AC-053", "AC-039", "AC-040", "AC-054", "AC-094")
	if err == nil && p.session == "" {
		s.settle(ctx)
		p.wished = &a
	}
	return err
}

// offers waits until an agent can be chosen; the cause may still be on its way to the page.
func (s *suite) offers(ctx context.Context, a agent) {
	offered := func(l *snapshot.Page) bool {
		return !l.Select.Disabled && slices.ContainsFunc(l.Select.Options, func(o snapshot.Option) bool {
			return !o.Disabled && looks.Contains(o.Text, a.name)
		})
	}
	if l, at := s.latest(); l == nil || !offered(l) {
		_, _ = s.awaitSight(ctx, at, s.looking(offered))
	}
}

// optionOf returns the text of an agent's option, which may show more than its name: the shortest match.
func (s *suite) optionOf(a agent) string {
	best := ""
	if l, _ := s.latest(); l != nil {
		for _, o := range l.Select.Options {
			if looks.Contains(o.Text, a.name) && (best == "" || len(o.Text) < len(best)) {
				best = o.Text
			}
		}
	}
	return cmp.Or(best, a.name)
}

func (s *suite) requestsSwitch(ctx context.Context, name string) error {
	if a := s.now.called(s.armed(name)); a.id != s.now.chosen.id {
		return steps.NotTestedf("the user has not chosen %q", a.name)
	}
	_, err := s.settled(ctx, vocab.SwitchAgentType, false)
	return err
}

func (s *suite) switchesTo(ctx context.Context, name, as, odd string) error {
	to := s.now.called(name)
	return s.switches(ctx, s.now.current, to, cmp.Or(s.armed(as), to.name), odd)
}

func (s *suite) switchesFrom(ctx context.Context, byID, from, to string) error {
	if byID == "" {
		from = s.now.called(from).id
	}
	a := s.now.called(to)
	return s.switches(ctx, from, a, a.name, "")
}

// switchesOn sends two agent_switched without waiting for what the page makes of the first.
func (s *suite) switchesOn(ctx context.Context, first, second string) error {
	if err := s.switchesTo(ctx, first, "", ""); err != nil {
		return err
	}
	before := s.now.idle // the page before both
	from, to := s.now.current, s.now.called(second)
	err := s.confirms(ctx, from, to, to.name, "")
	s.now.idle = before
	return err
}

// switches sends an agent_switched.
func (s *suite) switches(ctx context.Context, from string, to agent, name, odd string) error {
	s.settle(ctx) // so that effects of the page's own request are not attributed to the event
	return s.confirms(ctx, from, to, name, odd)
}

func (s *suite) confirms(ctx context.Context, from string, to agent, name, odd string) error {
	s.clock(odd)
	d := fields{vocab.PreviousAgentID: from, vocab.CurrentAgentID: to.id, vocab.AgentName: name}
	if odd == undocumented {
		d["reason"], d["session"], d["seq"] = "user", fields{"id": "x"}, 7
	}
	if err := s.emit(ctx, vocab.AgentSwitchedEvent, d); err != nil {
		return err
	}
	s.now.current, s.now.refused = to.id, agent{}
	return nil
}

// refuses sends an error, by default with the usual message of its code, and with the agents of the latest list if
// the code has a list.
func (s *suite) refuses(ctx context.Context, code, text string) error {
	return s.refusesWith(ctx, code, text, s.now.agents)
}

func (s *suite) refusesAgents(ctx context.Context, which string) error {
	var available []agent
	switch which {
	case "no availableAgents":
	case "empty availableAgents":
		available = []agent{}
	default:
		available = s.now.those(which)
	}
	return s.refusesWith(ctx, vocab.AgentNotFound, "", available)
}

// refusesWith sends an error. Only agent_not_found has a list, which may be nil.
func (s *suite) refusesWith(ctx context.Context, code, text string, available []agent) error {
	s.clock("")
	p := s.now
	usual := map[string]string{
		vocab.InvalidAgentID: vocab.EmptyIDText, vocab.InvalidAgentIDFormat: vocab.FormatIDText,
		vocab.AgentNotFound: "Agent not found: " + p.chosen.id,
		vocab.AgentBusy:     "Session has ongoing task", vocab.SessionNotFound: "Session not found",
	}
	p.refusal, p.refused = s.armed(cmp.Or(text, usual[code])), p.chosen
	d := fields{vocab.ErrorCode: code, vocab.Message: p.refusal}
	if code == vocab.AgentNotFound && available != nil {
		d[vocab.AvailableAgents] = available
		p.agents = available
	}
	s.settle(ctx) // as for a switch: effects of the page's own request must not be mistaken for those of the error
	return s.emit(ctx, vocab.ErrorEvent, d)
}

// busy reports whether the selector differs from its state at rest in one of the ways that the profile knows. The
// first classes that change count as its busy look; others may change for other reasons.
func (s *suite) busy(l *snapshot.Page) bool {
	p := s.now
	switch {
	case binding.Of(s.Env.Profile).Hooks.Loading != "":
		return l.Loading
	case p.rest == nil:
		return l.Select.Busy
	case p.marks == nil:
		p.marks = changed(p.rest.Select.Classes, l.Select.Classes)
	}
	return l.Select.Busy || slices.ContainsFunc(p.marks, func(class string) bool {
		return slices.Contains(l.Select.Classes, class) != slices.Contains(p.rest.Select.Classes, class)
	})
}

// offAnyway reports whether a disabled selector looks as it did when it was disabled before the latest choice, without
// a switch, in each way in which it looks busy now: a page may mark a selector as disabled whatever the reason.
func (s *suite) offAnyway(now *snapshot.Page) bool {
	p := s.now
	alike := func(l *snapshot.Page) bool {
		return l.Select.Disabled && (l.Loading || !now.Loading) && (l.Select.Busy || !now.Select.Busy) &&
			!slices.ContainsFunc(p.marks, func(class string) bool {
				marked := slices.Contains(now.Select.Classes, class)
				return p.rest != nil && marked != slices.Contains(p.rest.Select.Classes, class) &&
					marked != slices.Contains(l.Select.Classes, class)
			})
	}
	return now.Select.Disabled && slices.ContainsFunc(s.T.All(), func(r transcript.Record) bool {
		l := s.snapshotOf(&r)
		return l != nil && r.N <= p.restAt && alike(l)
	})
}

// changed returns the classes that only one of two snapshots has; nil if there are none.
func changed(before, now []string) (out []string) {
	for _, c := range slices.Concat(before, now) {
		if slices.Contains(before, c) != slices.Contains(now, c) {
			out = append(out, c)
		}
	}
	return out
}

func (s *suite) looksBusy(ctx context.Context, still string) error {
	return s.way(still)(ctx, sight{"a selector that looks busy", []string{"AC-035", "AC-046"},
		func(l *snapshot.Page) string {
			if hook := binding.Of(s.Env.Profile).Hooks.Loading; hook != "" {
				return unless(s.busy(l), "nothing visible matches the profile's hook %q", hook)
			}
			return unless(s.busy(l), "it has no aria-busy, and the same classes as before: [%s]",
				strings.Join(l.Select.Classes, " "))
		}})
}

func (s *suite) looksIdle(ctx context.Context) error {
	return s.sees(ctx, sight{"a selector that no longer looks busy", []string{"AC-035"}, func(l *snapshot.Page) string {
		return unless(!s.busy(l) || s.offAnyway(l), "it looks busy: aria-busy %v, classes [%s]", l.Select.Busy,
			strings.Join(l.Select.Classes, " "))
	}})
}
