package model

import (
	"fmt"
	"slices"
	"strings"

	vocab "parley/protocol/externalagent"
	"parley/steps/toolschema"
	"parley/transport/transcript"
)

// told is what the harness, as host, has told its agent, and by that what the agent must not do before it knows more.
// Its findings are read by those steps alone whose scenario has told the agent something unusual (Model.At).
type told struct {
	notes
	states   []announced
	open     map[string]message // calls without an answer, by id
	overlaps int                // the first call that it has made while another was unanswered; 0: none
	refused  bool               // a call was
	all      []message          // what has passed between them
	state    int                // the record of the latest state
	// blind is an ok-only result, or what the participant has said during a call that may have one, if no state has come
	// since that call: the agent does not know what the call has changed. N is 0 if there is none.
	blind     message
	from, now announced // the latest state that announces nothing, and the one after it; n is 0 if there is none
}

// Told returns the clauses that the messages of an agent show by what it was told.
func Told() []string {
	return []string{"EA-051", "EA-054a", "EA-072", "EA-076", "EA-077", "EA-081a", "EA-096a"}
}

// hears takes a message to the agent, or the beginning of a connection.
func (t *told) hears(m message) {
	call, open := t.open[m.to]
	t.refused = t.refused || open && m.failed()
	_, quick := m.body[vocab.Spec]
	switch {
	case m.Kind != transcript.Frame: // what was under way on a connection is lost with it
		clear(t.open)
		t.blind = message{}
	case m.isState():
		t.state, t.blind = m.N, message{}
	case m.kind == vocab.UserMessage:
		for _, call := range t.open {
			if isEffective(call) && t.state < call.N {
				t.blind = m
			}
		}
	case m.kind == vocab.ToolResult && m.body[vocab.OK] == true && !quick && isEffective(call) && t.state < call.N:
		t.blind = m
	}
	delete(t.open, m.to)
}

// announces takes a state that the agent is sent.
func (t *told) announces(m message, st announced) {
	list, _ := st.raw.([]any)
	t.states = append(t.states, st)
	switch {
	case len(list) == 0 && m.kind == vocab.StateUpdated:
		t.from, t.now = st, announced{}
	case len(list) > 0 && t.from.n > 0 && t.now.n == 0:
		t.now = st
	}
}

// says judges a message of the agent by what it was told.
func (t *told) says(m message) {
	switch m.kind {
	case vocab.SnapshotGet, vocab.ToolCall, vocab.SessionStart, vocab.SessionEnd:
		if t.refused {
			t.kept(m, "EA-074", "EA-074a")
		}
	}
	switch m.kind {
	case vocab.SnapshotGet:
		if t.blind.N > 0 {
			t.kept(m, "EA-077")
		}
	case vocab.SessionEnd: // there is nothing to call
		if t.from.n > 0 && t.now.n == 0 {
			t.kept(m, "EA-096a", "EA-072")
		}
		t.from, t.now = announced{}, announced{}
	case vocab.ToolCall:
		t.onNothing(m)
		t.byState(m)
		if len(t.open) > 0 && t.overlaps == 0 {
			t.overlaps = m.N
		}
		id, _ := m.id()
		t.open[id] = m
	}
}

// byState judges that a call fits the latest state, and not what the agent knew before or what a result said.
func (t *told) byState(m message) {
	clauses := []string{"EA-051", "EA-054a", "EA-072", "EA-077"}
	if len(t.states) == 0 {
		t.broken(m, "a state before the next call", "", clauses...)
		return
	}
	last := t.states[len(t.states)-1]
	expected := fmt.Sprintf("a call that fits the last state, record %d, which announces %s", last.n,
		strings.Join(last.tools.Names(), ", "))
	known, fits := last.accepts(m)
	switch {
	case t.blind.N > 0:
		t.broken(m, fmt.Sprintf("no call between an ok-only result and the state that follows it (none has since record "+
			"%d): snapshot.get before the next tool.call, if it does not come", t.blind.N), "", append(clauses, "EA-076")...)
	case !known:
		t.broken(m, expected, "a tool which it does not announce", clauses...)
	case !fits && slices.ContainsFunc(t.states, func(st announced) bool { _, fitted := st.accepts(m); return fitted }):
		t.broken(m, expected, "params that fit a state before it", clauses...)
	default: // params that fit no state are judged by another clause
		t.kept(m, clauses...)
	}
}

// onNothing judges that nothing is called while nothing is announced, nor, after that, what was announced last before.
// An agent whose calls overlap may have sent one before it was told.
func (t *told) onNothing(m message) {
	clauses := []string{"EA-096a", "EA-072"}
	switch {
	case t.from.n == 0 || t.overlaps > 0 && m.At-t.from.at < Crossing:
	case t.now.n == 0:
		t.broken(m, "no call while toolSchema is empty", "", clauses...)
	default:
		if now, _ := t.now.accepts(m); !now && t.knew(m) {
			t.broken(m, fmt.Sprintf("a call of a tool that record %d announces; this one was announced last before record %d, "+
				"in which none is", t.now.n, t.from.n), "", clauses...)
		} else {
			t.kept(m, clauses...)
		}
		t.from, t.now = announced{}, announced{}
	}
}

// knew reports whether the last state before the one that announces nothing has the tool of a call.
func (t *told) knew(call message) (known bool) {
	for _, st := range t.states {
		if st.n < t.from.n {
			known, _ = st.accepts(call)
		}
	}
	return known
}

// accepts reports whether a state has the tool of a call, and whether its params match the tool's schema.
func (st announced) accepts(call message) (known, fits bool) {
	return accept([]toolschema.Tools{st.tools}, call)
}

// isEffective reports whether a call is of a tool whose result may consist of ok only.
func isEffective(call message) bool { return slices.Contains(Effective, call.word(vocab.ToolName)) }

// asking is what an agent waits for on its connection. It waits for a state if exactly one request is pending that
// has not brought a state yet.
type asking struct {
	conn     string
	open     map[string]bool // unanswered requests
	latest   string          // the request that a state may follow; "" if no state is expected
	answered bool
	several  bool // other requests were pending when it was sent
}

// says handles a message from the agent.
func (a *asking) says(m message) {
	if m.Conn != a.conn {
		*a = asking{conn: m.Conn, open: map[string]bool{}}
	}
	a.latest, a.answered, a.several = "", false, len(a.open) > 0
	switch m.kind {
	case vocab.ToolCall, vocab.SnapshotGet, vocab.SessionStart:
		a.latest = fmt.Sprint(m.Event.RequestID)
		a.open[a.latest] = true
	}
}

// hears handles a message to the agent, and reports whether it is a state that the agent waited for.
func (a *asking) hears(m message) bool {
	if m.to != "" {
		delete(a.open, m.to)
		a.answered = a.answered || m.to == a.latest
	}
	asked := m.isState() && a.latest != "" && !a.several
	if m.isState() && a.answered {
		a.latest = ""
	}
	return asked
}
