package agentselect

import (
	"fmt"

	proto "parley/protocol/agentselect"
)

// badMessage is the error for an invalid message. Over HTTP it becomes a 400, on a WebSocket an error event without
// errorCode.
type badMessage struct{ reason string }

func (e *badMessage) Error() string { return e.reason }

// handleMessage handles a message from a connection and records the events in reply in r.
func (s *Server) handleMessage(c *conn, msg Message, r *receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.o.Inbound(s.m, c.info, msg) {
		return nil
	}
	switch msg["type"] {
	case proto.SwitchAgentType:
		s.switchAgent(c, msg, r)
	case proto.ChatType:
		return s.handleChat(c, msg, r)
	case proto.AbortType:
		s.abortTurn(c, msg, r)
	case proto.ConfirmationResponse:
		s.resumeTurn(c, msg, proto.ConfirmationRequestEvent, r)
	case proto.QuestionResponse:
		s.resumeTurn(c, msg, proto.QuestionRequestEvent, r)
	default:
		return &badMessage{fmt.Sprintf("unknown message type %v", msg["type"])}
	}
	return nil
}

// targetSession returns the session that a message acts on; "" if there is none.
func (s *Server) targetSession(c *conn, msg Message) string {
	return s.o.Policy.Target(s.m, c.info, msg)
}

// noSession returns the refusal of a message whose session does not exist, or that names none on an unbound
// connection.
func noSession(msg Message) *Refusal {
	if id, present := msg[proto.SessionID]; present {
		return &Refusal{proto.SessionNotFound, fmt.Sprintf("Session not found: %v", id)}
	}
	return &Refusal{proto.SessionNotFound, "No session is bound to this connection"}
}

// switchAgent replies to the session's own connection on success (AS-095), otherwise to the asking client.
func (s *Server) switchAgent(c *conn, msg Message, r *receipt) {
	sw := Switch{Conn: c.info.ID, Session: s.targetSession(c, msg)}
	sw.AgentID, _ = msg[proto.AgentID].(string)
	sw.Previous = s.m.AgentOf(sw.Session)
	var to Agent
	to, sw.Refusal = s.checkMessage(sw, msg)
	s.o.Policy.Commit(sw, func(agentID string) { s.m.SetAgentOf(sw.Session, agentID) })
	if sw.Refusal != nil {
		s.emitEvent(c.info.ID, refusalEvent(sw.Refusal, s.agentsFor(ForRefusal)), r)
		return
	}
	announceOn := s.m.Owner(sw.Session)
	if announceOn == "" { // no connection has the session open
		announceOn = c.info.ID
	}
	s.emitEvent(announceOn, switchedEvent(sw.Previous, to), r)
}

// checkMessage checks in this order: form of the id, session, busy, existence (AS-076).
func (s *Server) checkMessage(sw Switch, msg Message) (Agent, *Refusal) {
	if refusal := s.o.Policy.CheckID(msg[proto.AgentID]); refusal != nil {
		return Agent{}, refusal
	}
	if sw.Session == "" {
		return Agent{}, noSession(msg)
	}
	if s.o.Policy.Busy(s.m, sw.Session) {
		return Agent{}, &Refusal{proto.AgentBusy, "Session is busy: abort the current task before switching"}
	}
	to, ok := findAgent(s.agentsFor(ForSwitch), sw.AgentID)
	if !ok {
		return Agent{}, &Refusal{proto.AgentNotFound, proto.NotFoundText(sw.AgentID)}
	}
	return to, nil
}

// handleChat starts a turn. The stream reports its result.
func (s *Server) handleChat(c *conn, msg Message, r *receipt) error {
	content, isString := msg[proto.Content].(string)
	if !isString || content == "" {
		return &badMessage{"chat needs content, a string that is not empty"}
	}
	id := s.targetSession(c, msg)
	switch {
	case id == "":
		refusal := noSession(msg)
		s.emitEvent(c.info.ID, Event{Type: proto.ErrorEvent, Data: EventData{
			proto.ErrorCode: refusal.Code, proto.Message: refusal.Message,
		}}, r)
	case s.m.sessionControllers[id] != nil || len(s.m.pendingInteractions[id]) > 0:
		s.emitEvent(c.info.ID, errorEvent("Session is busy: a conversation is in progress"), r)
	default:
		s.startTurn(s.m.sessions[id], content)
	}
	return nil
}

// abortTurn ends a running turn and its pending requests (AS-068). For an idle session it does and sends nothing.
func (s *Server) abortTurn(c *conn, msg Message, r *receipt) {
	id := s.targetSession(c, msg)
	if id == "" {
		s.emitEvent(c.info.ID, errorEvent(noSession(msg).Message), r)
		return
	}
	if s.m.sessionControllers[id] == nil && len(s.m.pendingInteractions[id]) == 0 {
		return
	}
	s.endTurn(id, s.o.Policy.Abort())
	s.o.Logger.Info("turn ended", "session", id, "how", "aborted")
	s.emitTo(id, Event{Type: proto.CompleteEvent, Data: EventData{proto.SessionID: id, proto.Cancelled: true}}, r)
}

func (s *Server) endTurn(id string, what AbortEffect) {
	if ctl := s.m.sessionControllers[id]; ctl != nil && what.Turn {
		ctl.cancel()
		delete(s.m.sessionControllers, id)
	}
	if what.Interactions {
		delete(s.m.pendingInteractions, id)
	}
}

// resumeTurn resumes the turn that asked. Only the session's own connection can answer.
func (s *Server) resumeTurn(c *conn, msg Message, kind string, r *receipt) {
	requestID, _ := msg[proto.RequestID].(string)
	it := s.m.findInteraction(requestID)
	if it == nil || it.kind != kind || s.m.Owner(it.session) != c.info.ID {
		s.emitEvent(c.info.ID, errorEvent(fmt.Sprintf("No such request is pending: %v", msg[proto.RequestID])), r)
		return
	}
	s.m.removeInteraction(it)
	it.controller.parked = false
	it.answered <- msg[proto.Response]
}
