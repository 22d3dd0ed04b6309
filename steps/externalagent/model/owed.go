package model

import (
	"cmp"
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// besides has, by the type of a request of the harness, what its answer concerns beside the clauses in answered: those
// that it keeps, those that its absence breaks, and those that it may show.
var besides = map[string]struct{ kept, broken, shown []string }{
	vocab.RelayJoin: {kept: []string{"EA-103", "EA-106"},
		broken: []string{"EA-029", "EA-030", "EA-016", "EA-025", "EA-103", "EA-106"}},
	vocab.SessionStart: {kept: []string{"EA-025", "EA-103"}, broken: []string{"EA-039", "EA-016", "EA-025", "EA-103"}},
	vocab.SnapshotGet: {kept: []string{"EA-103"}, broken: []string{"EA-016", "EA-025", "EA-103"},
		shown: []string{"EA-042", "EA-023a"}},
	vocab.ToolCall: {kept: []string{"EA-016", "EA-074"}, broken: []string{"EA-074", "EA-016"},
		shown: []string{"EA-048"}},
	vocab.SessionEnd: {broken: []string{"EA-016", "EA-010", "EA-011"}, shown: []string{"EA-064", "EA-067"}},
}

// Answer returns what the answer to a request of the harness shows that has to be answered by a message of its own
// type. If there is none, miss says why.
func (m *Model) Answer(request, answer transcript.Record, miss *verdict.Miss) []verdict.Finding {
	q, a, more := read(request), read(answer), besides[read(request).kind]
	id, _ := q.id()
	expected := fmt.Sprintf("%s with replyTo %q, the id of %s", AnswerOf[q.kind], id, q.kind)
	clauses := slices.Concat(answered[q.kind], more.broken)
	all := slices.Concat(clauses, more.kept, more.shown)
	s := m.server()
	switch l := s.lines[q.Conn]; {
	case q.kind == vocab.RelayJoin && q.body[vocab.Role] != vocab.AgentRole:
		clauses = []string{"EA-025", "EA-028"}
	case q.kind == vocab.SessionStart && l != nil && l.over && l.reset == l.place: // and the host's state is reset
		clauses = append(clauses, "EA-011")
	}
	switch {
	case miss != nil:
		missing := miss.Check(expected, clauses...)
		missing.At = cmp.Or(miss.At, q.N)
		return []verdict.Finding{missing}
	case a.kind != AnswerOf[q.kind]:
		return []verdict.Finding{{Clauses: clauses, At: a.N, Expected: expected, Observed: monitor.Describe(answer)}}
	}
	return m.At(a.N, all...)
}

// keeps records what the answer to a request keeps in a run.
func (l *line) keeps(q *request, m message) {
	if !l.s.ours {
		return
	}
	l.s.kept(m, besides[q.kind].kept...)
	switch m.kind {
	case vocab.SnapshotState:
		for name, clause := range map[string]string{vocab.Spec: "EA-004", vocab.MessageHistory: "EA-005",
			vocab.ToolSchema: "EA-006"} {
			if _, there := m.body[name]; !there {
				l.s.broken(m, "snapshot.state with "+name, "none", clause)
			}
		}
	case vocab.ToolResult:
		if _, truth := m.body[vocab.OK].(bool); !truth {
			l.s.broken(m, "payload.ok is true, for a call that is carried out", "payload.ok is "+
				wjson.Compact(m.body[vocab.OK]), "EA-007", "EA-046", "EA-048", "EA-074")
		}
	}
}
