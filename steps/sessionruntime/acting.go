package sessionruntime

import "slices"

// byUser adds an act of the user, and reports whether a is one.
func (p *play) byUser(a act) bool {
	switch a.what {
	case "cancel", "interrupt":
		p.say("When the user %ss", a.what)
		if t := p.latest(speaking); t != nil {
			t.stage = stopping
		}
	case "time":
		if p.hurry == "cancels" && p.waits < 2 { // each one takes time
			p.waits++
			p.say("When the limit for confirming a cancel expires")
		}
	case "switch":
		p.switchTo(a.agent)
	case "remove":
		p.remove(a.agent)
	case "invite":
		p.invite(a.agent)
	case "open":
		p.opening = true
		p.say("When the user opens the session")
	case "close":
		p.closing = true
		p.stopAll("")
		p.say("When the user closes the session")
	case "confirm", "reject":
		if t := p.turns[a.turn]; t != nil && t.asked {
			p.decide(t, a.what == "confirm")
		}
	default:
		return false
	}
	return true
}

// stopAll notes that the turns of an agent, or all if it is "", have to stop.
func (p *play) stopAll(agent string) {
	for _, t := range p.order {
		if t.stage == speaking && (agent == "" || t.owner == agent) {
			t.stage = stopping
		}
	}
}

func (p *play) switchTo(agent string) {
	p.say(`When the user switches to agent "%s"`, agent)
	if p.members[agent] {
		p.active = agent
	}
}

func (p *play) remove(agent string) {
	p.say(`When the user removes agent "%s"`, agent)
	p.stopAll(agent)
	if p.members[agent] && !slices.Contains(p.removing, agent) {
		p.removing = append(p.removing, agent)
	}
}

func (p *play) invite(agent string) {
	p.say(`When the user invites agent "%s"`, agent)
	if !p.members[agent] && !slices.Contains(p.adding, agent) {
		p.adding = append(p.adding, agent)
	}
}

// join makes an agent a member.
func (p *play) join(agent string) {
	p.invite(agent)
	p.say("Then everything is handled")
	p.added(agent, true)
	p.say("Then everything is handled")
}

func (p *play) decide(t *playedTurn, confirms bool) {
	p.handovers = slices.DeleteFunc(p.handovers, func(other *playedTurn) bool { return other == t })
	if confirms {
		p.say(`When the user confirms the handover of "%s"`, t.name)
		p.active = t.handedTo
		return
	}
	p.say(`When the user rejects the handover of "%s"`, t.name)
}

// byManager adds an act of SessionManager, and reports whether a is one.
func (p *play) byManager(a act) bool {
	switch a.what {
	case "removed", "not-removed":
		p.removed(a.agent, a.what == "removed")
	case "added", "not-added":
		p.added(a.agent, a.what == "added")
	case "opened":
		p.opening = false
		p.say("When SessionManager says that the session is opened")
	case "closed":
		if a.odd { // nothing is due any more
			p.say("When SessionManager says that the session is closed")
		}
	case "not-closed":
		p.closing = false
		p.say("When SessionManager says that the session could not be closed")
	default:
		return false
	}
	return true
}

func (p *play) removed(agent string, done bool) {
	asked := slices.Contains(p.removing, agent)
	p.removing = slices.DeleteFunc(p.removing, func(other string) bool { return other == agent })
	if !done {
		p.say(`When SessionManager says that agent "%s" could not be removed`, agent)
		return
	}
	p.say(`When SessionManager says that agent "%s" is removed`, agent)
	if !asked {
		return
	}
	delete(p.members, agent)
	if !slices.Contains(p.gone, agent) {
		p.gone = append(p.gone, agent)
	}
	if p.active == agent {
		p.active = ""
	}
}

func (p *play) added(agent string, done bool) {
	asked := slices.Contains(p.adding, agent)
	p.adding = slices.DeleteFunc(p.adding, func(other string) bool { return other == agent })
	if !done {
		p.say(`When SessionManager says that agent "%s" could not be added`, agent)
		return
	}
	p.say(`When SessionManager says that agent "%s" is added`, agent)
	p.members[agent] = p.members[agent] || asked
}

// byAgent adds what the agent of the drawn turn, or another one, does about it.
func (p *play) byAgent(a act) {
	t := p.turns[a.turn]
	if t == nil {
		return
	}
	switch a.what {
	case "acknowledge":
		p.acknowledge(t)
	case "chunk", "final":
		p.output(t, t.owner, map[string]string{"chunk": chunkOf(a.form), "final": "the final"}[a.what])
		if a.what == "final" && t.stage != stopping {
			t.stage = over
		}
	case "foreign":
		if a.other != t.owner {
			p.output(t, a.other, "a chunk")
		}
	case "again":
		p.again(t, a.form)
	case "confirm-cancel", "stopped":
		p.confirmCancel(t, a.what == "stopped")
	case "error":
		if latest := p.latest(stopping, speaking); latest != nil {
			t = latest
		}
		p.say(`When agent "%s" reports an error in "%s"`, t.owner, t.name)
		if t.stage != stopping {
			t.stage = over
		}
	}
}

func (p *play) acknowledge(t *playedTurn) {
	p.say(`When agent "%s" acknowledges "%s"`, t.owner, t.name)
	t.acked = true
	if t.stage == said {
		t.stage = acknowledged
	}
}

func (p *play) output(t *playedTurn, agent, form string) {
	p.say(`When agent "%s" sends %s of "%s"`, agent, form, t.name)
	t.sent = true
}

func (p *play) confirmCancel(t *playedTurn, stopped bool) {
	how := "confirms the cancel of"
	if stopped {
		how = "has stopped the stream of"
	}
	p.say(`When agent "%s" %s "%s"`, t.owner, how, t.name)
	t.confirmed = true
	if t.stage == stopping {
		t.stage = over
	}
}

// again delivers a message of a turn through a second subscription.
func (p *play) again(t *playedTurn, form int) {
	what := []string{}
	for name, was := range map[string]bool{"the output of ": t.sent, "the acknowledgement of ": t.acked,
		"the confirmation of ": t.confirmed, "": true} {
		if was {
			what = append(what, name)
		}
	}
	slices.Sort(what)
	p.say(`When %s"%s" is delivered by a second subscription`, what[form%len(what)], t.name)
}

// handOver asks to hand a turn over to another agent than its own.
func (p *play) handOver(t *playedTurn, a act) {
	to := a.other
	if to == t.owner {
		to = a.agent
	}
	t.asked, t.handedTo = true, to
	p.say(`When agent "%s" asks to hand "%s" over to agent "%s"`, t.owner, t.name, to)
	if p.members[to] && to != t.owner {
		p.handovers = append(p.handovers, t)
	}
}
