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

// Replaced is the close code for a host that another host has replaced.
const Replaced websocket.StatusCode = 4001

// MaxSessionID is the maximum length of a sessionId in a relay.join, in bytes.
const MaxSessionID = 200

// readJoin requires an id, a role and a sessionId.
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

// sideOf returns the side of a join's role; "" for an unknown role.
func sideOf(role string) string {
	switch role {
	case proto.AgentRole:
		return proto.AgentRole
	case proto.HostRole, proto.FrontendRole:
		return proto.HostRole
	}
	return ""
}

// joinedMessage repeats the role and the sessionId as sent.
func joinedMessage(e *Envelope, j proto.Join) Message {
	id, _ := e.ID()
	return wire.New(proto.RelayJoined, map[string]any{"role": j.Role, "sessionId": j.SessionID}).With("replyTo", id)
}

// recipients returns who gets an envelope. An agent's envelope goes to the host of its session. A host's reply goes
// to the agent that asked; if no request is known, or the envelope is not a reply, it goes to all agents.
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

// errorMessage refers to the request if that has an id.
func errorMessage(about Request, why Refusal) Message {
	msg := wire.New(proto.ErrorMessage, map[string]any{"code": why.Code, "message": why.Text})
	if about.Identified {
		msg["replyTo"] = about.ID
	}
	return msg
}
