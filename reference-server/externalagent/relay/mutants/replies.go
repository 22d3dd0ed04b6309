package mutants

import (
	"fmt"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// replyFaults pass on a wrong id or replyTo.
var replyFaults = map[string]fault{
	"started-without-reply-to":    passing(withoutReplyTo, proto.SessionStarted),
	"snapshot-without-reply-to":   passing(withoutReplyTo, proto.SnapshotState),
	"result-without-reply-to":     passing(withoutReplyTo, proto.ToolResult),
	"ended-without-reply-to":      passing(withoutReplyTo, proto.SessionEnded),
	"error-without-reply-to":      passing(withoutReplyTo, proto.ErrorMessage),
	"ids-rewritten":               rewritingIDs(),
	"call-ids-rewritten":          rewritingIDs(proto.ToolCall),
	"snapshot-ids-rewritten":      rewritingIDs(proto.SnapshotGet),
	"end-ids-rewritten":           rewritingIDs(proto.SessionEnd),
	"ids-lost":                    passing(func(m members) { delete(m, "id") }, proto.SnapshotGet),
	"replies-to-the-latest":       replyingToLatest(isAnswer),
	"replies-swapped":             repliesSwapped,
	"user-message-with-reply-to":  replyingToLatest(is(proto.UserMessage)),
	"state-updated-with-reply-to": replyingToLatest(is(proto.StateUpdated)),
}

func withoutReplyTo(m members) { delete(m, "replyTo") }

// replyingTo writes another id into replyTo.
func replyingTo(id string, data []byte) []byte {
	return edited(data, func(m members) { m["replyTo"] = wire.Encode(id) })
}

// rewritingIDs replaces the ids of requests and does not restore them in the replies.
func rewritingIDs(types ...string) fault {
	return func(o *options) {
		n := 0
		o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
			if !isAgent(from) || !ofType(e, types...) {
				return data
			}
			n++
			return edited(data, func(m members) { m["id"] = wire.Encode(fmt.Sprintf("relay-%d", n)) })
		}
	}
}

// asked returns the id of an agent's request that expects a reply.
func asked(from party, e *envelope) (string, bool) {
	id, ok := e.ID()
	return id, ok && isAgent(from) && e.Type() != proto.AgentMessage
}

// replyingToLatest puts the session's latest request into replyTo of some host messages.
func replyingToLatest(which func(from party, e *envelope) bool) fault {
	return func(o *options) {
		latest := map[string]string{}
		o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
			if id, ok := asked(from, e); ok {
				latest[from.Session] = id
			}
			if isHost(from) && which(from, e) && latest[from.Session] != "" {
				return replyingTo(latest[from.Session], data)
			}
			return data
		}
	}
}

// repliesSwapped makes a reply name the request after its own, if there is one by then.
func repliesSwapped(o *options) {
	next, latest := map[string]string{}, map[string]string{} // id → the id of the next request of the same session
	o.Policy.Pass = func(from, _ party, e *envelope, data []byte) []byte {
		if id, ok := asked(from, e); ok {
			next[latest[from.Session]] = id
			latest[from.Session] = id
			return data
		}
		id, _ := e.ReplyTo()
		if to := next[id]; isHost(from) && to != "" {
			return replyingTo(to, data)
		}
		return data
	}
}
