// Package passive has the monitors of session-chat for foreign traffic, between a real client and a real server, of
// which they see only the messages. If a message has several possible causes, they judge nothing.
package passive

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
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

// ClientMonitors lists the monitors that judge the client, which is not a target of a run. Each judges single messages.
// Other messages than the three documented ones are left open, and not judged.
func ClientMonitors() []monitor.Monitor {
	return []monitor.Monitor{
		client("chats-formed", "a chat names its type, its agent_id and its content", chatFormed, "SC-029", "SC-030",
			"SC-031", "SC-032", "SC-033"),
		client("interrupts-formed", "an interrupt names its agent_id", interruptFormed, "SC-035"),
		client("pings-formed", "a ping has no agent_id", pingFormed, "SC-037"),
	}
}

func client(name, text string, judge func(*traffic, transcript.Record, map[string]any),
	clauses ...string) monitor.Monitor {
	m := passive(name, text, func(v *traffic) {
		for _, r := range v.records {
			if !sent(r) || len(r.Event.Faults) > 0 {
				continue
			}
			if data, ok := r.Event.Data.(map[string]any); ok {
				judge(v, r, data)
			}
		}
	}, clauses...)
	m.PerRecord = true
	return m
}

// text records a clause as kept if a member is a string, else as broken.
func (v *traffic) text(r transcript.Record, data map[string]any, name, clause string) {
	if _, ok := data[name].(string); ok {
		v.kept(r, clause)
		return
	}
	v.broken(r, name+", a string", clause)
}

func chatFormed(v *traffic, r transcript.Record, data map[string]any) {
	_, agent := data[vocab.AgentID].(string)
	_, content := data[vocab.Content].(string)
	switch {
	case r.Event.Type == vocab.ChatType:
		v.kept(r, "SC-029")
	case r.Event.Type == "" && agent && content:
		v.broken(r, `type "chat"`, "SC-029")
		return
	default:
		return
	}
	v.text(r, data, vocab.AgentID, "SC-030")
	v.text(r, data, vocab.Content, "SC-031")
	if options, ok := data[vocab.Options].(map[string]any); ok {
		v.kept(r, "SC-032")
		if _, ok := options[vocab.Model].(string); ok {
			v.kept(r, "SC-033")
		}
	}
}

func interruptFormed(v *traffic, r transcript.Record, data map[string]any) {
	if r.Event.Type == vocab.InterruptType {
		v.text(r, data, vocab.AgentID, "SC-035")
	}
}

func pingFormed(v *traffic, r transcript.Record, data map[string]any) {
	if r.Event.Type != vocab.PingType {
		return
	}
	if _, named := data[vocab.AgentID]; named {
		v.broken(r, "no agent_id", "SC-037")
		return
	}
	v.kept(r, "SC-037")
}

// ends judges that a turn has one result. A second result directly after the first belongs to the same turn: another
// turn would have output.
func ends(v *traffic) {
	v.each(func(b *table, r transcript.Record) {
		if !received(r) || r.Event.Type != vocab.ResultMessage {
			return
		}
		s := b.mine(r)
		switch {
		case s == nil || s.cut || b.unknown[r.Conn] || !b.opened[r.Conn]:
		case len(s.chats) > 0 && !s.overlaps:
			v.kept(r, "SC-020")
		case len(s.chats) == 0 && s.ended != nil && !s.since:
			v.broken(r, fmt.Sprintf("one result of the turn that ended in record %d", s.ended.N), "SC-020")
		}
	})
}

// pieces judges that the pieces of an answer are in the order of the whole answer, if both were sent: it looks for a
// text with the same letters in another order.
func pieces(v *traffic) {
	v.each(func(b *table, r transcript.Record) {
		if !received(r) || r.Event.Type != vocab.AssistantMessage {
			return
		}
		s := b.mine(r)
		if s == nil || s.overlaps || len(s.chats) != 1 || r.Cut > 0 {
			return
		}
		said, count := "", 0
		for _, a := range s.answers {
			if a.Event.Type == vocab.AssistantMessage || a.Cut > 0 {
				return // several messages: the pieces cannot be assigned to them
			}
			if member(a, vocab.Piece) != nil {
				said += text(a, vocab.Text)
				count++
			}
		}
		whole := answer(r)
		switch {
		case count < 2 || len(strings.TrimSpace(said)) == 0:
		case strings.TrimSpace(said) == strings.TrimSpace(whole) || strings.Contains(whole, said):
			v.kept(r, "SC-012", "SC-020")
		case len(said) > 8 && letters(said) == letters(whole):
			v.broken(r, fmt.Sprintf("the %d pieces of the turn in the order of the whole answer", count), "SC-012", "SC-020")
		}
	})
}

// answer is the text of a whole answer: its longest string, because the others are names.
func answer(r transcript.Record) string {
	longest := ""
	for _, s := range texts(member(r, vocab.Body)) {
		if len(s) > len(longest) {
			longest = s
		}
	}
	return longest
}

func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	}
	return out
}

// letters returns the letters of a text, sorted, without white space.
func letters(s string) string {
	list := []rune(strings.Join(strings.Fields(s), ""))
	slices.Sort(list)
	return string(list)
}

// interrupts judges that an interrupt ends the turn of its agent_id and no other.
func interrupts(v *traffic) {
	asked := map[key]transcript.Record{}
	any := map[string]bool{}
	v.each(func(b *table, r transcript.Record) {
		k := key{r.Conn, text(r, vocab.AgentID)}
		if sent(r) && r.Event.Type == vocab.InterruptType {
			asked[k], any[r.Conn] = r, true
			return
		}
		s := b.mine(r)
		if !received(r) || s == nil || !b.opened[r.Conn] {
			return
		}
		was, cut := asked[k]
		interrupted := r.Event.Type == vocab.ResultMessage && text(r, vocab.Subtype) == vocab.Interrupted
		switch {
		case interrupted && cut:
			v.kept(r, "SC-035", "SC-036")
			delete(asked, k)
		case interrupted && any[r.Conn] && !s.overlaps && len(s.chats) > 0:
			v.broken(r, fmt.Sprintf("the turn of agent_id %q, which nobody interrupted, continues", k.agent), "SC-036")
		case denies(r) && cut && was.N > 0 && s.begun && !s.overlaps:
			v.broken(r, fmt.Sprintf("the interrupt of record %d is accepted", was.N), "SC-035")
		}
	})
}
