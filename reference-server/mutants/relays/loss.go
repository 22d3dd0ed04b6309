package relays

import (
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// lossFaults lose messages.
var lossFaults = map[string]fault{
	"session-start-lost":      losing(proto.SessionStart),
	"snapshot-get-lost":       losing(proto.SnapshotGet),
	"tool-call-lost":          losing(proto.ToolCall),
	"agent-message-lost":      losing(proto.AgentMessage),
	"agent-message-refused":   refusing(proto.AgentMessage),
	"session-end-lost":        losing(proto.SessionEnd),
	"session-end-is-a-leave":  deciding(endIsLeave),
	"session-started-lost":    losing(proto.SessionStarted),
	"snapshot-state-lost":     losing(proto.SnapshotState),
	"tool-result-lost":        losing(proto.ToolResult),
	"state-updated-lost":      losing(proto.StateUpdated),
	"user-message-lost":       losing(proto.UserMessage),
	"session-ended-lost":      losing(proto.SessionEnded),
	"error-lost":              losing(proto.ErrorMessage),
	"pushes-lost":             deciding(pushesLost),
	"states-throttled":        deciding(func() rules { return throttled(proto.StateUpdated, 50*time.Millisecond) }),
	"snapshots-throttled":     deciding(func() rules { return throttled(proto.SnapshotGet, 2*time.Millisecond) }),
	"states-wait-for-a-frame": hearing(statesWait),
	"one-request-at-a-time":   deciding(oneRequest),
}

// losing passes on all but the messages of a type, of which its list does not know.
func losing(kind string) fault {
	return deciding(func() rules {
		return rules{recipients: func(v view, from party, e *envelope) []party {
			to := correct.Recipients(v, from, e)
			if e.Type() == kind && len(to) > 0 {
				return nil
			}
			return to
		}}
	})
}

// refusing has a type for one that nobody may send.
func refusing(kind string) fault {
	return deciding(func() rules {
		return rules{checks: func(party) []relay.Check {
			return append(relay.Checks(), relay.Check{Name: "list", Judge: func(_ party, e *envelope) *refusal {
				if e.Type() == kind {
					return &refusal{Code: proto.InvalidMessage, Text: "unknown type"}
				}
				return nil
			}})
		}}
	})
}

// endIsLeave ends the connection of an agent that ends its session.
func endIsLeave() rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		if isAgent(from) && e.Type() == proto.SessionEnd {
			v.End(from.Conn, goodbye)
		}
		return correct.Recipients(v, from, e)
	}}
}

// pushesLost passes on what answers a request.
func pushesLost() rules {
	return rules{recipients: func(v view, from party, e *envelope) []party {
		if _, isAnswer := e.ReplyTo(); isHost(from) && !isAnswer {
			return nil
		}
		return correct.Recipients(v, from, e)
	}}
}

// throttled drops what comes too soon behind another message of the type from the same party.
func throttled(kind string, every time.Duration) rules {
	latest := map[int]time.Time{}
	return rules{recipients: func(v view, from party, e *envelope) []party {
		if e.Type() == kind {
			if time.Since(latest[from.Conn]) < every {
				return nil
			}
			latest[from.Conn] = time.Now()
		}
		return correct.Recipients(v, from, e)
	}}
}

// statesWait hands a new state out when an agent speaks next.
func statesWait() relay.Inbound {
	type held struct {
		to   int
		data []byte
	}
	waiting := map[string][]held{} // by session
	return func(v view, from party, f frame) []frame {
		switch e := relay.Read(f); {
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
	}
}

// oneRequest remembers one request of an agent, and has no use for the answers to others.
func oneRequest() rules {
	latest := map[int]string{}
	return rules{recipients: func(v view, from party, e *envelope) []party {
		to := correct.Recipients(v, from, e)
		if id, ok := e.ID(); isAgent(from) && ok {
			latest[from.Conn] = id
		}
		if id, isAnswer := e.ReplyTo(); isHost(from) && isAnswer && len(to) == 1 && latest[to[0].Conn] != id {
			return nil
		}
		return to
	}}
}
