package agentselect

import (
	"context"
	"net/http"
	"time"
)

// serveEvents is the stream: each event is one data line that holds the envelope.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	c := s.connect(ConnInfo{ID: newID("conn"), Transport: "sse", Query: r.URL.Query()})
	if c == nil {
		refuse(w, http.StatusServiceUnavailable, "no more connections")
		return
	}
	defer s.disconnect(c)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	write := func(line []byte) error {
		// Where a wrapped writer has no deadline, writing without one is all that can be done.
		_ = control.SetWriteDeadline(time.Now().Add(s.o.Limits.Write))
		if _, err := w.Write(line); err != nil {
			return err
		}
		return control.Flush()
	}
	c.pump(ctx, s.o.Limits.Heartbeat,
		func(event []byte) error { return write(append(append([]byte("data: "), event...), "\n\n"...)) },
		func() error { return write([]byte(": heartbeat\n\n")) })
}
