package agents

import (
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/agent"
)

// joiningFaults join wrongly, late, or elsewhere.
var joiningFaults = map[string]fault{
	"does-not-join":             joinless(true),
	"says-nothing":              joinless(false),
	"talks-before-joined":       deciding(func() rules { return rules{mayTalk: func(view) bool { return true }} }),
	"talks-before-joined-again": deciding(func() rules { return rules{mayTalk: func(v view) bool { return v.Joined || v.Connection > 1 }} }),
	"greets-before-the-join":    telling(greetsFirst),
	"joins-behind-the-session":  both(deciding(func() rules { return rules{mayTalk: func(view) bool { return true }} }), telling(joinsSecond)),
	"join-without-id":           rewriting(proto.RelayJoin, func(msg message) message { return msg.Without("id") }),
	"join-id-null":              rewriting(proto.RelayJoin, func(msg message) message { return msg.With("id", nil) }),
	"join-id-a-number":          rewriting(proto.RelayJoin, func(msg message) message { return msg.With("id", 1) }),
	"join-without-role":         lacking(proto.RelayJoin, "role"),
	"join-as-client":            setting(proto.RelayJoin, "role", "client"),
	"join-as-host":              setting(proto.RelayJoin, "role", proto.HostRole),
	"join-role-in-capitals":     setting(proto.RelayJoin, "role", "Agent"),
	"join-without-session":      lacking(proto.RelayJoin, "sessionId"),
	"join-session-a-number":     setting(proto.RelayJoin, "sessionId", 1),
	"join-session-null":         setting(proto.RelayJoin, "sessionId", nil),
	"join-session-default":      setting(proto.RelayJoin, "sessionId", proto.DefaultSession),
	"join-without-payload":      rewriting(proto.RelayJoin, func(msg message) message { return msg.Without("payload").With("role", proto.AgentRole) }),
	"joins-again-elsewhere":     telling(func() agent.Outbound { return rejoining(func(view) string { return proto.DefaultSession }) }),
	"joins-again-the-study":     telling(func() agent.Outbound { return rejoining(func(v view) string { return v.Session }) }),
	"joins-the-study-session":   telling(joinsStudy),
	"session-ids-must-be-equal": hearing(equalIDs),
}

// joinless sends everything but relay.join; or nothing, as it waits for relay.joined.
func joinless(talks bool) fault {
	return both(
		deciding(func() rules { return rules{mayTalk: func(v view) bool { return talks || v.Joined }} }),
		telling(func() agent.Outbound {
			return func(_ view, msg message, send sender) {
				if msg.Type() != proto.RelayJoin {
					send(msg)
				}
			}
		}))
}

// greetsFirst introduces itself.
func greetsFirst() agent.Outbound {
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.RelayJoin {
			send(message{"v": proto.Version, "type": proto.AgentMessage, "id": "hello-" + msg.ID(), "payload": object{"text": "Hello."}})
		}
		send(msg)
	}
}

// joinsSecond sends relay.join behind the first message to the host.
func joinsSecond() agent.Outbound {
	var join message
	return func(_ view, msg message, send sender) {
		if msg.Type() == proto.RelayJoin {
			join = msg
			return
		}
		send(msg)
		if join != nil {
			send(join)
			join = nil
		}
	}
}

// rejoining joins another relay session once it has lost its connection.
func rejoining(session func(v view) string) agent.Outbound {
	return func(v view, msg message, send sender) {
		if msg.Type() == proto.RelayJoin && v.Connection > 1 {
			msg = msg.With("payload", object{"role": proto.AgentRole, "sessionId": session(v)})
		}
		send(msg)
	}
}

// joinsStudy joins the session that session.started has named.
func joinsStudy() agent.Outbound {
	joined := ""
	return func(v view, msg message, send sender) {
		if v.Session != "" && v.Session != joined {
			joined = v.Session
			send(message{"v": proto.Version, "type": proto.RelayJoin, "id": "join-" + joined, "payload": object{"role": proto.AgentRole, "sessionId": joined}})
		}
		send(msg)
	}
}

// equalIDs takes what names another session than the one that it has joined for a message to somebody else.
func equalIDs() agent.Inbound {
	joined := ""
	return func(_ view, msg message) []message {
		id, _ := msg.Payload()["sessionId"].(string)
		if msg.Type() == proto.RelayJoined {
			joined = id
		}
		if id != "" && id != joined {
			return nil
		}
		return []message{msg}
	}
}
