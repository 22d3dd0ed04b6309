// Package invariants judges the transcripts of pages: all requests of a page to its server, whatever the scenario is
// about.
package invariants

import (
	"regexp"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// All lists the monitors of agent-client.
func All() []monitor.Monitor {
	return []monitor.Monitor{
		{Name: "switch-requests", Clauses: []string{"AC-050", "AC-051", "AC-052", "AC-055", "AC-056", "AC-116"},
			Text:  "every switch_agent follows a choice of the user, and names an agent and the session that the page has",
			Check: switchRequests},
		{Name: "no-administration", Passive: true, Clauses: []string{"AC-015"},
			Text: "no request of the page would create, change or delete an agent", Check: noAdministration},
	}
}

// api is the suffix that names the party of a page's requests.
const api = " api"

// switchRequests checks each switch request against the user's choices and the sessions that the server has given.
func switchRequests(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	choices, given := map[string]int{}, map[string][]string{} // by page
	for _, r := range t {
		page := strings.TrimSuffix(r.Conn, api)
		switch {
		case r.Kind == transcript.Act && strings.Contains(string(r.Bytes), `"choose"`):
			choices[page]++
		case r.Event == nil:
		case r.Kind == transcript.Response && r.Dir == transcript.Sent:
			if id, ok := member(r, vocab.SessionID).(string); ok {
				given[page] = append(given[page], id)
			}
		case r.Kind == transcript.Request && r.Dir == transcript.Received && r.Event.Type == vocab.SwitchAgentType:
			out = append(out, switchRequest(r, choices[page], given[page])...)
			choices[page] = 0
		}
	}
	return out
}

func switchRequest(r transcript.Record, choices int, given []string) []verdict.Finding {
	finding := func(ok bool, expected, observed string, clauses ...string) verdict.Finding {
		return verdict.Finding{
			Clauses:  clauses,
			OK:       ok,
			Expected: expected,
			Observed: observed + ": " + monitor.Describe(r),
			At:       r.N,
		}
	}
	id, isText := member(r, vocab.AgentID).(string)
	out := []verdict.Finding{
		finding(isText && id != "", "an agentId", written(r, "agentId"), "AC-050"),
		finding(
			choices > 0,
			"a switch_agent only when the user has chosen an agent",
			"the user has not chosen an agent since the last one",
			"AC-052",
		),
		finding(
			len(given) > 0,
			"no switch_agent before there is a session",
			"the page has been given no session yet",
			"AC-056",
		),
	}
	if len(given) > 0 {
		last := given[len(given)-1]
		out = append(out, finding(member(r, vocab.SessionID) == last, "the sessionId of the page's session, "+last,
			written(r, "sessionId"), "AC-051", "AC-055", "AC-116"))
	}
	return out
}

// written says what a member is, as the message has it.
func written(r transcript.Record, name string) string {
	data, _ := r.Event.Data.(map[string]any)
	if v, there := data[name]; there {
		return name + " is " + wjson.Compact(v)
	}
	return name + " is missing"
}

func member(r transcript.Record, name string) any {
	data, _ := r.Event.Data.(map[string]any)
	return data[name]
}

// Names of messages, and paths of requests, that create, change or delete an agent.
var (
	acts        = `(create|add|new|delete|remove|update|edit|save|rename)`
	administers = regexp.MustCompile(`^` + acts + `[_-]?(main[_-]?)?agents?$|^(main[_-]?)?agents?[_-]?` + acts + `d?$`)
	ofAgents    = regexp.MustCompile(`/(main[_-]?)?agents?(/[^/]+)?/?$`)
)

// noAdministration checks every request that the documents do not describe.
func noAdministration(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	for _, r := range t {
		if r.Kind != transcript.Request && r.Kind != transcript.Ask || r.Dir != transcript.Received {
			continue
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
			continue
		}
		out = append(out, verdict.Finding{Clauses: []string{"AC-015"}, OK: !breaks, At: r.N,
			Expected: "no request to create, change or delete an agent", Observed: r.Label + ": " + monitor.Describe(r)})
	}
	return out
}
