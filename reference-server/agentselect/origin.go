package agentselect

import (
	"net/http"

	"parley/reference-server/web"
)

// admit refuses requests from pages of other origins, and answers preflight requests from allowed ones.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if !web.Admit(w, r, s.o.AllowOrigins) {
		return false
	}
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" {
		return true
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	w.WriteHeader(http.StatusNoContent)
	return false
}
