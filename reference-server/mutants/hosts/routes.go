package hosts

import (
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// sessionFaults mistake who is in a relay session, and who gets what in it.
var sessionFaults = map[string]fault{
	"states-cross-sessions":     relayRuling(relayRules{recipients: everywhere(func(isAnswer bool) bool { return !isAnswer })}),
	"answers-cross-sessions":    relayRuling(relayRules{recipients: everywhere(func(isAnswer bool) bool { return isAnswer })}),
	"sessions-by-prefix":        relaying(byPrefix),
	"answers-to-latest-agent":   relayRuling(relayRules{recipients: toOne(true, func(agents []party) party { return agents[len(agents)-1] })}),
	"states-to-first-agent":     relayRuling(relayRules{recipients: toOne(false, func(agents []party) party { return agents[0] })}),
	"states-to-latest-agent":    relayRuling(relayRules{recipients: toOne(false, func(agents []party) party { return agents[len(agents)-1] })}),
	"states-to-caller":          relaying(toCaller),
	"moves-to-study-session":    relaying(toStudySession),
	"closes-behind-results":     closingBehind(proto.ToolResult),
	"closes-behind-snapshots":   closingBehind(proto.SnapshotState),
	"closes-behind-errors":      closingBehind(proto.ErrorMessage),
	"deaf-behind-errors":        deafBehindErrors,
	"replies-name-latest-asked": repliesToLatest,
}

// everywhere sends some of what a host says to the agents of all sessions.
func everywhere(which func(isAnswer bool) bool) func(r relayState, from party, e *envelope) []party {
	return func(r relayState, from party, e *envelope) []party {
		to := correctRelay.Recipients(r, from, e)
		if _, isAnswer := e.ReplyTo(); from.Role != proto.HostRole || !which(isAnswer) {
			return to
		}
		for _, p := range r.Parties() { // whom it leaks to first
			if p.Role == proto.AgentRole && p.Session != from.Session {
				to = append([]party{p}, to...)
			}
		}
		return to
	}
}

// byPrefix takes a session for one whose name its own begins with.
func byPrefix() relayRules {
	var known []string
	return relayRules{key: func(j relayJoin) string {
		for _, k := range known {
			if strings.HasPrefix(j.SessionID, k) {
				return k
			}
		}
		known = append(known, j.SessionID)
		return j.SessionID
	}}
}

// toOne sends answers, or what is none, to one agent of the session.
func toOne(answers bool, which func(agents []party) party) func(r relayState, from party, e *envelope) []party {
	return func(r relayState, from party, e *envelope) []party {
		_, isAnswer := e.ReplyTo()
		if agents := r.Agents(from.Session); from.Role == proto.HostRole && isAnswer == answers && len(agents) > 0 {
			return []party{which(agents)}
		}
		return correctRelay.Recipients(r, from, e)
	}
}

// toCaller sends what a host says to who has asked it last.
func toCaller() relayRules {
	last := map[string]int{}
	return relayRules{recipients: func(r relayState, from party, e *envelope) []party {
		if from.Role == proto.AgentRole {
			last[from.Session] = from.Conn
			return correctRelay.Recipients(r, from, e)
		}
		for _, p := range r.Agents(from.Session) {
			if p.Conn == last[from.Session] {
				return []party{p}
			}
		}
		return correctRelay.Recipients(r, from, e)
	}}
}

// toStudySession looks for the host of an agent in the relay session that has the name of its study session.
func toStudySession() relayRules {
	moved := map[int]bool{}
	return relayRules{recipients: func(r relayState, from party, e *envelope) []party {
		if moved[from.Conn] {
			return nil
		}
		to := correctRelay.Recipients(r, from, e)
		if e.Type() == proto.SessionStarted {
			for _, p := range to {
				moved[p.Conn] = true
			}
		}
		return to
	}}
}

// closingBehind ends an agent's connection behind each message of a type.
func closingBehind(kind string) fault {
	return func(o *options) {
		o.Relay.Outbound = func(r relayState, _, to party, data []byte, send func(int, []byte)) {
			send(to.Conn, data)
			if to.Role == proto.AgentRole && read(data)["type"] == kind {
				r.End(to.Conn, websocket.CloseError{Code: websocket.StatusNormalClosure})
			}
		}
	}
}

// deafBehindErrors hears nothing more of who was refused something.
func deafBehindErrors(o *options) {
	deaf := map[int]bool{}
	o.Relay.Inbound = func(_ relayState, from party, in frame) []frame {
		if deaf[from.Conn] {
			return nil
		}
		return []frame{in}
	}
	o.Relay.Outbound = func(_ relayState, _, to party, data []byte, send func(int, []byte)) {
		if read(data)["type"] == proto.ErrorMessage && to.Role == proto.AgentRole {
			deaf[to.Conn] = true
		}
		send(to.Conn, data)
	}
}

// repliesToLatest answers a while later, and names the request that came last until then.
func repliesToLatest(o *options) {
	const pause = 40 * time.Millisecond
	var mu sync.Mutex
	latest := map[int]string{}
	o.Relay.Inbound = func(_ relayState, from party, in frame) []frame {
		if id, ok := read(in.Data)["id"].(string); ok && !from.Attached {
			mu.Lock()
			defer mu.Unlock()
			latest[from.Conn] = id
		}
		return []frame{in}
	}
	o.Relay.Outbound = func(_ relayState, from, to party, data []byte, send func(int, []byte)) {
		msg := read(data)
		if _, isAnswer := msg["replyTo"]; !isAnswer || from.Role != proto.HostRole {
			send(to.Conn, data)
			return
		}
		time.AfterFunc(pause, func() {
			mu.Lock()
			defer mu.Unlock()
			msg["replyTo"] = latest[to.Conn]
			send(to.Conn, encode(msg))
		})
	}
}
