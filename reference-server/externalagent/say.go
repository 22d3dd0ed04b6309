package externalagent

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/go-json-experiment/json"

	"parley/reference-server/externalagent/host"
	"parley/reference-server/web"
)

const maxSay = 64 << 10 // maximum bytes of a body

// serveSay takes the participant's input. It accepts only JSON, which a form on another site can't send.
func (s *Server) serveSay(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		web.Refuse(w, http.StatusUnsupportedMediaType, "send application/json")
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSay))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		web.Refuse(w, http.StatusRequestEntityTooLarge, "the body is too long")
		return
	}
	if err != nil { // or it took too long
		web.Refuse(w, http.StatusBadRequest, "the body can't be read")
		return
	}
	var said struct {
		SessionID *string `json:"sessionId"`
		Text      *string `json:"text"`
	}
	if err := json.Unmarshal(data, &said); err != nil || said.SessionID == nil || said.Text == nil {
		web.Refuse(w, http.StatusBadRequest, `send {"sessionId": "…", "text": "…"}`)
		return
	}
	switch err := s.Say(*said.SessionID, *said.Text); {
	case err == nil:
		web.Answer(w, http.StatusOK, map[string]any{"success": true})
	case errors.Is(err, host.ErrText):
		web.Refuse(w, http.StatusBadRequest, err.Error())
	default: // no session, or no room in it
		web.Refuse(w, http.StatusConflict, err.Error())
	}
}

// serveSession reports whether there is a study session: no protocol message tells an agent that another agent has
// ended it.
func (s *Server) serveSession(w http.ResponseWriter, r *http.Request) {
	h := s.hosts.find(r.URL.Query().Get("session"))
	web.Answer(w, http.StatusOK, map[string]any{"active": h != nil && h.Active()})
}
