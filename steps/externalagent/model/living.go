package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/steps/obligation"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Exited is the beginning of the remark that the agent's process has ended.
const Exited = "the agent's process has ended: "

// Duty is what an agent owes the host without being asked for it.
type Duty struct {
	what    string
	clauses []string
}

// The duties of an agent.
var (
	Connects     = Duty{"a WebSocket connection of the agent", []string{"EA-016", "EA-017", "EA-106"}}
	Joins        = Duty{"relay.join, the first message of the agent", []string{"EA-026", "EA-027"}}
	Returns      = Duty{"the agent comes back, and relay.join is its first message", []string{"EA-076"}}
	Asks         = Duty{"snapshot.get, as no state has followed the call", []string{"EA-077"}}
	Continues    = Duty{"the agent continues: tool.call, snapshot.get, session.start or session.end", []string{"EA-074a"}}
	ReadsFurther = Duty{"the agent continues: a tool.call based on the messages that follow", []string{"EA-018a"}}
)

// Missing judges that an agent has not done, after a record, what it owes: miss says within which limit.
func (d Duty) Missing(at int, miss *verdict.Miss, observed string) verdict.Finding {
	f := miss.Check(d.what, d.clauses...)
	f.At, f.Observed, f.Judge = at, observed, verdict.ByModel
	return f
}

// idle is the number of turns to the host without a new call after which an agent counts as stopped.
const idle = 8

// ReadsOn judges, once something shows it, that an agent continues after a record, such as a message that it cannot
// understand: it makes a new call, for which it needs what the host told it since. An agent that has stopped reading
// may repeat its requests or calls. done is the record that shows it, or 0. ahead is a new call that it may have sent
// before it read that record, or 0; it decides nothing.
func (m *Model) ReadsOn(at int) (f verdict.Finding, done, ahead int) {
	t := &m.agent().told
	before, turns := map[string]bool{}, 0
	var from time.Duration
	for _, r := range t.all {
		switch fresh := r.kind == vocab.ToolCall && !before[toolAndParams(r)]; {
		case r.N <= at:
			if from = r.At; r.kind == vocab.ToolCall {
				before[toolAndParams(r)] = true
			}
			continue
		case !r.fromTarget():
			continue
		case fresh && r.At-from < Crossing && t.overlapped(r.N):
			ahead = r.N
			continue
		case fresh:
			return byModel(true, r.N, "", "", "EA-060", "EA-018a"), r.N, ahead
		case r.kind != vocab.AgentMessage && r.kind != vocab.SessionEnd:
			turns++
		}
		if r.kind == vocab.SessionEnd || turns == idle {
			return byModel(false, r.N, ReadsFurther.what, r.told(), ReadsFurther.clauses...), r.N, ahead
		}
	}
	return f, 0, ahead
}

// toolAndParams identifies a call by its tool and params.
func toolAndParams(call message) string {
	return wjson.Compact([]any{call.body[vocab.ToolName], call.body[vocab.Params]})
}

// Overlaps reports whether the agent of a transcript has sent a call before a record while another call of its own was
// unanswered.
func Overlaps(records []transcript.Record, before int) bool {
	m := New(vocab.Agent, obligation.Ours)
	for _, r := range records {
		m.Take(r)
	}
	return m.agent().told.overlapped(before)
}

func (t *told) overlapped(before int) bool { return t.overlaps > 0 && t.overlaps < before }

// promptly is how soon after a message a process must end to have ended because of it. Later it may have waited in
// vain for something.
const promptly = time.Second

// Death judges that an agent's process has not died of a message that the source allows: that breaks the clauses of the
// message, whatever the agent would have done next. ok reports that it has not, as far as is known.
func (m *Model) Death() (f verdict.Finding, ok bool) {
	of, clauses, after := fatal(m.agent().told.all)
	if clauses == nil {
		return f, true
	}
	return byModel(false, of.N, "an agent that keeps running after a message that the source allows",
		fmt.Sprintf("%d ms after %s", after.Milliseconds(), of.told()), clauses...), false
}

// fatal returns the message of which the agent's process died, its clauses, the most telling first, and how long after
// it. There are no clauses if the process may have ended for another reason: it had sent something since, its
// connection was lost before, or there is something among its last messages that no clause names.
func fatal(all []message) (of message, clauses []string, after time.Duration) {
	end := slices.IndexFunc(all, func(m message) bool { return m.Kind == transcript.Remark })
	if end < 0 {
		return of, nil, 0
	}
	for _, m := range slices.Backward(all[:end]) {
		switch {
		case m.Dir == transcript.Sent && m.Kind != transcript.Frame: // the harness has ended the connection
			return of, nil, 0
		case m.fromTarget(), all[end].At-m.At > promptly:
			return of, clauses, after
		case m.Dir == transcript.Received:
			continue
		}
		named := clausesOf(m)
		if named == nil {
			return of, nil, 0
		}
		if clauses == nil || unusual(m) {
			of, clauses, after = m, named, all[end].At-m.At
		}
	}
	return of, clauses, after
}

// clausesOf returns the clauses about a message to an agent; nil if the source does not allow it.
func clausesOf(m message) []string {
	switch m.kind {
	case vocab.RelayJoined:
		return []string{"EA-026"}
	case vocab.ErrorMessage:
		if slices.Contains(vocab.Codes(), m.word(vocab.Code)) && m.to != "" {
			return []string{"EA-074"}
		}
	case vocab.ToolResult:
		return []string{"EA-074", "EA-051", "EA-072"}
	case vocab.StateUpdated, vocab.SnapshotState:
		return []string{"EA-072", "EA-077", "EA-051"}
	case vocab.UserMessage:
		return []string{"EA-060"}
	}
	return nil
}

// unusual reports whether a message is not of the kind that a booking consists of.
func unusual(m message) bool {
	return m.kind == vocab.ErrorMessage || m.kind == vocab.UserMessage ||
		m.kind == vocab.ToolResult && m.body[vocab.OK] == false || m.isState() && m.body[vocab.Spec] == nil
}

// Old judges that between two records, while no uiSpec is active, an agent makes no call with a value that it can only
// have from an earlier one. The values that known lists an agent may have otherwise. others counts its other calls.
func (m *Model) Old(from, next int, known []string) (f verdict.Finding, others int) {
	clauses, all := []string{"EA-051", "EA-072", "EA-077"}, m.agent().told.all
	at := max(0, slices.IndexFunc(all, func(r message) bool { return r.N == from }))
	early := m.agent().told.overlapped(next)
	for _, r := range all[at:] {
		if r.N >= next || !r.fromTarget() || r.kind != vocab.ToolCall || early && r.At-all[at].At < Crossing {
			continue
		}
		if old := shownBefore(all[:at], all[at], r, known); old != "" {
			return byModel(false, r.N, fmt.Sprintf("no call based on a uiSpec from before record %d, which shows none", from),
				fmt.Sprintf("a call with %s, which only an earlier uiSpec contains: %s", old, r.told()), clauses...), others
		}
		others++
	}
	return byModel(true, next, "", "", clauses...), others
}

// shownBefore returns the first text in the params of a call from a uiSpec among earlier messages that is nowhere in
// the present state, or "".
func shownBefore(earlier []message, now, call message, known []string) string {
	old := map[string]bool{}
	for _, m := range earlier {
		if m.Dir == transcript.Sent {
			for _, text := range Texts(m.body[vocab.Spec]) {
				old[text] = true
			}
		}
	}
	for _, text := range slices.Concat(Texts(now.body), known) {
		delete(old, text)
	}
	for _, text := range Texts(call.body[vocab.Params]) {
		if text != "" && old[text] {
			return wjson.Compact(text)
		}
	}
	return ""
}

// Texts returns all texts in a value, except member names.
func Texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			out = append(out, Texts(x)...)
		}
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Texts(v[name])...)
		}
	}
	return out
}

// record keeps what passes between an agent and the harness, and the end of its process.
func (t *told) record(m message) {
	if strings.HasPrefix(m.Conn, AgentParty) || m.Kind == transcript.Remark && strings.HasPrefix(m.Label, Exited) {
		t.all = latest(t.all, m)
	}
}

// JoinedGiven judges that the relay session of a relay.join is the one that the agent was given.
func JoinedGiven(join *transcript.Record, given string) verdict.Finding {
	joined := read(*join).body[vocab.SessionID]
	return byModel(joined == given, join.N, fmt.Sprintf("payload.sessionId is %q, the relay session that the agent was "+
		"given ({session}, PARLEY_SESSION)", given), "payload.sessionId is "+wjson.Compact(joined), "EA-027")
}
