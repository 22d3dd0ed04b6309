package agentselect

import (
	"errors"
	"net/http"

	"github.com/coder/websocket"

	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
)

// serveWebSocket offers the same events and messages on one socket. The socket is the correlation, so connectionId is
// not looked at.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c := s.connect(w, r, "ws")
	if c == nil {
		return
	}
	defer s.disconnect(c)
	l := s.o.Limits
	c.Serve(w, r, connection.WebSocket{
		Message: l.Body, Write: l.Write, Close: l.Write, Ping: l.Heartbeat,
		Receive: func(kind websocket.MessageType, data []byte) {
			if c.awaitReady(c.Context()) {
				s.receive(c, kind, data)
			}
		},
	})
}

func (s *Server) receive(c *conn, kind websocket.MessageType, data []byte) {
	if kind != websocket.MessageText {
		s.complain(c, Message{}, &badMessage{"not a text frame"})
		return
	}
	msg, err := decode(data)
	if err == nil {
		err = s.handleFrame(c, msg)
	}
	if err != nil {
		s.complain(c, msg, err)
	}
}

// handleFrame acts on a message; on a WebSocket sessions are created and loaded by messages too.
func (s *Server) handleFrame(c *conn, msg Message) error {
	switch msg["type"] {
	case proto.SessionCreateType:
		return s.bindByFrame(c, msg, proto.SessionCreatedEvent, s.createSession)
	case proto.SessionLoadType:
		return s.bindByFrame(c, msg, proto.SessionLoadedEvent, s.loadSession)
	}
	return s.handle(c, msg, nil)
}

func (s *Server) bindByFrame(c *conn, msg Message, done string, bind func(*conn, Message) (string, error)) error {
	id, err := bind(c, msg)
	if err != nil {
		return err
	}
	requestID, _ := msg["requestId"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(c.info.ID, Event{Type: done, Data: EventData{"sessionId": id}, RequestID: requestID}, nil)
	return nil
}

// complain tells of a frame that can't be handled. Only failed loads have an errorCode: that of a session that is not
// there.
func (s *Server) complain(c *conn, msg Message, err error) {
	ev := errorEvent(err.Error())
	ev.RequestID, _ = msg["requestId"].(string)
	if errors.Is(err, errNoSession) {
		ev.Data["errorCode"] = proto.SessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(c.info.ID, ev, nil)
}
