package hosts

import (
	"strings"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

// joinFaults get the handshake wrong.
var joinFaults = map[string]fault{
	"upgrade-refused": func(o *options) { o.Relay.Limits.Connections = -1 },

	"join-unanswered":       relayRuling(relayRules{joined: func(*envelope, relayJoin) relay.Message { return nil }}),
	"join-answer-unnamed":   ofRelay(func(msg relay.Message) relay.Message { return msg.Without("replyTo") }),
	"join-answer-misnamed":  ofRelay(func(msg relay.Message) relay.Message { return msg.With("replyTo", "join-001") }),
	"join-answer-mistyped":  ofRelay(func(msg relay.Message) relay.Message { return msg.With("type", "relay.ready") }),
	"join-echoes-no-role":   echoing(lose("role")),
	"join-echoes-own-role":  echoing(set("role", proto.HostRole)),
	"join-shouts-role":      echoing(change("role", func(v any) any { return strings.ToUpper(v.(string)) })),
	"join-echoes-nowhere":   echoing(lose("sessionId")),
	"join-echoes-default":   echoing(set("sessionId", proto.DefaultSession)),
	"join-session-is-room":  echoing(rename("sessionId", "room")),
	"joins-once":            relaying(joinsOnce),
	"one-party-per-session": relayRuling(relayRules{join: onePartyOnly}),
	"places-never-freed":    relaying(neverFreed),
	"newcomer-ends-others":  relayRuling(relayRules{join: newcomerEnds}),

	"unjoined-call-dropped":    relayRuling(relayRules{unjoined: func() *relay.Refusal { return nil }}),
	"unjoined-call-is-unknown": refusingUnjoined(proto.UnknownTool),
	"unjoined-call-fails":      refusingUnjoined(proto.ToolExecutionFailed),
	"unjoined-are-taken-in":    takesIn,
}

// echoing spoils the payload of relay.joined.
func echoing(f func(payload object)) fault {
	return ofRelay(func(msg relay.Message) relay.Message {
		f(msg["payload"].(object))
		return msg
	})
}

func notNow() *relay.Refusal {
	return &relay.Refusal{Code: proto.InvalidMessage, Text: "the session is taken"}
}

// joinsOnce takes an agent for one that is there still, once it has been there.
func joinsOnce() relayRules {
	seen := map[string]bool{}
	return relayRules{join: func(r relayState, from party, e *envelope) (relayJoin, *relay.Refusal) {
		j, why := correctRelay.Join(r, from, e)
		if why == nil && j.Role == proto.AgentRole {
			if seen[j.SessionID] {
				return j, notNow()
			}
			seen[j.SessionID] = true
		}
		return j, why
	}}
}

// onePartyOnly has room for one connection per session, and the host is there first.
func onePartyOnly(r relayState, from party, e *envelope) (relayJoin, *relay.Refusal) {
	j, why := correctRelay.Join(r, from, e)
	if why == nil && !from.Attached {
		return j, notNow()
	}
	return j, why
}

// neverFreed has places for two agents, and frees none when its agent has left.
func neverFreed() relayRules {
	taken := 0
	return relayRules{join: func(r relayState, from party, e *envelope) (relayJoin, *relay.Refusal) {
		j, why := correctRelay.Join(r, from, e)
		if why == nil && j.Role == proto.AgentRole {
			if taken++; taken > 2 {
				return j, notNow()
			}
		}
		return j, why
	}}
}

// newcomerEnds ends the connections of the agents that are there when another one joins.
func newcomerEnds(r relayState, from party, e *envelope) (relayJoin, *relay.Refusal) {
	j, why := correctRelay.Join(r, from, e)
	if why == nil && j.Role == proto.AgentRole {
		for _, p := range r.Agents(j.SessionID) {
			r.End(p.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "another agent has joined"})
		}
	}
	return j, why
}

func refusingUnjoined(code string) fault {
	return relayRuling(relayRules{unjoined: func() *relay.Refusal { return &relay.Refusal{Code: code, Text: "who are you?"} }})
}

// takesIn counts whoever has not joined to the first session that there is.
func takesIn(o *options) {
	o.Relay.Inbound = func(r relayState, from party, in frame) []frame {
		if from.Role != "" || read(in.Data)["type"] == proto.RelayJoin {
			return []frame{in}
		}
		for _, p := range r.Parties() {
			if p.Role == proto.AgentRole {
				join := object{"v": proto.Version, "type": proto.RelayJoin, "id": "join-0", "payload": object{"role": p.Role, "sessionId": p.Session}}
				return []frame{{Data: encode(join)}, in}
			}
		}
		return []frame{in}
	}
}
