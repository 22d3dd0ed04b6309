package probe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"parley/internal/probetest"
	"parley/steps/sessionchat"
	"parley/steps/sessionchat/binding"
	"parley/target"
)

// oddServer is a server with an unusual wire at a usual path: a greeting, types in "event", no bodies, an end without
// an outcome, and no pings.
func oddServer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ws/chat" {
		http.NotFound(w, r)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	say := func(lines ...string) {
		for _, l := range lines {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(l))
		}
	}
	say(`{"event":"hello"}`)
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var m struct {
			Type  string
			Agent string `json:"agent_id"`
		}
		_ = json.Unmarshal(data, &m, json.MatchCaseInsensitiveNames(true))
		about := `,"agent_id":"` + m.Agent + `","chat_id":"c1"}`
		if m.Type == "chat" {
			say(`{"event":"token","text":"he"`+about, `{"event":"token","text":"llo"`+about, `{"event":"turn_end"`+about)
			continue
		}
		say(`{"event":"problem","code":"what"}`)
	}
}

func TestProbeOfAnOddServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(oddServer))
	defer srv.Close()
	p, said := probetest.Profile(t, sessionchat.Protocol{}, srv.URL)
	want := binding.Default()
	want.WS.Path = "/ws/chat"
	f := &want.Fields.Message
	f.Type, f.Body, f.SessionID, f.Text, f.Code = target.Pointers{"/event"}, "", "/chat_id", "/text", "/code"
	want.Types = map[string]target.Names{"stream": {"token"}, "result": {"turn_end"}, "error": {"problem"}}
	if diff := cmp.Diff(&want, binding.Of(p)); diff != "" {
		t.Errorf("- want + got\n%s\n%s", diff, said)
	}
	for _, line := range []string{
		"WebSocket /chat/ws: HTTP 404", "WebSocket /ws/chat: it opens, and a chat is answered",
		"a turn of 3 messages: stream (token), result (turn_end)",
		"no timestamp was recognised in a message", "the message that ends a turn does not say how it ended",
		"the answer was not recognised as a pong",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said:\n%s", line, said)
		}
	}
}
