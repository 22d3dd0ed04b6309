package agentselect

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
)

// conn is a connection, including whether it accepts messages.
type conn struct {
	*connection.Outbox
	info  ConnInfo
	ready chan struct{} // closed when agent_list has been written (AS-106)
}

func newConn(ctx context.Context, info ConnInfo, l Limits) *conn {
	out := connection.New(ctx, connection.Limits{Frames: l.Queue, Bytes: l.QueueBytes})
	return &conn{out, info, make(chan struct{})}
}

// awaitReady waits until the connection accepts messages; false if it never will.
func (c *conn) awaitReady(ctx context.Context) bool {
	select {
	case <-c.ready:
		return true
	case <-c.Context().Done():
	case <-ctx.Done():
	}
	return false
}

// receipt collects the events written while handling a request, so that the HTTP response can wait for them.
type receipt struct {
	mu      sync.Mutex
	waiting []func(context.Context)
}

// addQueued adds everything queued for a connection.
func (r *receipt) addQueued(c *conn) {
	if r == nil {
		return
	}
	written := make(chan struct{})
	c.Then(func() { close(written) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, func(ctx context.Context) {
		select {
		case <-written:
		case <-c.Context().Done():
		case <-ctx.Done():
		}
	})
}

// waitUntilWritten returns when all of it has been written, or can't be written any more.
func (r *receipt) waitUntilWritten(ctx context.Context) {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, wait := range waiting {
		wait(ctx)
	}
}

// serveEvents serves the stream: each event is one data line with the envelope.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	c := s.admitConnection(w, r, "sse")
	if c == nil {
		return
	}
	defer s.dropConnection(c)

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	defer interruptWrite(c.Context(), control)()
	write := func(line []byte) error {
		// A wrapped writer may not support deadlines; then writes have none.
		_ = control.SetWriteDeadline(time.Now().Add(s.o.Limits.Write))
		if c.Context().Err() != nil { // since before the deadline was set
			return context.Cause(c.Context())
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		return control.Flush()
	}
	_ = c.Pump(connection.Wire{
		Write: func(_ context.Context, event []byte) error {
			return write(append(append([]byte("data: "), event...), "\n\n"...))
		},
		Quiet: s.o.Limits.Heartbeat,
		Beat:  func(context.Context) error { return write([]byte(": heartbeat\n\n")) },
	})
}

// interruptWrite ends a write in progress when ctx ends: the reader of a connection that was dropped may never take it.
// Nothing is interrupted once stop has returned.
func interruptWrite(ctx context.Context, control *http.ResponseController) (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = control.SetWriteDeadline(time.Now())
	})
	return func() {
		if !cancel() {
			<-done
		}
	}
}

// serveWebSocket serves the same events and messages on one socket. The socket identifies the connection, so
// connectionId is ignored.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c := s.admitConnection(w, r, "ws")
	if c == nil {
		return
	}
	defer s.dropConnection(c)
	l := s.o.Limits
	c.Serve(w, r, connection.WebSocket{
		Message: l.Body, Write: l.Write, Close: l.Write, Ping: l.Heartbeat,
		Receive: func(kind websocket.MessageType, data []byte) {
			if c.awaitReady(c.Context()) {
				s.receiveFrames(c, kind, data)
			}
		},
	})
}

func (s *Server) receiveFrames(c *conn, kind websocket.MessageType, data []byte) {
	if kind != websocket.MessageText {
		s.reportFrame(c, Message{}, &badMessage{"not a text frame"})
		return
	}
	msg, err := decodeMessage(data)
	if err == nil {
		err = s.handleFrame(c, msg)
	}
	if err != nil {
		s.reportFrame(c, msg, err)
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
	return s.handleMessage(c, msg, nil)
}

func (s *Server) bindByFrame(c *conn, msg Message, done string, bind func(*conn, Message) (string, error)) error {
	id, err := bind(c, msg)
	if err != nil {
		return err
	}
	requestID, _ := msg[proto.RequestID].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitEvent(c.info.ID, Event{Type: done, Data: EventData{proto.SessionID: id}, RequestID: requestID}, nil)
	return nil
}

// reportFrame reports a frame that can't be handled. Only a failed load has an errorCode: that of a missing session.
func (s *Server) reportFrame(c *conn, msg Message, err error) {
	ev := errorEvent(err.Error())
	ev.RequestID, _ = msg[proto.RequestID].(string)
	if errors.Is(err, errNoSession) {
		ev.Data[proto.ErrorCode] = proto.SessionNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitEvent(c.info.ID, ev, nil)
}

// EventData is the data of an event.
type EventData map[string]any

// With returns a copy of d with key set to v.
func (d EventData) With(key string, v any) EventData {
	c := maps.Clone(d)
	c[key] = v
	return c
}

// Without returns a copy of d without the key.
func (d EventData) Without(key string) EventData {
	c := maps.Clone(d)
	delete(c, key)
	return c
}

// Event is one server event.
type Event struct {
	Type      string
	Data      EventData
	RequestID string // of a request to the user, or of the WebSocket request that this event answers
}

// isoMillis is ISO 8601 with milliseconds, like JavaScript's toISOString.
const isoMillis = "2006-01-02T15:04:05.000Z"

// encodeEnvelope writes the binding's envelope: type, data, timestamp, and requestId if there is one.
func (ev Event) encodeEnvelope(now time.Time) ([]byte, error) {
	return json.Marshal(struct {
		Type      string    `json:"type"`
		Data      EventData `json:"data"`
		RequestID string    `json:"requestId,omitzero"`
		Timestamp string    `json:"timestamp"`
	}{ev.Type, ev.Data, ev.RequestID, now.UTC().Format(isoMillis)},
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

func agentInfos(agents []Agent) []proto.AgentInfo {
	list := make([]proto.AgentInfo, len(agents))
	for i, a := range agents {
		list[i] = a.Info()
	}
	return list
}

func errorEvent(message string) Event {
	return Event{Type: proto.ErrorEvent, Data: EventData{proto.Message: message}}
}

// refusalEvent includes availableAgents for every code (AS-014, AS-072, AS-075).
func refusalEvent(r *Refusal, agents []Agent) Event {
	return Event{Type: proto.ErrorEvent, Data: EventData{
		proto.ErrorCode: r.Code, proto.Message: r.Message, proto.AvailableAgents: agentInfos(agents),
	}}
}

func switchedEvent(previous string, to Agent) Event {
	return Event{Type: proto.AgentSwitchedEvent, Data: EventData{
		proto.PreviousAgentID: previous, proto.CurrentAgentID: to.ID, proto.AgentName: to.Name,
	}}
}
