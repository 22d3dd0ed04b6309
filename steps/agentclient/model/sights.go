package model

import (
	"fmt"
	"strings"

	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps/agentclient/looks"
	"parley/steps/obligation"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// What a page owes its user, who sees it: a look that shows it settles it. The steps judge looks; here it is only told
// what is owed. Traffic between others has no looks, so there it is told until the traffic goes on.

// mostSights bounds what is kept of it.
const mostSights = 100

// Prompt is a text that an error obliges a page to show, and the clauses that demand it.
type Prompt struct {
	Text    string
	Clauses []string
}

// prompts are those of the error codes that have a text of their own.
var prompts = map[string]Prompt{
	vocab.InvalidAgentID:       {texts.EmptyIDPrompt, []string{"AC-066", "AC-014"}},
	vocab.InvalidAgentIDFormat: {texts.FormatIDPrompt, []string{"AC-068", "AC-014"}},
	vocab.AgentBusy:            {texts.BusyPrompt, []string{"AC-073", "AC-014", "AC-009", "AC-049"}},
	vocab.SessionNotFound:      {texts.NoSessionPrompt, []string{"AC-075", "AC-014"}},
}

// Prompts of states, and the beginning of the one about a preselected agent.
var (
	empty     = Prompt{texts.NoAgentsPrompt, []string{"AC-102", "AC-121"}}
	stale     = Prompt{texts.StalePrompt, []string{"AC-104", "AC-122"}}
	preselect = Prompt{strings.Split(texts.Preselected, "%s")[0], []string{"AC-044", "AC-097"}}
)

// quoting are the clauses of an error whose prompt is the server's message.
var quoting = []string{"AC-070", "AC-014", "AC-083", "AC-084", "AC-115"}

// PromptClauses returns the clauses that demand a prompt with a text: those of an error's message if the text is no
// other prompt.
func PromptClauses(text string) []string {
	all := []Prompt{empty, stale, preselect}
	for _, p := range prompts {
		all = append(all, p)
	}
	for _, p := range all {
		if strings.HasPrefix(text, p.Text) || strings.HasPrefix(p.Text, text) {
			return p.Clauses
		}
	}
	return quoting
}

// looks takes a look at the page, or a dialog, which are what its user sees.
func (p *page) looks(r *transcript.Record) {
	l := lookOf(message(*r))
	if l == nil && r.Kind != transcript.Dialog {
		return
	}
	for m := message(*r); p.sights.Expects(m); {
		p.sights.Settle(m)
	}
	p.sights.Findings = nil
	p.sights.Forget(mostSights)
	if l != nil {
		p.look, p.looked = l, r.N
	}
}

// lookOf returns the look that a record has; nil if it has none.
func lookOf(m message) *snapshot.Page {
	if m.Kind != transcript.Snapshot || m.Event == nil {
		return nil
	}
	l, _ := m.Event.Data.(*snapshot.Page)
	return l
}

// shows enters what a record obliges the page to show.
func (p *page) shows(r *transcript.Record) {
	ours := p.m.observer == obligation.Ours
	event := r.Kind == transcript.Stream && r.Dir == transcript.Sent && r.Event != nil && r.Conn == p.stream
	asks := r.Kind == transcript.Request && r.Dir == transcript.Received && r.Event != nil
	ends := r.Kind == transcript.Closed && p.streams > 0 && strings.HasPrefix(r.Conn, p.name+api) && p.stream == ""
	if !ours && (event || asks || r.Kind == transcript.Closed) {
		p.sights.Close()
	}
	switch {
	case p.over || p.m.observer == obligation.Partial:
	case event:
		p.showsEvent(r)
	case ours && asks && r.Event.Type == vocab.SwitchAgentType:
		p.show(r, "selector disabled", "a selector that is disabled", true,
			func(l *snapshot.Page) bool { return l.Select.Disabled },
			"AC-034", "AC-046")
	case ours && ends:
		p.changes()
		p.show(r, "no connection", fmt.Sprintf("the option %q, in a selector that is disabled", texts.Disconnected), true,
			func(l *snapshot.Page) bool { return l.Select.Disabled && looks.OptionWith(l, texts.Disconnected) >= 0 },
			"AC-105", "AC-108")
	}
}

// showsEvent enters what an event obliges the page to show.
func (p *page) showsEvent(r *transcript.Record) {
	switch r.Event.Type {
	case vocab.AgentListEvent:
		p.showsList(r)
	case vocab.AgentSwitchedEvent:
		id := text(r, vocab.CurrentAgentID)
		p.changes()
		p.selects(r, id, text(r, vocab.AgentName), "AC-058", "AC-059", "AC-036")
		was, name := text(r, vocab.PreviousAgentID), text(r, vocab.AgentName)
		if known := p.agents[was]; known != "" {
			was = known
		}
		line := fmt.Sprintf(texts.Switched, was, name)
		before := looks.InChat(p.look, line)
		p.show(r, "chat message", fmt.Sprintf("the message %q in the chat", line), false,
			func(l *snapshot.Page) bool { return looks.InChat(l, line) > before }, "AC-060")
	case vocab.ErrorEvent:
		code := text(r, vocab.ErrorCode)
		prompt, known := prompts[code]
		if code == vocab.AgentNotFound {
			prompt, known = Prompt{text(r, vocab.Message), quoting}, text(r, vocab.Message) != ""
		}
		if known {
			p.prompts(r, prompt, " for "+code)
		}
		p.refuses(r)
	}
}

// refuses enters how the selector must look after an error: it can be used again, with the agents that the error lists.
func (p *page) refuses(r *transcript.Record) {
	p.changes()
	p.show(r, "selector enabled", "a selector that is enabled", true,
		func(l *snapshot.Page) bool { return !l.Select.Disabled }, "AC-037")
	if list, ok := member(r, vocab.AvailableAgents).([]any); ok {
		p.offers(r, list, "AC-072", "AC-085", "AC-086")
	}
}

// offers enters that the agents of a list are those that the selector offers.
func (p *page) offers(r *transcript.Record, list []any, clauses ...string) {
	p.agents = map[string]string{}
	var all []string
	for _, e := range list {
		agent, _ := e.(map[string]any)
		id, _ := agent["id"].(string)
		name, _ := agent["name"].(string)
		if name != "" && len(all) < mostNames {
			p.agents[id], all = name, append(all, name)
		}
	}
	if len(all) > 0 {
		p.show(r, "options", fmt.Sprintf("an option for each agent, %d in all", len(all)), true,
			func(l *snapshot.Page) bool {
				first := looks.Placeholders(l)
				if looks.OptionWith(l, texts.StalePrefix) == first {
					first++
				}
				return looks.Unlike(l, all, first) == ""
			}, clauses...)
	}
}

// showsList enters what an agent_list obliges the page to show.
func (p *page) showsList(r *transcript.Record) {
	list, ok := member(r, vocab.Agents).([]any)
	if !ok {
		return
	}
	p.changes()
	p.offers(r, list, "AC-023", "AC-030")
	current := text(r, vocab.CurrentAgentID)
	switch _, known := p.agents[current]; {
	case len(list) == 0:
		p.show(r, "options", fmt.Sprintf("the option %q", texts.NoAgents), true,
			func(l *snapshot.Page) bool { return looks.OptionWith(l, texts.NoAgents) >= 0 }, "AC-032", "AC-100")
		p.prompts(r, empty, "")
	case current != "" && !known:
		p.prompts(r, stale, "")
	case current != "" && p.switching == nil && p.wished == "":
		p.selects(r, current, p.agents[current], "AC-024", "AC-031")
	}
}

// selects enters that an agent is the one that is selected.
func (p *page) selects(r *transcript.Record, id, name string, clauses ...string) {
	if known := p.agents[id]; known != "" {
		name = known
	}
	if name != "" {
		p.show(r, "selection", fmt.Sprintf("%q selected, in a selector that is enabled", name), true,
			func(l *snapshot.Page) bool { return !l.Select.Disabled && looks.NotSelected(name)(l) == "" }, clauses...)
	}
}

// prompts enters a prompt, on the page or in a dialog; what says for what it is.
func (p *page) prompts(r *transcript.Record, prompt Prompt, what string) {
	if len(p.prompted) < mostSights {
		p.prompted[prompt.Text] = true
	}
	before := p.look
	p.enter(r, &owed{What: fmt.Sprintf("a prompt%s: %q", what, prompt.Text), Clauses: prompt.Clauses,
		About: duty{kind: "prompt"}, Match: func(m message) bool {
			l := lookOf(m)
			return l != nil && looks.More(before, l, prompt.Text) ||
				m.Kind == transcript.Dialog && looks.Contains(string(m.Bytes), prompt.Text)
		}})
}

// show enters what a look must show; state says that it is for as long as nothing changes it. Only a run has looks.
func (p *page) show(r *transcript.Record, kind, what string, state bool, is func(*snapshot.Page) bool,
	clauses ...string) {
	if state && p.m.observer != obligation.Ours {
		return
	}
	p.enter(r, &owed{What: what, Clauses: clauses, About: duty{kind: kind, state: state},
		Match: func(m message) bool { l := lookOf(m); return l != nil && is(l) }})
}

func (p *page) enter(r *transcript.Record, o *owed) {
	o.Cause = message(*r)
	p.sights.Owe(o)
	p.sights.Forget(mostSights)
}

// changes ends what was owed for as long as nothing changes it.
func (p *page) changes() {
	p.sights.Each(func(o *owed) { o.Done = o.Done || o.About.state })
	p.sights.Fence(0, 0, 0) // drops them
}
