package mutants

import (
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
	"parley/reference-server/externalagent/wire"
)

// talkative does not wait for relay.joined.
var talkative = deciding(policy{MayTalk: func(view) bool { return true }})

// joiningFaults join wrongly, late, or elsewhere.
var joiningFaults = map[string]fault{
	"does-not-join":             both(talkative, telling(joinless)),
	"says-nothing":              telling(joinless),
	"talks-before-joined":       talkative,
	"talks-before-joined-again": deciding(policy{MayTalk: func(v view) bool { return v.Joined || v.Connection > 1 }}),
	"talks-by-its-own-clock":    both(talkative, pausing(2, 2)),
	"greets-before-the-join":    telling(greetsFirst),
	"joins-behind-the-session":  both(talkative, joinsSecond),
	"join-without-id":           rewriting(proto.RelayJoin, spoil.Without("id")),
	"join-id-null":              rewriting(proto.RelayJoin, spoil.With("id", nil)),
	"join-id-a-number":          rewriting(proto.RelayJoin, spoil.With("id", 1)),
	"join-without-role":         lacking(proto.RelayJoin, "role"),
	"join-as-client":            setting(proto.RelayJoin, "role", "client"),
	"join-as-host":              setting(proto.RelayJoin, "role", proto.HostRole),
	"join-role-in-capitals":     setting(proto.RelayJoin, "role", "Agent"),
	"join-without-session":      lacking(proto.RelayJoin, "sessionId"),
	"join-session-a-number":     setting(proto.RelayJoin, "sessionId", 1),
	"join-session-null":         setting(proto.RelayJoin, "sessionId", nil),
	"join-session-default":      setting(proto.RelayJoin, "sessionId", proto.DefaultSession),
	"join-without-payload": rewriting(proto.RelayJoin, func(msg message) message {
		return msg.Without("payload").With("role", proto.AgentRole)
	}),
	"joins-again-elsewhere":     rejoining(func(view) string { return proto.DefaultSession }),
	"joins-again-the-study":     rejoining(func(v view) string { return v.Session }),
	"joins-the-study-session":   joinsStudy,
	"session-ids-must-be-equal": equalIDs,
}

// joinless sends no relay.join.
func joinless(_ view, msg message, send sender) {
	if msg.Type() != proto.RelayJoin {
		send(msg)
	}
}

// pausing delays the messages numbered from through to of each connection, counted from 1. The pause is long enough
// for the reply to arrive in every test.
func pausing(from, to int) fault {
	return writing(func() func(data string, put put) error {
		written := 0
		return func(data string, put put) error {
			if written++; from <= written && written <= to {
				time.Sleep(400 * time.Millisecond)
			}
			return put(data)
		}
	})
}

// greetsFirst introduces itself before joining.
func greetsFirst(_ view, msg message, send sender) {
	if msg.Type() == proto.RelayJoin {
		send(wire.New(proto.AgentMessage, object{"text": "Hello."}).With("id", "hello-"+msg.ID()))
	}
	send(msg)
}

// joinsSecond sends relay.join after the first message to the host.
func joinsSecond(o *options) {
	var join message
	o.Outbound = func(_ view, msg message, send sender) {
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

// rejoining joins another relay session after losing its connection.
func rejoining(session func(v view) string) fault {
	return spoiling(proto.RelayJoin, func(v view, p object) {
		if v.Connection > 1 {
			p["sessionId"] = session(v)
		}
	})
}

// joinsStudy joins the session named in session.started.
func joinsStudy(o *options) {
	joined := ""
	o.Outbound = func(v view, msg message, send sender) {
		if v.Session != "" && v.Session != joined {
			joined = v.Session
			send(wire.New(proto.RelayJoin, object{"role": proto.AgentRole, "sessionId": joined}).With("id", "join-"+joined))
		}
		send(msg)
	}
}

// equalIDs ignores messages that name a session other than the joined one.
func equalIDs(o *options) {
	joined := ""
	deafTo(func(_ view, msg message) bool {
		id := msg.PayloadText("sessionId")
		if msg.Type() == proto.RelayJoined {
			joined = id
		}
		return id != "" && id != joined
	})(o)
}
