package driver_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/internal/certtest"
	"parley/transport/driver"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// TestTLS: each driver of servers connects to an https URL if the certificates are those that were asked for, and not
// otherwise.
func TestTLS(t *testing.T) {
	files, err := certtest.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(files.Client, files.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := files.Pool()
	for _, tt := range []struct {
		name string
		conf *tls.Config
		srv  *tls.Config
		want string // part of the error; "": it connects
	}{
		{"authority", &tls.Config{RootCAs: pool}, files.ServerTLS(false), ""},
		{"by default", nil, files.ServerTLS(false), "unknown authority"},
		{"unchecked", &tls.Config{InsecureSkipVerify: true}, files.ServerTLS(false), ""},
		{"another name", &tls.Config{RootCAs: pool}, files.NamedTLS(), "IP SANs"},
		{"its name", &tls.Config{RootCAs: pool, ServerName: "server.test"}, files.NamedTLS(), ""},
		{"client certificate", &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}, files.ServerTLS(true), ""},
		{"no client certificate", &tls.Config{RootCAs: pool}, files.ServerTLS(true), "certificate required"},
	} {
		url := serveTLS(t, tt.srv)
		for _, d := range []driver.Driver{sse.NewTLS(tt.conf), &ws.Driver{TLS: tt.conf}, r3labs.NewTLS(tt.conf)} {
			t.Run(tt.name+" "+d.Name(), func(t *testing.T) {
				rec := transcript.New(nil)
				c, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: url}, rec.Append)
				if d, ok := d.(io.Closer); ok {
					defer d.Close()
				}
				switch {
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Fatalf("%v, want an error with %q", err, tt.want)
				case tt.want != "":
					return
				case err != nil:
					t.Fatal(err)
				}
				greeted := func(r *transcript.Record) bool { return strings.Contains(string(r.Bytes), "hello") }
				if _, err := rec.Await(t.Context(), 0, greeted); err != nil {
					t.Error(err)
				}
				if err := c.Close(driver.Abort); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// serveTLS greets on event streams and WebSockets, and holds them open.
func serveTLS(t *testing.T, conf *tls.Config) string {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(greet))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail
	srv.TLS = conf
	srv.StartTLS()
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// greet answers with a greeting over the transport that is asked for, until the client leaves.
func greet(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: hello\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	s, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer s.CloseNow()
	if s.Write(r.Context(), websocket.MessageText, []byte("hello")) == nil {
		_, _, _ = s.Read(r.Context())
	}
}
