package ws

import (
	"net/http"
	"strings"
)

// Offered returns the subprotocols that the header of a handshake offers, in order of preference.
func Offered(h http.Header) []string {
	var all []string
	for _, line := range h.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}
