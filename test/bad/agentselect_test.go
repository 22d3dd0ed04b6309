package bad_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/freeport"
	"parley/test/suitetest"
	"parley/verdict"
)

// bad is a target that is not an agent-select server.
type bad struct {
	name   string
	exit   int
	serve  http.HandlerFunc    // nil: accept is used
	accept func(conn net.Conn) // handles each connection
	may    []string            // binding clauses that such a target may pass
	reason string
	why    string // the explanation for a target that is not judged because it never speaks the protocol
}

// connecting are the clauses kept by a target that only connects its clients.
var connecting = []string{"AS-008", "AS-009", "AS-016", "AS-029", "AS-030", "AS-031", "AS-033", "AS-040", "AS-083",
	"AS-105",
	"AS-113", "AS-114", "AS-115", "AS-117", "AS-118", "AS-123", "AS-129", "AC-110"}

const greeting = "data: {\"type\":\"connected\",\"data\":{\"connectionId\":%q}}\n\n" +
	`data: {"type":"agent_list","data":{"agents":[` +
	`{"id":"general","name":"G","description":""},{"id":"debugger","name":"D","description":""},` +
	`{"id":"requirement_analyzer","name":"R","description":""}],"currentAgentId":null}}` + "\n\n"

// greets connects its clients correctly and leaves the rest to post.
func greets(post http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			post(w, r)
			return
		}
		mu.Lock()
		n++
		id := fmt.Sprintf("conn_%d", n)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, greeting, id)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// switching answers with a protocol upgrade, and then sends nothing.
func switching(w http.ResponseWriter, _ *http.Request) {
	c, in, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n")
	_, _ = io.Copy(io.Discard, in)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func session(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/session/") {
			fmt.Fprint(w, `{"success":true,"session":{"id":"s1"}}`)
			return
		}
		next(w, r)
	}
}

var bads = []bad{
	{name: "silent connections", exit: 3, why: "accepts connections but sends nothing",
		accept: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		reason: "accepts and never says a word"},
	{name: "garbage", exit: 3, why: "is not an HTTP server",
		accept: func(c net.Conn) { _, _ = c.Write([]byte("\x00\xff\x16garbage\r\n\r\n")) },
		reason: "is no HTTP server"},
	{name: "resets", exit: 3, why: "closes the connection", accept: func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
		reason: "drops every connection at once"},
	{name: "silent streams", exit: 3, why: "GET /events opens, but sends nothing",
		serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, reason: "opens the stream and sends nothing"},
	{name: "500 to everything", exit: 3, why: "GET /events is answered by HTTP 500", serve: status(500),
		reason: "its handler crashes"},
	{name: "404 to everything", exit: 3, why: "does not speak agent-select: GET /events is answered by HTTP 404",
		serve: status(404), reason: "is some other server"},
	{name: "500 to every POST", exit: 1, may: connecting, serve: greets(status(500)),
		reason: "connects, and crashes at the first message"},
	{name: "sessions, then 500", exit: 1, may: append([]string{"AS-098", "AS-099"}, connecting...),
		serve: greets(session(status(500))), reason: "crashes at the first switch"},
	{name: "accepts every POST and says nothing", exit: 1, may: append([]string{"AS-098"}, connecting...),
		serve:  greets(session(status(200))),
		reason: "HTTP 200 is no answer: the outcome is an event"},
	{name: "never answers a POST", exit: 1, may: connecting, serve: greets(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices only after this that the client has disconnected
		<-r.Context().Done()
	}),
		reason: "hangs at the first message"},
	{name: "closes after each event", exit: 1, may: []string{"AS-029", "AS-030", "AS-031"},
		serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"type\":\"connected\",\"data\":{\"connectionId\":\"c\"}}\n\n")
		}, reason: "treats a stream as a response"},
	{name: "JSON instead of a stream", exit: 1, serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"connected","data":{"connectionId":"c"}}`)
	}, reason: "answers GET /events as an API call"},
	{name: "an endless refusal", exit: 3, why: "wants credentials: GET /events is answered by HTTP 403",
		serve: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}, reason: "refuses with a body that never ends"},
	{name: "101 to everything", exit: 3, why: "GET /events is answered by HTTP 101", serve: switching,
		reason: "wants to speak another protocol"},
	{name: "101 to every POST", exit: 1, may: connecting, serve: greets(switching),
		reason: "connects, and wants to speak another protocol at the first message"},
	{name: "one endless event", exit: 3, why: "GET /events opens, but nothing of agent-select came; it sends ",
		serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: ")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		}, reason: "sends a line that never ends"},
}

// TestBadTargets checks the verdicts on targets that answer nothing, or nothing right. Each is non-conformant or
// unreachable, and no clause passes except those that such a target keeps.
func TestBadTargets(t *testing.T) {
	t.Parallel()
	for _, b := range suitetest.Some(bads, 12) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			res := suitetest.JudgeURL(t, b.start(t))
			if b.why != "" {
				unjudged(t, res, b.why)
				return
			}
			if res.Exit != b.exit {
				t.Errorf("exit %d, want %d (%s)\n%s", res.Exit, b.exit, b.reason, suitetest.Console(t, res))
			}
			may := map[string]bool{}
			for _, id := range b.may {
				may[id] = true
			}
			for _, c := range res.Runs[0].Clauses {
				if c.Outcome == verdict.Passed && c.Level.Binding() && !may[c.ID] {
					t.Errorf("%s passed (%s): %s", c.ID, b.reason, c.Text)
				}
			}
		})
	}
}

// start serves the bad target on loopback.
func (b bad) start(t *testing.T) string {
	if b.serve != nil {
		s := httptest.NewServer(b.serve)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(5 * time.Minute)) // the client ends the connection, however busy the machine is
				b.accept(c)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return "http://" + ln.Addr().String()
}

// TestTLS checks the explanation for an untrusted certificate and for plain HTTP to a TLS server.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(greets(status(http.StatusOK)))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs each abandoned connection
	s.StartTLS()
	defer s.Close()
	unjudged(t, suitetest.JudgeURL(t, s.URL), "has a TLS certificate that is not trusted")
	unjudged(t, suitetest.JudgeURL(t, "http"+strings.TrimPrefix(s.URL, "https")), "speaks TLS (give an https URL)")
}

// TestDeadPort checks that a missing target counts as an environment error, and that no clause passes.
func TestDeadPort(t *testing.T) {
	p, err := freeport.Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	res := suitetest.JudgeURL(t, "http://"+p.Addr())
	if res.Exit != verdict.ExitUnreachable {
		t.Errorf("exit %d, want %d", res.Exit, verdict.ExitUnreachable)
	}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Passed || c.Outcome == verdict.Failed {
			t.Errorf("%s is %s", c.ID, c.Outcome)
		}
	}
}
