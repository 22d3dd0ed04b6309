package relay

import (
	"fmt"
	"slices"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// Correct is the policy of the source.
type Correct struct{}

var _ Policy = Correct{}

// Replaced is the close code of a host in whose place another one has joined.
const Replaced websocket.StatusCode = 4001

// MaxSessionID is the longest sessionId of a relay.join, in bytes.
const MaxSessionID = 200

// Checks are all of them.
func (Correct) Checks(Party) []Check { return allChecks }

// Join wants an id, a role and a sessionId.
func (Correct) Join(_ Relay, _ Party, e *Envelope) (proto.Join, *Refusal) {
	if _, identified := e.ID(); !identified {
		return proto.Join{}, invalid("relay.join needs id: send a string, which relay.joined then names")
	}
	payload := e.Payload()
	role, ok := payload.Text("role")
	if !ok || sideOf(role) == "" {
		return proto.Join{}, invalid(`relay.join needs payload.role: send "agent", "host" or "frontend"`)
	}
	session, ok := payload.Text("sessionId")
	if !ok || session == "" || len(session) > MaxSessionID {
		return proto.Join{}, invalid(fmt.Sprintf("relay.join needs payload.sessionId: send a string of 1 to %d bytes", MaxSessionID))
	}
	return proto.Join{Role: role, SessionID: session}, nil
}

// sideOf is the role of a party that joined by a name of it; "" if the name is none.
func sideOf(role string) string {
	switch role {
	case proto.AgentRole:
		return proto.AgentRole
	case proto.HostRole, proto.FrontendRole:
		return proto.HostRole
	}
	return ""
}

// Key is the sessionId, byte for byte.
func (Correct) Key(j proto.Join) string { return j.SessionID }

// Rejoin accepts the same join again, as one who got no answer may send it.
func (Correct) Rejoin(_ Relay, from Party, j proto.Join, key string) *Refusal {
	if from.Role == sideOf(j.Role) && from.Session == key {
		return nil
	}
	return invalid("this connection has joined otherwise: join by another connection")
}

// Joined echoes the role and the sessionId as they were sent.
func (Correct) Joined(_ Relay, _ Party, e *Envelope, j proto.Join) Message {
	id, _ := e.ID()
	return Message{"v": proto.Version, "type": proto.RelayJoined, "replyTo": id,
		"payload": map[string]any{"role": j.Role, "sessionId": j.SessionID}}
}

// Unjoined refuses: a session is active for those who have joined it.
func (Correct) Unjoined(Relay, Party, *Envelope) *Refusal {
	return &Refusal{proto.SessionNotActive, "send relay.join first"}
}

// Recipients of an agent's envelope are the host of its session; of a host's, the agent that asked, and all agents if none
// is known to have asked, or if the envelope is no answer.
func (Correct) Recipients(r Relay, from Party, e *Envelope) []Party {
	if from.Role == proto.AgentRole {
		if host, ok := r.Host(from.Session); ok {
			return []Party{host}
		}
		return nil
	}
	agents := r.Agents(from.Session)
	if id, isAnswer := e.ReplyTo(); isAnswer {
		outstanding := r.Outstanding(from.Session)
		if i := Asked(outstanding, id, e.Type()); i >= 0 {
			at := slices.IndexFunc(agents, func(p Party) bool { return p.Conn == outstanding[i].Conn })
			if at >= 0 {
				return agents[at : at+1]
			}
		}
	}
	return agents
}

// Pass changes nothing.
func (Correct) Pass(_, _ Party, e *Envelope) []byte { return e.Raw }

// HostAbsent refuses.
func (Correct) HostAbsent(Relay, Party, *Envelope) *Refusal { return noHost() }

func noHost() *Refusal {
	return &Refusal{proto.SessionNotActive, "the relay session has no host: try again when one has joined"}
}

// HostReplaced ends it.
func (Correct) HostReplaced(Relay, Party, Party) *websocket.CloseError {
	return &websocket.CloseError{Code: Replaced, Reason: "another host has joined the relay session"}
}

// HostGone refuses all that would have been answered; an agent.message is display only (EA-008), and has been displayed.
func (Correct) HostGone(_ Relay, _ string, outstanding []Request) ([]Request, Refusal) {
	told := slices.DeleteFunc(slices.Clone(outstanding), func(q Request) bool { return q.Type == proto.AgentMessage })
	return told, Refusal{proto.SessionNotActive, "the host has left the relay session before it answered"}
}

// Error names the request whenever it has an id.
func (Correct) Error(_ Relay, _ Party, about Request, why Refusal) Message {
	msg := Message{"v": proto.Version, "type": proto.ErrorMessage,
		"payload": map[string]any{"code": why.Code, "message": why.Text}}
	if about.Identified {
		msg["replyTo"] = about.ID
	}
	return msg
}

// Ends ends nothing: whoever sends one bad envelope may go on with a good one.
func (Correct) Ends(Relay, Party, *Envelope, Refusal) *websocket.CloseError { return nil }
