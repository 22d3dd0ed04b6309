package agentselect

import (
	"errors"

	proto "parley/protocol/agentselect"
)

var errNoSession = errors.New("no such session")

// createSession creates a session and binds it to the connection (AS-098, AS-100).
func (s *Server) createSession(c *conn, msg Message) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	initial, asked := msg["initialAgentId"]
	id, _ := initial.(string)
	if _, listed := findAgent(s.agents(ForSwitch), id); asked && !listed {
		return "", &badMessage{"initialAgentId is not an available agent"}
	}
	if s.m.conns.Get(c.info.ID) == nil {
		return "", &badMessage{"the connection has ended"}
	}
	made, err := s.m.create(c.info, id)
	if err == nil {
		s.o.Logger.Info("session created", "conn", c.info.ID, "session", made, "agent", s.m.AgentOf(made))
	}
	return made, err
}

// loadSession moves a session to the connection, which gets its events from now on (AS-094, AS-101).
func (s *Server) loadSession(c *conn, msg Message) (string, error) {
	id, isString := msg["sessionId"].(string)
	if !isString {
		return "", &badMessage{"sessionId is not a string"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.m.Exists(id) {
		return "", errNoSession
	}
	if s.m.conns.Get(c.info.ID) == nil {
		return "", &badMessage{"the connection has ended"}
	}
	s.m.bind(OnLoad, c.info, id)
	s.o.Logger.Info("session loaded", "conn", c.info.ID, "session", id, "agent", s.m.AgentOf(id))
	return id, nil
}

// deleteSession ends the session's running turn and removes the session.
func (s *Server) deleteSession(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.m.Exists(id) {
		return false
	}
	if s.m.sessionControllers[id] != nil {
		s.emitTo(id, Event{Type: proto.CompleteEvent, Data: EventData{"sessionId": id, "cancelled": true}}, nil)
	}
	s.end(id, AbortEffect{Turn: true, Interactions: true})
	s.m.remove(id)
	s.o.Logger.Info("session deleted", "session", id)
	return true
}
