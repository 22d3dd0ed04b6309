package agentclient

import (
	"context"
	"fmt"
	"slices"

	"github.com/cucumber/godog"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/looks"
	"parley/steps/agentclient/model"
	"parley/transport/driver/browser/snapshot"
)

func (s *suite) registerPages(sc *godog.ScenarioContext) {
	steps.Step(sc, `^an open page$`, with("A", s.open))
	steps.Step(sc, `^a connected page without an agent list$`, with("A", s.connected))
	steps.Step(sc, `^a connected page$`, with("A", s.listed))
	steps.Step(sc, `^a page with a session$`, with("A", s.withSession))
	steps.Step(sc, `^two pages with a session each$`, func(ctx context.Context) error {
		return inOrder(ctx, with("A", s.withSession), with("B", s.withSession))
	})
}

// registerOnPage registers the steps of a page that is open, and of its server.
func (s *suite) registerOnPage(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the page gets a session$`, s.getsSession)
	steps.Step(sc, `^the user turns to the (first|second) page$`, func(which string) error {
		p := s.pages[map[string]string{"first": "A", "second": "B"}[which]]
		if p == nil {
			return steps.NotTestedf("there is no %s page", which)
		}
		s.now = p
		return nil
	})

	steps.Step(sc, `^the user connects$`, s.connects)
	steps.Step(sc, `^the user disconnects$`, func(ctx context.Context) error {
		return s.does(ctx, "the user disconnects", click(model.Disconnect))
	})
	steps.Step(sc, `^the page requests the event stream$`, s.requestsEvents)
	steps.Step(sc, `^the server sends connected$`, s.greets)
	steps.Step(sc, `^the server (holds its HTTP responses|refuses to create sessions|creates sessions again)$`, s.behaves)
	steps.Step(sc, `^the server sends the held responses$`, s.releases)

	steps.Step(sc, `^the user asks for a new session$`, s.asksForNewSession)
	steps.Step(sc, `^the page requests a session$`, func(ctx context.Context) error {
		_, err := s.requestsSession(ctx, false)
		return err
	})
	steps.Step(sc, `^the page requests a session with the initial agent "([^"]*)"$`, s.sessionBegins)
	steps.Step(sc, `^the user loads the first session$`, s.loads)
	steps.Step(sc, `^the page requests that session$`, s.requestsFirst)

	steps.Step(sc, `^the user has sent "([^"]*)"$`, s.says)
	steps.Step(sc, `^the server has begun to answer, (.*)$`, s.beginsToAnswer)
	steps.Step(sc, `^the user aborts$`, s.aborts)
	steps.Step(sc, `^the page requests an abort$`, s.requestsAbort)
	steps.Step(sc, `^the server ends the turn (with|without) cancelled$`, s.endsTurn)
}

// noPage returns why a step about a page cannot be carried out; nil if it can.
func (s *suite) noPage() error {
	if s.now == nil || s.now.conn == nil {
		return steps.NotTestedf("no page is open")
	}
	return nil
}

// with returns an act on the named page.
func with(name string, do func(context.Context, string) error) func(context.Context) error {
	return func(ctx context.Context) error { return do(ctx, name) }
}

// inOrder runs functions in order, up to the first that fails.
func inOrder(ctx context.Context, do ...func(context.Context) error) error {
	for _, f := range do {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// connects types the server's address, if the page has a field for it, and connects.
func (s *suite) connects(ctx context.Context) error {
	if profile := binding.Of(s.Env.Profile); profile.Hooks.ServerURL != "" {
		typing := fields{"do": "type", "on": serverURL, "text": profile.Server.For(s.now.server.l.URL())}
		if err := s.does(ctx, "the user types the server's address", typing, "AC-025"); err != nil {
			return err
		}
	}
	return s.does(ctx, "the user connects", click(model.Connect), "AC-025")
}

func (s *suite) requestsEvents(ctx context.Context) error {
	_, err := s.settled(ctx, model.StreamType, true)
	return err
}

func (s *suite) greets(ctx context.Context) error {
	p := s.now
	if !s.stands(ctx, max(p.act, p.word)-1, s.Env.Event()) {
		return steps.NotTestedf("the page has no event stream open")
	}
	p.returning = false
	s.clock("")
	id := fmt.Sprintf("conn-%s-%s-%d", p.name, s.Nonce, s.Serial())
	return s.emit(ctx, vocab.ConnectedEvent, fields{vocab.ConnectionID: id})
}

func (s *suite) connected(ctx context.Context, name string) error {
	return inOrder(ctx, with(name, s.open), s.connects, s.requestsEvents, s.greets)
}

// usual are the agents in scenarios that are not about lists.
var usual = []agent{
	{id: "general", name: "General", description: "通用主代理"},
	{id: "debugger", name: "Debugger", description: "调试代理"},
	{id: "code_reviewer", name: "Code Reviewer", description: "代码审查专家"},
}

// known are the agents that scenarios name, whether or not they are listed.
var known = append(slices.Clone(usual),
	agent{id: "planner", name: "Planner", description: "规划代理"},
	agent{id: "my_custom_agent", name: "My Custom Agent", description: "自定义主代理"})

// called returns the agent of a name in the page's latest list; an unlisted name becomes its own agent.
func (p *page) called(name string) agent {
	for _, list := range [][]agent{p.agents, known} {
		if i := slices.IndexFunc(list, func(a agent) bool { return a.name == name }); i >= 0 {
			return list[i]
		}
	}
	return agent{id: name, name: name}
}

func (s *suite) listed(ctx context.Context, name string) error {
	if err := s.connected(ctx, name); err != nil {
		return err
	}
	if err := s.lists(ctx, usual, "general", ""); err != nil {
		return err
	}
	agents := s.now.agents
	err := s.sees(ctx, sight{"the agents in the selector", nil, func(l *snapshot.Page) string {
		return looks.Unlike(l, agentNames(agents), 0)
	}})
	if err == nil {
		s.RecordReach(steps.Given)
	}
	return err
}

func (s *suite) withSession(ctx context.Context, name string) error {
	return inOrder(ctx, with(name, s.listed), s.getsSession)
}

func (s *suite) behaves(what string) {
	v := s.now.server
	v.set(func() {
		switch what {
		case "holds its HTTP responses":
			v.hold = true
		case "refuses to create sessions":
			v.refuse = true
		case "creates sessions again":
			v.refuse = false
		}
	})
}

// releases answers the held requests and lets the page handle the answers.
func (s *suite) releases(ctx context.Context) error {
	s.remember()
	s.now.word = s.T.Len()
	s.now.server.release()
	if r, miss := s.asked(ctx, vocab.SwitchAgentType); miss == nil {
		s.answered(ctx, r.N)
	}
	return s.quiet(ctx)
}
