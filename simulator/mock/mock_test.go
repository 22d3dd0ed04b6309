package mock

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"parley/protocol/messages"
	"parley/simulator/replay"
	"parley/transport/recording"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

//go:embed testdata/socket.jsonl
var socket string

//go:embed testdata/stream.jsonl
var stream string

const head = `{"parley":"recording","version":1,"protocol":"p"}` + "\n"

// open serves recordings; unknown returns what was never shown so far.
func open(t *testing.T, texts ...string) (m *Mock, unknown func() string) {
	t.Helper()
	var all []Recording
	for i, text := range texts {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Recording{fmt.Sprint(i, ".jsonl"), in})
	}
	var mu sync.Mutex
	var said strings.Builder
	m, err := Open(Options{Unknown: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(s + "\n")
	}}, all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}
}

// TestReplays checks that a client who does the same gets the same answers, twice, over both transports.
func TestReplays(t *testing.T) {
	m, unknown := open(t, socket, stream)
	for _, text := range []string{socket, stream, socket, stream} {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		result, err := replay.PlayClient(t.Context(), in, replay.Options{URL: m.URL(),
			Differs: func(d replay.Difference) { t.Error(d) }})
		if err != nil || result.Compared < 4 || result.Differences > 0 {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if said := unknown(); said != "" {
		t.Error(said)
	}
}

// TestOrder checks that messages are matched by content, ids of the client are echoed, and what no recording shows gets
// no answer.
func TestOrder(t *testing.T) {
	m, unknown := open(t, socket)
	c, _, err := websocket.Dial(t.Context(), m.URL()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for _, row := range []struct{ send, want string }{
		{"", `{"type":"hello","id":"c_1A2B3C4D5E"}`},
		{`{"type":"ask","of":"blue"}`, `{"type":"told","is":"cold"}`},
		{`{"type":"ask","of":"green"}`, ""},
		{`{"type":"ask","of":"red","req":"req-99ff88ee77"}`, `{"type":"told","is":"warm","req":"req-99ff88ee77"}`},
		{`{"type":"ask","of":"blue"}`, `{"type":"told","is":"cold"}`},
	} {
		if row.send != "" {
			if err := c.Write(t.Context(), websocket.MessageText, []byte(row.send)); err != nil {
				t.Fatal(err)
			}
		}
		if row.want == "" {
			continue
		}
		if _, got, err := c.Read(t.Context()); err != nil || string(got) != row.want {
			t.Fatalf("%s: %s, %v", row.send, got, err)
		}
	}
	if said := unknown(); strings.Count(said, "\n") != 1 || !strings.Contains(said, `"of":"green"`) {
		t.Error(said)
	}
}

// TestUnknownRequest checks that a request which no recording shows is refused with the reason.
func TestUnknownRequest(t *testing.T) {
	m, unknown := open(t, stream)
	for body, status := range map[string]int{`{"type":"ask"}`: 200, `{"type":"other"}`: 501} {
		resp, err := http.Post(m.URL()+"/message", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != status ||
			bytes.HasPrefix(text, []byte("never shown: POST /message other")) != (status == 501) {
			t.Errorf("%s: %d %s %v", body, resp.StatusCode, text, err)
		}
	}
	if !strings.HasPrefix(unknown(), "never shown: ") {
		t.Error(unknown())
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestRefuses checks that what cannot be served is refused.
func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{head: "a.jsonl: there is no connection or request",
		`{"parley":"recording","version":1,"driver":"stdio"}` + "\n": "a.jsonl: it was recorded over stdio"} {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Open(Options{}, Recording{"a.jsonl", in}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
	}
	if _, err := Open(Options{}); err == nil || err.Error() != "there is no recording" {
		t.Error(err)
	}
}

// TestStreamUnasked checks that a client gets the recorded stream whether it asks for an event stream or not, also
// where the recorded client did not; and that a page at the same address stays one.
func TestStreamUnasked(t *testing.T) {
	m, unknown := open(t, head+`{"n":1,"at_ms":0,"dir":"sent","kind":"request","label":"GET /events"}
{"n":2,"at_ms":0,"party":"A","dir":"received","kind":"open","label":"stream","status":200,"to":1}
{"n":3,"at_ms":0,"party":"A","dir":"received","kind":"event","label":"message","type":"message","text":"{\"a\":1}"}
{"n":4,"at_ms":0,"dir":"sent","kind":"request","label":"GET /page"}
{"n":5,"at_ms":0,"dir":"received","kind":"response","status":200,"type":"text/html","text":"hello","to":4}
`)
	for _, accept := range []string{"", "*/*", "text/event-stream"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL()+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len(`data: {"a":1}`))
		_, err = io.ReadFull(res.Body, line)
		_ = res.Body.Close()
		if err != nil || string(line) != `data: {"a":1}` {
			t.Errorf("Accept %q: %s, %q, %v", accept, res.Status, line, err)
		}
	}
	res, err := http.Get(m.URL() + "/page")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || string(text) != "hello" || unknown() != "" {
		t.Errorf("%q, %v; %s", text, err, unknown())
	}
}

// TestClientID: a client that draws the id of its conversation anew is answered under that, be it long or short.
func TestClientID(t *testing.T) {
	const recorded = `{"parley":"recording","version":1,"protocol":"session-chat"}
{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /chat/ws (upgrade)"}
{"n":2,"at_ms":1,"party":"A","dir":"received","kind":"open","label":"socket","status":101,"to":1}
{"n":3,"at_ms":2,"party":"A","dir":"sent","kind":"frame","type":"text","text":` +
		`"{\"type\":\"chat\",\"agent_id\":\"a1\",\"content\":\"hi\"}"}
{"n":4,"at_ms":3,"party":"A","dir":"received","kind":"frame","type":"text","text":` +
		`"{\"message_type\":\"result\",\"agent_id\":\"a1\",\"session_id\":\"s1\",\"message\":{\"subtype\":\"success\"}}"}
`
	for _, id := range []string{"a1", "b7", "6f1c2d3e-4b5a-4c6d-8e9f-001122334455"} {
		in, err := recording.NewReader(strings.NewReader(recorded))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Open(Options{Messages: messages.For("session-chat"), Unknown: func(what string) { t.Error(what) }},
			Recording{"chat.jsonl", in})
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := websocket.Dial(t.Context(), m.URL()+"/chat/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := fmt.Sprintf(`{"type":"chat","agent_id":%q,"content":"hi"}`, id)
		if err := c.Write(t.Context(), websocket.MessageText, []byte(asked)); err != nil {
			t.Fatal(err)
		}
		_, got, err := c.Read(t.Context())
		if want := fmt.Sprintf(`"agent_id":%q`, id); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s, %v: want %s", got, err, want)
		}
		_ = c.CloseNow()
		m.Close()
	}
}

// TestSpeed checks that answers and messages come as long after what they follow as recorded, divided by the speed.
func TestSpeed(t *testing.T) {
	text := head + `{"n":1,"at_ms":5000,"party":"A","dir":"sent","kind":"open","label":"GET /events"}
{"n":2,"at_ms":5000,"party":"A","dir":"received","kind":"open","status":200,"type":"text/event-stream","to":1}
{"n":3,"at_ms":5400,"party":"A","dir":"received","kind":"event","type":"message","id":"e7","text":"hi"}
{"n":4,"at_ms":6000,"party":"A","dir":"sent","kind":"request","label":"GET /a"}
{"n":5,"at_ms":6600,"party":"A","dir":"received","kind":"response","status":200,"text":"yes","to":4}
`
	in, err := recording.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(Options{Speed: 4, Unknown: func(s string) { t.Error(s) }}, Recording{"a.jsonl", in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	for _, c := range []struct {
		path, accept, want string
		least              time.Duration
	}{
		{"/events", "text/event-stream", "id: e7\ndata: hi", 100 * time.Millisecond},
		{"/a", "", "yes", 150 * time.Millisecond},
	} {
		began := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", c.accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for got := []byte{}; !bytes.Contains(got, []byte(c.want)); {
			some := make([]byte, 99)
			n, err := resp.Body.Read(some)
			if got = append(got, some[:n]...); err != nil && !bytes.Contains(got, []byte(c.want)) {
				t.Fatalf("%s: %q, %v", c.path, got, err)
			}
		}
		if took := time.Since(began); took < c.least {
			t.Errorf("%s took %s, less than %s", c.path, took, c.least)
		}
		_ = resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
}
