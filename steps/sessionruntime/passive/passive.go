// Package passive has the monitors of session-runtime for foreign traffic, of an orchestrator on a real bus. They see
// the messages that the bus delivers to it, and those that it publishes. A message published before a delivery cannot
// be its effect. A message published after a delivery may have been in flight already, and is judged only if another
// message shows that the orchestrator had handled the delivery. If a message has several possible causes, they judge
// nothing.
package passive

import (
	"fmt"
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	judge "parley/steps/sessionruntime/invariants"
	"parley/transport/transcript"
)

// The subjects, which are the monitors' names.
const (
	inputs    = "inputs-routed"
	active    = "active-agent"
	acks      = "acks-end-the-wait"
	outputs   = "output-forwarded"
	cancels   = "cancels-wait-for-acks"
	moves     = "agents-come-and-go"
	handovers = "handovers-confirmed"
	sessions  = "sessions-open-and-close"
	errors    = "errors-told"
)

var claims = []struct {
	name, text string
	clauses    []int
}{
	{inputs, "an input is routed to its agent unchanged, and its turn is accepted", []int{1, 9, 13, 15, 52, 53, 55, 67, 68,
		72, 74, 75, 76, 83, 84, 85, 86, 92, 93, 170}},
	{active, "each change of the active agent is published, and plain input goes to the active agent", []int{6, 14, 32,
		48, 63, 64, 65, 66, 69, 88, 89, 90, 91, 112, 167, 176}},
	{acks, "a turn starts with its ack, and has one outcome", []int{3, 56, 77, 79, 80, 94, 161, 169}},
	{outputs, "output of a running turn is forwarded unchanged, in its order and once", []int{2, 15, 39, 42, 55, 79, 104,
		139, 140, 141, 145, 146, 148, 149, 150, 162, 168}},
	{cancels, "a CANCEL goes to the agent that speaks, and CANCELED comes after its ack", []int{4, 5, 16, 31, 38, 50, 53,
		95, 97, 98, 99, 100, 102, 103, 105, 142, 145, 160, 162}},
	{moves, "agents are added and removed through SessionManager, each step after its receipt", []int{8, 10, 17, 18, 20,
		25, 33, 34, 43, 44, 46, 49, 60, 86, 87, 106, 108, 109, 110, 111, 113, 115, 116, 117, 119, 120, 121, 122, 124, 126,
		127, 160, 163, 164, 171, 172}},
	{handovers, "a handover is confirmed by the frontend before it takes place", []int{7, 19, 35, 38, 61, 65, 128, 130,
		131, 132, 133, 134, 135, 136, 137, 165, 173}},
	{sessions, "a session is opened and closed through SessionManager, each step after its receipt", []int{20, 36, 45, 46,
		151, 152, 153, 154, 155, 160, 166}},
	{errors, "an ERROR of any party reaches the frontend", []int{11, 40}},
}

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	var out []monitor.Monitor
	for _, c := range claims {
		out = append(out, monitor.Monitor{Name: c.name, Text: c.text, Clauses: names(c.clauses), Passive: true,
			Check: func(t []transcript.Record) []verdict.Finding { return check(t, c.name) }})
	}
	return out
}

func names(clauses []int) []string {
	out := make([]string, 0, len(clauses))
	for _, n := range clauses {
		out = append(out, fmt.Sprintf("RT-%03d", n))
	}
	return out
}

// check judges a transcript, and returns the findings on one subject.
func check(t []transcript.Record, subject string) []verdict.Finding {
	v := &traffic{subject: subject, shown: map[int]bool{}, conns: map[string]*conn{}}
	for _, r := range t {
		v.take(r)
	}
	for _, c := range v.conns {
		c.end()
	}
	slices.SortStableFunc(v.out, func(a, b verdict.Finding) int { return a.At - b.At })
	return v.out
}

// kept records that clauses hold, each once per transcript.
func (s *session) kept(subject string, m judge.Message, clauses ...int) {
	if subject != s.v.subject || s.lost {
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(clauses), func(n int) bool { return s.v.shown[n] })
	for _, n := range fresh {
		s.v.shown[n] = true
	}
	if len(fresh) > 0 {
		s.v.out = append(s.v.out, verdict.Finding{Clauses: names(fresh), OK: true, At: m.N})
	}
}

// broken records that clauses were broken by a message. From then on the session is not judged, because its due
// messages are no longer known.
func (s *session) broken(subject string, m judge.Message, expected string, clauses ...int) {
	s.fails(subject, m, expected, describe(m), clauses...)
}

func (s *session) fails(subject string, m judge.Message, expected, observed string, clauses ...int) {
	if s.lost {
		return
	}
	s.lost = true
	if subject == s.v.subject {
		s.v.out = append(s.v.out, verdict.Finding{Clauses: names(clauses), At: m.N, Expected: expected, Observed: observed})
	}
}
