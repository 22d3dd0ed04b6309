package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// TestBodiesWithin checks that a body that does not arrive ends its request at the limit, and that a request whose body
// has arrived may be answered later than that.
func TestBodiesWithin(t *testing.T) {
	const limit = 200 * time.Millisecond
	type outcome struct {
		err  error // of the body
		gone bool  // the request was canceled before its answer
	}
	seen := make(chan outcome, 1)
	s := httptest.NewServer(LimitBodyTime(limit, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		var gone bool
		if err == nil {
			select {
			case <-r.Context().Done():
				gone = true
			case <-time.After(2 * limit): // the answer takes longer than the limit of the body
			}
		}
		seen <- outcome{err, gone}
		fmt.Fprint(w, "done")
	})))
	defer s.Close()
	for _, row := range []struct {
		name, body string
		late       bool
	}{{"a whole body", "0123456789", false}, {"a body that stops", "01234", true}} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n%s", row.body)
		select {
		case got := <-seen:
			if late := errors.Is(got.err, os.ErrDeadlineExceeded); late != row.late || got.gone {
				t.Errorf("%s: %v, canceled: %v", row.name, got.err, got.gone)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the request does not end", row.name)
		}
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		c.Close()
	}
}

// TestLocally: a page whose own name resolves to this machine is refused.
func TestLocally(t *testing.T) {
	h := RejectHostNames(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{"localhost": 200, "LOCALHOST:3000": 200, "localhost.:3000": 200,
		"app.localhost":  200,
		"127.0.0.1:3000": 200, "[::1]:3000": 200, "[::1]": 200, "192.0.2.1": 200, "": 200,
		"evil.example": 403, "evil.example:3000": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:3000": 403,
		"notlocalhost": 403} {
		r := httptest.NewRequest("GET", "/events", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: HTTP %d, want %d", host, w.Code, want)
		}
	}
}
