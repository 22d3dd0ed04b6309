package probe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/profiletest"
	"parley/steps/probe"
	"parley/steps/sessionchat/binding"
	"parley/target"
)

var kinds = target.Kinds{binding.Kind()}

// messages decodes a server's messages, one per line.
func messages(t *testing.T, lines ...string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, l := range lines {
		out = append(out, probe.Object([]byte(l)))
	}
	return out
}

var turns = []struct {
	name    string
	turn    []string
	want    func(*binding.Binding)
	words   string
	strange []string
}{
	{"the default binding", []string{
		`{"message_type":"system","agent_id":"me","session_id":"s1","message":{"subtype":"init"},"timestamp":"2026"}`,
		`{"message_type":"stream","agent_id":"me","session_id":"s1","message":{"text":"ok"},"timestamp":"2026"}`,
		`{"message_type":"assistant","agent_id":"me","session_id":"s1","message":{"role":"assistant","content":"ok"},` +
			`"timestamp":"2026"}`,
		`{"message_type":"result","agent_id":"me","session_id":"s1","message":{"subtype":"success"},"timestamp":"2026"}`,
	}, func(*binding.Binding) {}, "system, stream, assistant, result", nil},
	{"another type field, other names, nested ids", []string{
		`{"kind":"init","meta":{"thread":"me","conversation_id":"c9"},"body":{},"time":"now"}`,
		`{"kind":"delta","meta":{"thread":"me","conversation_id":"c9"},"body":{"chunk":"o"},"time":"now"}`,
		`{"kind":"delta","meta":{"thread":"me","conversation_id":"c9"},"body":{"chunk":"k"},"time":"now"}`,
		`{"kind":"answer","meta":{"thread":"me","conversation_id":"c9"},"body":{"content":"ok"},"time":"now"}`,
		`{"kind":"finished","meta":{"thread":"me","conversation_id":"c9"},"body":{"state":"completed"},"time":"now"}`,
	}, func(s *binding.Binding) {
		f := &s.Fields.Message
		f.Type, f.AgentID, f.SessionID = target.Pointers{"/kind"}, "/meta/thread", "/meta/conversation_id"
		f.Body, f.Timestamp = "/body", "/time"
		f.Text, f.Subtype = "/body/chunk", "/body/state"
		s.Types = map[string]target.Names{"system": {"init"}, "stream": {"delta"}, "assistant": {"answer"},
			"result": {"finished"}}
		s.Outcomes = map[string]target.Names{"success": {"completed"}}
	}, "system (init), stream (delta), assistant (answer), result (finished)", nil},
	{"no bodies, and an end that only its place tells", []string{
		`{"type":"delta","agent_id":"me","sessionId":"s1","delta":"ok"}`,
		`{"type":"usage","agent_id":"me","sessionId":"s1","tokens":3}`,
		`{"type":"usage","agent_id":"me","sessionId":"s1","tokens":4}`,
		`{"type":"over_and_out","agent_id":"me","sessionId":"s1"}`,
	}, func(s *binding.Binding) {
		f := &s.Fields.Message
		f.Type, f.SessionID, f.Body, f.Text = target.Pointers{"/type"}, "/sessionId", "", "/delta"
		s.Types = map[string]target.Names{"stream": {"delta"}, "result": {"over_and_out"}}
	}, "stream (delta), result (over_and_out)", []string{"usage"}},
	{"two names for one type, one of them the default's", []string{
		`{"type":"stream","agent_id":"me","message":{"text":"o"}}`,
		`{"type":"chunk","agent_id":"me","message":{"text":"k"}}`,
		`{"type":"done","agent_id":"me","message":{}}`,
	}, func(s *binding.Binding) {
		s.Fields.Message.Type = target.Pointers{"/type"}
		s.Types = map[string]target.Names{"stream": {"stream", "chunk"}, "result": {"done"}}
	}, "stream (stream, chunk), result (done)", nil},
	{"no end", []string{`{"type":"assistant","agent_id":"me","message":{"text":"ok"}}`},
		func(s *binding.Binding) { s.Fields.Message.Type = target.Pointers{"/type"} }, "assistant", nil},
	{"no type", []string{`{"agent_id":"me","text":"ok"}`, `{"agent_id":"me","end":true}`}, func(*binding.Binding) {},
		"", nil},
	{"nothing about the session", []string{`{"type":"error","text":"no"}`},
		func(s *binding.Binding) {
			s.Fields.Message.Type, s.Fields.Message.Body = target.Pointers{"/type"}, ""
		}, "error", nil},
	{"nothing", nil, func(*binding.Binding) {}, "", nil},
}

func TestReadTurn(t *testing.T) {
	std := binding.Default
	for _, tt := range turns {
		t.Run(tt.name, func(t *testing.T) {
			h, want := readTurn(messages(t, tt.turn...), "me"), std()
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

// TestAside checks that a reply to a ping or to nonsense may keep its type elsewhere, and that a name has only one
// meaning.
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
			h := readTurn(messages(t, turn...), "me")
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

// TestDraft checks that for any server the draft is a valid profile with the findings.
func TestDraft(t *testing.T) {
	p, err := binding.Kind().ForURL("http://127.0.0.1:3000/base")
	if err != nil {
		t.Fatal(err)
	}
	h := readTurn(nil, "")
	s := &h.wire
	s.WS.Path = "/a b\"/#ws"
	s.Fields.Message.Type, s.Fields.Message.Body, s.Fields.Message.AgentID = target.Pointers{"/kind", "/a~1b/c"}, "",
		"/null"
	s.Types = map[string]target.Names{"result": {"done: yes", "*"}, "pong": {"#"}}
	s.Outcomes = map[string]target.Names{"success": {"- ok\n"}}
	nasty := "a\nurl: http://evil\x00\u2028"
	session := probe.NewSession(nil, p, nil)
	for _, key := range []string{"path", "types", "unseen", "outcomes"} {
		session.Seen[key] = []string{nasty}
	}
	text := draft(session, h)

	got, err := kinds.Parse([]byte(text), "draft.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	*binding.Of(p), p.Capabilities = *s, []string{}
	if diff := profiletest.Diff(p, got); diff != "" {
		t.Errorf("- found + read\n%s\n%s", diff, text)
	}
	for _, key := range []string{"#command:", "#headers:", "#hooks:", "#model:"} {
		if !strings.Contains(text, "\n"+key) {
			t.Errorf("no hint about %s", key)
		}
	}
}

// TestErrorText checks that what an error says is found wherever servers put it.
func TestErrorText(t *testing.T) {
	for msg, want := range map[string]string{
		`{"type":"error","message":{"error":"fetch failed"}}`:                  "fetch failed",
		`{"type":"error","error":{"code":500,"message":"no key"}}`:             "no key",
		`{"type":"error","message":{"code":"model_failed","text":"too late"}}`: "too late",
		`{"type":"error","message":"down"}`:                                    "down",
		`{"type":"error"}`:                                                     `{"type":"error"}`,
	} {
		if got := ErrorText(messages(t, msg)[0]); got != want {
			t.Errorf("%s: %q, want %q", msg, got, want)
		}
	}
}
