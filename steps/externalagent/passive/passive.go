// Package passive has the monitors of external-agent for foreign traffic, between a real agent and a real host behind a
// relay. A host's message that passes before a request cannot answer it, and an agent's message that passes before a
// message of the host was sent without knowledge of it. If a message has several possible causes, or if a state may be
// in flight, they judge nothing.
package passive

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	judge "parley/steps/externalagent/invariants"
	"parley/steps/externalagent/toolschema"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
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

// target is the state of an agent under test.
type target struct {
	joined  bool
	ids     map[string]bool
	states  []toolschema.Tools // received on this connection, each once
	seen    []any              // as they were received
	partial bool               // some of them are unknown
}

// told handles a state that the agent receives.
func (l *line) told(m message) {
	list, ok := m.body[vocab.ToolSchema].([]any)
	parsed, err := toolschema.Parse(list)
	if !ok || err != nil {
		l.mine.partial = true
		return
	}
	if slices.ContainsFunc(l.mine.seen, func(t any) bool { return wjson.Equal(t, m.body[vocab.ToolSchema]) }) {
		return
	}
	if len(l.mine.states) >= mostStates {
		l.mine.partial = true
		return
	}
	l.mine.states, l.mine.seen = append(l.mine.states, parsed), append(l.mine.seen, m.body[vocab.ToolSchema])
}

// calls judges a call of the agent by the states that it has received in this session. The latest state may have
// crossed the call, so any of them may justify it.
func (l *line) calls(m message) {
	name := word(m, vocab.ToolName)
	if l.mine.partial || len(l.mine.states) == 0 || name == "" {
		return
	}
	known, fits := false, false
	for _, all := range l.mine.states {
		if tool := all.Find(name); tool != nil {
			known = true
			fits = fits || tool.Accepts(m.body[vocab.Params]) == nil
		}
	}
	l.v.check(agents, known, m, "a tool that was announced on this connection", "EA-096a")
	if known {
		l.v.check(agents, fits, m, "params that match the announced schema of "+name, "EA-081a")
	}
}

// effects notes what an answer shows about earlier messages: other due answers were skipped, and an agent.message was
// accepted.
func (l *line) effects(q *request, m message) {
	v := l.v
	for i := range l.ahead {
		n := &l.ahead[i]
		n.behind = n.behind || q.N > n.answer.N && (q.active || n.req.kind == vocab.RelayJoin || v.ours != nil)
	}
	for _, other := range l.order {
		if other.kind == vocab.AgentMessage && other.answers == 0 && other.legal && other.active && q.N > other.N {
			v.kept(notes, m, "EA-008", "EA-008a")
		}
	}
	if l.quick != nil && q.N > l.quick.answer.N {
		if q.N > l.quick.effectAt {
			l.quick.effects, l.quick.effectAt = l.quick.effects+1, m.N
		}
	}
}

// silent judges, at the end of a connection, an answer that names no request while one request has no answer, and an
// effect that was not announced although a snapshot shows it. A call may take time.
func (l *line) silent() {
	for _, n := range l.ahead {
		due := n.req.kind != vocab.ToolCall || l.v.ours != nil || l.v.at-n.answer.At >= patience
		if n.req.answers == 0 && n.behind && due {
			l.v.broken(n.subject, n.answer, "replyTo "+n.req.id+": no other request was without an answer", n.clauses...)
			l.lost = true
			return
		}
	}
	q := l.quick
	if q != nil && q.effects >= 2 && q.changed && l.v.at-q.answer.At >= patience {
		l.v.broken(states, q.answer, "state.updated with the effect of "+q.tool, "EA-054")
	}
}

// noted judges the answer to an agent.message.
func (l *line) noted(q *request, m message) {
	if m.kind == vocab.ToolResult && q.legal {
		l.v.broken(notes, m, "no tool.result, since record "+fmt.Sprint(q.N)+" is an agent.message", "EA-008a")
		l.lost = true
	}
}

// refusing judges the answer to an invalid envelope.
func (l *line) refusing(q *request, m message) {
	if q.answers > 1 || !l.joined || !q.active {
		return
	}
	clause := ""
	switch {
	case q.env[vocab.V] != vocab.Version && text(q.env[vocab.Type]) && q.body != nil:
		clause = "EA-020"
	case q.env[vocab.V] == vocab.Version && q.body == nil && proper[q.kind] != "":
		clause = "EA-024a"
	case q.env[vocab.V] == vocab.Version && q.body != nil && !known(q.kind):
		clause = "EA-078"
	default:
		return
	}
	refused := m.kind == vocab.ErrorMessage && word(m, vocab.Code) == vocab.InvalidMessage
	taken := proper[q.kind] == m.kind || clause == "EA-078" && m.kind == vocab.ErrorMessage &&
		word(m, vocab.Code) != vocab.SessionNotActive
	if refused || taken {
		l.v.check(refusals, refused, m, "INVALID_MESSAGE, because record "+fmt.Sprint(q.N)+" is not a valid envelope", clause)
	}
}

// known reports whether a type is one of the protocol.
func known(kind string) bool {
	return slices.Contains([]string{vocab.RelayJoin, vocab.RelayJoined, vocab.SessionStart, vocab.SnapshotGet,
		vocab.ToolCall, vocab.AgentMessage, vocab.SessionEnd, vocab.SessionStarted, vocab.SnapshotState, vocab.ToolResult,
		vocab.StateUpdated, vocab.UserMessage, vocab.SessionEnded, vocab.ErrorMessage}, kind)
}

// garble reports whether an error may answer a frame that is not JSON, and judges its code.
func (l *line) garble(m message) bool {
	if len(l.garbled) == 0 {
		return false
	}
	if word(m, vocab.Code) == vocab.InvalidMessage {
		l.v.kept(refusals, m, "EA-078")
	}
	l.garbled = nil
	return true
}

// agent judges the messages of an agent under test: received messages are those that it sent.
func (l *line) agent(m message) {
	if m.Dir == transcript.Sent {
		switch m.kind {
		case vocab.RelayJoined:
			l.mine.joined = true
		case vocab.SnapshotState, vocab.StateUpdated:
			l.told(m)
		}
		return
	}
	if !l.opened {
		return
	}
	if m.kind != vocab.RelayJoin {
		l.v.check(agents, l.mine.joined, m, "nothing before relay.joined", "EA-026")
	}
	id, ok := m.env[vocab.ID].(string)
	if !ok {
		return
	}
	if l.mine.ids == nil {
		l.mine.ids = map[string]bool{}
	}
	switch {
	case l.mine.ids[id]:
		l.v.broken(agents, m, "an id that no other request of the connection has", "EA-022b")
	case len(l.mine.ids) > 0:
		l.v.kept(agents, m, "EA-022b")
	}
	if len(l.mine.ids) < mostIDs {
		l.mine.ids[id] = true
	}
	if m.kind == vocab.ToolCall {
		l.calls(m)
	}
}
