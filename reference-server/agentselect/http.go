package agentselect

import (
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /agents/ws", s.serveWebSocket)
	mux.HandleFunc("POST /message", s.serveMessage)
	mux.HandleFunc("POST /session/create", s.serveCreate)
	mux.HandleFunc("POST /session/load", s.serveLoad)
	mux.HandleFunc("GET /session/list", s.serveList)
	mux.HandleFunc("DELETE /session/{id}", s.serveDelete)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "ok"})
	})
	return mux
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admit(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.o.Limits.Body)
	s.mux.ServeHTTP(w, r)
}

// answer writes an HTTP answer of the binding.
func answer(w http.ResponseWriter, status int, body map[string]any) {
	data, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"success":false}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func refuse(w http.ResponseWriter, status int, reason string) {
	answer(w, status, map[string]any{"success": false, "error": reason})
}

// body reads a JSON object, or answers why it can't.
func body(w http.ResponseWriter, r *http.Request) (Message, bool) {
	data, err := io.ReadAll(r.Body)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		refuse(w, http.StatusRequestEntityTooLarge, "body too long")
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	msg, err := decode(data)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return nil, false
	}
	return msg, true
}

// Number is a JSON number as it was sent. An id that is a number is refused as an id, however large the number (AS-077).
type Number string

// MarshalJSON writes the number as it came.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var keepNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // the default does the rest
	}
	number, err := dec.ReadValue()
	*v = Number(number)
	return err
}))

// decode reads a message strictly: an object, keys matched by case and not repeated, valid UTF-8.
func decode(data []byte) (Message, error) {
	var msg Message
	if err := json.Unmarshal(data, &msg, keepNumbers); err != nil {
		return nil, &badMessage{"not a JSON object: " + err.Error()}
	}
	if msg == nil {
		return nil, &badMessage{"not a JSON object: null"}
	}
	return msg, nil
}

// connection finds the connection that a body names.
func (s *Server) connection(msg Message) *conn {
	id, _ := msg["connectionId"].(string)
	return s.m.conns.get(id)
}

// asker is the connection of a message: the one it names, else the one that has its session open.
func (s *Server) asker(msg Message) *conn {
	if c := s.connection(msg); c != nil {
		return c
	}
	id, _ := msg["sessionId"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.conns.get(s.m.Owner(id))
}

func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request) {
	msg, ok := body(w, r)
	if !ok {
		return
	}
	c := s.asker(msg)
	if c == nil || !c.awaitReady(r.Context()) {
		refuse(w, http.StatusBadRequest, "connectionId names no open connection")
		return
	}
	var told receipt
	err := s.handle(c, msg, &told)
	told.wait(r.Context()) // what answers the message stands on the stream before its HTTP answer
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(w, http.StatusOK, map[string]any{"success": true})
}

func (s *Server) serveCreate(w http.ResponseWriter, r *http.Request) {
	s.serveBinding(w, r, s.createSession)
}

func (s *Server) serveLoad(w http.ResponseWriter, r *http.Request) {
	s.serveBinding(w, r, s.loadSession)
}

func (s *Server) serveBinding(w http.ResponseWriter, r *http.Request, bind func(*conn, Message) (string, error)) {
	msg, ok := body(w, r)
	if !ok {
		return
	}
	c := s.connection(msg)
	if c == nil || !c.awaitReady(r.Context()) {
		refuse(w, http.StatusBadRequest, "connectionId names no open connection")
		return
	}
	id, err := bind(c, msg)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	answer(w, http.StatusOK, map[string]any{"success": true, "session": map[string]any{"id": id}})
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errFull):
		return http.StatusServiceUnavailable
	case errors.Is(err, errNoSession):
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func (s *Server) serveList(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := make([]map[string]any, 0, len(s.m.order))
	for _, id := range s.m.order {
		list = append(list, map[string]any{"id": id, "agentId": s.m.AgentOf(id)})
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"success": true, "sessions": list})
}

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request) {
	if !s.deleteSession(r.PathValue("id")) {
		refuse(w, http.StatusNotFound, errNoSession.Error())
		return
	}
	answer(w, http.StatusOK, map[string]any{"success": true})
}
