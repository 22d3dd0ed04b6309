// Package passive has the monitors of session-chat for foreign traffic, between a real client and a real server, of
// which they see only the messages. If a message has several possible causes, they judge nothing.
package passive

import (
	"slices"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	return []monitor.Monitor{
		passive("one-session-per-agent-id", "during a conversation its agent_id keeps one session_id of its own",
			ids, "SC-006", "SC-009", "SC-027", "SC-028", "SC-042", "SC-050", "SC-056"),
		passive("chats-answered", "a legal chat is accepted, and answered under its own agent_id", answered,
			"SC-005", "SC-013", "SC-021", "SC-032", "SC-032a", "SC-033", "SC-034", "SC-041", "SC-060"),
		passive("sessions-side-by-side", "one connection serves several sessions, each under its own agent_id", switches,
			"SC-004", "SC-024", "SC-025", "SC-026", "SC-052", "SC-057"),
		passive("one-end", "a turn has one result", ends, "SC-020"),
		passive("pieces-in-order", "the pieces of an answer are in the order of the whole answer", pieces,
			"SC-012", "SC-020"),
		passive("idle-at-first", "no message of a session is sent before the first chat of a connection", idle,
			"SC-001", "SC-002", "SC-045", "SC-054", "SC-055"),
		passive("no-crossing", "a client gets no message of a session that only another client uses", crossing, "SC-001"),
		passive("heartbeats", "a ping is answered with a pong, and is not refused", pings, "SC-037", "SC-037a"),
		passive("incomplete-chats", "a message that is not a complete chat starts no session", incomplete,
			"SC-029", "SC-030", "SC-031"),
		passive("interrupts", "an interrupt ends the turn of its own agent_id only", interrupts, "SC-035", "SC-036"),
	}
}

func passive(name, text string, judge func(*traffic), clauses ...string) monitor.Monitor {
	return monitor.Monitor{Name: name, Text: text, Clauses: clauses, Passive: true,
		Check: func(t []transcript.Record) []verdict.Finding {
			v := &traffic{records: t}
			judge(v)
			return slices.DeleteFunc(v.out, func(f verdict.Finding) bool { return len(f.Clauses) == 0 })
		}}
}

// traffic is a transcript with the findings.
type traffic struct {
	records []transcript.Record
	out     []verdict.Finding
}

func (v *traffic) kept(r transcript.Record, clauses ...string) {
	v.out = append(v.out, verdict.Finding{Clauses: clauses, OK: true, At: r.N})
}

func (v *traffic) broken(r transcript.Record, expected string, clauses ...string) {
	v.out = append(v.out, verdict.Finding{Clauses: clauses, At: r.N, Expected: expected, Observed: monitor.Describe(r)})
}

// member returns a member of a message; nil if it is null or absent.
func member(r transcript.Record, name string) any {
	if r.Event == nil {
		return nil
	}
	data, _ := r.Event.Data.(map[string]any)
	return data[name]
}

func text(r transcript.Record, name string) string {
	s, _ := member(r, name).(string)
	return s
}

func sent(r transcript.Record) bool     { return r.Event != nil && r.Dir == transcript.Sent }
func received(r transcript.Record) bool { return r.Event != nil && r.Dir == transcript.Received }
