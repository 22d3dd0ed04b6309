package relays

import (
	proto "parley/protocol/externalagent"
)

// joinedFaults get relay.joined wrong.
var joinedFaults = map[string]fault{
	"joined-without-role":          joinedBody(func(p object, _ proto.Join) { delete(p, "role") }),
	"joined-role-agent-always":     joinedBody(func(p object, _ proto.Join) { p["role"] = proto.AgentRole }),
	"joined-role-of-the-relay":     joinedBody(func(p object, _ proto.Join) { p["role"] = "relay" }),
	"joined-role-in-capitals":      joinedBody(func(p object, j proto.Join) { p["role"] = "AGENT" }),
	"joined-without-session":       joinedBody(func(p object, _ proto.Join) { delete(p, "sessionId") }),
	"joined-session-default":       joinedBody(func(p object, _ proto.Join) { p["sessionId"] = proto.DefaultSession }),
	"joined-session-of-its-own":    joinedBody(func(p object, j proto.Join) { p["sessionId"] = "s-20260213-001" }),
	"joined-session-renamed":       joinedBody(func(p object, j proto.Join) { delete(p, "sessionId"); p["session"] = j.SessionID }),
	"joined-without-payload":       joinedAs(func(msg message, _ proto.Join) message { return msg.Without("payload") }),
	"joined-payload-flat":          joinedAs(joinedFlat),
	"joined-without-reply-to":      joinedAs(func(msg message, _ proto.Join) message { return msg.Without("replyTo") }),
	"joined-id-for-reply-to":       joinedAs(func(msg message, _ proto.Join) message { return msg.Without("replyTo").With("id", msg["replyTo"]) }),
	"joined-reply-to-the-example":  joinedAs(func(msg message, _ proto.Join) message { return msg.With("replyTo", "join-001") }),
	"joined-reply-to-in-payload":   joinedAs(joinedReplyInside),
	"joined-as-an-ack":             joinedAs(func(msg message, _ proto.Join) message { return msg.With("type", "ack") }),
	"joined-type-of-the-join":      joinedAs(func(msg message, _ proto.Join) message { return msg.With("type", proto.RelayJoin) }),
	"joined-unsaid":                joinedAs(func(message, proto.Join) message { return nil }),
	"joined-unsaid-to-hosts":       joinedAs(unsaidToHosts),
	"joined-said-to-the-host-only": deciding(joinedToTheHost),
}

// joinedAs answers joins by another message.
func joinedAs(f func(msg message, j proto.Join) message) fault {
	return deciding(func() rules {
		return rules{joined: func(_ view, _ party, _ *envelope, msg message, j proto.Join) message { return f(msg, j) }}
	})
}

// joinedBody changes the payload of relay.joined, which is made anew for each.
func joinedBody(f func(p object, j proto.Join)) fault {
	return joinedAs(func(msg message, j proto.Join) message {
		p := object{"role": j.Role, "sessionId": j.SessionID}
		f(p, j)
		return msg.With("payload", p)
	})
}

func joinedFlat(msg message, j proto.Join) message {
	return msg.Without("payload").With("role", j.Role).With("sessionId", j.SessionID)
}

func joinedReplyInside(msg message, j proto.Join) message {
	return msg.Without("replyTo").With("payload", object{"role": j.Role, "sessionId": j.SessionID, "replyTo": msg["replyTo"]})
}

func unsaidToHosts(msg message, j proto.Join) message {
	if j.Role == proto.AgentRole {
		return msg
	}
	return nil
}

// joinedToTheHost tells of an agent that joins to whom it concerns most.
func joinedToTheHost() rules {
	return rules{joined: func(v view, to party, _ *envelope, msg message, _ proto.Join) message {
		if host, ok := v.Host(to.Session); ok && isAgent(to) {
			v.Send(host.Conn, msg.Encode())
			return nil
		}
		return msg
	}}
}
