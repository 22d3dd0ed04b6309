package mutants

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
)

// joinFaults get the handshake wrong.
var joinFaults = map[string]fault{
	"endpoint-elsewhere":    likeRelay("endpoint-elsewhere"),
	"join-unanswered":       likeRelay("joined-unsaid"),
	"join-answer-unnamed":   likeRelay("joined-without-reply-to"),
	"join-answer-misnamed":  likeRelay("joined-reply-to-the-example"),
	"join-answer-mistyped":  likeRelay("joined-as-an-ack"),
	"join-echoes-no-role":   likeRelay("joined-without-role"),
	"join-echoes-own-role":  likeRelay("joined-role-of-the-relay"),
	"join-shouts-role":      likeRelay("joined-role-in-capitals"),
	"join-echoes-nowhere":   likeRelay("joined-without-session"),
	"join-echoes-default":   likeRelay("joined-session-default"),
	"join-session-is-room":  likeRelay("joined-session-renamed"),
	"joins-once":            likeRelay("returning-agent-refused"),
	"one-party-per-session": joining(onePartyOnly),
	"places-never-freed": inRelay(relaymutants.PlacesKept(2, func(j proto.Join) bool {
		return j.Role == proto.AgentRole
	})),
	"newcomer-ends-others": joining(newcomerEnds),

	"unjoined-call-dropped":    likeRelay("unjoined-unanswered"),
	"unjoined-call-is-unknown": likeRelay("unjoined-another-code"),
	"unjoined-call-fails":      refusingUnjoined(proto.ToolExecutionFailed),
	"unjoined-are-taken-in":    likeRelay("joins-who-speaks-first"),
	"unjoined-start-in-default": inRelay(relaymutants.JoinsWhoSends(proto.DefaultSession, func(kind string) bool {
		return kind == proto.SessionStart
	})),
}

func joining(f func(r relayView, from party, e *envelope, j proto.Join, why *relay.Refusal) (proto.Join,
	*relay.Refusal)) fault {
	return inRelay(func(o *relay.Options) { o.Policy.Join = f })
}

// onePartyOnly has room for one connection per session, and the host takes it.
func onePartyOnly(_ relayView, from party, _ *envelope, j proto.Join, why *relay.Refusal) (proto.Join, *relay.Refusal) {
	if why == nil && !from.Attached {
		why = &relay.Refusal{Code: proto.InvalidMessage, Text: "the session is taken"}
	}
	return j, why
}

// newcomerEnds ends the connections of the present agents when another one joins.
func newcomerEnds(r relayView, _ party, _ *envelope, j proto.Join, why *relay.Refusal) (proto.Join, *relay.Refusal) {
	if why == nil && j.Role == proto.AgentRole {
		for _, p := range r.Agents(j.SessionID) {
			r.End(p.Conn, websocket.CloseError{Code: websocket.StatusPolicyViolation, Reason: "another agent has joined"})
		}
	}
	return j, why
}

func refusingUnjoined(code string) fault {
	return inRelay(func(o *relay.Options) {
		o.Policy.Unjoined = func(_ relayView, _ party, _ *envelope, why *relay.Refusal) *relay.Refusal {
			return &relay.Refusal{Code: code, Text: why.Text}
		}
	})
}
