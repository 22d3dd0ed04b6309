package sessionchat

import (
	"net/http"

	"parley/reference-server/origin"
)

// admit refuses pages from elsewhere. Requests without Origin are no business of a browser and pass.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	from, ok := origin.Of(r, s.o.AllowOrigins)
	switch {
	case !ok:
		refuse(w, http.StatusForbidden, "origin not allowed")
		return false
	case from == "":
		return true
	}
	w.Header().Set("Access-Control-Allow-Origin", from)
	w.Header().Add("Vary", "Origin")
	return true
}
