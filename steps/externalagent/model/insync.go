package model

import (
	"cmp"
	"fmt"
	"slices"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
)

// history is what an agent of the harness has done and was told, over all of its connections.
type history struct {
	from    int        // the record with which its session began: the latest connection, join or session.start
	first   *State     // its first snapshot in that
	states  []State    // that it was told
	results []message  // of its calls, and errors
	heard   []message  // user.message
	acts    []*request // its calls, messages and session.end
}

// notes takes a message from or to an agent in a run; q is what it asks for.
func (l *line) notes(m message, q *request) {
	h := l.did
	switch {
	case !l.s.ours:
	case m.Dir == transcript.Received && m.isState():
		h.states = latest(h.states, *stateOf(m))
		if m.kind == vocab.SnapshotState && h.first == nil {
			h.first = stateOf(m)
		}
	case m.Dir == transcript.Received && (m.kind == vocab.ToolResult || m.kind == vocab.ErrorMessage):
		h.results = latest(h.results, m)
	case m.Dir == transcript.Received && m.kind == vocab.UserMessage:
		h.heard = latest(h.heard, m)
	case m.Dir == transcript.Received:
	case m.kind == vocab.SessionStart || m.kind == vocab.RelayJoin:
		h.from, h.first = m.N, nil
	case m.kind == vocab.ToolCall || m.kind == vocab.AgentMessage || m.kind == vocab.SessionEnd:
		h.acts = latest(h.acts, q)
	}
}

// latest adds an item to a list that keeps the latest ones.
func latest[T any](list []T, item T) []T {
	if len(list) >= 2*mostRequests {
		list = slices.Delete(list, 0, mostRequests)
	}
	return append(list, item)
}

// last returns the latest state of a type in the session; the zero State if there is none.
func (h *history) last(kind string) (last State) {
	for _, st := range slices.Backward(h.states) {
		if st.kind == kind && st.N > h.from {
			return st
		}
	}
	return last
}

// Sync says how what an agent was told by state.updated compares with its latest snapshot.
type Sync int

const (
	InSync    Sync = iota // they agree
	Newer                 // the latest state.updated came after the snapshot
	Idle                  // nothing was done that the host had to announce, and nothing has changed
	Unchanged             // the state is as in the first snapshot, although something was done
	OutOfSync
)

// Sync judges that what a party of the harness was told in its session by state.updated agrees with its latest
// snapshot; f is of no use unless sync is InSync or OutOfSync. told is the latest state.updated or, without one, the
// first snapshot. spoken is the record after which the participant has spoken last, which no record shows.
func (m *Model) Sync(conn string, spoken int) (f verdict.Finding, sync Sync, told State) {
	h := m.historyOf(conn)
	snap, last := h.last(vocab.SnapshotState), h.last(vocab.StateUpdated)
	expected, clauses := fmt.Sprintf("a state.updated that agrees with the snapshot in record %d", snap.N), inSync
	if last.N == 0 {
		first := *cmp.Or(h.first, &State{})
		switch d := m.Difference(first, snap); {
		case d != "":
			f = Unlike(snap.N, d, expected, clauses...)
			f.Observed = fmt.Sprintf("no state.updated since the session began, and %s than in its first snapshot, %d",
				f.Observed, first.N)
			return f, OutOfSync, first
		case m.nothingDone(conn, h.from) && spoken < h.from:
			return f, Idle, first
		}
		return f, Unchanged, first
	}
	d, at := m.Difference(snap, last), last.N
	switch {
	case last.N > snap.N:
		return f, Newer, last
	case d == "":
		return byModel(true, snap.N, "", "", clauses...), InSync, last
	}
	observed := "the last state.updated, record %d, has %s"
	if alone := m.alone(h, last, snap); alone > 0 {
		at, d, clauses, observed = snap.N, m.Difference(last, snap), []string{"EA-073"},
			"the snapshot, record %d, alone has %s"
		expected = fmt.Sprintf("a snapshot that agrees with the last state.updated, record %d, and with the tool.result "+
			"before it, record %d", last.N, alone)
	}
	f = Unlike(snap.N, d, expected, clauses...)
	f.Observed = fmt.Sprintf(observed, at, f.Observed)
	return f, OutOfSync, last
}

var inSync = []string{"EA-072", "EA-073", "EA-051", "EA-055"}

// Since returns the record with which the session of a party began: the latest connection, join or session.start.
func (m *Model) Since(conn string) int { return m.historyOf(conn).from }

// LastTold returns the state that a party was told last, with a uiSpec or null.
func (m *Model) LastTold(conn string) (last State) {
	for _, st := range m.historyOf(conn).states {
		if _, there := st.body[vocab.Spec]; there {
			last = st
		}
	}
	return last
}

// historyOf returns the history of a party of the harness.
func (m *Model) historyOf(conn string) *history {
	if s := m.server(); s.lines[conn] != nil {
		return s.lines[conn].did
	}
	return &history{}
}

// nothingDone reports whether since a record nothing was done in a party's relay session that a host must announce: no
// agent spoke or ended a session, and every call was refused.
func (m *Model) nothingDone(conn string, from int) bool {
	lines := m.server().lines
	done := func(q *request) bool {
		return q.N > from && !(q.kind == vocab.ToolCall && q.answer.N > 0 && q.answer.failed())
	}
	for _, other := range lines {
		if l := lines[conn]; l != nil && other.place == l.place && slices.ContainsFunc(other.did.acts, done) {
			return false
		}
	}
	return true
}

// alone returns the record of the latest tool.result before a state.updated if its quick uiSpec agrees with that and
// contradicts a later snapshot, so that the snapshot is wrong; 0 if not, or if something was done after that update, of
// which the snapshot may tell.
func (m *Model) alone(h *history, last, snap State) (at int) {
	between := func(n int) bool { return n > last.N && n < snap.N }
	for _, l := range m.server().lines {
		if slices.ContainsFunc(l.did.acts, func(q *request) bool { return between(q.N) }) || between(l.did.from) {
			return 0
		}
	}
	for _, r := range h.results {
		quick, ok := r.body[vocab.Spec].(object)
		if between(r.N) {
			return 0
		}
		if !ok || r.N < h.from || r.N > last.N {
			continue
		}
		against := func(st State) string {
			return Contradiction("", m.settled("uiSpec", quick), m.settled("uiSpec", st.UI))
		}
		if at = 0; against(last) == "" && against(snap) != "" {
			at = r.N
		}
	}
	return at
}

// Announced judges that a party was sent a state, unrequested, after a record. miss says why none has come.
func (m *Model) Announced(conn string, after int, miss *verdict.Miss) verdict.Finding {
	clauses := []string{"EA-055", "EA-072", "EA-054", "EA-051"}
	for _, st := range m.historyOf(conn).states {
		if st.kind == vocab.StateUpdated && st.N > after {
			return byModel(true, st.N, "", "", clauses...)
		}
	}
	f := cmp.Or(miss, &verdict.Miss{}).Check(vocab.StateUpdated, clauses...)
	f.Judge = verdict.ByModel
	return f
}

// Effect judges that a state.updated after a call shows its effect, compared with the state before it; last says that
// the call is the last one of the booking. miss says why none has come.
func (m *Model) Effect(call transcript.Record, before State, last bool, miss *verdict.Miss) verdict.Finding {
	tool, seen, at, clauses := read(call).word(vocab.ToolName), 0, call.N, []string{"EA-051", "EA-072"}
	if slices.Contains(Effective, tool) {
		clauses[0] = "EA-054"
	}
	for _, st := range m.historyOf(call.Conn).states {
		if st.kind != vocab.StateUpdated || st.N < call.N {
			continue
		}
		if seen, at = seen+1, st.N; m.Shows(tool, last, before, st) {
			return byModel(true, st.N, "", "", clauses...)
		}
	}
	if miss == nil { // found out meanwhile
		miss = &verdict.Miss{Reason: "what has changed changes by itself"}
	}
	f := miss.Check("a state.updated that shows the effect of "+tool, clauses...)
	f.At, f.Observed, f.Judge = at, "no state.updated after the call: "+miss.Reason, verdict.ByModel
	if seen > 0 {
		f.Observed = fmt.Sprintf("%d after the call, but none differs from the state before it", seen)
	}
	return f
}
