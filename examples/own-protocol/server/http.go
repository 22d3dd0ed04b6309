package server

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

// Server is a ticket desk: an http.Handler.
type Server struct {
	http.Handler
	desk *desk
	once sync.Once
}

// New creates the correct server, or the mutant with the given id.
func New(fault string) (*Server, error) {
	r, wrap := correct(), func(h http.Handler) http.Handler { return h }
	if fault != "" {
		f, err := faultOf(fault)
		if err != nil {
			return nil, err
		}
		if f.rules != nil {
			f.rules(&r)
		}
		if f.wrap != nil {
			wrap = f.wrap
		}
	}
	s := &Server{desk: newDesk(r)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /desk/events", s.events)
	mux.HandleFunc("POST /desk/messages/{client}", s.message)
	mux.HandleFunc("GET /desk/ws", s.socket)
	s.Handler = wrap(mux)
	return s, nil
}

// Close ends all connections.
func (s *Server) Close(context.Context) error {
	s.once.Do(func() { close(s.desk.ending) })
	return nil
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	c := s.desk.connect()
	defer s.desk.leave(c)
	flusher := http.NewResponseController(w)
	for {
		select {
		case b := <-c.out:
			_, _ = w.Write([]byte("data: " + string(b) + "\n\n"))
			if flusher.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.desk.ending:
			return
		}
	}
}

func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	c := s.desk.findClient(r.PathValue("client"))
	if c == nil {
		http.Error(w, "no such client", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	s.desk.handle(c, body)
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	c := s.desk.connect()
	defer s.desk.leave(c)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		defer cancel()
		for {
			select {
			case b := <-c.out:
				if conn.Write(ctx, websocket.MessageText, b) != nil {
					return
				}
			case <-s.desk.ending:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		_, body, err := conn.Read(ctx)
		if err != nil {
			return
		}
		s.desk.handle(c, body)
	}
}
