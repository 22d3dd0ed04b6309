package relay

import (
	"fmt"
	"slices"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Message is an envelope that the relay itself sends.
type Message = wire.Message

// Replaced is the close code of a host that another one has replaced.
const Replaced websocket.StatusCode = 4001

// MaxSessionID is the longest sessionId of a relay.join, in bytes.
const MaxSessionID = 200

// readJoin wants an id, a role and a sessionId.
func readJoin(e *Envelope) (proto.Join, *Refusal) {
	if _, identified := e.ID(); !identified {
		return proto.Join{}, invalid("relay.join needs id: send a string, which relay.joined repeats as replyTo")
	}
	payload := e.Payload()
	role, ok := payload.Text("role")
	if !ok || sideOf(role) == "" {
		return proto.Join{}, invalid(`relay.join needs payload.role: send "agent", "host" or "frontend"`)
	}
	session, ok := payload.Text("sessionId")
	if !ok || session == "" || len(session) > MaxSessionID {
		return proto.Join{}, invalid(fmt.Sprintf("relay.join needs payload.sessionId: send a string of 1 to %d bytes",
			MaxSessionID))
	}
	return proto.Join{Role: role, SessionID: session}, nil
}

// sideOf is the role of a party that joined as role; "" for an unknown one.
func sideOf(role string) string {
	switch role {
	case proto.AgentRole:
		return proto.AgentRole
	case proto.HostRole, proto.FrontendRole:
		return proto.HostRole
	}
	return ""
}

// joinedMessage repeats the role and the sessionId as they were sent.
func joinedMessage(e *Envelope, j proto.Join) Message {
	id, _ := e.ID()
	return wire.New(proto.RelayJoined, map[string]any{"role": j.Role, "sessionId": j.SessionID}).With("replyTo", id)
}

// recipients of an agent's envelope are the host of its session; of a host's, the agent that asked, and all agents if
// no request is known, or if the envelope is not an answer.
func (s *Server) recipients(from *conn, e *Envelope) []Party {
	ses := s.sessions[from.party.Session]
	if from.party.Role == proto.AgentRole {
		if ses.host == nil {
			return nil
		}
		return []Party{ses.host.party}
	}
	if ses == nil {
		return nil
	}
	agents := parties(ses.agents)
	if id, isAnswer := e.ReplyTo(); isAnswer {
		if i := Asked(ses.requests, id, e.Type()); i >= 0 {
			at := slices.IndexFunc(agents, func(p Party) bool { return p.Conn == ses.requests[i].Conn })
			if at >= 0 {
				return agents[at : at+1]
			}
		}
	}
	return agents
}

// errorMessage names the request whenever it has an id.
func errorMessage(about Request, why Refusal) Message {
	msg := wire.New(proto.ErrorMessage, map[string]any{"code": why.Code, "message": why.Text})
	if about.Identified {
		msg["replyTo"] = about.ID
	}
	return msg
}
