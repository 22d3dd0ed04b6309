// Package passive has the monitors of agent-client for foreign traffic, between a foreign page and a foreign server.
// They see the page's requests, the answers and the event stream, but not what a person does and sees.
//
// A message of the server may still be in flight when the page acts, and nothing shows that it has arrived. So a
// request is judged by the page's own messages, by what no state of the page allows, or, once a switch was answered on
// the stream, by the messages before that answer: until the answer arrives, the selector is disabled. A page that
// breaks this rule is judged by single messages only. No judgement depends on time.
package passive

import (
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// The subjects, which are the monitors' names.
const (
	forms        = "switches-formed"
	sessions     = "switches-name-sessions"
	unbound      = "no-switch-unbound"
	preselection = "preselection-passed"
	turns        = "one-switch-at-a-time"
	lists        = "lists-replaced"
	retries      = "aborted-and-tried-again"
)

var claims = []struct {
	name, text string
	clauses    []string
}{
	{forms, "a switch is a switch_agent, and names an agent by the id that a list gave it", []string{"AC-008", "AC-012",
		"AC-019", "AC-020", "AC-045", "AC-050", "AC-053"}},
	{sessions, "a switch names its session", []string{"AC-045", "AC-051", "AC-055", "AC-116"}},
	{unbound, "a page without a session sends no switch", []string{"AC-039", "AC-042", "AC-054", "AC-056", "AC-095"}},
	{preselection, "a new session is asked for with the id of a listed agent", []string{"AC-041", "AC-043", "AC-054",
		"AC-096", "AC-117"}},
	{turns, "a switch is for one session and for another agent, and waits for the end of the one before it",
		[]string{"AC-017", "AC-046", "AC-052"}},
	{lists, "an agent is chosen from the current list", []string{"AC-010", "AC-021", "AC-023", "AC-072", "AC-085",
		"AC-086", "AC-106", "AC-109", "AC-111", "AC-118"}},
	{retries, "a page whose switch was refused as busy aborts the turn of that session, and asks for the switch again",
		[]string{"AC-079", "AC-124"}},
}

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	var out []monitor.Monitor
	for _, c := range claims {
		out = append(out, monitor.Monitor{Name: c.name, Text: c.text, Clauses: c.clauses, Passive: true,
			Check: func(t []transcript.Record) []verdict.Finding { return check(t, c.name) }})
	}
	return out
}

// traffic is a partly judged transcript, with the findings on one subject.
type traffic struct {
	subject string
	out     []verdict.Finding
	shown   map[string]bool // clauses that were shown to hold
	pages   map[string]*page
}

// api is the prefix after the page's name in the names of its connections.
const api = " api"

// check judges a transcript in one pass, and returns the findings on one subject.
func check(t []transcript.Record, subject string) []verdict.Finding {
	v := &traffic{subject: subject, shown: map[string]bool{}, pages: map[string]*page{}}
	for i := range t {
		name, _, ok := strings.Cut(t[i].Conn, api)
		if !ok || t[i].Late {
			continue
		}
		p := v.pages[name]
		if p == nil {
			p = newPage(v)
			v.pages[name] = p
		}
		p.take(&t[i])
	}
	return v.out
}

// kept records that clauses hold, each once per transcript.
func (v *traffic) kept(subject string, r *transcript.Record, clauses ...string) {
	if subject != v.subject {
		return
	}
	fresh := slices.DeleteFunc(clauses, func(id string) bool { return v.shown[id] })
	for _, id := range fresh {
		v.shown[id] = true
	}
	if len(fresh) > 0 {
		v.out = append(v.out, verdict.Finding{Clauses: fresh, OK: true, At: r.N})
	}
}

// broken records that clauses were broken by a request.
func (v *traffic) broken(subject string, r *transcript.Record, expected string, clauses ...string) {
	if subject == v.subject {
		v.out = append(v.out, verdict.Finding{Clauses: clauses, At: r.N, Expected: expected, Observed: monitor.Describe(*r)})
	}
}
