package console

import (
	"regexp"
	"strings"
	"testing"

	"parley/internal/script"
	"parley/transport/transcript"
)

// TestSaveScript: the script of a test with a bundled target answers the tester's messages as the target did.
func TestSaveScript(t *testing.T) {
	c, _ := serve(t, newFake().offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "ws"})
	at := "/sessions/" + s.ID
	c.wantRefusal(409, "GET", at+"/script", nil, "nothing to answer")
	for _, text := range []string{"client A is connected", "client A has a session", `client A switches to "debugger"`,
		`client A is switched from "general" to "debugger"`} {
		if j := do[Judged](c, 200, "POST", at+"/steps", m{"text": text}); j.Status != "passed" {
			t.Fatalf("%s: %+v", text, j)
		}
	}
	text := do[string](c, 200, "GET", at+"/script?name=as%20seen", nil)
	sc, err := script.Parse("saved", []byte(text))
	if err != nil || sc.Name != "as seen" || sc.As != "server" || sc.Protocol != "agent-select" {
		t.Fatalf("%v %+v\n%s", err, sc, text)
	}
	e := sc.Engine(script.EngineOptions{})
	want, got := []string{}, []string{}
	take := func(m script.Message) {
		actions, matched := e.On(m)
		if !matched || len(e.Trace().Failed) > 0 {
			t.Errorf("%s %s: %+v", m.Kind, m.Body, e.Trace())
		}
		for _, a := range actions {
			got = append(got, string(a.Body))
		}
	}
	take(script.Message{Party: "C1", Kind: "open", Path: "/agents/ws"})
	for _, r := range do[[]Record](c, 200, "GET", at+"/records", nil) {
		switch {
		case r.Kind != string(transcript.Frame):
		case r.Dir == string(transcript.Received):
			want = append(want, *r.Text)
		default:
			take(script.Message{Party: "C1", Kind: "message", Type: r.Type, Body: []byte(*r.Text)})
		}
	}
	now := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`) // the script answers with its own time
	timeless := func(lines []string) string { return now.ReplaceAllString(strings.Join(lines, "\n"), "now") }
	if w, g := timeless(want), timeless(got); w != g || len(want) < 3 {
		t.Errorf("got\n%s\nwant\n%s\nby\n%s", g, w, text)
	}
	if _, matched := e.On(script.Message{Kind: "message", Type: "no_such_type"}); matched {
		t.Error("another message is answered")
	}
}

// TestSaveScriptPlay: in the script of a play, an HTTP answer belongs to its request; bytes that no script can send are
// refused.
func TestSaveScriptPlay(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p", "as": "server"}).ID
	in, out := transcript.Received, transcript.Sent
	for _, r := range []transcript.Record{
		{Conn: "C1", Dir: in, Kind: transcript.Open, Label: "GET /ws (upgrade)"},
		{Conn: "C1", Dir: out, Kind: transcript.Open, Label: "socket", Status: 101, Reply: 1},
		{Dir: in, Kind: transcript.Request, Label: "POST /message", Bytes: []byte(`{"type":"a"}`)},
		{Conn: "C1", Dir: out, Kind: transcript.Frame, Type: "text", Bytes: []byte(`{"type":"b"}`)},
		{Dir: out, Kind: transcript.Response, Status: 202, Type: "text/plain", Reply: 3, Bytes: []byte("ok")},
	} {
		f.t.Append(r)
	}
	text := do[string](c, 200, "GET", at+"/script", nil)
	for _, want := range []string{`request: "POST /message"`, `respond: 202, body: "ok"`, `to: "C1"`, `open: "/ws"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	f.t.Append(transcript.Record{Conn: "C1", Dir: out, Kind: transcript.Frame, Bytes: []byte("\xff")})
	c.wantRefusal(409, "GET", at+"/script", nil, "not UTF-8")
}
