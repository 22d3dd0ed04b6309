// Package passive has the monitors of external-agent for foreign traffic, between a real agent and a real host behind a
// relay. A host's message that passes before a request cannot answer it, and an agent's message that passes before a
// message of the host was sent without knowledge of it. If a message has several possible causes, or if a state may be
// in flight, they judge nothing.
package passive

import (
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	judge "parley/steps/externalagent/invariants"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// The subjects, which are the monitors' names.
const (
	forms    = "envelope-forms"
	joins    = "joins-echoed"
	codes    = "error-codes"
	answers  = "requests-answered"
	failures = "failed-calls"
	sessions = "study-sessions"
	tools    = "announced-tools"
	states   = "states-announced"
	notes    = "agent-messages-taken"
	refusals = "bad-messages-refused"
	agents   = "agent-requests"
)

var (
	servers = []string{vocab.Host, vocab.Relay}
	host    = []string{vocab.Host}
	agent   = []string{vocab.Agent}
)

var claims = []struct {
	name, text string
	roles      []string
	clauses    []string
}{
	{forms, "every message is one JSON object with well-formed v, type and payload, and id if present",
		[]string{vocab.Host, vocab.Agent}, []string{"EA-018", "EA-019", "EA-021", "EA-022a", "EA-024"}},
	{joins, "relay.joined answers a join, and echoes its role and sessionId", servers,
		[]string{"EA-028", "EA-029", "EA-030"}},
	{codes, "every error has a code of section 5 and a message", host, []string{"EA-069", "EA-070", "EA-084"}},
	{answers, "each request gets the answer of its type, with its id", host, []string{"EA-004", "EA-005", "EA-006",
		"EA-007", "EA-023a", "EA-038", "EA-041", "EA-046", "EA-047", "EA-060", "EA-063", "EA-068", "EA-077a"}},
	{failures, "a call is answered once, for the called tool, and with a code if it failed", host,
		[]string{"EA-049", "EA-074", "EA-104", "EA-105"}},
	{sessions, "messages name the study session that was started, and a new session starts empty", host,
		[]string{"EA-011", "EA-042", "EA-064"}},
	{tools, "only announced tools are carried out, with params that match their schemas", host,
		[]string{"EA-079", "EA-080", "EA-081", "EA-082", "EA-096"}},
	{states, "changes of the state are announced by state.updated", host, []string{"EA-054", "EA-072", "EA-073"}},
	{notes, "an agent.message is not refused, and executes nothing", host, []string{"EA-008", "EA-008a"}},
	{refusals, "an invalid envelope is refused with INVALID_MESSAGE", host, []string{"EA-020", "EA-024a", "EA-078"}},
	{agents, "an agent joins first, gives each request its own id, and calls only announced tools", agent,
		[]string{"EA-022b", "EA-026", "EA-081a", "EA-096a"}},
}

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	var out []monitor.Monitor
	for _, c := range claims {
		out = append(out, monitor.Monitor{Name: c.name, Text: c.text, Roles: c.roles, Clauses: c.clauses, Passive: true,
			Check: func(t []transcript.Record) []verdict.Finding { return check(t, c.name) }})
	}
	return out
}

// Active lists the monitors that also judge the traffic of a run. There all requests are those of the harness, which
// has a reason to wait for an answer to each.
func Active() []monitor.Monitor {
	const clause = "EA-068"
	return []monitor.Monitor{{Name: "errors-named", Clauses: []string{clause}, Roles: servers,
		Text: "an error that can only answer one request has its id as replyTo",
		Check: func(t []transcript.Record) []verdict.Finding {
			v := newTraffic(answers)
			v.ours = judge.PassedOn(t)
			return slices.DeleteFunc(v.judge(t), func(f finding) bool { return !slices.Contains(f.Clauses, clause) })
		}}}
}

// check judges a transcript, and returns the findings on one subject.
func check(t []transcript.Record, subject string) []verdict.Finding {
	return newTraffic(subject).judge(t)
}

func newTraffic(subject string) *traffic {
	return &traffic{subject: subject, shown: map[string]bool{}, lines: map[string]*line{}, ids: map[string]bool{}}
}

func (v *traffic) judge(t []transcript.Record) []verdict.Finding {
	for i := range t {
		v.take(&t[i])
	}
	for _, l := range v.lines {
		l.close()
	}
	slices.SortStableFunc(v.out, func(a, b verdict.Finding) int { return a.At - b.At })
	return v.out
}

// kept records that clauses hold, each once per transcript.
func (v *traffic) kept(subject string, m message, clauses ...string) {
	if subject != v.subject {
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(clauses), func(id string) bool { return v.shown[id] })
	for _, id := range fresh {
		v.shown[id] = true
	}
	if len(fresh) > 0 {
		v.out = append(v.out, verdict.Finding{Clauses: fresh, OK: true, At: m.N})
	}
}

// broken records that a message broke clauses.
func (v *traffic) broken(subject string, m message, expected string, clauses ...string) {
	if subject == v.subject {
		v.out = append(v.out, verdict.Finding{Clauses: clauses, At: m.N, Expected: expected,
			Observed: monitor.Describe(*m.Record)})
	}
}

// check records that a message kept or broke clauses.
func (v *traffic) check(subject string, ok bool, m message, expected string, clauses ...string) {
	if ok {
		v.kept(subject, m, clauses...)
	} else {
		v.broken(subject, m, expected, clauses...)
	}
}
