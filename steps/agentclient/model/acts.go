package model

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/jsonform"
	texts "parley/protocol/agentclient"
	vocab "parley/protocol/agentselect"
	"parley/steps/agentclient/looks"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Names of the controls by which the user's acts oblige a page to something.
const (
	Connect    = "connect"
	Disconnect = "disconnect"
	NewSession = "new-session"
	Abort      = "abort"
	Selector   = "select"
)

// Kinds of what the user's acts oblige a page to, beside those of its messages.
const (
	StreamType = "stream" // it asks for its event stream
	StreamEnd  = "the end of the stream"
	CreateType = "session_create"
)

// user is what a page knows of its user, in a run.
type user struct {
	choices int                 // of an agent, since the latest switch
	session string              // that the page was given last
	doubt   bool                // the stream has ended since, or a session was asked for: which session it has is unknown
	chosen  int                 // the record of the latest choice
	wished  string              // the agent that was chosen without a session
	since   int                 // the record of the first such choice
	sent    bool                // it has sent a switch without a session
	agents  map[string]string   // the names of the listed agents, by id
	dialogs []transcript.Record // that ask the user, since the latest act
	look    *snapshot.Page      // the latest
	looked  int                 // its record
}

// unsent are the clauses of a choice without a session.
var unsent = []string{"AC-042", "AC-054", "AC-056", "AC-095", "AC-039", "AC-041"}

// preselected are the clauses of a request for a session.
var preselected = []string{"AC-041", "AC-043", "AC-054", "AC-096", "AC-107", "AC-117"}

// plays takes a record of a run: what the user does, and what the page makes of it.
func (p *page) plays(r *transcript.Record) {
	switch {
	case r.Kind == transcript.Act && r.Dir == transcript.Sent:
		p.acted(r)
	case r.Kind == transcript.Failure && r.Reply > 0: // the user could not do it
		p.requests.Each(func(o *owed) { o.Optional = o.Optional || o.Cause.N == r.Reply })
	case r.Kind == transcript.Dialog && r.Type != "alert":
		p.dialogs = append(p.dialogs, *r)
	case r.Kind == transcript.Ask && r.Event != nil:
		p.makes(r)
	case r.Kind == transcript.Request && r.Dir == transcript.Received && r.Event != nil:
		p.receives(r)
	case r.Kind == transcript.Response && r.Dir == transcript.Sent:
		if id := text(r, vocab.SessionID); id != "" {
			p.session, p.doubt, p.wished = id, false, ""
		} else if a := p.open[r.Reply]; a != nil && a.kind == CreateType {
			p.doubt = p.session != ""
		}
	case r.Kind == transcript.Closed && r.Conn == p.stream && p.stream != "":
		p.settle(r)
		if p.doubt = p.session != ""; p.looked < p.chosen { // the page may not have handled the choice
			p.wished = ""
		}
	}
}

// acted takes an act of the user.
func (p *page) acted(r *transcript.Record) {
	var act struct {
		Do    string `json:"do"`
		On    string `json:"on"`
		Value string `json:"value"`
	}
	if err := json.Unmarshal(r.Bytes, &act, jsonform.Lenient); err != nil || r.Reply > 0 {
		return
	}
	p.dialogs = nil
	if act.Do == "choose" {
		p.choices++
		p.picks(r, act.Value)
	}
	if act.Do != "click" {
		return
	}
	switch act.On {
	case Connect:
		p.must(r, &owed{What: "a request for the event stream", Clauses: []string{"AC-025"},
			About: duty{kind: StreamType}})
	case Disconnect:
		p.must(r, &owed{What: "the event stream closed, because the user disconnected", Clauses: []string{"AC-105"},
			About: duty{kind: StreamEnd}, Match: func(m message) bool {
				return m.Kind == transcript.Closed && m.Dir == transcript.Received
			}})
	case NewSession:
		p.must(r, &owed{What: "a request for a new session", Unshown: true, About: duty{kind: CreateType},
			Clauses: []string{"AC-043", "AC-054", "AC-096", "AC-107", "AC-117"}})
	case Abort:
		p.must(r, &owed{What: "an abort for session " + p.session, Clauses: []string{"AC-079", "AC-124"}, Unshown: true,
			Optional: p.session == "", About: duty{kind: vocab.AbortType}})
	}
}

// must enters what an act obliges the page to. An earlier act of the kind, which had no effect, does so no longer.
func (p *page) must(r *transcript.Record, o *owed) {
	p.requests.Each(func(was *owed) { was.Optional = was.Optional || was.About.kind == o.About.kind })
	if o.Cause = message(*r); o.Match == nil {
		o.Match = func(m message) bool { return m.asks(o.About.kind) }
		o.Like = o.Match
	}
	p.requests.Owe(o)
}

// rate says how well a request matches what an act obliges the page to: the latest act of a kind goes before what need
// not come any more, and the agent that was chosen before any other.
func rate(o *owed, m message) (how int) {
	if r := transcript.Record(m); m.Event != nil && o.About.agent == text(&r, vocab.AgentID) {
		how += 2
	}
	if !o.Optional {
		how++
	}
	return how
}

// picks takes a choice of an agent.
func (p *page) picks(r *transcript.Record, option string) {
	id := p.agentOf(option)
	p.chosen = r.N
	if p.session == "" && !p.doubt {
		if p.wished = id; p.since == 0 {
			p.since = r.N
		}
		if name := p.agents[id]; name != "" {
			p.prompts(r, Prompt{fmt.Sprintf(texts.Preselected, name), preselect.Clauses}, "")
		}
		return
	}
	p.must(r, &owed{What: fmt.Sprintf("a %s for %q", vocab.SwitchAgentType, id), Unshown: true,
		Clauses:  append(sending[:len(sending):len(sending)], "AC-045", "AC-051", "AC-055", "AC-116"),
		About:    duty{kind: vocab.SwitchAgentType, agent: id},
		Optional: id == "" || p.doubt || p.switching != nil || p.current.only(id)})
}

// sending are the clauses of a choice in a session.
var sending = []string{"AC-008", "AC-012", "AC-033", "AC-046", "AC-050", "AC-053", "AC-079", "AC-124", "AC-056",
	"AC-117"}

// agentOf returns the id of the agent that an option shows, which may show more than its name; "" if that is unknown.
func (p *page) agentOf(option string) (id string) {
	best, several := "", false
	for of, name := range p.agents {
		switch {
		case !looks.Contains(option, name) || len(name) < len(best):
		case len(name) == len(best):
			several = true
		default:
			id, best, several = of, name, false
		}
	}
	if several {
		return ""
	}
	return id
}

// makes takes a request as the browser records it: in the order in which the page makes them.
func (p *page) makes(r *transcript.Record) {
	switch r.Event.Type {
	case vocab.SwitchAgentType:
		p.premature(r)
	case CreateType:
		if p.since > 0 && !p.sent {
			p.requests.Findings = append(p.requests.Findings,
				verdict.Finding{Clauses: unsent, OK: true, Expected: obligation.Absence, At: r.N})
		}
	}
}

// premature judges a switch of a page that was given no session yet.
func (p *page) premature(r *transcript.Record) {
	if p.session == "" {
		p.sent = true
		p.requests.Fail(message(*r), unsent, "no "+vocab.SwitchAgentType+" without a session", "%s", monitor.Describe(*r))
	}
}

// settle returns what a record settles of what the page owes its server; nil: nothing.
func (p *page) settle(r *transcript.Record) *owed {
	if m := message(*r); p.requests.Expects(m) {
		o, _ := p.requests.Settle(m)
		return o
	}
	return nil
}

// receives takes a request as the server receives it.
func (p *page) receives(r *transcript.Record) {
	if r.Event.Type == vocab.SwitchAgentType && p.unchosen(text(r, vocab.AgentID)) {
		p.unasked(r)
		p.ofSession(r)
		return
	}
	o := p.settle(r)
	switch r.Event.Type {
	case vocab.SwitchAgentType:
		p.asksSwitch(r, o)
		p.choices = 0
	case CreateType:
		if p.doubt = true; o != nil && p.wished != "" {
			p.member(r, vocab.InitialAgentID, p.wished,
				"a request for a session whose initialAgentId is %q, the preselected agent", preselected...)
		}
	case vocab.AbortType:
		if o != nil && p.session != "" {
			p.member(r, vocab.SessionID, p.session, "an abort for session %s", "AC-079", "AC-124")
		}
	case LoadType, DeleteType:
		p.doubt = true
	}
}

// unchosen reports whether a switch to an agent answers no choice: it is the current one, or may be, and the user has
// not chosen it.
func (p *page) unchosen(id string) bool {
	chosen := false
	p.requests.Each(func(o *owed) {
		chosen = chosen || o.About.kind == vocab.SwitchAgentType && (o.About.agent == id || o.About.agent == "")
	})
	return p.current.only(id) || !chosen && p.current.ids[id]
}

// unasked records that a switch follows no choice.
func (p *page) unasked(r *transcript.Record) {
	p.requests.Fail(message(*r), []string{"AC-052"}, "a switch_agent only when the user has chosen an agent",
		"the user has not chosen it since the last one: %s", monitor.Describe(*r))
}

// asksSwitch judges a switch, and which choice it follows.
func (p *page) asksSwitch(r *transcript.Record, o *owed) {
	m := message(*r)
	if o != nil {
		p.requests.Each(func(was *owed) { // what it replaced
			was.Done = was.Done || was.About.kind == o.About.kind && was.Cause.N < o.Cause.N
		})
	}
	if o != nil && !o.Optional {
		p.requests.Keep(m, sending...)
		for _, d := range p.dialogs {
			p.requests.Fail(message(d), []string{"AC-033"}, "a switch that needs no more than a choice",
				"a %s that asks %q", d.Type, cut.Text(string(d.Bytes), 200))
		}
	}
	if o != nil && o.About.agent != "" {
		p.member(r, vocab.AgentID, o.About.agent, "a switch_agent whose agentId is %q", "AC-045", "AC-050", "AC-012")
	} else {
		id := text(r, vocab.AgentID)
		p.requests.Check(id != "", m, []string{"AC-050"}, "an agentId", "%s: %s", written(r, vocab.AgentID),
			monitor.Describe(*r))
	}
	if o != nil || p.choices > 0 {
		p.requests.Keep(m, "AC-052")
	} else {
		p.unasked(r)
	}
	p.ofSession(r)
}

// ofSession judges the session that a switch names.
func (p *page) ofSession(r *transcript.Record) {
	if p.session == "" {
		p.premature(r)
		return
	}
	p.requests.Keep(message(*r), "AC-056")
	p.member(r, vocab.SessionID, p.session, "a switch_agent whose sessionId is %q, that of the page's session",
		"AC-045", "AC-051", "AC-055", "AC-116", "AC-017")
}

// member judges a member of a request.
func (p *page) member(r *transcript.Record, name, want, expected string, clauses ...string) {
	p.requests.Check(text(r, name) == want, message(*r), clauses, fmt.Sprintf(expected, want), "%s: %s", written(r, name),
		monitor.Describe(*r))
}

// written says what a member is, as the message has it.
func written(r *transcript.Record, name string) string {
	data, _ := r.Event.Data.(map[string]any)
	if v, there := data[name]; there {
		return name + " is " + wjson.Compact(v)
	}
	return name + " is missing"
}
