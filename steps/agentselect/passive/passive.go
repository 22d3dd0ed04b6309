// Package passive has the monitor of agent-select for foreign traffic, between real clients and a real server. It sees
// only their messages. It follows each connection, and the session bound to it, in one pass. If an answer has several
// possible causes, it judges nothing.
package passive

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// clauses are those that the monitor may judge.
var clauses = []string{
	"AS-007", "AS-008", "AS-009", "AS-012", "AS-014", "AS-015", "AS-016",
	"AS-024", "AS-030", "AS-031", "AS-033", "AS-040", "AS-041", "AS-043", "AS-044", "AS-045",
	"AS-049", "AS-050", "AS-052", "AS-053", "AS-070", "AS-071", "AS-073", "AS-074", "AS-076",
	"AS-077", "AS-079", "AS-080", "AS-081", "AS-082", "AS-087", "AS-088", "AS-089", "AS-090", "AS-091", "AS-092",
	"AS-093", "AS-094", "AS-095", "AS-096", "AS-097", "AS-100", "AS-103", "AS-104", "AS-105", "AS-111", "AS-116",
	"AS-123", "AS-126", "AS-127",
}

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	return []monitor.Monitor{{Name: "sessions-as-observed", Clauses: clauses, Passive: true, Check: Check,
		Text: "connections, their sessions and switches are consistent with their messages"}}
}

// Check judges the records of a transcript. It reads each record once; its state is bounded by maxKept.
func Check(t []transcript.Record) []verdict.Finding {
	m := &model{conns: map[string]*conn{}, sessions: map[string]*session{}, requests: map[int]request{}}
	for _, r := range t {
		m.take(r)
	}
	return m.out
}

func (m *model) kept(r transcript.Record, ids ...string) { m.judge(r, true, "", ids...) }

func (m *model) broken(r transcript.Record, expected string, ids ...string) {
	m.judge(r, false, expected, ids...)
}

// judge adds a finding, reduced to the clauses of the monitor.
func (m *model) judge(r transcript.Record, ok bool, expected string, ids ...string) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(clauses, id) })
	if len(ids) == 0 {
		return
	}
	f := verdict.Finding{Clauses: ids, OK: ok, Expected: expected, At: r.N}
	if !ok {
		f.Observed = monitor.Describe(r)
	}
	m.out = append(m.out, f)
}

// member returns a member of a message, and whether it is present.
func member(r transcript.Record, name string) (any, bool) {
	data, _ := r.Event.Data.(map[string]any)
	v, ok := data[name]
	return v, ok
}

func text(r transcript.Record, name string) string {
	v, _ := member(r, name)
	s, _ := v.(string)
	return s
}
