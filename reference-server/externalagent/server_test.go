package externalagent

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
)

func TestBooking(t *testing.T) {
	b := start(t, Options{})
	p := b.join(proto.DefaultSession, proto.AgentRole)
	id := p.start()
	if state := p.book(); len(state["messageHistory"].([]any)) != 1 {
		t.Errorf("no receipt: %v", state)
	}
	ended := p.expect(proto.SessionEnded, p.send(proto.SessionEnd, object{"reason": "done"}))
	if ended["logFile"] != "logs/study/"+id+".jsonl" {
		t.Errorf("%v", ended)
	}
	types := logged(t, b.logs, ended["logFile"].(string))
	if types[0] != proto.SessionStart || types[len(types)-1] != proto.SessionEnded {
		t.Errorf("%q", types)
	}
}

// Each relay session has its own messages and state.
func TestSideBySide(t *testing.T) {
	b := start(t, Options{})
	p, q := b.join("one", proto.AgentRole), b.join("two", proto.AgentRole)
	if p.start() == q.start() {
		t.Error("two sessions with one id")
	}
	p.do(proto.Select, object{"itemId": "m1"})
	if selected := q.snapshot()["uiSpec"].(object)["selected"].([]any); len(selected) > 0 {
		t.Errorf("selected: %v", selected)
	}
}

// The study session survives all connections, whichever party disconnects.
func TestReconnect(t *testing.T) {
	b := start(t, Options{})
	p := b.join("a", proto.AgentRole)
	id := p.start()
	p.do(proto.Select, object{"itemId": "m1"})
	_ = p.wire.(socket).CloseNow()
	p = b.join("a", proto.AgentRole)
	if state := p.snapshot(); state["sessionId"] != id || len(state["uiSpec"].(object)["selected"].([]any)) != 1 {
		t.Errorf("%v", state)
	}
}

// A joining host replaces the bundled one, which returns when the other has left.
func TestAnotherHost(t *testing.T) {
	b := start(t, Options{})
	p := b.join("a", proto.AgentRole)
	id := p.start()
	other := b.join("a", proto.HostRole)
	p.send(proto.AgentMessage, object{"text": "who is there?"})
	if got := other.expect(proto.AgentMessage, ""); got["text"] != "who is there?" {
		t.Errorf("%v", got)
	}
	_ = other.wire.(socket).CloseNow()
	_ = p.wire.(socket).CloseNow()
	// Until the relay has noticed both ends, a joining party may still meet the other host.
	for range 1000 {
		p = b.join("a", proto.AgentRole)
		request := p.send(proto.SnapshotGet, object{})
		data, err := p.Read(t.Context())
		if err == nil && strings.Contains(string(data), proto.SnapshotState) {
			if !strings.Contains(string(data), id) || !strings.Contains(string(data), request) {
				t.Errorf("%s", data)
			}
			return
		}
		_ = p.wire.(socket).CloseNow()
	}
	t.Error("the host does not come back")
}

func (b *bench) post(kind, from, body string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+"/say", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if from != "" {
		r.Header.Set("Origin", from)
	}
	return b.answer(r)
}

func (b *bench) get(path string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.answer(r)
}

func (b *bench) answer(r *http.Request) (int, string) {
	b.t.Helper()
	res, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestSay(t *testing.T) {
	b := start(t, Options{})
	const js, hello = "application/json", `{"sessionId":"a b/ü","text":"hello"}`
	status := func(want int, kind, from, body string) {
		t.Helper()
		if got, text := b.post(kind, from, body); got != want {
			t.Errorf("%.80s: want %d, got %d %s", body, want, got, text)
		}
	}
	status(http.StatusConflict, js, "", hello)
	p := b.join("a b/ü", proto.AgentRole)
	status(http.StatusConflict, js, "", hello)
	p.start()
	status(http.StatusOK, js+"; charset=utf-8", b.url, hello)
	if got := p.expect(proto.UserMessage, ""); got["text"] != "hello" || got["stage"] != proto.MovieStage {
		t.Errorf("%v", got)
	}
	p.expect(proto.StateUpdated, "")
	status(http.StatusForbidden, js, "https://example.com", hello)
	status(http.StatusForbidden, js, "null", hello)
	status(http.StatusUnsupportedMediaType, "text/plain", "", hello)
	status(http.StatusUnsupportedMediaType, "", "", hello)
	for _, body := range []string{``, `[]`, `{"sessionId":"a b/ü"}`, `{"SessionId":"a b/ü","text":"x"}`,
		`{"sessionId":"a b/ü","text":7}`,
		`{"sessionId":"a b/ü","text":""}`, `{"sessionId":"a b/ü","text":"` + strings.Repeat("x", 17<<10) + `"}`} {
		status(http.StatusBadRequest, js, "", body)
	}
	status(http.StatusRequestEntityTooLarge, js, "", `{"sessionId":"a b/ü","text":"`+strings.Repeat("x", 64<<10)+`"}`)
	if got := len(p.snapshot()["messageHistory"].([]any)); got != 1 {
		t.Errorf("%d entries", got)
	}
}

func TestSession(t *testing.T) {
	b := start(t, Options{})
	active := func() bool {
		t.Helper()
		_, text := b.get("/session?session=a")
		var answer struct{ Active bool }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return answer.Active
	}
	if active() {
		t.Error("active before anybody joins")
	}
	p := b.join("a", proto.AgentRole)
	p.start()
	if !active() {
		t.Error("not active")
	}
	p.expect(proto.SessionEnded, p.send(proto.SessionEnd, object{"reason": ""}))
	if active() {
		t.Error("active after the end")
	}
}

func TestPage(t *testing.T) {
	b := start(t, Options{})
	for path, want := range map[string]string{
		"/": "<!doctype html>", "/?session=x&lang=zh": "<!doctype html>", "/booking.js": "import ", "/words.js": "电影订票",
		"/style.css": "color-scheme",
		"/health":    `{"status":"ok"}`,
	} {
		if status, text := b.get(path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.100s", path, status, text)
		}
	}
	for _, path := range []string{"/page/index.html", "/index.html/x", "/server.go", "/../host/catalogue.yaml",
		"/x/booking.js"} {
		if status, _ := b.get(path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	res, err := b.http.Get(b.url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if policy := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	// The page loads nothing from other origins.
	for _, name := range []string{"index.html", "booking.js", "words.js", "dom.js", "traffic.js", "style.css"} {
		text, err := page.ReadFile("page/" + name)
		if err != nil || strings.Contains(string(text), "://") || strings.Contains(string(text), "innerHTML") {
			t.Errorf("%s, %v", name, err)
		}
	}
}

// Options make faulty relays and hosts.
func TestSeams(t *testing.T) {
	var asked []string
	b := start(t, Options{Host: func(session string, o host.Options) host.Options {
		asked = append(asked, session)
		o.Outbound = func(_ host.View, msg host.Message, send func(host.Message)) {
			if msg.Type() == proto.StateUpdated {
				msg.Payload()["source"] = "elsewhere"
			}
			send(msg)
		}
		return o
	}})
	p := b.join("a", proto.AgentRole)
	p.expect(proto.SessionStarted, p.send(proto.SessionStart, object{"studyId": "a", "participantId": "b"}))
	if got := p.expect(proto.StateUpdated, ""); got["source"] != "elsewhere" || !slices.Equal(asked, []string{"a"}) {
		t.Errorf("%v, asked %q", got, asked)
	}
}

func TestNewFails(t *testing.T) {
	if _, err := New(Options{Catalogue: t.TempDir() + "/none.yaml"}); err == nil {
		t.Error("no error for no catalogue")
	}
	if _, err := New(Options{Logs: "/dev/null/logs"}); err == nil {
		t.Error("no error for no folder")
	}
}

func BenchmarkBooking(b *testing.B) {
	p := start(b, Options{}).join("a", proto.AgentRole)
	for b.Loop() {
		p.start()
		p.book()
		p.expect(proto.SessionEnded, p.send(proto.SessionEnd, object{"reason": ""}))
	}
}
