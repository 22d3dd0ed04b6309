package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
)

// Origin is the Origin of a request, and whether it may come: one of a loopback address, or one that allow names;
// "null" and "*" stand for themselves. A request without Origin does not come from a page: it may come, and its origin
// is "".
func Origin(r *http.Request, allow []string) (origin string, ok bool) {
	all, present := r.Header["Origin"]
	if !present {
		return "", true
	}
	if len(all) != 1 {
		return "", false
	}
	return all[0], slices.Contains(allow, all[0]) || slices.Contains(allow, "*") || local(all[0])
}

func local(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
