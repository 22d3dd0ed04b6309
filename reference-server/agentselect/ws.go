package agentselect

import (
	"context"
	"errors"
	"net/http"

	"github.com/coder/websocket"

	proto "parley/protocol/agentselect"
)

// serveWebSocket offers the same events and messages on one socket. The socket is the correlation, so connectionId is
// not looked at.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	// admit has judged the Origin already.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(s.o.Limits.Body)
	c := s.connect(ConnInfo{ID: newID("conn"), Transport: "ws", Query: r.URL.Query()})
	if c == nil {
		_ = ws.Close(websocket.StatusTryAgainLater, "no more connections")
		return
	}
	defer s.disconnect(c)

	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		s.pumpWebSocket(r.Context(), ws, c)
	}()
	s.readWebSocket(r.Context(), ws, c)
	c.end()
	<-pumped
}

// pumpWebSocket writes until the connection ends. Its end closes the socket, which ends the reading too.
func (s *Server) pumpWebSocket(ctx context.Context, ws *websocket.Conn, c *conn) {
	within := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, s.o.Limits.Write)
		defer cancel()
		return do(ctx)
	}
	c.pump(s.ctx, s.o.Limits.Heartbeat, func(event []byte) error {
		return within(func(ctx context.Context) error { return ws.Write(ctx, websocket.MessageText, event) })
	}, func() error { return within(ws.Ping) })
	if s.ctx.Err() != nil {
		_ = ws.Close(websocket.StatusGoingAway, "server closes")
	}
	_ = ws.CloseNow()
}

func (s *Server) readWebSocket(ctx context.Context, ws *websocket.Conn, c *conn) {
	for {
		kind, data, err := ws.Read(ctx)
		if err != nil || !c.awaitReady(ctx) {
			return
		}
		if kind != websocket.MessageText {
			s.complain(c, Message{}, &badMessage{"not a text frame"})
			continue
		}
		msg, err := decode(data)
		if err == nil {
			err = s.handleFrame(c, msg)
		}
		if err != nil {
			s.complain(c, msg, err)
		}
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

// complain tells of a frame that can't be handled. Only failed loads have an errorCode: that of a session that is not there.
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
