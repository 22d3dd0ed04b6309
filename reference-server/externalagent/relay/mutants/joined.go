package mutants

import (
	"strconv"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// joinedFaults send a wrong relay.joined.
var joinedFaults = map[string]fault{
	"joined-without-role":       joinedBody(spoil.Lose("role")),
	"joined-role-agent-always":  joinedBody(spoil.Set("role", proto.AgentRole)),
	"joined-role-of-the-relay":  joinedBody(spoil.Set("role", "relay")),
	"joined-role-in-capitals":   joinedBody(spoil.Set("role", "AGENT")),
	"joined-without-session":    joinedBody(spoil.Lose("sessionId")),
	"joined-session-default":    joinedBody(spoil.Set("sessionId", proto.DefaultSession)),
	"joined-session-of-its-own": joinedBody(spoil.Set("sessionId", "s-20260213-001")),
	"joined-session-renamed":    joinedBody(spoil.Rename("sessionId", "session")),
	"joined-without-payload":    joinedAs(spoil.Without("payload")),
	"joined-payload-flat":       joinedAs(joinedFlat),
	"joined-without-reply-to":   joinedAs(spoil.Without("replyTo")),
	"joined-id-for-reply-to": joinedAs(func(msg message) message {
		return msg.Without("replyTo").With("id", msg["replyTo"])
	}),
	"joined-reply-to-the-example": joinedAs(spoil.With("replyTo", "join-001")),
	"joined-reply-to-numbers":     joinedAs(replyToNumber),
	"joined-reply-to-in-payload": joinedAs(func(msg message) message {
		msg.Payload()["replyTo"] = msg["replyTo"]
		return msg.Without("replyTo")
	}),
	"joined-as-an-ack":             joinedAs(spoil.With("type", "ack")),
	"joined-type-of-the-join":      joinedAs(spoil.With("type", proto.RelayJoin)),
	"joined-unsaid":                joinedAs(func(message) message { return nil }),
	"joined-unsaid-to-hosts":       joinedAs(unsaidToHosts),
	"joined-said-to-the-host-only": joinedToTheHost,
}

// joinedBody changes the payload of relay.joined.
func joinedBody(f func(p object)) fault {
	return joinedAs(func(msg message) message {
		f(msg.Payload())
		return msg
	})
}

func joinedFlat(msg message) message {
	p := msg.Payload()
	return msg.Without("payload").With("role", p["role"]).With("sessionId", p["sessionId"])
}

func unsaidToHosts(msg message) message {
	if msg.PayloadText("role") == proto.AgentRole {
		return msg
	}
	return nil
}

// replyToNumber turns an id that looks like a number into one.
func replyToNumber(msg message) message {
	id, _ := msg["replyTo"].(string)
	if n, err := strconv.Atoi(id); err == nil {
		return msg.With("replyTo", n)
	}
	return msg
}

// joinedToTheHost sends the reply to an agent's join to the host.
func joinedToTheHost(o *options) {
	o.Policy.Joined = func(v view, to party, _ proto.Join, msg message) message {
		if host, ok := v.Host(to.Session); ok && isAgent(to) {
			v.Send(host.Conn, wire.Encode(msg))
			return nil
		}
		return msg
	}
}
