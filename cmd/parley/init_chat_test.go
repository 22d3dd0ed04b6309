package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"parley/target"
)

// messages decodes messages of a server, a line each.
func messages(t *testing.T, lines ...string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, l := range lines {
		out = append(out, decoded(t, l).(map[string]any))
	}
	return out
}

func TestHear(t *testing.T) {
	std := target.DefaultSessionChat
	for _, tt := range []struct {
		name    string
		turn    []string
		want    func(*target.SessionChat)
		words   string
		strange []string
	}{
		{"the default binding", []string{
			`{"message_type":"system","agent_id":"me","session_id":"s1","message":{"subtype":"init"},"timestamp":"2026"}`,
			`{"message_type":"stream","agent_id":"me","session_id":"s1","message":{"text":"ok"},"timestamp":"2026"}`,
			`{"message_type":"assistant","agent_id":"me","session_id":"s1","message":{"role":"assistant","content":"ok"},"timestamp":"2026"}`,
			`{"message_type":"result","agent_id":"me","session_id":"s1","message":{"subtype":"success"},"timestamp":"2026"}`,
		}, func(*target.SessionChat) {}, "system, stream, assistant, result", nil},
		{"another type field, other names, nested ids", []string{
			`{"kind":"init","meta":{"thread":"me","conversation_id":"c9"},"body":{},"time":"now"}`,
			`{"kind":"delta","meta":{"thread":"me","conversation_id":"c9"},"body":{"chunk":"o"},"time":"now"}`,
			`{"kind":"delta","meta":{"thread":"me","conversation_id":"c9"},"body":{"chunk":"k"},"time":"now"}`,
			`{"kind":"answer","meta":{"thread":"me","conversation_id":"c9"},"body":{"content":"ok"},"time":"now"}`,
			`{"kind":"finished","meta":{"thread":"me","conversation_id":"c9"},"body":{"state":"completed"},"time":"now"}`,
		}, func(s *target.SessionChat) {
			f := &s.Fields.Message
			f.Type, f.AgentID, f.SessionID = target.Pointers{"/kind"}, "/meta/thread", "/meta/conversation_id"
			f.Body, f.Timestamp = "/body", "/time"
			f.Text, f.Subtype = "/body/chunk", "/body/state"
			s.Types = map[string]target.Names{"system": {"init"}, "stream": {"delta"}, "assistant": {"answer"}, "result": {"finished"}}
			s.Outcomes = map[string]target.Names{"success": {"completed"}}
		}, "system (init), stream (delta), assistant (answer), result (finished)", nil},
		{"no bodies, and an end that only its place tells", []string{
			`{"type":"delta","agent_id":"me","sessionId":"s1","delta":"ok"}`,
			`{"type":"usage","agent_id":"me","sessionId":"s1","tokens":3}`,
			`{"type":"usage","agent_id":"me","sessionId":"s1","tokens":4}`,
			`{"type":"over_and_out","agent_id":"me","sessionId":"s1"}`,
		}, func(s *target.SessionChat) {
			f := &s.Fields.Message
			f.Type, f.SessionID, f.Body, f.Text = target.Pointers{"/type"}, "/sessionId", "", "/delta"
			s.Types = map[string]target.Names{"stream": {"delta"}, "result": {"over_and_out"}}
		}, "stream (delta), result (over_and_out)", []string{"usage"}},
		{"two names for one type, one of them the default's", []string{
			`{"type":"stream","agent_id":"me","message":{"text":"o"}}`,
			`{"type":"chunk","agent_id":"me","message":{"text":"k"}}`,
			`{"type":"done","agent_id":"me","message":{}}`,
		}, func(s *target.SessionChat) {
			s.Fields.Message.Type = target.Pointers{"/type"}
			s.Types = map[string]target.Names{"stream": {"stream", "chunk"}, "result": {"done"}}
		}, "stream (stream, chunk), result (done)", nil},
		{"no end", []string{`{"type":"assistant","agent_id":"me","message":{"text":"ok"}}`},
			func(s *target.SessionChat) { s.Fields.Message.Type = target.Pointers{"/type"} }, "assistant", nil},
		{"no type", []string{`{"agent_id":"me","text":"ok"}`, `{"agent_id":"me","end":true}`}, func(*target.SessionChat) {}, "", nil},
		{"nothing about the session", []string{`{"type":"error","text":"no"}`},
			func(s *target.SessionChat) {
				s.Fields.Message.Type, s.Fields.Message.Body = target.Pointers{"/type"}, ""
			}, "error", nil},
		{"nothing", nil, func(*target.SessionChat) {}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, want := hear(messages(t, tt.turn...), "me"), std()
			tt.want(&want)
			if diff := cmp.Diff(want, h.wire); diff != "" {
				t.Errorf("wire: - want + got\n%s", diff)
			}
			if h.words() != tt.words {
				t.Errorf("words %q, want %q", h.words(), tt.words)
			}
			if diff := cmp.Diff(tt.strange, h.strange); diff != "" {
				t.Errorf("strange: - want + got\n%s", diff)
			}
		})
	}
}

// TestAside: what answers a ping or nonsense may keep its type elsewhere, and a name means one thing only.
func TestAside(t *testing.T) {
	const usage = `{"kind":"usage","agent_id":"me","body":{}}`
	turn := []string{`{"kind":"done","agent_id":"me","body":{}}`, usage, usage}
	for _, tt := range []struct {
		name, kind, answer string
		types              map[string]target.Names
		at                 target.Pointers
		code               target.Pointer
	}{
		{"the default name", "pong", `{"kind":"pong"}`, nil, target.Pointers{"/kind"}, "/message/code"},
		{"another name", "pong", `{"kind":"yes_i_am"}`,
			map[string]target.Names{"pong": {"yes_i_am"}}, target.Pointers{"/kind"}, "/message/code"},
		{"another place", "error", `{"event":"problem","detail":{"code":"x"}}`,
			map[string]target.Names{"error": {"problem"}}, target.Pointers{"/kind", "/event"}, "/detail/code"},
		{"a name that means something else", "pong", `{"kind":"error"}`, nil, target.Pointers{"/kind"}, "/message/code"},
		{"a name that was there in the turn", "pong", `{"kind":"usage"}`, nil, target.Pointers{"/kind"}, "/message/code"},
		{"no type", "pong", `{"ok":true}`, nil, target.Pointers{"/kind"}, "/message/code"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hear(messages(t, turn...), "me")
			h.aside(messages(t, tt.answer)[0], tt.kind)
			want := map[string]target.Names{"result": {"done"}}
			for k, v := range tt.types {
				want[k] = v
			}
			if diff := cmp.Diff(want, h.wire.Types); diff != "" {
				t.Errorf("types: - want + got\n%s", diff)
			}
			if diff := cmp.Diff(tt.at, h.wire.Fields.Message.Type); diff != "" || h.wire.Fields.Message.Code != tt.code {
				t.Errorf("code at %s, types: - want + got\n%s", h.wire.Fields.Message.Code, diff)
			}
		})
	}
}

// TestChatDraft holds that whatever a server says, the draft is a profile that says what was found out.
func TestChatDraft(t *testing.T) {
	p, err := target.ForURLOf("session-chat", "http://127.0.0.1:3000/base")
	if err != nil {
		t.Fatal(err)
	}
	h := hear(nil, "")
	s := &h.wire
	s.WS.Path = "/a b\"/#ws"
	s.Fields.Message.Type, s.Fields.Message.Body, s.Fields.Message.AgentID = target.Pointers{"/kind", "/a~1b/c"}, "", "/null"
	s.Types = map[string]target.Names{"result": {"done: yes", "*"}, "pong": {"#"}}
	s.Outcomes = map[string]target.Names{"success": {"- ok\n"}}
	nasty := "a\nurl: http://evil\x00\u2028"
	text := chatDraft(p, h, map[string][]string{"path": {nasty}, "types": {nasty}, "unseen": {nasty}, "outcomes": {nasty}})

	got, err := target.Parse([]byte(text), "draft.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p.SessionChat, p.Capabilities = *s, []string{}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("- found + read\n%s\n%s", diff, text)
	}
	for _, key := range []string{"#command:", "#headers:", "#hooks:", "#model:"} {
		if !strings.Contains(text, "\n"+key) {
			t.Errorf("no hint about %s", key)
		}
	}
}

// oddChat is a server with a wire of its own, at a usual path: a greeting, types in "event", no bodies, an end without an
// outcome, and no pings.
func oddChat(w http.ResponseWriter, r *http.Request) {
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
		var m struct{ Type, Agent_ID string }
		_ = json.Unmarshal(data, &m, json.MatchCaseInsensitiveNames(true))
		about := `,"agent_id":"` + m.Agent_ID + `","chat_id":"c1"}`
		if m.Type == "chat" {
			say(`{"event":"token","text":"he"`+about, `{"event":"token","text":"llo"`+about, `{"event":"turn_end"`+about)
			continue
		}
		say(`{"event":"problem","code":"what"}`)
	}
}

func TestInitOfAnOddChat(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(oddChat))
	defer srv.Close()
	var said strings.Builder
	path := filepath.Join(t.TempDir(), "odd.yaml")
	o := initOptions{protocol: "session-chat", out: path}
	if err := initialise(context.Background(), []string{srv.URL}, o, &streams{Out: &said, Err: &said}); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	p, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := target.DefaultSessionChat()
	want.WS.Path = "/ws/chat"
	f := &want.Fields.Message
	f.Type, f.Body, f.SessionID, f.Text, f.Code = target.Pointers{"/event"}, "", "/chat_id", "/text", "/code"
	want.Types = map[string]target.Names{"stream": {"token"}, "result": {"turn_end"}, "error": {"problem"}}
	if diff := cmp.Diff(want, p.SessionChat); diff != "" {
		text, _ := os.ReadFile(path)
		t.Errorf("- want + got\n%s\n%s\n%s", diff, text, said.String())
	}
	for _, line := range []string{
		"WebSocket /chat/ws: HTTP 404", "WebSocket /ws/chat: it opens, and a chat is answered",
		"a turn of 3 messages: stream (token), result (turn_end)",
		"no message bears a time that was recognised", "how a turn has ended is not in the message that ends it",
		"that this is the pong was not recognised",
	} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("%q is not said:\n%s", line, said.String())
		}
	}
}
