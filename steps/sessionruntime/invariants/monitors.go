package invariants

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// All lists the monitors of session-runtime.
func All() []monitor.Monitor {
	return []monitor.Monitor{{Name: "life-cycles", Clauses: Clauses(), Of: session,
		Text: "turns and transactions follow sections 2 and 4, each step once, and nothing is published without " +
			"a cause",
		Check: func(t []transcript.Record) []verdict.Finding {
			return slices.DeleteFunc(Judge(t), func(f verdict.Finding) bool { return f.OK && f.Expected == Absence })
		}}}
}

// session returns the session that a record is about; "" if none.
func session(r transcript.Record) string {
	if m, ok := Read(r); ok {
		return m.Session
	}
	return ""
}

// Judge compares a transcript with a model of each session that the harness set up. Whatever a model finds after its
// first deviation counts as a consequence.
func Judge(t []transcript.Record) []verdict.Finding {
	j := judgementOf(t)
	var out []verdict.Finding
	for _, m := range j.all {
		out = append(out, m.found()...)
	}
	return out
}

func judgementOf(t []transcript.Record) *judgement {
	j := &judgement{models: map[string]*Model{}, coming: map[string]*Model{}}
	for _, r := range t {
		j.take(r)
	}
	return j
}

// Overdue counts the messages that were due by a fence and have not come since either.
func Overdue(t []transcript.Record) (n int) {
	for _, m := range judgementOf(t).all {
		n += len(m.overdue)
	}
	return n
}

// Due reports whether a message is still due by the fence that was sent in record before.
func Due(t []transcript.Record, before int) bool {
	return slices.ContainsFunc(judgementOf(t).all, func(m *Model) bool {
		return slices.ContainsFunc(m.owed, func(o *owed) bool { return o.due(before) })
	})
}

// found returns the model's findings in record order: all up to its first deviation, and after that only violations
// and findings that do not depend on the model.
func (m *Model) found() []verdict.Finding {
	all := slices.Clone(m.Findings)
	slices.SortStableFunc(all, func(a, b verdict.Finding) int { return a.At - b.At })
	first := slices.IndexFunc(all, func(f verdict.Finding) bool { return !f.OK && f.Model != "" })
	if first < 0 {
		return all
	}
	at := all[first].At
	out := all[:0]
	for _, f := range all {
		f.Follows = f.Model != "" && f.At > at
		if !f.Follows || !f.OK {
			out = append(out, f)
		}
	}
	return out
}

type judgement struct {
	models map[string]*Model // current sessions
	coming map[string]*Model // sessions that are being set up again
	all    []*Model          // including sessions since set up again
	fences map[string]int    // id → record that sent the fence
}

func (j *judgement) take(r transcript.Record) {
	if r.Dir == transcript.Noted {
		j.noted(r)
		return
	}
	if r.Event != nil && j.frame(r) {
		return
	}
	msg, ok := Read(r)
	if !ok {
		return
	}
	m := j.models[msg.Session]
	switch {
	case m == nil && !msg.Delivered && msg.Session == "" && len(j.models) == 1: // a bus with a single session
		for _, m = range j.models {
		}
	case m == nil:
		return
	}
	if msg.Delivered {
		m.Delivered(msg)
	} else {
		m.Published(msg)
	}
}

// noted takes a remark of the harness.
func (j *judgement) noted(r transcript.Record) {
	if n, ok := strings.CutPrefix(r.Label, Quiet); ok {
		before, _ := strconv.Atoi(n)
		j.fenced(before+1, r.N, r.At)
	}
	if r.Label == Anew {
		j.forget()
	}
}

// frame takes a frame of the harness's binding, and reports whether r is one.
func (j *judgement) frame(r transcript.Record) bool {
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[ID].(string)
	switch r.Event.Type {
	case SetupFrame:
		j.setUp(data, r)
	case ReadyFrame:
		session, _ := data[Session].(string)
		for id, m := range j.coming {
			if session == "" || id == session {
				j.models[id] = m
				delete(j.coming, id)
			}
		}
	case FenceFrame:
		if j.fences == nil {
			j.fences = map[string]int{}
		}
		j.fences[id] = r.N
	case FencedFrame:
		if before, asked := j.fences[id]; asked {
			j.fenced(before, r.N, r.At)
		}
	default:
		return false
	}
	return true
}

// forget ends all models: their findings stay, and nothing is due any more.
func (j *judgement) forget() {
	j.models, j.coming, j.fences = map[string]*Model{}, map[string]*Model{}, nil
	for _, m := range j.all {
		m.owed, m.overdue = nil, nil
	}
}

func (j *judgement) fenced(before, at int, now time.Duration) {
	for _, m := range j.models {
		m.Fenced(before, at, now)
	}
}

// setUp creates the model of a session, or a new one if the session exists.
func (j *judgement) setUp(data map[string]any, r transcript.Record) {
	id, _ := data[Session].(string)
	active, _ := data["active_agent_id"].(string)
	var agents []string
	if all, ok := data["agents"].([]any); ok {
		for _, a := range all {
			agents = append(agents, fmt.Sprint(a))
		}
	}
	limits, _ := data["limits"].(map[string]any)
	ms := func(name string) time.Duration {
		n, _ := strconv.Atoi(fmt.Sprint(limits[name]))
		return time.Duration(n) * time.Millisecond
	}
	m := newModel(id, Limits{InputAck: ms("input_ack_ms"), CancelAck: ms("cancel_ack_ms")}, agents, active,
		Message{N: r.N, At: r.At})
	j.all = append(j.all, m)
	if j.models[id] == nil {
		j.models[id] = m
		return
	}
	j.coming[id] = m // until it is ready, messages belong to the old one
}

// Clauses lists the clauses that the model judges.
func Clauses() []string {
	out := make([]string, 0, len(judged))
	for _, n := range judged {
		out = append(out, fmt.Sprintf("RT-%03d", n))
	}
	slices.Sort(out)
	return out
}

var judged = []int{
	1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19, 20, 28, 31, 32, 33, 34, 35, 36, 38, 39, 40, 42, 43, 44, 45, 46, 48,
	50, 52, 53, 55,
	60, 61, 62, 63, 65, 66, 68, 69, 70, 72, 74, 75, 76, 77, 78, 79, 80, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95,
	97, 98, 99, 100,
	102, 103, 104, 105, 106, 109, 110, 112, 113, 115, 116, 117, 119, 120, 121, 122, 124, 126, 127, 128, 129, 130, 131, 132,
	133, 134, 135, 136,
	137, 141, 145, 148, 149, 150, 151, 152, 153, 154, 155, 160, 162, 163, 164, 165, 166, 167, 169, 171, 175,
}
