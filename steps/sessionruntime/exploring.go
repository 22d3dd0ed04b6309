package sessionruntime

import (
	"context"
	"fmt"
	"strings"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/steps"
	judge "parley/steps/sessionruntime/invariants"
)

func (s *suite) registerExploring(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the orchestrator follows its life cycles$`, s.hasKept)
}

// hasKept compares the whole transcript with the model, once everything has been handled.
func (s *suite) hasKept(ctx context.Context) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	return s.judged()
}

// Explored implements steps.Explorer: all clauses that the model judges except RT-028, because no message on
// BROADCAST is drawn: a target that does not subscribe to BROADCAST would leave it untested.
func (Protocol) Explored() []string {
	var out []string
	for _, id := range judge.Clauses() {
		if id != "RT-028" {
			out = append(out, "@"+id)
		}
	}
	return out
}

// act is one event on the bus. Each can happen at any time, so that a sequence remains valid when acts are removed.
type act struct {
	what         string
	agent, other string
	turn         string
	wait         bool // wait until it has been handled
}

// whats lists the possible acts. Those that matter only in combination occur more often.
var whats = []string{"nothing", "say", "say", "say", "mention", "mention", "acknowledge", "acknowledge", "acknowledge",
	"acknowledge", "chunk", "chunk", "chunk", "chunk", "final", "final",
	"cancel", "cancel", "confirm cancel", "confirm cancel", "confirm cancel", "stopped", "remove", "removed", "removed",
	"not removed", "invite", "added", "added", "not added", "switch",
	"hand over", "confirm", "confirm", "reject", "error", "foreign", "again", "again", "open", "opened", "close", "closed",
	"not closed", "time"}

// Explore implements steps.Explorer: what users, agents and SessionManager may say about three inputs, three agents
// and one invited agent, in any order, sensible or not.
func (Protocol) Explore(draw *rapid.T) []string {
	letter := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	one := rapid.Custom(func(t *rapid.T) act {
		return act{
			what:  rapid.SampledFrom(whats).Draw(t, "what"),
			turn:  rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "turn"),
			agent: letter.Draw(t, "agent"),
			other: letter.Draw(t, "other"),
			wait:  rapid.Bool().Draw(t, "wait"),
		}
	})
	p := &play{owner: map[string]string{}, asked: map[string]bool{}, sent: map[string]bool{}}
	if p.hurried = rapid.IntRange(0, 3).Draw(draw, "hurried") == 3; p.hurried {
		p.say("Given a short limit for confirmations of cancels")
	}
	p.say(`Given a session of agents "a", "b" and "c" where agent "a" is active`)
	for _, a := range rapid.SliceOfN(one, 16, 40).Draw(draw, "acts") {
		p.act(a)
	}
	if p.hurried {
		p.say("When the limit for confirming a cancel expires")
	}
	p.say("Then the orchestrator follows its life cycles")
	return p.lines
}

// play turns acts into the lines of a scenario. It tracks which inputs were said, and the agent each turn should
// belong to.
type play struct {
	lines  []string
	owner  map[string]string // the agent that should answer each input
	asked  map[string]bool   // inputs with a handover request
	sent   map[string]bool   // inputs with some output
	active string

	hurried bool // a short limit for confirming cancels, so that it may expire
	waits   int  // how often the limit was left to expire
}

func (p *play) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *play) act(a act) {
	owner, said := p.owner[a.turn]
	n := len(p.lines)
	switch a.what {
	case "say", "mention":
		if said {
			return
		}
		p.begin(a)
	case "time":
		if p.hurried && p.waits < 2 { // each one takes time
			p.waits++
			p.say("When the limit for confirming a cancel expires")
		}
	case "switch":
		p.say(`When the user switches to agent "%s"`, a.agent)
		p.active = a.agent
	case "cancel":
		p.say("When the user cancels")
	case "remove":
		p.say(`When the user removes agent "%s"`, a.agent)
	case "open":
		p.say("When the user opens the session")
	case "close":
		p.say("When the user closes the session")
	case "closed":
		p.say("When SessionManager says that the session is closed")
	case "not closed":
		p.say("When SessionManager says that the session could not be closed")
	case "opened":
		p.say("When SessionManager says that the session is opened")
	case "removed":
		p.say(`When SessionManager says that agent "%s" is removed`, a.agent)
	case "not removed":
		p.say(`When SessionManager says that agent "%s" could not be removed`, a.agent)
	case "invite":
		p.say(`When the user invites agent "%s"`, a.agent)
	case "added":
		p.say(`When SessionManager says that agent "%s" is added`, a.agent)
	case "not added":
		p.say(`When SessionManager says that agent "%s" could not be added`, a.agent)
	default:
		if !said {
			return
		}
		p.agent(a, owner)
	}
	if len(p.lines) > n &&
		(a.wait || strings.Contains(p.lines[n], "the user says") || strings.Contains(p.lines[n], "mentions")) {
		p.say("Then everything is handled") // agents answer only inputs that have reached them
	}
}

func (p *play) begin(a act) {
	if a.what == "mention" {
		p.owner[a.turn] = a.agent
		p.say(`When the user mentions agent "%s" in "%s" by its payload`, a.agent, a.turn)
		return
	}
	p.owner[a.turn] = "a"
	if p.active != "" {
		p.owner[a.turn] = p.active
	}
	p.say(`When the user says "%s"`, a.turn)
}

// agent adds what the agent of a turn, or another one, does about it.
func (p *play) agent(a act, owner string) {
	switch a.what {
	case "acknowledge":
		p.say(`When agent "%s" acknowledges "%s"`, owner, a.turn)
	case "chunk":
		p.say(`When agent "%s" sends a chunk of "%s"`, owner, a.turn)
		p.sent[a.turn] = true
	case "final":
		p.say(`When agent "%s" sends the final of "%s"`, owner, a.turn)
		p.sent[a.turn] = true
	case "foreign":
		if a.other != owner {
			p.say(`When agent "%s" sends a chunk of "%s"`, a.other, a.turn)
			p.sent[a.turn] = true
		}
	case "again":
		if p.sent[a.turn] {
			p.say(`When the output of "%s" is delivered by a second subscription`, a.turn)
		}
	case "confirm cancel":
		p.say(`When agent "%s" confirms the cancel of "%s"`, owner, a.turn)
	case "stopped":
		p.say(`When agent "%s" has stopped the stream of "%s"`, owner, a.turn)
	case "error":
		p.say(`When agent "%s" reports an error in "%s"`, owner, a.turn)
	case "hand over":
		if !p.asked[a.turn] {
			p.asked[a.turn] = true
			p.say(`When agent "%s" asks to hand "%s" over to agent "%s"`, owner, a.turn, a.other)
		}
	case "confirm", "reject":
		if p.asked[a.turn] {
			p.say(`When the user %ss the handover of "%s"`, a.what, a.turn)
		}
	}
}
