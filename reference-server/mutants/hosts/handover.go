package hosts

import (
	"sync"
	"time"

	proto "parley/protocol/externalagent"
)

// handoverFaults go wrong where a session is started right behind the end of another, or ends with a call under way: who waits for
// each answer never meets them.
var handoverFaults = map[string]fault{
	"restart-keeps-history":       both(hurrying(proto.SessionEnd, proto.SessionEnded, proto.SessionStart), hosting(keepsHistoryInHurry)),
	"restart-resets-late":         both(hurrying(proto.SessionEnd, proto.SessionEnded, proto.SessionStart), hosting(resetsLate)),
	"call-under-way-reaches-next": both(hurrying(proto.ToolCall, proto.ToolResult, proto.SessionEnd), hosting(callsInNext)),
}

// hurried is the member by which a host learns that a request came while another was not answered.
const hurried = "hurried"

// hurrying has answers of a type take a while, and marks the requests of another type that come meanwhile.
func hurrying(asked, answer, marked string) fault {
	const pause = 40 * time.Millisecond
	return func(o *options) {
		var mu sync.Mutex
		open := map[int]bool{} // by connection
		o.Relay.Inbound = func(_ relayState, from party, in frame) []frame {
			msg := read(in.Data)
			if from.Attached || msg == nil {
				return []frame{in}
			}
			mu.Lock()
			defer mu.Unlock()
			payload, _ := msg["payload"].(object)
			if msg["type"] == marked && open[from.Conn] && payload != nil {
				payload[hurried] = true
				in.Data = encode(msg)
			}
			if msg["type"] == asked {
				open[from.Conn] = true
			}
			return []frame{in}
		}
		o.Relay.Outbound = func(_ relayState, _, to party, data []byte, send func(int, []byte)) {
			if read(data)["type"] != answer {
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

// isHurried tells whether a message has the mark.
func isHurried(msg message) bool { return msg.Payload()[hurried] == true }

// keepsHistoryInHurry shows the history of before in front of that of a session that was started in a hurry.
func keepsHistoryInHurry(h *hostOptions) {
	var old []any
	kept := false
	h.Inbound = func(_ view, msg message) []message {
		if msg.Type() == proto.SessionStart {
			kept = isHurried(msg)
		}
		return []message{msg}
	}
	h.Policy = rules{
		reset: func(v view) keep {
			old = v.State().MessageHistory
			return keep{}
		},
		state: func(v view, _ part) state {
			s := v.State()
			if kept {
				s.MessageHistory = append(append([]any{}, old...), s.MessageHistory...)
			}
			return s
		},
	}
}

// resetsLate still shows everything of before for a moment, in a session that was started in a hurry.
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
	h.Policy = rules{
		reset: func(v view) keep {
			old = v.State()
			return keep{}
		},
		state: func(v view, _ part) state {
			if time.Now().Before(until) {
				return old
			}
			return v.State()
		},
	}
}

// callsInNext carries out the call that was under way when its session ended once more, in the next one.
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
	h.Outbound = answersOnly // nobody has asked for it
}
