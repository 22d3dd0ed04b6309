package sessionchat

import (
	"fmt"

	proto "parley/protocol/sessionchat"
)

// handle handles a message from a connection.
func (s *Server) handle(c *conn, data []byte) {
	msg, refusal := decode(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs := []Message{msg}
	if refusal != nil {
		msgs, refusal = s.o.Policy.Malformed(s.m, c.info, data, refusal)
	}
	if refusal != nil {
		s.emit(c, errorMessage(nil, "", refusal))
	}
	for _, msg := range msgs {
		for _, msg := range s.o.Inbound(s.m, c.info, msg) {
			s.dispatch(c, msg)
		}
	}
}

// dispatch handles a decoded message. The caller holds the lock.
func (s *Server) dispatch(c *conn, msg Message) {
	agentID, _ := msg["agent_id"].(string)
	refusal := s.o.Policy.Accept(s.m, c.info, msg)
	if limit := s.o.Limits.AgentID; refusal == nil && len(agentID) > limit {
		refusal = &Refusal{proto.InvalidMessage, fmt.Sprintf("agent_id is too long: send at most %d bytes", limit)}
		msg = Message{} // it is not echoed
	}
	if refusal == nil {
		switch msg["type"] {
		case proto.ChatType:
			refusal = s.chat(c, agentID, msg)
		case proto.InterruptType:
			refusal = s.interrupt(c, agentID)
		case proto.PingType:
			s.emit(c, newMessage(proto.PongMessage, stringOrNil(msg["agent_id"]), "", map[string]any{}))
		}
	}
	if refusal != nil {
		s.emit(c, errorMessage(msg["agent_id"], s.sessionID(c, msg), refusal))
	}
}

// sessionID returns the id of the session that a message names; "" if it is not in memory.
func (s *Server) sessionID(c *conn, msg Message) string {
	agentID, isString := msg["agent_id"].(string)
	if !isString {
		return ""
	}
	return s.m.SessionID(s.o.Policy.Key(c.info, agentID, InMemory))
}

// chat queues a turn, and starts it if it is first (SC-002, SC-013). The turn sends the other messages.
func (s *Server) chat(c *conn, agentID string, msg Message) *Refusal {
	if s.ending {
		return &Refusal{proto.Overloaded, "the server closes: connect again"}
	}
	key := s.o.Policy.Key(c.info, agentID, InMemory)
	queue := s.o.Policy.Queue(s.m, c.info, key)
	if s.m.Waiting(queue) >= s.o.Limits.Queue {
		return &Refusal{proto.Overloaded, "too many chats wait for this agent_id: send the next one after a result"}
	}
	sess := s.m.use(key)
	if sess == nil {
		return &Refusal{proto.Overloaded, "too many sessions are in use: send the chat again after a result"}
	}
	content, _ := msg["content"].(string)
	content = s.o.Policy.Content(key, content)
	if !s.m.reserve(len(content)) {
		s.m.release(sess)
		return &Refusal{proto.Overloaded, "too much text is in work: send the chat again after a result"}
	}
	options, _ := msg["options"].(map[string]any)
	t := &turn{
		s: s, c: c, sess: sess, queue: queue, agentID: agentID, content: content, reserved: len(content),
		model: s.o.Policy.Model(key, options, s.o.Model),
	}
	c.turns[t] = struct{}{}
	if s.m.enqueue(t) {
		s.start(t)
	}
	return nil
}

// interrupt ends the running turn of a session (SC-035, SC-036). The turn's result acknowledges it; queued turns
// still run. It creates nothing (SC-002).
func (s *Server) interrupt(c *conn, agentID string) *Refusal {
	found := false
	key := s.o.Policy.Key(c.info, agentID, InMemory)
	for _, key := range s.o.Policy.InterruptTargets(s.m, c.info, key) {
		for _, t := range s.m.running(key) {
			t.cancel(errInterrupted)
			t.interrupter = c
			found = true
		}
	}
	if !found {
		return &Refusal{proto.NotRunning, "no turn of this agent_id runs: there is nothing to interrupt"}
	}
	return nil
}
