package httpclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answering returns the URL of a server that answers the first request with the given bytes, and reports when the
// client has closed the connection.
func answering(t *testing.T, bytes string) (url string, ended <-chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	over := make(chan struct{}, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		_, _ = io.WriteString(c, bytes)
		_, _ = io.Copy(io.Discard, in)
		over <- struct{}{}
	}()
	return "http://" + l.Addr().String(), over
}

// TestSwitchingProtocols: an unrequested upgrade ends, and so does its connection.
func TestSwitchingProtocols(t *testing.T) {
	client := New(&http.Transport{})
	for _, head := range []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"} {
		url, ended := answering(t, head)
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != 101 || len(body) > 0 || err != nil {
			t.Errorf("%d %q %v", resp.StatusCode, body, err)
		}
		<-ended
	}
}

// TestOthers: other responses have their bodies, early hints before them are skipped, redirects are returned, and
// connections are reused.
func TestOthers(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, r.RemoteAddr)
	}))
	defer srv.Close()
	client := New(&http.Transport{})
	defer client.CloseIdleConnections()
	var from string
	for range 2 {
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 302 || err != nil || from != "" && from != string(body) {
			t.Errorf("%d %q %v, before %q", resp.StatusCode, body, err, from)
		}
		from = string(body)
	}
}

// TestInformational: a few informational responses are skipped, and without end they are an error.
func TestInformational(t *testing.T) {
	client := New(&http.Transport{DisableKeepAlives: true})
	for _, row := range []struct {
		n    int
		fine bool
	}{{MaxInformational, true}, {MaxInformational + 1, false}} {
		for _, kind := range []string{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"} {
			url, _ := answering(t, strings.Repeat(kind, row.n)+"HTTP/1.1 204 No Content\r\n\r\n")
			resp, err := client.Get(url)
			if row.fine != (err == nil) || err != nil && !strings.Contains(err.Error(), "informational responses") {
				t.Errorf("%d of %q: %v", row.n, kind, err)
			}
			if err == nil {
				resp.Body.Close()
			}
		}
	}
}
