package mock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/transport/recording"
)

// lineup makes a recording of records, each without its number and time.
func lineup(records ...string) string {
	var b strings.Builder
	b.WriteString(head)
	for n, r := range records {
		fmt.Fprintf(&b, `{"n":%d,"at_ms":%d,%s`+"\n", n+1, n, strings.TrimPrefix(r, "{"))
	}
	return b.String()
}

// dial opens a socket.
func dial(t *testing.T, m *Mock, path string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), m.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func tell(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	_, text, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSeveral checks that clients at once have ids of their own, which stay the same through a conversation, and that
// one with the id of another is told that this was never shown.
func TestSeveral(t *testing.T) {
	m, unknown := open(t, lineup(`{"party":"A","dir":"sent","kind":"open","label":"GET ws://then/ws (upgrade)"}`,
		`{"party":"A","dir":"received","kind":"open","status":101,"to":1}`,
		`{"party":"A","dir":"received","kind":"frame","type":"text","text":"{\"type\":\"hello\",\"id\":\"c_1A2B3C4D5E\"}"}`,
		`{"party":"A","dir":"sent","kind":"frame","type":"text","text":"{\"type\":\"ask\",\"of\":\"c_1A2B3C4D5E\"}"}`,
		`{"party":"A","dir":"received","kind":"frame","type":"text","text":"{\"type\":\"told\",\"of\":\"c_1A2B3C4D5E\"}"}`))
	ids := map[string]bool{}
	var conns []*websocket.Conn
	var own []string
	for range 3 {
		c := dial(t, m, "/ws")
		text := hear(t, c)
		id := text[strings.Index(text, "c_"):strings.LastIndex(text, `"`)]
		if ids[id] || len(id) != len("c_1A2B3C4D5E") {
			t.Errorf("%s is nobody's own", id)
		}
		ids[id] = true
		conns, own = append(conns, c), append(own, id)
	}
	for i, c := range conns {
		tell(t, c, `{"type":"ask","of":"`+own[i]+`"}`)
		if got := hear(t, c); got != `{"type":"told","of":"`+own[i]+`"}` {
			t.Errorf("%d: %s", i, got)
		}
	}
	if said := unknown(); said != "" {
		t.Error(said)
	}
	tell(t, conns[0], `{"type":"ask","of":"`+own[1]+`"}`)
	tell(t, conns[0], `{"type":"ask","of":"`+own[0]+`"}`)
	if got := hear(t, conns[0]); !strings.Contains(got, own[0]) || !strings.Contains(unknown(), "never shown: ") {
		t.Errorf("%s, %s", got, unknown())
	}
}

// TestCauses checks that events follow the request of a client without a connection, that a message to one client may
// follow what another did, and that a close has its code.
func TestCauses(t *testing.T) {
	m, _ := open(t, lineup(`{"party":"C1","dir":"sent","kind":"open","label":"GET /ws (upgrade)"}`,
		`{"party":"C1","dir":"received","kind":"open","status":101,"to":1}`,
		`{"party":"C1","dir":"received","kind":"frame","type":"text","text":"hello 1"}`,
		`{"party":"C2","dir":"sent","kind":"open","label":"GET /other (upgrade)"}`,
		`{"party":"C2","dir":"received","kind":"open","status":101,"to":4}`,
		`{"party":"C2","dir":"received","kind":"frame","type":"text","text":"hello 2"}`,
		`{"party":"","dir":"sent","kind":"request","label":"POST /say","text":"{}"}`,
		`{"party":"C1","dir":"received","kind":"frame","type":"text","text":"said"}`,
		`{"party":"","dir":"received","kind":"response","status":204,"to":7}`,
		`{"party":"C2","dir":"sent","kind":"frame","type":"text","text":"to 1"}`,
		`{"party":"C1","dir":"received","kind":"frame","type":"text","text":"from 2"}`,
		`{"party":"C1","dir":"received","kind":"closed","status":4001,"label":"the target closed the connection: \"over\""}`))
	one, two := dial(t, m, "/ws"), dial(t, m, "/other")
	if a, b := hear(t, one), hear(t, two); a != "hello 1" || b != "hello 2" {
		t.Errorf("%s, %s", a, b)
	}
	resp, err := http.Post(m.URL()+"/say", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if got := hear(t, one); got != "said" || resp.StatusCode != http.StatusNoContent {
		t.Errorf("%s, %d", got, resp.StatusCode)
	}
	tell(t, two, "to 1")
	if got := hear(t, one); got != "from 2" {
		t.Error(got)
	}
	_, _, err = one.Read(t.Context())
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != 4001 || closed.Reason != "over" {
		t.Errorf("%v", err)
	}
}

// TestDeaf checks that a client which never reads is not read any more, and stalls nobody else.
func TestDeaf(t *testing.T) {
	answer := strings.Repeat("x", 1<<20)
	m, _ := open(t, lineup(`{"party":"A","dir":"sent","kind":"open","label":"GET /ws (upgrade)"}`,
		`{"party":"A","dir":"received","kind":"open","status":101,"to":1}`,
		`{"party":"A","dir":"sent","kind":"frame","type":"text","text":"ask"}`,
		`{"party":"A","dir":"received","kind":"frame","type":"text","text":"`+answer+`"}`))
	deaf, other := dial(t, m, "/ws"), dial(t, m, "/ws")
	other.SetReadLimit(2 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for deaf.Write(ctx, websocket.MessageText, []byte("ask")) == nil {
		}
	}()
	for range 3 {
		tell(t, other, "ask")
		if got := hear(t, other); got != answer {
			t.Errorf("%d bytes", len(got))
		}
	}
	m.mu.Lock()
	for _, c := range m.here {
		if len(c.jobs) > maxJobs {
			t.Errorf("%d wait", len(c.jobs))
		}
	}
	m.mu.Unlock()
	cancel()
	<-flooded
}

// TestPages checks that pages of other origins are let in.
func TestPages(t *testing.T) {
	m, _ := open(t, stream)
	for _, method := range []string{http.MethodOptions, http.MethodPost} {
		r, err := http.NewRequestWithContext(t.Context(), method, m.URL()+"/message", strings.NewReader(`{"type":"ask"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "http://localhost:1")
		if method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", "POST")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode >= 300 || resp.Header.Get("Access-Control-Allow-Origin") != "http://localhost:1" {
			t.Errorf("%s: %d %v", method, resp.StatusCode, resp.Header)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// FuzzOpen checks that no recording makes a mock panic.
func FuzzOpen(f *testing.F) {
	f.Add(socket)
	f.Add(stream)
	f.Add(head + `{"n":1,"at_ms":0,"party":"A","dir":"received","kind":"request","label":"GET /events"}` + "\n" +
		`{"n":2,"at_ms":0,"party":"A 1","dir":"received","kind":"open","label":"/events","to":1}` + "\n")
	f.Fuzz(func(_ *testing.T, text string) {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			return
		}
		m := &Mock{index: map[string][]*act{}, drawn: map[string]bool{}}
		size := 0
		_ = m.readActs(recording.NewClientView(in), "a", 0, &size)
	})
}
