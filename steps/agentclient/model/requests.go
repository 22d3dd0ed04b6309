package model

import (
	"fmt"
	"strings"
	"unicode"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// asks handles a request of the page.
func (p *page) asks(r *transcript.Record) {
	a := &asking{r: r, kind: r.Event.Type, session: text(r, vocab.SessionID)}
	switch a.kind {
	case vocab.SwitchAgentType:
		a.agent = text(r, vocab.AgentID)
		p.switches(a)
	case CreateType:
		a.agent = text(r, vocab.InitialAgentID)
		p.nobody(a)
		p.creates(a)
		p.moves(a)
	case LoadType, DeleteType:
		p.moves(a)
	case ListType:
	default:
		p.otherwise(a)
		return
	}
	if a.agent != "" && len(p.asked) < mostNames {
		p.asked[a.agent] = true
	}
	if len(p.open) >= mostAsked { // the server does not answer
		p.open, p.astray = map[int]*asking{}, true
	}
	p.open[r.N] = a
}

// moves notes a request after which the page may have another session.
func (p *page) moves(a *asking) {
	p.busy, p.aborted = nil, nil
	if p.switching != nil {
		p.switching.moved = true
	}
	p.tangled = p.tangled || p.pending != ""
	if p.switching != nil || a.kind == DeleteType || a.session != "" && a.session == p.latest {
		p.adrift = true
	}
	p.bound, p.named, p.pending, p.due = p.bound || a.session != "", "", a.kind, ""
}

// settles notes the session that a page names: the answer that gave it must have arrived.
func (p *page) settles(session string) {
	if session == "" {
		return
	}
	if p.latest != session {
		p.latest, p.current.any = session, p.current.any || p.latest != ""
	}
	if session == p.due {
		p.pending, p.due = "", ""
	}
}

// otherwise handles other messages: a switch under another name, or one that shows the session of the page.
func (p *page) otherwise(a *asking) {
	p.aborts(a)
	p.settles(a.session)
	if a.session != "" {
		p.bound, p.named = true, a.session
	}
	agent := text(a.r, vocab.AgentID)
	if plain := plain(a.kind); (plain == "switchagent" || plain == "agentswitch") && (p.ids[agent] || p.names[agent]) {
		p.m.broken(forms, a.r, "a message of type "+vocab.SwitchAgentType, "AC-008", "AC-012", "AC-045", "AC-050", "AC-053")
	}
}

// creates judges a request for a new session.
func (p *page) creates(a *asking) {
	v := member(a.r, vocab.InitialAgentID)
	switch {
	case p.streams == 0:
	case v == nil:
		p.elsewhere(a)
	case v == "":
	case isNumber(v) || p.distorted(a.agent):
		p.m.broken(preselection, a.r, fmt.Sprintf("the id of an agent as initialAgentId, and not %s", wjson.Compact(v)),
			"AC-041", "AC-043", "AC-054", "AC-096", "AC-117")
	case p.ids[a.agent]:
		p.m.kept(preselection, a.r, "AC-041", "AC-043", "AC-054", "AC-096", "AC-117")
		if !p.bound && len(p.asked) == 0 {
			p.m.kept(unbound, a.r, "AC-039", "AC-042", "AC-054", "AC-056", "AC-095")
		}
	}
}

// elsewhere judges a request for a new session that names no agent, or names one in the wrong member: an agent that
// only a list has named to the page.
func (p *page) elsewhere(a *asking) {
	id := text(a.r, vocab.AgentID)
	if id == "" || p.bound || p.blind || p.current.any || p.current.ids[id] || p.asked[id] || !p.offered[id] {
		return
	}
	p.m.broken(preselection, a.r, fmt.Sprintf("%q as initialAgentId", id),
		"AC-041", "AC-043", "AC-054", "AC-096", "AC-117")
}

// switches judges a switch.
func (p *page) switches(a *asking) {
	p.tries(a)
	p.formed(a)
	p.naming(a)
	p.settles(a.session)
	p.adrift = p.adrift || !p.ofThisStream(a) // an event of this stream may end a switch of an earlier one
	if a.agent != "" && a.session != "" && p.stream != "" && !p.astray && p.ofThisStream(a) {
		p.orders(a)
		p.chooses(a)
	}
	if a.session != "" {
		p.bound, p.named = true, a.session
	}
	p.switching, p.ended, p.refreshed, p.said = a, nil, nil, set{}
}

// formed judges how a switch names the agent.
func (p *page) formed(a *asking) {
	p.nobody(a)
	id := member(a.r, vocab.AgentID)
	switch {
	case a.agent == "":
		p.m.broken(forms, a.r, fmt.Sprintf("an agentId, and not %s", wjson.Compact(id)), "AC-012", "AC-045", "AC-050")
	case p.distorted(a.agent):
		clauses := []string{"AC-012", "AC-045", "AC-050"}
		if p.names[a.agent] {
			clauses = append(clauses, "AC-019")
		}
		p.m.broken(forms, a.r, fmt.Sprintf("the id of an agent as agentId, and not %s", wjson.Compact(id)), clauses...)
	case p.ids[a.agent]:
		p.m.kept(forms, a.r, "AC-012", "AC-050")
		if !p.names[a.agent] {
			p.m.kept(forms, a.r, "AC-019")
		}
		if a.session != "" {
			p.m.kept(forms, a.r, "AC-045", "AC-053")
		}
	}
}

// nobody judges how a page handles a list without a current agent.
func (p *page) nobody(a *asking) {
	switch {
	case !p.none || p.blind:
	case p.offered[a.agent]:
		p.m.kept(forms, a.r, "AC-020")
	case (a.agent == "null" || a.agent == "undefined") && !p.ids[a.agent]:
		p.m.broken(forms, a.r, fmt.Sprintf("no agent %q, after a list without a current one", a.agent), "AC-020")
	}
}

// distorted reports whether a text is not an agent's id, but an agent's name, or a misspelt id or name.
func (p *page) distorted(s string) bool {
	if p.blind || p.ids[s] {
		return false
	}
	if p.names[s] {
		return true
	}
	spelt := plain(s)
	return spelt != "" && p.spelt[spelt]
}

func isNumber(v any) bool {
	_, is := v.(wjson.Number)
	return is
}

// plain returns the letters and digits of a text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// naming judges how a switch names the session.
func (p *page) naming(a *asking) {
	switch {
	case a.session != "":
		p.m.kept(sessions, a.r, "AC-045", "AC-051", "AC-055", "AC-116")
	case p.named != "":
		p.m.broken(sessions, a.r, fmt.Sprintf("sessionId %q, which the page has named before", p.named),
			"AC-045", "AC-051", "AC-055", "AC-116")
	default: // with a session it had to name it, and without one it must not send a switch
		p.m.broken(sessions, a.r, "a sessionId", "AC-116")
		if !p.bound && p.streams > 0 {
			p.m.broken(unbound, a.r, "no switch of a page without a session",
				"AC-039", "AC-042", "AC-054", "AC-056", "AC-095")
		}
	}
}

// ofThisStream reports whether a page has sent a request since it opened the latest stream: messages on separate
// connections may overtake each other.
func (p *page) ofThisStream(a *asking) bool {
	id := text(a.r, vocab.ConnectionID)
	if p.streams > 1 && id != "" && p.connID != "" {
		return id == p.connID
	}
	return p.streams == 1 || p.given[a.session] == p.streams
}

// orders judges a switch by the previous one.
func (p *page) orders(a *asking) {
	was := p.switching
	if !p.sure() {
		return
	}
	switch {
	case was == nil && p.ended != nil:
		p.m.kept(turns, a.r, "AC-046")
	case was == nil || was.moved:
		return
	case was.session == a.session:
		clauses := []string{"AC-046"}
		if was.agent == a.agent {
			clauses = append(clauses, "AC-052")
		}
		p.m.broken(turns, a.r, fmt.Sprintf("no switch before that of record %d is answered by an event", was.r.N),
			clauses...)
		p.astray = true
	case was.agent == a.agent && was.session != "":
		p.m.broken(turns, a.r, fmt.Sprintf("one switch for a choice, which is that of record %d", was.r.N), "AC-017")
		p.astray = true
	}
}

// chooses judges the choice of agent in a switch.
func (p *page) chooses(a *asking) {
	if p.astray {
		return
	}
	fresh, sure := !p.asked[a.agent], p.sure()
	switch {
	case !p.listed:
		if p.streams > 1 && !p.blind {
			p.m.broken(lists, a.r, "no switch before the list of the new connection", "AC-109")
		}
		return
	case p.refreshed != nil && p.offered[a.agent] && !p.refreshed[a.agent]:
		p.m.kept(lists, a.r, "AC-072", "AC-085", "AC-086", "AC-118")
	case p.refreshed != nil && p.refreshed[a.agent] && !p.offered[a.agent] && fresh && sure && !p.blind:
		p.m.broken(lists, a.r, "one of the agents that the error has listed", "AC-072", "AC-085", "AC-086", "AC-118")
	}
	p.stores(a, fresh && sure)
	p.remembers(a)
	if !sure || p.switching != nil || p.current.any || len(p.current.ids) == 0 {
		return
	}
	if p.current.only(a.agent) {
		p.m.broken(turns, a.r, fmt.Sprintf("no switch to %q, which is the current agent", a.agent), "AC-052")
		p.astray = true
	} else if !p.current.ids[a.agent] {
		p.m.kept(turns, a.r, "AC-052")
	}
}

// stores judges whether a page offers the agents of the latest list.
func (p *page) stores(a *asking, fresh bool) {
	switch {
	case p.blind:
	case p.offered[a.agent] && !p.before[a.agent] && !p.replaced[a.agent]:
		p.m.kept(lists, a.r, "AC-010", "AC-021", "AC-023")
	case p.arrived != nil && !p.arrived[a.agent] && p.replaced[a.agent] && fresh && !p.current.ids[a.agent]:
		p.m.broken(lists, a.r, "one of the agents of the latest list", "AC-010", "AC-021", "AC-023")
	}
}

// remembers judges whether a page has kept agents of an earlier stream.
func (p *page) remembers(a *asking) {
	if p.streams == 1 {
		return
	}
	p.m.kept(lists, a.r, "AC-109")
	lost := false
	for id := range p.before {
		lost = lost || !p.told[id]
	}
	switch {
	case !lost || p.blind:
	case p.told[a.agent]:
		p.m.kept(lists, a.r, "AC-106")
		if p.offered[a.agent] && !p.before[a.agent] {
			p.m.kept(lists, a.r, "AC-111")
		}
	case p.before[a.agent] && !p.asked[a.agent] && a.session == p.named && !p.tangled:
		clauses := []string{"AC-106"}
		if p.arrived != nil && !p.adrift { // so the new list did not remove it
			clauses = append(clauses, "AC-111")
		}
		p.m.broken(lists, a.r, fmt.Sprintf("an agent of the new connection, and not %q of an earlier one", a.agent),
			clauses...)
	}
}

// member returns a member of a message; nil if it is null or absent.
func member(r *transcript.Record, name string) any {
	if r.Event == nil {
		return nil
	}
	data, _ := r.Event.Data.(map[string]any)
	return data[name]
}

func text(r *transcript.Record, name string) string {
	s, _ := member(r, name).(string)
	return s
}
