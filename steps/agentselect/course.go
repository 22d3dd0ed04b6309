package agentselect

import (
	"slices"
	"sort"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// compared are the events whose order a scenario determines; others may come at any time.
var compared = map[string]bool{
	vocab.ConnectedEvent: true, vocab.AgentListEvent: true, vocab.AgentSwitchedEvent: true, vocab.ErrorEvent: true,
	vocab.CompleteEvent: true, vocab.ConfirmationRequestEvent: true, vocab.QuestionRequestEvent: true,
}

// Course implements steps.Comparer: it reduces a transcript to what must not depend on the transport: the protocol's
// events by connection, in order, with ids, nonces and times replaced.
func (Protocol) Course(records []transcript.Record) []string {
	byConn, racing := map[string][]string{}, overtaken(records)
	for _, r := range records {
		if r.Dir != transcript.Received || r.Event == nil || !compared[r.Event.Type] || r.Conn == "new" {
			continue
		}
		line := r.Event.Type + " " + shape(r.Event)
		if r.Event.Type == vocab.AgentSwitchedEvent && racing[r.Conn] {
			line = r.Event.Type // their order is a race
		}
		if r.Event.Type == vocab.ErrorEvent {
			code, coded := wjson.Lookup(r.Event.Data, "/errorCode")
			if !coded || code == any(vocab.AgentBusy) {
				continue // refusals of invalid messages depend on the transport; retries of switches are random
			}
		}
		byConn[r.Conn] = append(byConn[r.Conn], line)
	}
	conns := make([]string, 0, len(byConn))
	for c := range byConn {
		conns = append(conns, c)
	}
	sort.Strings(conns)
	var out []string
	for _, c := range conns {
		for _, e := range byConn[c] {
			out = append(out, "client "+c+": "+e)
		}
	}
	return out
}

// overtaken finds the connections on which a switch was sent before the previous one was answered.
func overtaken(records []transcript.Record) map[string]bool {
	open, out := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		switch {
		case r.Event == nil:
		case r.Dir == transcript.Sent && r.Event.Type == vocab.SwitchAgentType:
			out[r.Conn] = out[r.Conn] || open[r.Conn]
			open[r.Conn] = true
		case r.Dir == transcript.Received && (r.Event.Type == vocab.AgentSwitchedEvent || r.Event.Type == vocab.ErrorEvent):
			open[r.Conn] = false
		}
	}
	return out
}

// SameCourse implements steps.Comparer: it reports whether each connection received the same events. A scenario about
// opening a connection may close it before the whole greeting has come; that does not count as a difference.
func (Protocol) SameCourse(a, b []string) bool {
	of := func(lines []string) map[string][]string {
		byConn := map[string][]string{}
		for _, l := range lines {
			conn, event, _ := strings.Cut(l, ": ")
			byConn[conn] = append(byConn[conn], event)
		}
		return byConn
	}
	left, right := of(a), of(b)
	for conn := range right {
		left[conn] = append([]string{}, left[conn]...) // so that connections of one side only are compared too
	}
	for conn, one := range left {
		other := right[conn]
		if raced(one) || raced(other) { // over SSE a switch can be sent before the event of the previous one is read
			one, other = unordered(one), unordered(other)
		}
		n := min(len(one), len(other))
		if !slices.Equal(one[:n], other[:n]) || !greetings(one[n:]) || !greetings(other[n:]) {
			return false
		}
	}
	return true
}

// raced reports whether the events are of a connection whose switches overtook each other.
func raced(events []string) bool { return slices.Contains(events, vocab.AgentSwitchedEvent) }

// unordered returns the events without what each switch was to.
func unordered(events []string) []string {
	out := slices.Clone(events)
	for i, e := range out {
		if strings.HasPrefix(e, vocab.AgentSwitchedEvent+" ") {
			out[i] = vocab.AgentSwitchedEvent
		}
	}
	return out
}

// greetings reports whether all events are greeting events.
func greetings(events []string) bool {
	for _, e := range events {
		if kind, _, _ := strings.Cut(e, " "); kind != vocab.ConnectedEvent && kind != vocab.AgentListEvent {
			return false
		}
	}
	return true
}

// shape renders an event's data without the values of ids and times, and of texts that may carry a nonce.
func shape(ev *transcript.Event) string {
	obj, ok := ev.Data.(map[string]any)
	if !ok {
		return wjson.Kind(ev.Data)
	}
	kept := map[string]any{}
	for k, v := range obj {
		switch k {
		case "connectionId", "sessionId", "requestId", "timestamp", "message", "arguments", "toolCallId":
			kept[k] = wjson.Kind(v)
		default:
			kept[k] = v
		}
	}
	return wjson.Compact(kept)
}
