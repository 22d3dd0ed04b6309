package web

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley/reference-server/defaults"
)

// RequestGuard is what stands before every bundled server, whatever it serves: it bounds the requests that the server's
// own limits do not concern, and refuses those that are meant for other servers. Zero fields are those of DefaultDoor.
type RequestGuard struct {
	AnyName bool // it answers to every host name, and not only to localhost and IP addresses

	Header   time.Duration // for the header of a request
	Body     time.Duration // for the body of a request
	Answer   time.Duration // for a whole answer, except where the server sets limits for each write
	Idle     time.Duration // between two requests of a connection
	Requests int           // in progress at once, streams and WebSockets included; more get 503
}

// DefaultGuard is that of `parley serve`. A body has at most a few MiB.
var DefaultGuard = RequestGuard{
	Header:   10 * time.Second,
	Body:     10 * time.Second,
	Answer:   2 * time.Minute,
	Idle:     2 * time.Minute,
	Requests: 8192,
}

// NewServer returns a server that lets requests through to the handler.
func (d RequestGuard) NewServer(inside http.Handler) *http.Server {
	defaults.Fill(&d, DefaultGuard)
	if !d.AnyName {
		inside = RejectHostNames(inside)
	}
	return &http.Server{Handler: atMost(d.Requests, LimitBodyTime(d.Body, inside)), ReadHeaderTimeout: d.Header,
		WriteTimeout: d.Answer, IdleTimeout: d.Idle}
}

// RejectHostNames rejects requests to any host name but localhost and IP addresses: a web page whose own name resolves
// to this machine (DNS rebinding) would otherwise be accepted as the server's own origin.
func RejectHostNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			name = strings.Trim(r.Host, "[]")
		}
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		if name != "" && name != "localhost" && !strings.HasSuffix(name, ".localhost") && net.ParseIP(name) == nil {
			http.Error(w, "this server answers to the name localhost, not to "+strconv.Quote(name)+
				" (use localhost or an IP address; with a token it answers to any name)", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// LimitBodyTime ends requests whose bodies take longer than a limit. The answer may take any time.
func LimitBodyTime(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			if control.SetReadDeadline(time.Now().Add(limit)) == nil {
				r.Body = &timedBody{r.Body, func() { _ = control.SetReadDeadline(time.Time{}) }}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody lifts the deadline of a body that has arrived: the connection is read on while the request is answered,
// to notice that the client has gone.
type timedBody struct {
	io.ReadCloser
	arrived func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.arrived()
	}
	return n, err
}

// atMost refuses requests while as many are in progress as may be.
func atMost(most int, next http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer n.Add(-1)
		if n.Add(1) > int64(most) {
			w.Header().Set("Connection", "close")
			Refuse(w, http.StatusServiceUnavailable, "too many requests at once: try again later")
			return
		}
		next.ServeHTTP(w, r)
	})
}
