package sessionchat

import (
	"net"
	"net/http"
	"net/url"
	"slices"
)

// admit refuses pages from elsewhere. Requests without Origin are no business of a browser and pass.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if _, present := r.Header["Origin"]; !present {
		return true
	}
	origin := r.Header.Get("Origin")
	if len(r.Header["Origin"]) != 1 || !s.allows(origin) {
		refuse(w, http.StatusForbidden, "origin not allowed")
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Add("Vary", "Origin")
	return true
}

func (s *Server) allows(origin string) bool {
	if slices.Contains(s.o.AllowOrigins, origin) || slices.Contains(s.o.AllowOrigins, "*") {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
