package invariants

import (
	"slices"
	"sort"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// All lists the monitors of agent-select.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "agent-list-shape", Clauses: []string{"AS-083", "AS-113", "AS-114", "AS-115", "AS-117", "AS-118"},
			Text:  "every agent_list has its fields, and entries with an id, a name and a description",
			Check: each(vocab.AgentListEvent, AgentList), PerRecord: true,
			Passive: true},
		{Name: "agent-switched-shape", Clauses: []string{"AS-084", "AS-119"},
			Text: "every agent_switched has its three fields, all strings", Check: each(vocab.AgentSwitchedEvent, Switched),
			PerRecord: true, Passive: true},
		{Name: "switch-error-shape", Clauses: []string{"AS-051", "AS-085", "AS-113", "AS-114", "AS-115", "AS-120", "AS-121",
			"AS-122", "AS-124"},
			Text:  "every error that answers a switch has errorCode and message, and any list has the right form",
			Check: switchErrors, Passive: true},
		{Name: "found-by-steps",
			Clauses: []string{"AS-006", "AS-007", "AS-011", "AS-012", "AS-013", "AS-029", "AS-041", "AS-043", "AS-044",
				"AS-052", "AS-094"},
			Text:  "what a step has found, and what explains failed checks of other clauses",
			Check: bySteps},
		{Name: "names-agree", Clauses: []string{"AS-045"},
			Text: "agent_switched names the agent as the list of the same connection does", Check: namesAgree},
		{Name: "lists-agree", Clauses: []string{"AS-052"},
			Text: "the list in agent_not_found contains the agents of the connection's own agent_list", Check: listsAgree},
		{Name: "own-connection", Clauses: []string{"AS-059", "AS-095"},
			Text: "no connection receives a switch that only another one asked for", Check: ownConnection, Of: switchesOn},
		{Name: "list-before-answers", Clauses: []string{"AS-106"},
			Text: "no message of a client is answered on its connection before agent_list", Check: listBeforeAnswers,
			Passive: true},
	}
}

// bySteps finds nothing: steps know what a record answers, and hand over what they have found.
func bySteps([]transcript.Record) []verdict.Finding { return nil }

func each(kind string, judge func(transcript.Record) []verdict.Finding) func([]transcript.Record) []verdict.Finding {
	return func(t []transcript.Record) []verdict.Finding {
		var out []verdict.Finding
		for _, r := range t {
			if r.Dir == transcript.Received && r.Event != nil && r.Event.Type == kind {
				out = append(out, judge(r)...)
			}
		}
		return out
	}
}

func switchErrors(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	for _, r := range t {
		if answersSwitch(r) && r.Event.Type == vocab.ErrorEvent {
			out = append(out, SwitchError(r)...)
			out = append(out, AvailableAgents(r)...)
		}
	}
	return out
}

// lists visits the events of a transcript, each with the latest agent_list of its connection.
func lists(t []transcript.Record, visit func(r transcript.Record, names map[string]any)) {
	latest := map[string]map[string]any{}
	for _, r := range t {
		if r.Event == nil || r.Dir != transcript.Received {
			continue
		}
		if r.Event.Type == vocab.AgentListEvent {
			latest[r.Conn] = names(r, vocab.Agents)
			if broken(Agents(r), "AS-083", "AS-113") { // what it lists is unknown
				latest[r.Conn] = nil
			}
			continue
		}
		visit(r, latest[r.Conn])
	}
}

// broken reports whether findings break one of the clauses.
func broken(findings []verdict.Finding, clauses ...string) bool {
	return slices.ContainsFunc(findings, func(f verdict.Finding) bool {
		return !f.OK && slices.ContainsFunc(clauses, func(id string) bool { return slices.Contains(f.Clauses, id) })
	})
}

// names maps the ids of a list in an event to their display names.
func names(r transcript.Record, key string) map[string]any {
	out := map[string]any{}
	v, _ := member(r.Event.Data, key)
	all, _ := v.([]any)
	for _, e := range all {
		id, _ := member(e, "id")
		if text, ok := id.(string); ok {
			out[text], _ = member(e, "name")
		}
	}
	return out
}

func namesAgree(t []transcript.Record) []verdict.Finding {
	if reconfigured(t) {
		return nil
	}
	var out []verdict.Finding
	lists(t, func(r transcript.Record, listed map[string]any) {
		if r.Event.Type != vocab.AgentSwitchedEvent {
			return
		}
		id, _ := member(r.Event.Data, vocab.CurrentAgentID)
		text, _ := id.(string)
		want, known := listed[text]
		got, _ := member(r.Event.Data, vocab.AgentName)
		if known {
			out = append(out, finding(r, wjson.Equal(got, want), "agentName as in agent_list", "AS-045"))
		}
	})
	return out
}

func listsAgree(t []transcript.Record) []verdict.Finding {
	if reconfigured(t) {
		return nil
	}
	var out []verdict.Finding
	lists(t, func(r transcript.Record, listed map[string]any) {
		code, _ := member(r.Event.Data, vocab.ErrorCode)
		if r.Event.Type != vocab.ErrorEvent || code != any(vocab.AgentNotFound) || listed == nil ||
			broken(AvailableAgents(r), "AS-051", "AS-113") {
			return
		}
		out = append(out, finding(r, cmp.Equal(keys(listed), keys(names(r, vocab.AvailableAgents))),
			"availableAgents with the agents of agent_list", "AS-052"))
	})
	return out
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// ownConnection judges agent_switched events while several connections are open: one that was requested only on
// another connection was misdirected. A switch that names a session may be announced wherever that session lives, so
// those are left to the scenarios.
func ownConnection(t []transcript.Record) []verdict.Finding {
	asked := map[string]map[any]bool{} // connection → agents that it requested
	named := map[any]bool{}            // agents requested with a session named
	var out []verdict.Finding
	for _, r := range t {
		if r.Event == nil {
			continue
		}
		if r.Dir == transcript.Sent && r.Event.Type == vocab.SwitchAgentType {
			id, _ := member(r.Event.Data, vocab.AgentID)
			if asked[r.Conn] == nil {
				asked[r.Conn] = map[any]bool{}
			}
			if isString(id) {
				asked[r.Conn][id] = true
			}
			if _, has := member(r.Event.Data, vocab.SessionID); has && isString(id) {
				named[id] = true
			}
		}
		if r.Dir != transcript.Received || r.Event.Type != vocab.AgentSwitchedEvent || len(asked) < 2 {
			continue
		}
		id, _ := member(r.Event.Data, vocab.CurrentAgentID)
		if !isString(id) || named[id] {
			continue
		}
		f := finding(r, asked[r.Conn][id] || !askedElsewhere(asked, r.Conn, id),
			"agent_switched on the connection that asked for it", "AS-059", "AS-095")
		f.Model = switchesOn(r)
		out = append(out, f)
	}
	return out
}

// switchesOn names the model of ownConnection: the switches announced on a connection. After a misdirected one, the
// owners of later ones are unknown.
func switchesOn(r transcript.Record) string {
	if r.Dir != transcript.Received || r.Event == nil || r.Event.Type != vocab.AgentSwitchedEvent {
		return ""
	}
	return "switches on " + r.Conn
}

func askedElsewhere(asked map[string]map[any]bool, conn string, id any) bool {
	for other, ids := range asked {
		if other != conn && ids[id] {
			return true
		}
	}
	return false
}

func listBeforeAnswers(t []transcript.Record) []verdict.Finding {
	of := map[string]*listing{}
	var opened []string // parties in the order of their first connections
	for i := range t {
		r := &t[i]
		l := of[r.Conn]
		if l == nil {
			l = &listing{}
			of[r.Conn] = l
		}
		if r.Kind == transcript.Open && r.Dir == transcript.Sent && !l.opened {
			l.opened = true
			opened = append(opened, r.Conn)
		}
		l.take(r)
	}
	var out []verdict.Finding
	for _, conn := range opened {
		out = append(out, of[conn].out...)
	}
	return out
}

// ListBeforeAnswers judges each connection of a party: the first answer to any of its messages comes after agent_list
// (AS-106). A connection without answers is not judged.
func ListBeforeAnswers(t []transcript.Record, conn string) []verdict.Finding {
	var l listing
	for i := range t {
		if t[i].Conn == conn {
			l.take(&t[i])
		}
	}
	return l.out
}

// listing is what is known of a party's present connection, and what was found of all of them.
type listing struct {
	opened, listed, judged bool
	out                    []verdict.Finding
}

func (l *listing) take(r *transcript.Record) {
	switch {
	case r.Kind == transcript.Open && r.Dir == transcript.Sent:
		l.listed, l.judged = false, false
	case r.Dir == transcript.Received && r.Event != nil && r.Event.Type == vocab.AgentListEvent:
		l.listed = true
	case answersSwitch(*r) && !l.judged:
		l.judged = true
		l.out = append(l.out, finding(*r, l.listed, "agent_list before any answer", "AS-106"))
	}
}
