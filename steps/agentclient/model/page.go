package model

import (
	"bytes"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Bounds on the state kept of a page. Beyond them it is judged by single messages only.
const (
	mostNames = 5000
	mostAsked = 256
)

// Types of a page's requests and of their answers, as the decoder of agent-client names them.
const (
	LoadType   = "session_load"
	ListType   = "session_list"
	DeleteType = "session_delete"
)

type set map[string]bool

// page is the state of a page as derived from its traffic: one model for all monitors.
type page struct {
	m    *Model
	name string
	user

	requests *book // what it owes its server
	sights   *book // what it owes its user
	prompted set   // texts of the prompts that it has owed, while they are few
	over     bool  // its traffic cannot be told from that of another page any more

	streams int    // event streams so far
	stream  string // the connection of the latest; "" if it has ended
	connID  string // the id that was given to it
	listed  bool   // it has carried a list
	astray  bool   // the page broke an assumption of later judgements, or there was too much to keep
	blind   bool   // a list could not be decoded
	adrift  bool   // on this stream it is unknown which event ended which switch

	pending string // the kind of a request that gives the page another session, until the page names that session
	due     string // that session, if the server has given it
	tangled bool   // several such requests were open at once: it is unknown which answer arrives last
	latest  string // the session that the page named last

	ids, names set  // of agents that any stream has named
	spelt      set  // these, reduced to letters and digits
	told       set  // ids of agents that this stream has named
	before     set  // ids of agents that earlier streams have named
	offered    set  // ids of the current list
	replaced   set  // ids of earlier lists of this stream
	arrived    set  // the current list, if it preceded the end of a switch; else nil
	none       bool // the current list names no current agent
	refreshed  set  // the list before that, if an error has replaced it since the latest switch; else nil
	asked      set  // agents that the page has requested

	bound bool           // some message has named a session
	given map[string]int // session → number of the stream during which it was created
	named string         // the session that the page named last, unless it may have another one since

	first     string  // the agent that the first list of the stream names as the current one
	current   belief  // the session's agent
	said      set     // agents that answers have named since the latest switch was requested
	switching *asking // the switch in progress
	ended     *asking // the latest switch, if an event has ended it
	busy      *asking // the latest switch, if it was refused as busy
	aborted   *asking // that switch, if the page has aborted the turn since
	open      map[int]*asking
}

// asking is an unanswered request of the page.
type asking struct {
	r              *transcript.Record
	kind           string
	agent, session string
	moved          bool // the page has sent a session request since
	again          bool // it was refused as busy before, and the page has aborted the turn since
}

// belief is the current agent as far as the page can know: one of ids, or any.
type belief struct {
	any bool
	ids set
}

// may adds an agent; "": it may be any.
func (b *belief) may(id string) {
	if id == "" || len(b.ids) > mostAsked {
		b.any = true
		return
	}
	if b.ids == nil {
		b.ids = set{}
	}
	b.ids[id] = true
}

// only reports whether it is certainly this agent.
func (b *belief) only(id string) bool { return !b.any && len(b.ids) == 1 && b.ids[id] }

func newPage(m *Model, name string) *page {
	p := &page{m: m, name: name, requests: &book{Rate: rate}, sights: &book{Patient: true}, names: set{},
		prompted: set{}, ids: set{}, told: set{}, before: set{}, offered: set{}, replaced: set{}, asked: set{},
		spelt: set{}, said: set{},
		given: map[string]int{}, open: map[int]*asking{}, user: user{agents: map[string]string{}}}
	for _, b := range []*book{p.requests, p.sights} {
		b.Name, b.Tally, b.Duties = named, m.tally, m.duties
	}
	p.astray = m.observer == obligation.Partial
	return p
}

// mixes reports whether records of the only page that a gate knows are those of another one too: once a second stream
// is requested while one is open.
func (p *page) mixes(r *transcript.Record) bool {
	ofStream := p.stream != "" && r.Conn == p.stream
	switch {
	case r.Kind == transcript.Open && r.Dir == transcript.Received && p.stream != "":
		p.over = true
		p.requests.Close()
		p.sights.Close()
	case ofStream && (r.Kind == transcript.Response || r.Kind == transcript.Failure):
		p.closes()
	}
	return p.over
}

func (p *page) take(r *transcript.Record) {
	switch {
	case r.Kind == transcript.Failure && r.Reply > 0:
		p.failed(r.Reply)
	case r.Dir == transcript.Noted:
	case r.Kind == transcript.Open && r.Dir == transcript.Received:
		p.opens(r)
	case r.Kind == transcript.Closed || r.Kind == transcript.Failure:
		if r.Conn == p.stream {
			p.closes()
		}
	case r.Kind == transcript.Stream && r.Dir == transcript.Sent && r.Conn == p.stream:
		p.hears(r)
	case r.Kind == transcript.Request && r.Dir == transcript.Received && r.Event != nil && r.Cut == 0:
		p.asks(r)
	case r.Kind == transcript.Response && r.Dir == transcript.Sent:
		p.answered(r)
	}
}

// closes handles the end of the stream.
func (p *page) closes() {
	p.stream, p.switching, p.ended, p.refreshed, p.busy, p.aborted = "", nil, nil, nil, nil, nil
}

// opens handles the start of a stream. A page forgets the agents of the previous stream, and which one is current.
func (p *page) opens(r *transcript.Record) {
	p.streams++
	p.stream, p.connID, p.listed, p.first = r.Conn, "", false, ""
	p.switching, p.ended, p.refreshed, p.named, p.current, p.adrift = nil, nil, nil, "", belief{}, false
	for id := range p.told {
		p.before[id] = true
	}
	p.told, p.offered, p.replaced, p.arrived, p.none = set{}, set{}, set{}, nil, false
	if _, query, _ := strings.Cut(r.Label, "?"); strings.Contains(strings.ToLower(query), "session") {
		p.bound = true
	}
}

// hears handles an event.
func (p *page) hears(r *transcript.Record) {
	if r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 {
		p.blind = p.blind || r.Cut > 0 || bytes.Contains(bytes.ToLower(r.Bytes), []byte("agent"))
		return
	}
	if text(r, vocab.SessionID) != "" {
		p.bound = true
	}
	switch r.Event.Type {
	case vocab.ConnectedEvent:
		p.connID = text(r, vocab.ConnectionID)
	case vocab.AgentListEvent:
		p.lists(r)
	case vocab.AgentSwitchedEvent:
		p.switched(r)
	case vocab.ErrorEvent:
		p.refused(r)
	default:
		p.mentioned(r.Event.Data)
	}
}

// lists handles an agent_list.
func (p *page) lists(r *transcript.Record) {
	agents, ok := p.read(member(r, vocab.Agents))
	if !ok {
		p.blind = true
		return
	}
	if !p.listed {
		p.first = text(r, vocab.CurrentAgentID)
	}
	for id := range p.offered {
		p.replaced[id] = true
	}
	p.listed, p.offered, p.refreshed, p.arrived = true, agents, nil, nil
	p.none = text(r, vocab.CurrentAgentID) == ""
	p.learns(text(r, vocab.CurrentAgentID))
	p.current.may(text(r, vocab.CurrentAgentID))
}

// read remembers a list of agents, and returns their ids.
func (p *page) read(v any) (set, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := set{}
	for _, e := range list {
		agent, _ := e.(map[string]any)
		id, _ := agent["id"].(string)
		if id == "" {
			return nil, false
		}
		out[id] = true
		p.learns(id)
		if name, _ := agent["name"].(string); name != "" && len(p.names) < mostNames {
			p.names[name], p.spelt[plain(name)] = true, true
		}
	}
	return out, true
}

// learns remembers the id of an agent.
func (p *page) learns(id string) {
	switch {
	case id == "":
	case len(p.ids) >= mostNames:
		p.astray, p.blind = true, true
	default:
		p.ids[id], p.told[id], p.spelt[plain(id)] = true, true, true
	}
}

// switched handles an agent_switched. It ends a switch, whether of this page or not.
func (p *page) switched(r *transcript.Record) {
	id, session, was := text(r, vocab.CurrentAgentID), text(r, vocab.SessionID), p.switching
	p.adrift = p.adrift || was == nil
	p.learns(text(r, vocab.PreviousAgentID))
	p.learns(id)
	p.current.may(id)
	p.switching, p.ended, p.refreshed = nil, nil, nil
	p.arrives(was)
	if was == nil || was.agent != id || session != "" && session != was.session {
		return
	}
	p.ended = was
	if was.again && p.sure() {
		p.m.kept(retries, r, "AC-079", "AC-124")
	}
	p.m.kept(forms, r, "AC-008")
	p.m.kept(turns, r, "AC-017")
	if !was.moved && p.pending == "" {
		p.current = belief{ids: p.said}
		p.current.may(id)
		p.said = set{}
	}
}

// refused handles an error. The source does not state which errors end a switch, so every error does.
func (p *page) refused(r *transcript.Record) {
	p.switching, p.ended, p.refreshed = nil, p.switching, nil
	p.adrift = p.adrift || p.ended == nil
	p.arrives(p.ended)
	p.refusedAsBusy(text(r, vocab.ErrorCode))
	available, ok := p.read(member(r, vocab.AvailableAgents))
	if !ok || !p.listed {
		return
	}
	if p.ended != nil && text(r, vocab.ErrorCode) == vocab.AgentNotFound {
		p.refreshed = p.offered
	}
	p.offered, p.arrived = available, nil
}

// arrives notes that the current list has arrived, if a later event ends a switch: until that event arrives,
// the page sends no other switch.
func (p *page) arrives(ended *asking) {
	if ended != nil && p.listed {
		p.arrived = p.offered
	}
}

// answered handles the answer to a request.
func (p *page) answered(r *transcript.Record) {
	a := p.open[r.Reply]
	if a == nil {
		return
	}
	if refused, _ := member(r, "refused").(bool); r.Status >= 300 || refused {
		p.failed(r.Reply)
		return
	}
	delete(p.open, r.Reply)
	p.mentioned(member(r, "body"))
	switch a.kind {
	case CreateType:
		p.current.may(p.first) // unless the server differs, a new session has the listed current agent
		if a.agent != "" {
			p.current.may(a.agent)
		}
		p.due = text(r, vocab.SessionID)
		p.gives(p.due)
	case LoadType:
		p.current.any, p.due, p.bound = true, a.session, true
	case DeleteType:
		p.current.any = true
	default:
		return
	}
	p.named = ""
}

// sure reports whether the page's switches and their ends can be matched.
func (p *page) sure() bool { return !p.adrift && !p.tangled && p.pending == "" }

// failed handles a failed request. After a failed switch the page may allow another choice, regardless of the stream.
func (p *page) failed(n int) {
	a := p.open[n]
	if a == nil {
		return
	}
	delete(p.open, n)
	if a.kind == p.pending {
		p.pending = ""
	}
	if a.kind == vocab.SwitchAgentType {
		p.busy, p.aborted = nil, nil
		p.ended, p.refreshed, p.current.any, p.adrift = nil, nil, true, true // an event may still end it, or have done so
		if a == p.switching {
			p.switching = nil
		}
	}
}

// gives handles a created session.
func (p *page) gives(id string) {
	p.bound = true
	if id != "" && len(p.given) < mostNames {
		p.given[id] = p.streams
	}
}

// mentioned notes every agent that an answer or another event names: a page may treat it as the current
// one.
func (p *page) mentioned(v any) {
	switch v := v.(type) {
	case string:
		if p.ids[v] {
			p.current.may(v)
			p.said[v] = true
		}
	case []any:
		for _, e := range v {
			p.mentioned(e)
		}
	case map[string]any:
		for _, e := range v {
			p.mentioned(e)
		}
	}
}
