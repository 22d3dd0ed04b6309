package mutants

import (
	"slices"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

// connectionFaults refuse connections, or end them.
var connectionFaults = map[string]fault{
	"endpoint-elsewhere":         func(o *options) { o.Path = "/ws" },
	"one-connection-for-all":     func(o *options) { o.Limits.Connections = 1 },
	"latest-connection-counts":   endingAtJoin(func(p, from party, _ string) bool { return p.Conn != from.Conn }),
	"closes-behind-a-result":     ClosingAfter(proto.ToolResult),
	"closes-behind-a-snapshot":   ClosingAfter(proto.SnapshotState),
	"places-never-given-back":    PlacesKept(5, func(proto.Join) bool { return true }),
	"a-connection-of-8-messages": eightMessages,
}

// endingAtJoin ends the connections of some other parties when a party joins a session.
func endingAtJoin(which func(p, from party, session string) bool) fault {
	return hearing(func(v view, from party, f frame, e *envelope) []frame {
		if isJoin(e) {
			session, _ := e.Payload().Text("sessionId")
			for _, p := range v.Parties() {
				if which(p, from, session) {
					v.End(p.Conn, goodbye)
				}
			}
		}
		return []frame{f}
	})
}

// ClosingAfter ends a connection after each message of a type that it receives from another party.
func ClosingAfter(kind string) fault {
	return func(o *options) {
		o.Outbound = func(v view, from, to party, data []byte, send sender) {
			send(to.Conn, data)
			if from.Conn > 0 && typeOf(data) == kind {
				v.End(to.Conn, goodbye)
			}
		}
	}
}

// PlacesKept has room for n joins of a kind and never frees a place.
func PlacesKept(n int, which func(j proto.Join) bool) fault {
	return func(o *options) {
		free := n
		o.Policy.Join = func(_ view, _ party, _ *envelope, j proto.Join, why *refusal) (proto.Join, *refusal) {
			if why != nil || !which(j) {
				return j, why
			}
			if free == 0 {
				return j, &refusal{Code: proto.SessionNotActive, Text: "no room"}
			}
			free--
			return j, nil
		}
	}
}

// eightMessages ends a connection after a maximum number of messages.
func eightMessages(o *options) {
	seen := map[int]int{}
	hearing(func(v view, from party, f frame, _ *envelope) []frame {
		if seen[from.Conn]++; seen[from.Conn] > 8 && isAgent(from) {
			v.End(from.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "rate limit"})
			return nil
		}
		return []frame{f}
	})(o)
}

// memoryFaults remember, or forget, what they should not.
var memoryFaults = map[string]fault{
	"snapshots-from-memory": snapshotsFromMemory,
	"agents-leave-together": agentsLeaveTogether,
	"user-in-first-session": userInFirstSession,
}

// snapshotsFromMemory answers snapshot.get with the last snapshot.state, unless something else has been sent since.
func snapshotsFromMemory(o *options) {
	kept := map[string][]byte{}
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		id, identified := e.ID()
		data := kept[from.Session]
		switch {
		case isAgent(from) && e.Type() == proto.SnapshotGet && identified && data != nil:
			v.Send(from.Conn, replyingTo(id, data))
			return nil
		case e.Type() != proto.SnapshotGet && e.Type() != proto.SnapshotState:
			delete(kept, from.Session)
		}
		return to
	}
	o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
		if isHost(from) && e.Type() == proto.SnapshotState {
			kept[from.Session] = slices.Clone(data)
		}
		return data
	}
}

// agentsLeaveTogether empties the list of those who hear of new states when one of them leaves.
func agentsLeaveTogether(o *options) {
	known := map[string][]party{}
	deaf := map[int]bool{}
	o.Policy.Recipients = func(v view, from party, e *envelope, to []party) []party {
		now := v.Agents(from.Session)
		for _, p := range known[from.Session] {
			if !slices.Contains(now, p) {
				for _, left := range now {
					deaf[left.Conn] = true
				}
			}
		}
		known[from.Session] = now
		if !isHost(from) || isAnswer(from, e) {
			return to
		}
		return slices.DeleteFunc(slices.Clone(to), func(p party) bool { return deaf[p.Conn] })
	}
}

// userInFirstSession no longer passes on the participant's messages once a study session has ended.
func userInFirstSession(o *options) {
	over := map[string]bool{}
	o.Policy.Recipients = func(_ view, from party, e *envelope, to []party) []party {
		if isHost(from) && e.Type() == proto.SessionEnded {
			over[from.Session] = true
		}
		if isHost(from) && e.Type() == proto.UserMessage && over[from.Session] {
			return nil
		}
		return to
	}
}

// lossFaults lose messages.
var lossFaults = map[string]fault{
	"session-start-lost":      losing(proto.SessionStart),
	"snapshot-get-lost":       losing(proto.SnapshotGet),
	"tool-call-lost":          losing(proto.ToolCall),
	"agent-message-lost":      losing(proto.AgentMessage),
	"agent-message-refused":   checking(refuseTalk),
	"session-end-lost":        losing(proto.SessionEnd),
	"session-end-is-a-leave":  routing(endIsLeave),
	"session-started-lost":    losing(proto.SessionStarted),
	"snapshot-state-lost":     losing(proto.SnapshotState),
	"tool-result-lost":        losing(proto.ToolResult),
	"state-updated-lost":      losing(proto.StateUpdated),
	"user-message-lost":       losing(proto.UserMessage),
	"session-ended-lost":      losing(proto.SessionEnded),
	"error-lost":              losing(proto.ErrorMessage),
	"pushes-lost":             pushesLost,
	"states-throttled":        throttled(proto.StateUpdated, 50*time.Millisecond),
	"snapshots-throttled":     throttled(proto.SnapshotGet, 2*time.Millisecond),
	"states-wait-for-a-frame": statesWait,
	"one-request-at-a-time":   oneRequest,
	"words-said-again-lost":   repeatedWordsLost,
	"long-words-lost": sendNone(func(from party, e *envelope, _ []party) bool {
		return isAgent(from) && e.Type() == proto.AgentMessage && len(e.Raw) > 64<<10
	}),
}

// sendNone does not pass on some messages.
func sendNone(which func(from party, e *envelope, to []party) bool) fault {
	return routing(func(_ view, from party, e *envelope, to []party) []party {
		if which(from, e, to) {
			return nil
		}
		return to
	})
}

func losing(kind string) fault {
	return sendNone(func(_ party, e *envelope, _ []party) bool { return e.Type() == kind })
}

// pushesLost passes on only those host messages that answer a request.
var pushesLost = sendNone(func(from party, e *envelope, _ []party) bool { return isHost(from) && !isAnswer(from, e) })

// throttled drops a message of a type that follows another one of the same party too soon.
func throttled(kind string, every time.Duration) fault {
	return func(o *options) {
		latest := map[int]time.Time{}
		sendNone(func(from party, e *envelope, _ []party) bool {
			if e.Type() != kind {
				return false
			}
			soon := time.Since(latest[from.Conn]) < every
			if !soon {
				latest[from.Conn] = time.Now()
			}
			return soon
		})(o)
	}
}

// repeatedWordsLost takes a user.message for a duplicate if its payload is that of the previous one.
func repeatedWordsLost(o *options) {
	latest := map[string]string{}
	sendNone(func(from party, e *envelope, _ []party) bool {
		if !isHost(from) || e.Type() != proto.UserMessage {
			return false
		}
		said := string(wire.Encode(e.Payload()))
		again := latest[from.Session] == said
		latest[from.Session] = said
		return again
	})(o)
}

// oneRequest remembers only an agent's last request and drops the replies to earlier ones.
func oneRequest(o *options) {
	latest := map[int]string{}
	sendNone(func(from party, e *envelope, to []party) bool {
		if id, ok := e.ID(); isAgent(from) && ok {
			latest[from.Conn] = id
		}
		id, _ := e.ReplyTo()
		return isAnswer(from, e) && len(to) == 1 && latest[to[0].Conn] != id
	})(o)
}

// refuseTalk does not know the type agent.message.
func refuseTalk(name string, _ party, e *envelope, why *refusal) *refusal {
	if name == relay.CheckKnown && e.Type() == proto.AgentMessage {
		return &refusal{Code: proto.InvalidMessage, Text: "unknown type"}
	}
	return why
}

// endIsLeave ends the connection of an agent that ends its session.
func endIsLeave(v view, from party, e *envelope, to []party) []party {
	if isAgent(from) && e.Type() == proto.SessionEnd {
		v.End(from.Conn, goodbye)
	}
	return to
}

// statesWait holds a new state back until an agent sends a message.
func statesWait(o *options) {
	type held struct {
		to   int
		data []byte
	}
	waiting := map[string][]held{} // by session
	hearing(func(v view, from party, f frame, e *envelope) []frame {
		switch {
		case isHost(from) && e.Type() == proto.StateUpdated:
			for _, p := range v.Agents(from.Session) {
				waiting[from.Session] = append(waiting[from.Session], held{p.Conn, f.Data})
			}
			return nil
		case isAgent(from):
			for _, h := range waiting[from.Session] {
				v.Send(h.to, h.data)
			}
			delete(waiting, from.Session)
		}
		return []frame{f}
	})(o)
}
