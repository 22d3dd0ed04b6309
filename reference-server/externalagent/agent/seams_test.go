package agent

import (
	"slices"
	"testing"

	proto "parley/protocol/externalagent"
)

// fault is an agent with one fault and its symptom: shows returns true for it, and false for a correct agent.
type fault struct {
	name  string
	make  func() Options
	shows func(w *world) bool
}

func deciding(p Policy) func() Options {
	return func() Options { return Options{Policy: p} }
}

func telling(f func(v View, msg Message, send func(Message))) func() Options {
	return func() Options { return Options{Outbound: f} }
}

// rewriting changes the messages of a type.
func rewriting(kind string, f func(msg Message) Message) func() Options {
	return telling(func(_ View, msg Message, send func(Message)) {
		if msg.Type() == kind {
			msg = f(msg)
		}
		send(msg)
	})
}

// eventful is a booking with all kinds of events: junk, errors, a user, wrong quick specs, a missing update, a cut.
func eventful(t *testing.T, o Options) *world {
	t.Helper()
	pieces, failed := junkMessages(), 0
	h := &host{}
	h.before = func(h *host, msg Message) ([]Message, bool) {
		if msg.Type() != proto.ToolCall {
			return nil, false
		}
		if failed++; failed == 2 {
			return []Message{refusal(msg, proto.ToolExecutionFailed)}, true
		}
		return nil, false
	}
	h.after = func(h *host, msg Message, answer []Message) []Message {
		if msg.Type() != proto.ToolCall || len(answer) < 2 {
			return answer
		}
		answer[0] = answer[0].With("payload", object{"ok": true, "toolName": msg.Payload()["toolName"], "uiSpec": object{
			"stage": "quick", "items": []any{item3("quick-1", true, "x")}, "selected": []any{},
		}})
		switch len(h.calls) {
		case 4:
			return append(answer, newPush(proto.UserMessage, object{"text": "Hello?", "stage": h.name()}))
		case 7:
			return answer[:1]
		}
		return answer
	}
	w := newWorld(t, h, o, func(w *world) {
		w.lenient = true
		w.cut = func(f int) (bool, bool) { return false, f == 90 } // counts junk too
		w.deliver = func(nth int, msg Message) []Event {
			if nth > 10 && msg.Type() == proto.ToolResult {
				defer func() { pieces = nil }()
				return append(pieces, Received{msg})
			}
			return []Event{Received{msg}}
		}
	})
	w.run(45e9)
	return w
}

// A realistic fault is a small wrapper around the correct agent.
func TestSeams(t *testing.T) {
	correct := eventful(t, Options{})
	for _, f := range slices.Concat(decisionFaults, messageFaults) {
		t.Run(f.name, func(t *testing.T) {
			if f.shows(correct) {
				t.Error("the correct agent has the fault")
			}
			if !f.shows(eventful(t, f.make())) {
				t.Error("the fault does not show")
			}
		})
	}
}

// The correct agent handles all of it without breaking a rule.
func TestBooksAnEventfulTicket(t *testing.T) {
	w := eventful(t, Options{})
	if o := w.wantBooked(); o.Connections != 2 || o.Failed != 1 {
		t.Errorf("finished with %+v", o)
	}
}
