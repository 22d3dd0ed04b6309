package agentclient

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/driver/browser/look"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transcript"
)

func (s *suite) registerPages(sc *godog.ScenarioContext) {
	steps.Step(sc, `^a page$`, func(ctx context.Context) error { return s.open(ctx, "A") })
	steps.Step(sc, `^a page that is connected, and has no list$`, func(ctx context.Context) error { return s.connected(ctx, "A") })
	steps.Step(sc, `^a page that is connected$`, func(ctx context.Context) error { return s.listed(ctx, "A") })
	steps.Step(sc, `^a page with a session$`, func(ctx context.Context) error { return s.withSession(ctx, "A") })
	steps.Step(sc, `^a second page with a session$`, func(ctx context.Context) error { return s.withSession(ctx, "B") })
	steps.Step(sc, `^the page has got a session$`, func(ctx context.Context) error { return s.getsSession(ctx) })
	steps.Step(sc, `^on the (first|second) page$`, func(which string) error {
		s.now = s.pages[map[string]string{"first": "A", "second": "B"}[which]]
		return nil
	})

	steps.Step(sc, `^the user connects$`, s.connects)
	steps.Step(sc, `^the user disconnects$`, func(ctx context.Context) error {
		return s.does(ctx, s.now, "the user disconnects", click(disconnect))
	})
	steps.Step(sc, `^the page asks for the events$`, s.asksForEvents)
	steps.Step(sc, `^the server says that the page is connected$`, s.greets)
	steps.Step(sc, `^the server (leaves requests without an answer|answers the request|refuses sessions|grants sessions)$`, s.behaves)

	steps.Step(sc, `^the user asks for a new session$`, s.asksForNewSession)
	steps.Step(sc, `^the page has another session$`, s.hasSession)
	steps.Step(sc, `^the page asks for a session$`, func(ctx context.Context) error {
		_, err := s.sessionAsked(ctx)
		return err
	})
	steps.Step(sc, `^the page asks for a session that begins with "([^"]*)"$`, s.sessionBegins)
	steps.Step(sc, `^the user loads the first session$`, s.loads)
	steps.Step(sc, `^the page asks to load it$`, s.asksToLoad)

	steps.Step(sc, `^the user has sent "([^"]*)"$`, s.says)
	steps.Step(sc, `^the server has begun to answer, (.*)$`, s.beginsToAnswer)
	steps.Step(sc, `^the user aborts$`, s.aborts)
	steps.Step(sc, `^the page asks to abort$`, s.asksToAbort)
	steps.Step(sc, `^the server has ended the turn, (and says how|and does not say how)$`, s.endsTurn)
}

// connects types the server's address where the page has a field for it, and connects.
func (s *suite) connects(ctx context.Context) error {
	p := s.now
	if s.Env.Profile.AgentClient.Hooks.ServerURL != "" {
		value := s.Env.Profile.AgentClient.Server.For(p.server.l.URL())
		if err := s.does(ctx, p, "the user types the server's address", fields{"do": "type", "on": serverURL, "text": value}, "AC-025"); err != nil {
			return err
		}
	}
	return s.does(ctx, p, "the user connects", click(connect), "AC-025")
}

func (s *suite) asksForEvents(ctx context.Context) error {
	p := s.now
	if _, miss := s.awaits(ctx, p, askStream, p.act-1); miss != nil {
		return s.Need(steps.Check{Clauses: []string{"AC-025"}, Expected: "a request for the event stream (" + s.wire.SSE.Stream.Path + ")", Observed: miss.Reason, At: p.act})
	}
	s.Reached(steps.Greeted)
	return s.Judge(steps.Check{Clauses: []string{"AC-025"}, OK: true})
}

func (s *suite) greets(ctx context.Context) error {
	p := s.now
	if !s.stands(ctx, p, max(p.act, p.word)-1, s.Env.Event()) {
		return steps.NotTestedf("the page has no event stream open")
	}
	s.clock(p)
	return s.emit(ctx, p, vocab.ConnectedEvent, fields{"connectionId": fmt.Sprintf("conn-%s-%s-%d", p.name, s.Nonce, s.Serial())})
}

func (s *suite) connected(ctx context.Context, name string) error {
	if err := s.open(ctx, name); err != nil {
		return err
	}
	for _, do := range []func(context.Context) error{s.connects, s.asksForEvents, s.greets} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// usual are the agents of scenarios that are not about lists.
var usual = []agent{
	{id: "general", name: "General", description: "通用主代理"},
	{id: "debugger", name: "Debugger", description: "调试代理"},
	{id: "code_reviewer", name: "Code Reviewer", description: "代码审查专家"},
}

func (s *suite) listed(ctx context.Context, name string) error {
	if err := s.connected(ctx, name); err != nil {
		return err
	}
	if err := s.lists(ctx, usual, "general", nil); err != nil {
		return err
	}
	p := s.now
	_, err := s.saw(ctx, p, "the agents in the selector", nil, func(l *look.Look) string { return unlike(l, p.agents, 0) })
	if err == nil {
		s.Reached(steps.Given)
	}
	return err
}

func (s *suite) withSession(ctx context.Context, name string) error {
	if err := s.listed(ctx, name); err != nil {
		return err
	}
	return s.getsSession(ctx)
}

func (s *suite) getsSession(ctx context.Context) error {
	if err := s.asksForNewSession(ctx); err != nil {
		return err
	}
	if _, err := s.sessionAsked(ctx); err != nil {
		return err
	}
	s.now.first = s.now.session
	return nil
}

func (s *suite) behaves(ctx context.Context, what string) error {
	v := s.now.server
	switch what {
	case "leaves requests without an answer":
		v.set(func() { v.hold = true })
	case "answers the request":
		return s.answers(ctx)
	case "refuses sessions":
		v.set(func() { v.refuse = true })
	case "grants sessions":
		v.set(func() { v.refuse = false })
	}
	return nil
}

// answers answers the requests that were held, and lets the page take the answers in.
func (s *suite) answers(ctx context.Context) error {
	p := s.now
	s.remember(p)
	p.word = s.T.Len()
	p.server.release()
	if r, miss := s.awaits(ctx, p, vocab.SwitchAgentType, p.act-1); miss == nil {
		if err := s.answered(ctx, p, r.N); err != nil {
			return err
		}
	}
	return s.quiet(ctx, p)
}

func (s *suite) asksForNewSession(ctx context.Context) error {
	return s.does(ctx, s.now, "the user asks for a new session", click(newSession), "AC-043", "AC-054", "AC-096", "AC-107", "AC-056", "AC-117")
}

// sessionAsked waits for a request for a session, and until the page knows what came of it.
func (s *suite) sessionAsked(ctx context.Context) (transcript.Record, error) {
	p := s.now
	r, miss := s.awaits(ctx, p, askCreate, p.act-1)
	if miss != nil {
		return r, s.Need(steps.Check{Clauses: []string{"AC-043", "AC-054", "AC-096", "AC-107", "AC-117"}, At: p.act,
			Expected: "a request for a new session (" + s.wire.SSE.Create.Path + ")", Observed: miss.Reason})
	}
	if err := s.answered(ctx, p, r.N); err != nil {
		return r, err
	}
	s.Reached(steps.Answered)
	given := false
	p.server.set(func() {
		if given = !p.server.refuse && len(p.server.sessions) > 0; given {
			p.session = p.server.sessions[len(p.server.sessions)-1]
		}
	})
	if !given {
		return r, s.quiet(ctx, p)
	}
	return r, s.knows(ctx, p, r.N)
}

// showsIDs is the key under which a run learns whether the target shows the id of the session that it has.
type showsIDs struct{}

// knows waits until the page knows its new session. Most pages show its id; of one that does not, the quiet window is all that can
// be waited for.
func (s *suite) knows(ctx context.Context, p *page, request int) error {
	known, learnt := s.Env.Learnt.Load(showsIDs{})
	if learnt && !known.(bool) {
		return s.quiet(ctx, p)
	}
	limits := s.Env.Profile.Limits
	within := limits.Event.Duration
	if !learnt {
		within = min(within/2, 4*limits.Quiet.Duration)
	}
	_, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: request, Within: within, Match: func(r *transcript.Record) bool {
		l := lookOf(r, p)
		return l != nil && strings.Contains(l.Text, p.session)
	}})
	if miss == nil || !learnt {
		s.Env.Learnt.Store(showsIDs{}, miss == nil)
	}
	s.settle(ctx, p)
	return nil
}

func (s *suite) hasSession(ctx context.Context) error {
	_, err := s.sessionAsked(ctx)
	return err
}

// sessionBegins judges the request for a session by the preselection.
func (s *suite) sessionBegins(ctx context.Context, name string) error {
	p := s.now
	want := p.called(name)
	r, err := s.sessionAsked(ctx)
	if err != nil {
		return err
	}
	got, there := data(r)["initialAgentId"]
	clauses := []string{"AC-041", "AC-043", "AC-054", "AC-096", "AC-107", "AC-117"}
	if p.preselect > 0 && got == want.id {
		p.current = want.id
	}
	observed := fmt.Sprintf("initialAgentId is %v: %s", got, steps.Seen(r))
	if !there {
		observed = "no initialAgentId: " + steps.Seen(r)
	}
	return s.Need(steps.Check{Clauses: clauses, OK: got == want.id, At: r.N, Observed: observed,
		Expected: fmt.Sprintf("a request for a session whose initialAgentId is %q, the preselected agent", want.id)})
}

func (s *suite) loads(ctx context.Context) error {
	p := s.now
	if !s.Env.Profile.Has("session-list") {
		return &steps.NotApplicableError{Reason: "the profile does not declare session-list"}
	}
	return s.does(ctx, p, "the user loads the first session", fields{"do": "click", "on": session, "text": p.first}, "AC-051", "AC-055")
}

func (s *suite) asksToLoad(ctx context.Context) error {
	p := s.now
	r, miss := s.awaits(ctx, p, askLoad, p.act-1)
	if miss != nil {
		return steps.NotTestedf("the page did not ask to load the session: %s", miss.Reason)
	}
	if got := data(r)["sessionId"]; got != p.first {
		return steps.NotTestedf("the page asked to load %v, and the user has chosen %s", got, p.first)
	}
	p.session = p.first
	if err := s.answered(ctx, p, r.N); err != nil {
		return err
	}
	return s.quiet(ctx, p)
}

func (s *suite) says(ctx context.Context, text string) error {
	p := s.now
	p.said = text
	if err := s.does(ctx, p, "the user types a message", fields{"do": "type", "on": message, "text": text}); err != nil {
		return err
	}
	if err := s.does(ctx, p, "the user sends it", click(send)); err != nil {
		return err
	}
	r, miss := s.awaits(ctx, p, vocab.ChatType, p.act-1)
	if miss != nil {
		return steps.NotTestedf("the page did not send the message: %s", miss.Reason)
	}
	return s.answered(ctx, p, r.N)
}

// beginsToAnswer has the server tell of a turn in one of the ways in which servers do: some repeat what the user has said, some
// send the answer in pieces and some message by message.
func (s *suite) beginsToAnswer(ctx context.Context, how string) error {
	p := s.now
	echo := fields{"role": "user", "content": p.said, "sessionId": p.session}
	piece := fields{"role": "assistant", "content": "好的", "streaming": true, "sessionId": p.session}
	whole := fields{"role": "assistant", "content": "好的,我先看一下", "sessionId": p.session}
	ways := map[string]struct{ told, untold []fields }{
		"in pieces": {[]fields{piece}, []fields{echo}},
		"in pieces, behind what the user has said":          {[]fields{echo, piece}, nil},
		"in a whole message, behind what the user has said": {[]fields{echo, whole}, []fields{piece}},
	}
	way, known := ways[how]
	if !known {
		return fmt.Errorf("%s is no way to answer that a step can name", how)
	}
	for _, said := range way.told {
		if err := s.emit(ctx, p, vocab.MessageEvent, said); err != nil {
			return err
		}
		if err := s.beats(ctx, p); err != nil {
			return err
		}
	}
	p.untold = way.untold
	s.settle(ctx, p)
	return nil
}

// beats sends a heartbeat as many servers do: a comment.
func (s *suite) beats(ctx context.Context, p *page) error {
	st := p.server.stream()
	if st == nil {
		return steps.NotTestedf("the page has no event stream open")
	}
	if _, err := st.Emit(ctx, "comment", []byte(": heartbeat\n\n")); err != nil {
		return steps.NotTestedf("the page has closed its event stream: %v", err)
	}
	return nil
}

// aborts has the user abort. A page may let a user do so only behind one of the signs of a turn: where the server has not sent
// that, it does now.
func (s *suite) aborts(ctx context.Context) error {
	p := s.now
	usable := func(l *look.Look) bool { return l != nil && l.Controls[abort].Visible && !l.Controls[abort].Disabled }
	s.settle(ctx, p)
	for _, more := range p.untold {
		l, at := s.latest(p)
		if usable(l) {
			break
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: at, Within: s.Env.Profile.Limits.Quiet.Duration, Match: func(r *transcript.Record) bool { return usable(lookOf(r, p)) }}); miss == nil {
			break
		}
		s.Note("the page does not let a user abort before the server has sent: %s", string(encode(more)))
		if err := s.emit(ctx, p, vocab.MessageEvent, more); err != nil {
			return err
		}
		s.settle(ctx, p)
	}
	p.untold = nil
	return s.does(ctx, p, "the user aborts", click(abort), "AC-079", "AC-124")
}

// endsTurn has the server end a turn. Whether it says that it was aborted is up to it.
func (s *suite) endsTurn(ctx context.Context, how string) error {
	d := fields{"sessionId": s.now.session}
	if how == "and says how" {
		d["cancelled"] = true
	}
	return s.emit(ctx, s.now, vocab.CompleteEvent, d)
}

func (s *suite) asksToAbort(ctx context.Context) error {
	p := s.now
	clauses := []string{"AC-079", "AC-124"}
	r, miss := s.awaits(ctx, p, vocab.AbortType, p.act-1)
	if miss != nil {
		return s.Need(steps.Check{Clauses: clauses, Expected: "an abort for session " + p.session, Observed: miss.Reason, At: p.act})
	}
	got := data(r)["sessionId"]
	if err := s.Need(steps.Check{Clauses: clauses, OK: got == p.session, Expected: "an abort for session " + p.session, Observed: steps.Seen(r), At: r.N}); err != nil {
		return err
	}
	return s.answered(ctx, p, r.N)
}

// called is the agent of a name in the page's latest list; one that is in none is its own name.
func (p *page) called(name string) agent {
	if i := slices.IndexFunc(p.agents, func(a agent) bool { return a.name == name }); i >= 0 {
		return p.agents[i]
	}
	if i := slices.IndexFunc(known, func(a agent) bool { return a.name == name }); i >= 0 {
		return known[i]
	}
	return agent{id: name, name: name}
}

// known are agents that scenarios speak of, whether they are listed or not.
var known = append(slices.Clone(usual),
	agent{id: "planner", name: "Planner", description: "规划代理"},
	agent{id: "my_custom_agent", name: "My Custom Agent", description: "自定义主代理"})
