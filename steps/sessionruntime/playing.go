package sessionruntime

import (
	"fmt"
	"slices"
	"strings"
)

// play turns drawn acts into the lines of a scenario. It tracks what has begun, as a target would see it that does
// everything right, so that most acts continue something. What a target really does may differ, and is judged by the
// model alone.
type play struct {
	lines []string
	turns map[string]*playedTurn
	order []*playedTurn // as they were said

	active           string // "": uncertain
	members          map[string]bool
	gone             []string // agents that were removed, or will be
	removing, adding []string // agents about which SessionManager has not answered
	handovers        []*playedTurn
	opening, closing bool

	hurry string // whose limit is short, so that it may expire: of "cancels", of "inputs", of neither
	waits int    // how often the limit was left to expire
}

// playedTurn is an input and what has become of it.
type playedTurn struct {
	name, owner        string // owner is the agent that should answer it
	stage              stage
	sent, acked, asked bool // some output, its acknowledgement, a handover was sent
	confirmed          bool // the confirmation of a cancel was sent
	handedTo           string
}

// stage is how far a turn has come.
type stage int

const (
	said stage = iota
	acknowledged
	speaking
	stopping // a CANCEL is due
	over
)

func newPlay() *play {
	return &play{turns: map[string]*playedTurn{}, active: "a", members: map[string]bool{"a": true, "b": true, "c": true}}
}

func (p *play) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// latest returns the latest turn that is in one of the stages; nil if there is none.
func (p *play) latest(stages ...stage) *playedTurn {
	for _, t := range slices.Backward(p.order) {
		if slices.Contains(stages, t.stage) {
			return t
		}
	}
	return nil
}

// act adds the lines of an act.
func (p *play) act(a act) {
	n := len(p.lines)
	if !p.usual(a) && !p.byUser(a) && !p.byManager(a) {
		p.byAgent(a)
	}
	begins := slices.ContainsFunc(p.lines[n:], func(line string) bool {
		return strings.Contains(line, "the user says") || strings.Contains(line, "mentions")
	})
	if begins || a.wait && len(p.lines) > n {
		p.say("Then everything is handled") // agents answer only inputs that have reached them
	}
}

// usual adds an act that continues what has begun, and reports whether a is one.
func (p *play) usual(a act) bool {
	switch a.what {
	case "next":
		p.next(a)
	case "answer":
		p.answer(a)
	case "say", "mention":
		if p.latest(said, acknowledged, speaking, stopping) != nil && a.form%2 == 0 { // one turn at a time, at first
			p.next(a)
		} else {
			p.begin(a)
		}
	case "remove-speaker":
		if t := p.latest(speaking, stopping); t != nil {
			p.remove(t.owner)
		}
	case "come-or-go":
		p.comeOrGo(a)
	case "hand-over":
		for _, t := range slices.Backward(p.order) {
			if t.sent && !t.asked {
				p.handOver(t, a)
				break
			}
		}
	default:
		return false
	}
	return true
}

// next continues the drawn turn if it is in progress, else the latest one, or begins one.
func (p *play) next(a act) {
	t := p.turns[a.turn]
	if t == nil || t.stage == over {
		t = p.latest(said, acknowledged, speaking, stopping)
	}
	switch {
	case t == nil:
		p.begin(a)
	case t.stage == said:
		p.acknowledge(t)
	case t.stage == acknowledged && a.odd:
		p.output(t, t.owner, "a final without chunks")
		t.stage = over
	case t.stage == acknowledged:
		p.output(t, t.owner, chunkOf(a.form))
		t.stage = speaking
	case t.stage == speaking && a.form%3 == 0:
		p.output(t, t.owner, chunkOf(a.form))
	case t.stage == speaking:
		p.output(t, t.owner, "the final")
		t.stage = over
	case a.form == 0: // what may come before the confirmation
		p.output(t, t.owner, "the final")
	case a.form == 1:
		p.say(`When agent "%s" reports an error in "%s"`, t.owner, t.name)
	case a.form == 2:
		p.say("When the user cancels")
	default:
		p.confirmCancel(t, a.odd)
	}
}

// comeOrGo takes the next step of an agent that leaves, comes back and leaves again.
func (p *play) comeOrGo(a act) {
	if len(p.gone) == 0 {
		p.gone = append(p.gone, a.agent)
	}
	agent := p.gone[a.form%len(p.gone)]
	switch {
	case slices.Contains(p.adding, agent):
		p.added(agent, true)
	case slices.Contains(p.removing, agent):
		p.removed(agent, true)
	case p.members[agent]:
		p.remove(agent)
	default:
		p.invite(agent)
	}
}

// chunkOf returns the form of a chunk.
func chunkOf(form int) string {
	switch form {
	case 0:
		return "a chunk with odd values"
	case 1:
		return "blanks"
	case 2:
		return "text of odd characters"
	}
	return "a chunk"
}

// answer lets SessionManager or the user answer something that is open.
func (p *play) answer(a act) {
	var open []func()
	for _, t := range p.handovers {
		open = append(open, func() { p.decide(t, !a.odd) })
	}
	for _, agent := range p.removing {
		if !slices.ContainsFunc(p.order, func(t *playedTurn) bool { return t.owner == agent && t.stage == stopping }) {
			open = append(open, func() { p.removed(agent, !a.odd) })
		}
	}
	for _, agent := range p.adding {
		open = append(open, func() { p.added(agent, !a.odd) })
	}
	if p.opening {
		open = append(open, func() { p.opening = false; p.say("When SessionManager says that the session is opened") })
	}
	if p.closing && p.latest(stopping) == nil {
		open = append(open, func() {
			p.closing = false
			p.say("When SessionManager says that the session could not be closed")
		})
	}
	if len(open) > 0 {
		open[a.form%len(open)]()
	}
}

// begin adds an input, with a name of its own.
func (p *play) begin(a act) {
	t := &playedTurn{name: a.turn, owner: a.agent}
	for n := 1; p.turns[t.name] != nil; n++ {
		if n > 9 {
			return
		}
		t.name = fmt.Sprintf("t%d", n)
	}
	p.turns[t.name], p.order = t, append(p.order, t)
	if a.what == "mention" {
		form := []string{"its payload", "its subtype", "a choice in the interface"}[a.form%3]
		p.say(`When the user mentions agent "%s" in "%s" by %s`, a.agent, t.name, form)
		if p.members[a.agent] {
			p.active = a.agent
		} else {
			t.stage = over
		}
		return
	}
	if p.active == "" { // whoever is active by now
		for _, agent := range []string{a.agent, "a", "b", "c", "d", "e"} {
			if p.members[agent] {
				p.switchTo(agent)
				break
			}
		}
	}
	t.owner = p.active
	if t.owner == "" {
		t.owner = a.agent
	}
	with := []string{" with a structured payload", " with ids of its own", " with blanks around its text",
		" with deep and odd values", " with decomposed letters in its ids", " with metadata of its own"}
	how := ""
	if a.form < len(with) {
		how = with[a.form]
	}
	p.say(`When the user says "%s"%s`, t.name, how)
}
