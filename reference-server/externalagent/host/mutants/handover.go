package mutants

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
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

// joinFaults get the handshake wrong.
var joinFaults = map[string]fault{
	"endpoint-elsewhere":    likeRelay("endpoint-elsewhere"),
	"join-unanswered":       likeRelay("joined-unsaid"),
	"join-answer-unnamed":   likeRelay("joined-without-reply-to"),
	"join-answer-misnamed":  likeRelay("joined-reply-to-the-example"),
	"join-answer-mistyped":  likeRelay("joined-as-an-ack"),
	"join-echoes-no-role":   likeRelay("joined-without-role"),
	"join-echoes-own-role":  likeRelay("joined-role-of-the-relay"),
	"join-shouts-role":      likeRelay("joined-role-in-capitals"),
	"join-echoes-nowhere":   likeRelay("joined-without-session"),
	"join-echoes-default":   likeRelay("joined-session-default"),
	"join-session-is-room":  likeRelay("joined-session-renamed"),
	"joins-once":            likeRelay("returning-agent-refused"),
	"one-party-per-session": joining(onePartyOnly),
	"places-never-freed": inRelay(relaymutants.PlacesKept(2, func(j proto.Join) bool {
		return j.Role == proto.AgentRole
	})),
	"newcomer-ends-others": joining(newcomerEnds),

	"unjoined-call-dropped":    likeRelay("unjoined-unanswered"),
	"unjoined-call-is-unknown": likeRelay("unjoined-another-code"),
	"unjoined-call-fails":      refusingUnjoined(proto.ToolExecutionFailed),
	"unjoined-are-taken-in":    likeRelay("joins-who-speaks-first"),
	"unjoined-start-in-default": inRelay(relaymutants.JoinsWhoSends(proto.DefaultSession, func(kind string) bool {
		return kind == proto.SessionStart
	})),
}

func joining(f func(r relayView, from party, e *envelope, j proto.Join, why *relay.Refusal) (proto.Join,
	*relay.Refusal)) fault {
	return inRelay(func(o *relay.Options) { o.Policy.Join = f })
}

// onePartyOnly has room for one connection per session, and the host takes it.
func onePartyOnly(_ relayView, from party, _ *envelope, j proto.Join, why *relay.Refusal) (proto.Join, *relay.Refusal) {
	if why == nil && !from.Attached {
		why = &relay.Refusal{Code: proto.InvalidMessage, Text: "the session is taken"}
	}
	return j, why
}

// newcomerEnds ends the connections of the present agents when another one joins.
func newcomerEnds(r relayView, _ party, _ *envelope, j proto.Join, why *relay.Refusal) (proto.Join, *relay.Refusal) {
	if why == nil && j.Role == proto.AgentRole {
		for _, p := range r.Agents(j.SessionID) {
			r.End(p.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "another agent has joined"})
		}
	}
	return j, why
}

func refusingUnjoined(code string) fault {
	return inRelay(func(o *relay.Options) {
		o.Policy.Unjoined = func(_ relayView, _ party, _ *envelope, why *relay.Refusal) *relay.Refusal {
			return &relay.Refusal{Code: code, Text: why.Text}
		}
	})
}

// sessionFaults get wrong who is in a relay session, or who gets which message.
var sessionFaults = map[string]fault{
	"states-cross-sessions":     likeRelay("states-leak"),
	"answers-cross-sessions":    likeRelay("answers-leak"),
	"sessions-by-prefix":        inRelay(byPrefix),
	"answers-to-latest-agent":   likeRelay("answers-to-the-last-agent"),
	"states-to-first-agent":     likeRelay("states-to-the-first-agent"),
	"states-to-latest-agent":    likeRelay("states-to-the-last-agent"),
	"states-to-caller":          likeRelay("states-to-the-latest-asker"),
	"moves-to-study-session":    likeRelay("moves-to-the-study-session"),
	"closes-behind-results":     likeRelay("closes-behind-a-result"),
	"closes-behind-snapshots":   likeRelay("closes-behind-a-snapshot"),
	"closes-behind-errors":      inRelay(relaymutants.ClosingAfter(proto.ErrorMessage)),
	"deaf-behind-errors":        inRelay(deafAfterErrors),
	"replies-name-latest-asked": inRelay(repliesToLatest(func(message) bool { return true }, isAnswer)),
	"results-name-latest-call":  inRelay(repliesToLatest(isKnownCall, isResult)),
}

// byPrefix puts a party into a session whose name is a prefix of its own.
func byPrefix(o *relay.Options) {
	var known []string
	o.Policy.Key = func(session string) string {
		for _, k := range known {
			if strings.HasPrefix(session, k) {
				return k
			}
		}
		known = append(known, session)
		return session
	}
}

// deafAfterErrors ignores an agent once it has refused a request of that agent.
func deafAfterErrors(o *relay.Options) {
	deaf := map[int]bool{}
	o.Inbound = func(_ relayView, from party, in frame) []frame {
		if deaf[from.Conn] {
			return nil
		}
		return []frame{in}
	}
	o.Outbound = func(_ relayView, _, to party, data []byte, send func(int, []byte)) {
		if wire.Read(data)["type"] == proto.ErrorMessage && to.Role == proto.AgentRole {
			deaf[to.Conn] = true
		}
		send(to.Conn, data)
	}
}

// repliesToLatest delays some replies and names the latest of some requests in them.
func repliesToLatest(request, reply func(msg message) bool) func(o *relay.Options) {
	const pause = 40 * time.Millisecond
	return func(o *relay.Options) {
		var mu sync.Mutex
		latest := map[int]string{}
		o.Inbound = func(_ relayView, from party, in frame) []frame {
			msg := message(wire.Read(in.Data))
			if id, ok := msg["id"].(string); ok && !from.Attached && request(msg) {
				mu.Lock()
				defer mu.Unlock()
				latest[from.Conn] = id
			}
			return []frame{in}
		}
		o.Outbound = func(_ relayView, from, to party, data []byte, send func(int, []byte)) {
			msg := message(wire.Read(data))
			if !reply(msg) || from.Role != proto.HostRole {
				send(to.Conn, data)
				return
			}
			time.AfterFunc(pause, func() {
				mu.Lock()
				defer mu.Unlock()
				send(to.Conn, wire.Encode(msg.With("replyTo", latest[to.Conn])))
			})
		}
	}
}

// isKnownCall reports whether a request calls a tool that the host has.
func isKnownCall(msg message) bool {
	return slices.Contains(saysOkOnly, toolOf(msg)) || slices.Contains(hasQuickUI, toolOf(msg))
}

func isResult(msg message) bool { return msg.Type() == proto.ToolResult }
