package model

import (
	"regexp"
	"strings"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// The subjects, which are the monitors' names.
const (
	requested    = "switch-requests"
	unmanaged    = "no-administration"
	forms        = "switches-formed"
	sessions     = "switches-name-sessions"
	unbound      = "no-switch-unbound"
	preselection = "preselection-passed"
	turns        = "one-switch-at-a-time"
	lists        = "lists-replaced"
	retries      = "aborted-and-tried-again"
)

// All lists the monitors of agent-client.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		of(obligation.Ours, requested,
			"every switch_agent follows a choice of the user, and names an agent and the session that the page has",
			"AC-050", "AC-051", "AC-052", "AC-055", "AC-056", "AC-116"),
		of(obligation.Foreign, unmanaged, "no request of the page would create, change or delete an agent", "AC-015"),
	}
}

// Foreign lists the monitors of foreign traffic, beside those of All that are marked as passive.
func Foreign() []monitor.Monitor {
	return []monitor.Monitor{
		of(obligation.Foreign, forms, "a switch is a switch_agent, and names an agent by the id that a list gave it",
			"AC-008", "AC-012", "AC-019", "AC-020", "AC-045", "AC-050", "AC-053"),
		of(obligation.Foreign, sessions, "a switch names its session", "AC-045", "AC-051", "AC-055", "AC-116"),
		of(obligation.Foreign, unbound, "a page without a session sends no switch",
			"AC-039", "AC-042", "AC-054", "AC-056", "AC-095"),
		of(obligation.Foreign, preselection, "a new session is asked for with the id of a listed agent",
			"AC-041", "AC-043", "AC-054", "AC-096", "AC-117"),
		of(obligation.Foreign, turns, "a switch is for one session and for another agent, and waits for the end of the "+
			"one before it", "AC-017", "AC-046", "AC-052"),
		of(obligation.Foreign, lists, "an agent is chosen from the current list", "AC-010", "AC-021", "AC-023", "AC-072",
			"AC-085", "AC-086", "AC-106", "AC-109", "AC-111", "AC-118"),
		of(obligation.Foreign, retries, "a page whose switch was refused as busy aborts the turn of that session, and asks "+
			"for the switch again", "AC-079", "AC-124"),
	}
}

// of returns the monitor of a subject, as an observer sees it. What a scenario has waited for in vain is reported by
// its step.
func of(o obligation.Observer, subject, text string, clauses ...string) monitor.Monitor {
	return monitor.Monitor{Name: subject, Text: text, Clauses: clauses, Passive: o != obligation.Ours,
		Check: func(t []transcript.Record) []verdict.Finding {
			m := New(o)
			for _, r := range t {
				if r.Kind != transcript.Remark {
					m.Take(r)
				}
			}
			m.End()
			return obligation.About(clauses, m.on([]string{subject}))
		}}
}

// Names of messages, and paths of requests, that create, change or delete an agent.
var (
	acts        = `(create|add|new|delete|remove|update|edit|save|rename)`
	administers = regexp.MustCompile(`^` + acts + `[_-]?(main[_-]?)?agents?$|^(main[_-]?)?agents?[_-]?` + acts + `d?$`)
	ofAgents    = regexp.MustCompile(`/(main[_-]?)?agents?(/[^/]+)?/?$`)
)

// administers judges a request that the documents do not describe.
func (m *Model) administers(r *transcript.Record) {
	if r.Dir != transcript.Received {
		return
	}
	method, path, _ := strings.Cut(r.Label, " ")
	if _, rest, ok := strings.Cut(path, "://"); ok { // a full URL, as a browser records it
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	path, _, _ = strings.Cut(strings.ToLower(path), "?")
	breaks := r.Event == nil && method != "GET" && method != "HEAD" && ofAgents.MatchString(path) ||
		r.Event != nil && administers.MatchString(strings.ToLower(r.Event.Type))
	if !breaks && r.Kind == transcript.Ask { // undocumented requests to its own server show in the server's records
		return
	}
	if !breaks {
		m.kept(unmanaged, r, "AC-015")
		return
	}
	m.out = append(m.out, found{verdict.Finding{Clauses: []string{"AC-015"}, At: r.N,
		Expected: "no request to create, change or delete an agent", Observed: r.Label + ": " + monitor.Describe(*r)},
		unmanaged})
}
