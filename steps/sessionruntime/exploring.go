package sessionruntime

import (
	"strings"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/steps"
	judge "parley/steps/sessionruntime/model"
)

func (s *suite) registerExploring(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the orchestrator follows its life cycles$`, s.handled)
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

// act is one event on the bus, as it is drawn: what it comes to depends on what has happened before (play).
type act struct {
	what         string
	agent, other string
	turn         string
	form         int
	wait         bool // wait until it has been handled
	odd          bool // take the less usual course
}

// themes list the acts that a sequence is drawn from. Most are the usual next step of something that has begun, because
// sequences without any sense come to nothing that a clause is about. The first theme has all acts; the others go deep
// into one matter, which takes several acts that belong together.
var themes = [][]string{
	strings.Fields(`next next next next next next next next next next next next answer answer answer answer answer answer
		say say say mention mention mention cancel cancel interrupt remove remove-speaker remove-speaker invite come-or-go
		hand-over hand-over hand-over switch error error again again foreign
		acknowledge chunk final confirm-cancel stopped removed not-removed added not-added confirm reject open opened close
		closed not-closed time`),
	strings.Fields(`next next next next next next mention mention come-or-go come-or-go come-or-go come-or-go come-or-go
		answer answer answer answer remove invite switch removed added not-removed`), // agents
	strings.Fields(`next next next next next next next next say mention remove-speaker remove-speaker cancel interrupt
		answer answer final chunk error acknowledge confirm-cancel close`), // cancels
	strings.Fields(`next next next next next next next next say mention mention hand-over hand-over hand-over answer answer
		switch confirm reject foreign again`), // handovers
}

// Explore implements steps.Explorer: what users, agents and SessionManager may say about inputs, the agents of a
// session and two that are invited, mostly as they would, and at times in any order.
func (Protocol) Explore(draw *rapid.T) []string {
	letter := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	whats := rapid.SampledFrom(themes).Draw(draw, "theme")
	one := rapid.Custom(func(t *rapid.T) act {
		return act{
			what:  rapid.SampledFrom(whats).Draw(t, "what"),
			turn:  rapid.SampledFrom([]string{"t1", "t2", "t3", "t4", "t5", "t6"}).Draw(t, "turn"),
			agent: letter.Draw(t, "agent"),
			other: letter.Draw(t, "other"),
			form:  rapid.IntRange(0, 11).Draw(t, "form"),
			wait:  rapid.IntRange(0, 3).Draw(t, "wait") > 0,
			odd:   rapid.IntRange(0, 3).Draw(t, "odd") == 3,
		}
	})
	p := newPlay()
	p.hurry = rapid.SampledFrom([]string{"", "", "", "", "", "cancels", "cancels", "inputs"}).Draw(draw, "hurry")
	switch p.hurry {
	case "cancels":
		p.say("Given a short limit for confirmations of cancels")
	case "inputs":
		p.say("Given a short limit for acknowledgements of inputs")
	}
	p.say(`Given a session of agents "a", "b" and "c" where agent "a" is active`)
	switch rapid.IntRange(0, 5).Draw(draw, "ids") {
	case 3:
		p.say(`Given agents "d" and "e" whose ids differ only behind a dot`)
	case 4:
		p.say(`Given agents "d" and "e" whose ids differ only behind their 50th character`)
	case 5:
		p.say(`Given agent "d" whose id has upper-case and decomposed letters`)
	}
	if len(p.lines) > 1 && strings.Contains(p.lines[len(p.lines)-1], "whose id") {
		p.join("d")
		p.join("e")
	}
	for _, a := range rapid.SliceOfN(one, 16, 40).Draw(draw, "acts") {
		p.act(a)
	}
	switch p.hurry {
	case "cancels":
		p.say("When the limit for confirming a cancel expires")
	case "inputs":
		p.say("Then every input without an acknowledgement has timed out")
	}
	p.say("Then the orchestrator follows its life cycles")
	return p.lines
}

// Legal implements steps.Shortener: an agent acts only on an input that was said, and has been handled since.
func (Protocol) Legal(lines []string) bool {
	said, handled, asked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		name := ""
		for w := range strings.SplitSeq(line, `"`) {
			if len(w) == 2 && w[0] == 't' {
				name = w
			}
		}
		switch {
		case strings.Contains(line, "everything is handled"):
			for name := range said {
				handled[name] = true
			}
		case name == "":
		case strings.Contains(line, "the user says") || strings.Contains(line, "mentions"):
			if said[name] {
				return false
			}
			said[name] = true
		case strings.Contains(line, "to hand"):
			if asked[name] || !handled[name] {
				return false
			}
			asked[name] = true
		case !handled[name], strings.Contains(line, "the handover of") && !asked[name]:
			return false
		}
	}
	return true
}
