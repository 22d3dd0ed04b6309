package agentselect

import (
	"errors"
	"net/http"

	"github.com/coder/websocket"

	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
)

// serveWebSocket serves the same events and messages on one socket. The socket identifies the connection, so
// connectionId is ignored.
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

// handleFrame handles a message; on a WebSocket, messages also create and load sessions.
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

// complain reports a frame that can't be handled. Only a failed load has an errorCode: that of a missing session.
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
