package agentselect

import (
	"context"
	"net/http"
	"time"

	"parley/reference-server/connection"
)

// serveEvents serves the stream: each event is one data line with the envelope.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	c := s.connect(w, r, "sse")
	if c == nil {
		return
	}
	defer s.disconnect(c)

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	defer interrupted(c.Context(), control)()
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

// interrupted ends a write in progress when ctx ends: the reader of a connection that was dropped may never take it.
// Nothing is interrupted once stop has returned.
func interrupted(ctx context.Context, control *http.ResponseController) (stop func()) {
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
