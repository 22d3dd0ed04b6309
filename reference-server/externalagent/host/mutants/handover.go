package mutants

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// handoverFaults go wrong when a request follows another one before its reply: at the end of a session with an
// unanswered call, and at the start of the next. An agent that waits for each reply never triggers them.
var handoverFaults = map[string]fault{
	"restart-keeps-history": both(hurrying(proto.SessionEnd, proto.SessionEnded, proto.SessionStart),
		hosting(keepsHistoryInHurry)),
	"restart-resets-late": both(hurrying(proto.SessionEnd, proto.SessionEnded, proto.SessionStart),
		hosting(resetsLate)),
	"call-under-way-reaches-next": both(hurrying(proto.ToolCall, proto.ToolResult, proto.SessionEnd),
		hosting(callsInNext)),
	"next-under-way-reaches-next": both(hurrying(proto.ToolCall, proto.ToolResult, proto.SessionEnd),
		hosting(callsInNextOf(proto.Next))),
	"post-under-way-reaches-next": both(hurrying(proto.ToolCall, proto.ToolResult, proto.SessionEnd),
		hosting(callsInNextOf(proto.PostMessage))),
	"calls-at-once-are-one": both(hurrying(proto.ToolCall, proto.ToolResult, proto.ToolCall),
		hosting(confirmsHurried)),
	"calls-at-once-write-back": both(hurrying(proto.ToolCall, proto.ToolResult, proto.ToolCall),
		hosting(writesBackHurried)),
	"first-session-greets-less": greetsAgain,
	"form-is-global":            sharesForm,
}

// callsInNextOf is callsInNext for the calls of one tool. With next it repeats the choice that next needs.
func callsInNextOf(tool string) func(h *hostOptions) {
	return func(h *hostOptions) {
		callsInNext(h)
		all, choice := h.Inbound, message(nil)
		h.Inbound = func(v view, msg message) []message {
			if msg.Type() == proto.ToolCall && toolOf(msg) != tool {
				choice = msg.Without("id")
				return []message{msg}
			}
			out := all(v, msg)
			if len(out) > 1 && tool == proto.Next && choice != nil {
				out = []message{out[0], choice, out[1]}
			}
			return out
		}
	}
}

// confirmsHurried confirms a call that came while another one was unanswered, and does not execute it.
func confirmsHurried(h *hostOptions) {
	hurry := false
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.ToolCall {
			hurry = isHurried(msg)
		}
		return []message{msg}
	}
	h.Policy.Execute = func(_ view, c call, run func() *refusal) *refusal {
		if hurry && c.Tool != proto.PostMessage && c.Tool != proto.Next && c.Tool != proto.Prev {
			return nil
		}
		return run()
	}
}

// writesBackHurried executes a call that came while another one was unanswered on the state from before that one.
func writesBackHurried(h *hostOptions) {
	writeBack, hurry := func() {}, false
	h.Inbound = func(v view, msg message) []message {
		if msg.Type() == proto.ToolCall {
			if hurry = isHurried(msg); !hurry {
				writeBack = v.CopyBooking()
			}
		}
		return []message{msg}
	}
	h.Policy.Execute = func(_ view, _ call, run func() *refusal) *refusal {
		if hurry {
			writeBack()
		}
		return run()
	}
}

// greetsAgain greets the participant in every session but the first one of the server.
func greetsAgain(o *options) {
	var began atomic.Bool
	hosting(func(h *hostOptions) {
		again := false
		h.Inbound = func(v view, msg message) []message {
			if msg.Type() == proto.SessionStart && !v.Active() {
				again = began.Swap(true)
			}
			return []message{msg}
		}
		h.Policy.State = func(_ view, _ part, s state) state {
			if again {
				s.MessageHistory = slices.Concat([]any{object{"role": "system", "text": "Welcome back."}}, s.MessageHistory)
			}
			return s
		}
	})(o)
}

// sharesForm shows every session the form of whichever made the last call. Each session that starts clears it.
func sharesForm(o *options) {
	var mu sync.Mutex
	var form any
	by := ""
	hosting(func(h *hostOptions) {
		h.Inbound = func(_ view, msg message) []message {
			if msg.Type() == proto.SessionStart {
				mu.Lock()
				defer mu.Unlock()
				form = nil
			}
			return []message{msg}
		}
		h.Policy.Execute = func(v view, _ call, run func() *refusal) *refusal {
			why := run()
			mu.Lock()
			defer mu.Unlock()
			form, by = v.State().UISpec, v.SessionID()
			return why
		}
		h.Policy.State = func(v view, _ part, s state) state {
			mu.Lock()
			defer mu.Unlock()
			if form != nil && by != v.SessionID() {
				s.UISpec = form
			}
			return s
		}
	})(o)
}

// hurried marks a request that arrived while another one was unanswered.
const hurried = "hurried"

// hurrying delays the replies of a type and marks the requests of another type that arrive meanwhile.
func hurrying(asked, answer, marked string) fault {
	const pause = 40 * time.Millisecond
	return func(o *options) {
		var mu sync.Mutex
		open := map[int]bool{} // by connection
		o.Relay.Inbound = func(_ relayView, from party, in frame) []frame {
			msg := message(wire.Read(in.Data))
			if from.Attached || msg == nil {
				return []frame{in}
			}
			mu.Lock()
			defer mu.Unlock()
			if payload := msg.Payload(); msg.Type() == marked && open[from.Conn] && payload != nil {
				payload[hurried] = true
				in.Data = wire.Encode(msg)
			}
			open[from.Conn] = open[from.Conn] || msg.Type() == asked
			return []frame{in}
		}
		o.Relay.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
			if wire.Read(data)["type"] != answer {
				send(to.Conn, data)
				return
			}
			time.AfterFunc(pause, func() {
				mu.Lock()
				defer mu.Unlock()
				open[to.Conn] = false
				send(to.Conn, data)
			})
		}
	}
}

// isHurried reports whether a message has the mark.
func isHurried(msg message) bool { return msg.Payload()[hurried] == true }

// keepsHistoryInHurry prepends the previous session's history in a session that was started in a hurry.
func keepsHistoryInHurry(h *hostOptions) {
	var old []any
	kept := false
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.SessionStart {
			kept = isHurried(msg)
		}
		return []message{msg}
	}
	h.Policy.Reset = func(v view, right keep) keep {
		old = v.State().MessageHistory
		return right
	}
	h.Policy.State = func(_ view, _ part, s state) state {
		if kept {
			s.MessageHistory = slices.Concat(old, s.MessageHistory)
		}
		return s
	}
}

// resetsLate briefly shows the previous session in a session that was started in a hurry.
func resetsLate(h *hostOptions) {
	const moment = 60 * time.Millisecond
	var old state
	var until time.Time
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.SessionStart && isHurried(msg) {
			until = time.Now().Add(moment)
		}
		return []message{msg}
	}
	h.Policy.Reset = func(v view, right keep) keep {
		old = v.State()
		return right
	}
	h.Policy.State = func(_ view, _ part, s state) state {
		if time.Now().Before(until) {
			return old
		}
		return s
	}
}

// callsInNext takes the call that was unanswered when its session ended and repeats it in the next session.
func callsInNext(h *hostOptions) {
	var last, due message
	h.Inbound = func(_ view, msg message) []message {
		switch msg.Type() {
		case proto.ToolCall:
			last = msg.Without("id")
		case proto.SessionEnd:
			if due = nil; isHurried(msg) {
				due = last
			}
		case proto.SessionStart:
			if due != nil {
				return []message{msg, due}
			}
		}
		return []message{msg}
	}
	h.Outbound = answersOnly
}
