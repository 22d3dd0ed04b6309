package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
)

// Origin returns the Origin of a request, and whether it is allowed: a loopback address, or one in allow, where
// "null" and "*" stand for themselves. A request without Origin does not come from a page: it is allowed, and its
// origin is "".
func Origin(r *http.Request, allow []string) (origin string, ok bool) {
	all, present := r.Header["Origin"]
	if !present {
		return "", true
	}
	if len(all) != 1 {
		return "", false
	}
	return all[0], slices.Contains(allow, all[0]) || slices.Contains(allow, "*") || isLocal(all[0])
}

func isLocal(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
