package mutants

import (
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	"parley/reference-server/externalagent/wire"
)

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
