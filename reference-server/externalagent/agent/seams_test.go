package agent

import (
	"slices"
	"testing"

	proto "parley/protocol/externalagent"
)

// rules decide correctly, but for the functions that are given.
type rules struct {
	Correct
	mayTalk   func(v View) bool
	reconnect func(v View, err error) bool
	id        func(v View, kind string, n int) any
	accept    func(v View, msg Message) string
	answers   func(v View, msg Message) string
	strange   func(v View, o Oddity) Reaction
	resync    func(v View, why Occasion) bool
	state     func(v View) State
	settled   func(v View) bool
	choose    func(v View, s State, candidates []Call) (Call, bool)
	failed    func(v View, f Failure) Remedy
	comment   func(v View, s State) string
	reply     func(v View, text, stage string) []string
	finished  func(v View, s State) (string, bool)
	leave     func(v View) Goodbye
}

func (r rules) MayTalk(v View) bool {
	if r.mayTalk != nil {
		return r.mayTalk(v)
	}
	return r.Correct.MayTalk(v)
}

func (r rules) Reconnect(v View, err error) bool {
	if r.reconnect != nil {
		return r.reconnect(v, err)
	}
	return r.Correct.Reconnect(v, err)
}

func (r rules) ID(v View, kind string, n int) any {
	if r.id != nil {
		return r.id(v, kind, n)
	}
	return r.Correct.ID(v, kind, n)
}

func (r rules) Accept(v View, msg Message) string {
	if r.accept != nil {
		return r.accept(v, msg)
	}
	return r.Correct.Accept(v, msg)
}

func (r rules) Answers(v View, msg Message) string {
	if r.answers != nil {
		return r.answers(v, msg)
	}
	return r.Correct.Answers(v, msg)
}

func (r rules) Strange(v View, o Oddity) Reaction {
	if r.strange != nil {
		return r.strange(v, o)
	}
	return r.Correct.Strange(v, o)
}

func (r rules) Resync(v View, why Occasion) bool {
	if r.resync != nil {
		return r.resync(v, why)
	}
	return r.Correct.Resync(v, why)
}

func (r rules) State(v View) State {
	if r.state != nil {
		return r.state(v)
	}
	return r.Correct.State(v)
}

func (r rules) Settled(v View) bool {
	if r.settled != nil {
		return r.settled(v)
	}
	return r.Correct.Settled(v)
}

func (r rules) Choose(v View, s State, candidates []Call) (Call, bool) {
	if r.choose != nil {
		return r.choose(v, s, candidates)
	}
	return r.Correct.Choose(v, s, candidates)
}

func (r rules) Failed(v View, f Failure) Remedy {
	if r.failed != nil {
		return r.failed(v, f)
	}
	return r.Correct.Failed(v, f)
}

func (r rules) Comment(v View, s State) string {
	if r.comment != nil {
		return r.comment(v, s)
	}
	return r.Correct.Comment(v, s)
}

func (r rules) Reply(v View, text, stage string) []string {
	if r.reply != nil {
		return r.reply(v, text, stage)
	}
	return r.Correct.Reply(v, text, stage)
}

func (r rules) Finished(v View, s State) (string, bool) {
	if r.finished != nil {
		return r.finished(v, s)
	}
	return r.Correct.Finished(v, s)
}

func (r rules) Leave(v View) Goodbye {
	if r.leave != nil {
		return r.leave(v)
	}
	return r.Correct.Leave(v)
}

// fault is an agent that gets one thing wrong, and what can be seen of it: shows is true on it, and false on a correct one.
type fault struct {
	name  string
	make  func() Options
	shows func(w *world) bool
}

func deciding(make func() rules) func() Options {
	return func() Options { return Options{Policy: make()} }
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

// eventful is a booking in which something of everything happens: junk, errors, a user, quick specs that are wrong, an
// update that is missing, a cut.
func eventful(t *testing.T, o Options) *world {
	t.Helper()
	pieces, failed := junk(), 0
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
			return append(answer, push(proto.UserMessage, object{"text": "Hello?", "stage": h.name()}))
		case 7:
			return answer[:1]
		}
		return answer
	}
	w := newWorld(t, h, o, func(w *world) {
		w.lenient = true
		w.cut = func(f int) (bool, bool) { return false, f == 90 } // junk counts
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

// A fault that a real implementation might have is a small wrapper around the correct agent.
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

// The correct agent gets through all of it, and breaks no rule.
func TestBooksAnEventfulTicket(t *testing.T) {
	w := eventful(t, Options{})
	if o := w.booked(); o.Connections != 2 || o.Failed != 1 {
		t.Errorf("finished with %+v", o)
	}
}
