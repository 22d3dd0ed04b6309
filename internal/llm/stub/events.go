package stub

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// events writes server-sent events, and flushes each one.
type events struct {
	w     http.ResponseWriter
	flush func() error
	begun bool
	line  []byte // reused
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, flush: http.NewResponseController(w).Flush}
}

// send writes one event with JSON data. If name is empty, the event line is left out.
func (e *events) send(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal %T: %w", v, err)
	}
	return e.write(name, data)
}

func (e *events) write(name string, data []byte) error {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.Header().Set("Cache-Control", "no-cache")
		e.w.WriteHeader(http.StatusOK)
	}
	e.line = e.line[:0]
	if name != "" {
		e.line = fmt.Appendf(e.line, "event: %s\n", name)
	}
	e.line = append(append(append(e.line, "data: "...), data...), "\n\n"...)
	if _, err := e.w.Write(e.line); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := e.flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
