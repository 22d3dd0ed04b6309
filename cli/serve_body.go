package cli

import (
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a client of parley serve may take for the body of a request. A body has at most a few MiB.
const bodyTime = 10 * time.Second

// bodiesWithin ends requests whose bodies take longer than a limit. The answer may take any time.
func bodiesWithin(limit time.Duration, next http.Handler) http.Handler {
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
