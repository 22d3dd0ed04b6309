package cli

import (
	"net"
	"net/http"

	"parley/protocol/messages"
	"parley/reference-server/launch"
)

// asyncAPI is where a server describes its messages. No bundled server has anything else there.
var asyncAPI = launch.Endpoint{Method: http.MethodGet, Path: "/asyncapi.json",
	About: "its messages, as an AsyncAPI document"}

// described answers GET /asyncapi.json with the AsyncAPI document of the protocol, at the address that the client used;
// next handles everything else, and that as well if the protocol has no document.
func (one *offer) described(scheme string, at net.Addr, next http.Handler) http.Handler {
	if messages.AsyncAPI(one.protocol, at.String(), false) == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != asyncAPI.Path || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		host := r.Host
		if !plainHost.MatchString(host) {
			host = at.String()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(messages.AsyncAPI(one.protocol, host, scheme == "https")) // a client that has gone misses it
	})
}
