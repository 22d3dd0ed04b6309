package relays

import (
	"fmt"

	proto "parley/protocol/externalagent"
)

// replyFaults get id and replyTo wrong in what they pass on.
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
	"replies-to-the-latest":       deciding(repliesToLatest),
	"replies-swapped":             deciding(repliesSwapped),
	"user-message-with-reply-to":  deciding(func() rules { return pushesReply(proto.UserMessage) }),
	"state-updated-with-reply-to": deciding(func() rules { return pushesReply(proto.StateUpdated) }),
}

func withoutReplyTo(m members) { delete(m, "replyTo") }

// rewritingIDs gives requests ids of the relay's own, and does not put the old ones into the answers.
func rewritingIDs(types ...string) fault {
	return deciding(func() rules {
		n := 0
		return rules{pass: func(from, _ party, e *envelope) []byte {
			if !isAgent(from) || !ofType(e, types...) {
				return e.Raw
			}
			n++
			return edited(e.Raw, func(m members) { m["id"] = encoded(fmt.Sprintf("relay-%d", n)) })
		}}
	})
}

// latestIDs keeps the id of the latest request that a host was sent, by session.
func latestIDs(pass func(from, to party, e *envelope, latest string) []byte) rules {
	latest := map[string]string{}
	return rules{pass: func(from, to party, e *envelope) []byte {
		if id, ok := e.ID(); isAgent(from) && ok && e.Type() != proto.AgentMessage {
			latest[from.Session] = id
		}
		return pass(from, to, e, latest[from.Session])
	}}
}

// repliesToLatest has every answer answer the latest request.
func repliesToLatest() rules {
	return latestIDs(func(from, _ party, e *envelope, latest string) []byte {
		if _, isAnswer := e.ReplyTo(); !isHost(from) || !isAnswer {
			return e.Raw
		}
		return edited(e.Raw, func(m members) { m["replyTo"] = encoded(latest) })
	})
}

// repliesSwapped has an answer name the request behind its own, where that has been made already.
func repliesSwapped() rules {
	next, latest := map[string]string{}, map[string]string{} // id → the id of the next request, of the same session
	return rules{pass: func(from, _ party, e *envelope) []byte {
		if id, ok := e.ID(); isAgent(from) && ok && e.Type() != proto.AgentMessage {
			next[latest[from.Session]] = id
			latest[from.Session] = id
			return e.Raw
		}
		id, _ := e.ReplyTo()
		if to := next[id]; isHost(from) && to != "" {
			return edited(e.Raw, func(m members) { m["replyTo"] = encoded(to) })
		}
		return e.Raw
	}}
}

// pushesReply has a push answer the latest request.
func pushesReply(kind string) rules {
	return latestIDs(func(from, _ party, e *envelope, latest string) []byte {
		if !isHost(from) || e.Type() != kind || latest == "" {
			return e.Raw
		}
		return edited(e.Raw, func(m members) { m["replyTo"] = encoded(latest) })
	})
}
