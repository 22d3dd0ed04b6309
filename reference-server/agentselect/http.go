package agentselect

import (
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonwhy"
	proto "parley/protocol/agentselect"
	"parley/reference-server/web"
)

func (s *Server) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /agents/ws", s.serveWebSocket)
	mux.HandleFunc("POST /message", s.serveMessage)
	mux.HandleFunc("POST /session/create", s.handleBinding(s.createSession))
	mux.HandleFunc("POST /session/load", s.handleBinding(s.loadSession))
	mux.HandleFunc("GET /session/list", s.serveList)
	mux.HandleFunc("DELETE /session/{id}", s.serveDelete)
	mux.HandleFunc("GET /health", web.Health)
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admitOrigin(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.o.Limits.Body)
	s.mux.ServeHTTP(w, r)
}

// readFrom reads a JSON object and finds the connection that sent it, or responds with an error.
func (s *Server) readFrom(w http.ResponseWriter, r *http.Request, find func(Message) *conn) (Message, *conn) {
	data, err := io.ReadAll(r.Body)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		web.Refuse(w, http.StatusRequestEntityTooLarge, "body too long")
		return nil, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		web.Refuse(w, http.StatusRequestTimeout, "the body did not arrive in time")
		return nil, nil
	}
	if err != nil {
		return nil, nil
	}
	msg, err := decodeMessage(data)
	if err != nil {
		web.Refuse(w, http.StatusBadRequest, err.Error())
		return nil, nil
	}
	c := find(msg)
	if c == nil || !c.awaitReady(r.Context()) {
		web.Refuse(w, http.StatusBadRequest, "connectionId names no open connection")
		return nil, nil
	}
	return msg, c
}

// Number is a JSON number as it was sent. A numeric id is refused as an id, whatever its size (AS-077).
type Number string

// MarshalJSON writes the number in its original form.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // use the default marshalling
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decodeMessage reads a message strictly: a JSON object in valid UTF-8 with case-sensitive, unique keys.
func decodeMessage(data []byte) (Message, error) {
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &badMessage{jsonwhy.Of(err)}
	}
	if msg == nil {
		return nil, &badMessage{"send one JSON object, not null"}
	}
	return msg, nil
}

// connectionOf returns the connection that a body names.
func (s *Server) connectionOf(msg Message) *conn {
	id, _ := msg[proto.ConnectionID].(string)
	return s.m.conns.Get(id)
}

// askingConnection returns the connection of a message: the one it names, else the one that has its session open.
func (s *Server) askingConnection(msg Message) *conn {
	if c := s.connectionOf(msg); c != nil {
		return c
	}
	id, _ := msg[proto.SessionID].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.conns.Get(s.m.Owner(id))
}

func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) {
	msg, c := s.readFrom(w, r, s.askingConnection)
	if c == nil {
		return
	}
	var told receipt
	err := s.handleMessage(c, msg, &told)
	told.waitUntilWritten(r.Context()) // the events in reply are written to the stream before the HTTP response
	if err != nil {
		web.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	web.Answer(w, http.StatusOK, map[string]any{"success": true})
}

// handleBinding handles requests that bind a session to the connection named in the body.
func (s *Server) handleBinding(bind func(*conn, Message) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		msg, c := s.readFrom(w, r, s.connectionOf)
		if c == nil {
			return
		}
		id, err := bind(c, msg)
		switch {
		case err == nil:
			web.Answer(w, http.StatusOK, map[string]any{"success": true, "session": map[string]any{"id": id}})
		case errors.Is(err, errFull):
			web.Refuse(w, http.StatusServiceUnavailable, err.Error())
		case errors.Is(err, errNoSession):
			web.Refuse(w, http.StatusNotFound, err.Error())
		default:
			web.Refuse(w, http.StatusBadRequest, err.Error())
		}
	}
}

func (s *Server) serveList(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := make([]map[string]any, 0, len(s.m.order))
	for _, id := range s.m.order {
		list = append(list, map[string]any{"id": id, proto.AgentID: s.m.AgentOf(id)})
	}
	s.mu.Unlock()
	web.Answer(w, http.StatusOK, map[string]any{"success": true, "sessions": list})
}

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request) {
	if !s.deleteSession(r.PathValue("id")) {
		web.Refuse(w, http.StatusNotFound, errNoSession.Error())
		return
	}
	web.Answer(w, http.StatusOK, map[string]any{"success": true})
}
