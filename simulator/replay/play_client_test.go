package replay

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/protocol/messages"
)

// streaming is a server with an event stream that says what texts are, and answers requests.
func streaming(t *testing.T, texts ...string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok":true}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range texts {
			fmt.Fprintf(w, "data: %s\n\n", text)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// stream is a recording of a stream's events, which ends after as many milliseconds of silence.
func stream(silence int, closed bool, texts ...string) string {
	var b strings.Builder
	b.WriteString(head + `{"n":1,"at_ms":0,"party":"A","dir":"sent","kind":"open","label":"GET /events"}` + "\n" +
		`{"n":2,"at_ms":0,"party":"A","dir":"received","kind":"open","status":200,"type":"text/event-stream","to":1}` + "\n")
	for n, text := range texts {
		fmt.Fprintf(&b, `{"n":%d,"at_ms":0,"party":"A","dir":"received","kind":"event","type":"message","text":%q}`+"\n",
			n+3, text)
	}
	if closed {
		fmt.Fprintf(&b, `{"n":%d,"at_ms":%d,"party":"A","dir":"received","kind":"closed","label":"closed by the harness"}`+
			"\n", len(texts)+3, silence)
	}
	return b.String()
}

// TestSilence checks that what comes behind the end is a difference where the recording shows silence, and only there.
func TestSilence(t *testing.T) {
	url := streaming(t, `{"type":"a"}`, `{"type":"b"}`)
	o := Options{Quiet: 100 * time.Millisecond}
	for _, c := range []struct {
		reason              string
		text                string
		differences, behind int
	}{
		{"closed at once", stream(1, true, `{"type":"a"}`), 0, -1}, // it may come before the end or not
		{"closed after silence", stream(200, true, `{"type":"a"}`), 1, 0},
		{"the recording ends", stream(0, false, `{"type":"a"}`), 0, 1},
		{"all was recorded", stream(200, true, `{"type":"a"}`, `{"type":"b"}`), 0, 0},
	} {
		p := against(t, c.text, url, o)
		if p.err != nil || p.result.Differences != c.differences || c.behind >= 0 && p.result.Behind != c.behind {
			t.Errorf("%s: %+v", c.reason, p)
		}
	}
}

// TestPieces checks that a model may answer in more or fewer pieces, and not in none.
func TestPieces(t *testing.T) {
	piece := func(text string) string {
		return fmt.Sprintf(`{"message_type":"stream","agent_id":"a","session_id":"1","message":{"text":%q}}`, text)
	}
	const end = `{"message_type":"result","agent_id":"a","session_id":"1","message":{"subtype":"success"}}`
	for _, c := range []struct {
		reason         string
		recorded, came []string
		words          bool
		differences    int
	}{
		{"more", []string{piece("a"), end}, []string{piece("b"), piece("c"), piece("d"), end}, false, 0},
		{"fewer", []string{piece("a"), piece("b"), piece("c"), end}, []string{piece("d"), end}, false, 0},
		{"none", []string{piece("a"), end}, []string{end}, false, 1},
		{"some where none were", []string{end}, []string{piece("a"), end}, false, 1},
		{"as many are wanted", []string{piece("a"), end}, []string{piece("a"), piece("a"), end}, true, 1},
		{"no end", []string{piece("a"), end}, []string{piece("b"), piece("c")}, false, 1},
	} {
		p := against(t, stream(0, false, c.recorded...), streaming(t, c.came...), Options{Words: c.words,
			Messages: messages.For("session-chat"), Within: 2 * time.Second})
		if p.err != nil || p.result.Differences != c.differences {
			t.Errorf("%s: %+v", c.reason, p)
		}
	}
}

// TestGone checks that a server that is gone is not waited for again and again.
func TestGone(t *testing.T) {
	lines := []string{`{"party":"A","dir":"sent","kind":"open","label":"GET ws://then/ws (upgrade)"}`,
		`{"party":"A","dir":"received","kind":"open","status":101,"to":1}`}
	for range 50 {
		lines = append(lines, `{"party":"A","dir":"sent","kind":"frame","type":"text","text":"a"}`,
			`{"party":"A","dir":"received","kind":"frame","type":"text","text":"b"}`)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_, _, _ = c.Read(r.Context())
		_ = c.CloseNow()
	}))
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	result, err := PlayClient(ctx, reader(t, lineup(lines...)), Options{URL: web.URL, Within: time.Minute})
	if err != nil || result.Differences < 50 {
		t.Errorf("%+v, %v", result, err)
	}
	url, done := serving(t, lineup(lines...), Options{Within: 100 * time.Millisecond, Quiet: time.Millisecond})
	c, _, err := websocket.Dial(ctx, url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.CloseNow()
	if p := <-done; p.err != nil || p.result.Differences < 50 {
		t.Errorf("%+v", p.result)
	}
}

// TestBurst checks that nothing is lost of what comes faster than it is compared.
func TestBurst(t *testing.T) {
	var texts []string
	for n := range 3 * maxWaiting {
		texts = append(texts, fmt.Sprintf(`{"type":"a","n":%d}`, n))
	}
	p := against(t, stream(0, true, texts...), streaming(t, texts...), Options{})
	if p.err != nil || len(p.said) > 0 || p.result.Compared != len(texts)+1 || p.result.Behind > 0 {
		t.Errorf("%+v", p)
	}
}

// TestRequests checks that requests need no connection, and that nobody at the address is said to be nobody.
func TestRequests(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"request","label":"POST /x chat","text":"{}"}`,
		`{"dir":"received","kind":"response","status":200,"type":"application/json","text":"{\"ok\":true}","to":1}`)
	if p := against(t, text, streaming(t), Options{}); p.err != nil || p.result.Compared != 1 || len(p.said) > 0 {
		t.Errorf("%+v", p)
	}
	p := against(t, text, "http://127.0.0.1:1", Options{Within: time.Second})
	if p.err == nil || !strings.Contains(p.err.Error(), ErrUnreachable.Error()) {
		t.Errorf("%+v", p)
	}
}

// TestAtServer checks that a recording that was made at the server's end is played as well.
func TestAtServer(t *testing.T) {
	const text = head + `{"n":1,"at_ms":0,"party":"A","dir":"received","kind":"request","label":"GET /events"}
{"n":2,"at_ms":0,"party":"A 1","dir":"received","kind":"open","label":"/events","to":1}
{"n":3,"at_ms":0,"party":"A 1","dir":"sent","kind":"open","label":"200","status":200,"type":"text/event-stream"}
{"n":4,"at_ms":0,"party":"A 1","dir":"sent","kind":"event","label":"a","text":"data: {\"type\":\"a\"}\n\n"}
{"n":5,"at_ms":0,"party":"A","dir":"received","kind":"request","label":"POST /x","text":"{}"}
{"n":6,"at_ms":0,"party":"A","dir":"sent","kind":"response","status":200,"type":"application/json","to":5,"text":"` +
		`{\"ok\":true}"}
{"n":7,"at_ms":1,"party":"A 1","dir":"received","kind":"closed","label":"the target has closed the stream"}
`
	p := against(t, text, streaming(t, `{"type":"a"}`), Options{})
	if p.err != nil || len(p.said) > 0 || p.result.Sent != 2 || p.result.Compared != 3 {
		t.Errorf("%+v", p)
	}
	url, done := serving(t, text, Options{})
	if p := against(t, text, url, Options{}); p.err != nil || len(p.said) > 0 || p.result.Compared != 3 {
		t.Errorf("client: %+v", p)
	}
	if p := <-done; p.err != nil || len(p.said) > 0 || p.result.Compared != 2 {
		t.Errorf("server: %+v", p)
	}
}
