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
	"parley/steps/externalagent"
	"parley/steps/externalagent/binding"
	"parley/target"
)

// oddHost is a host in a single relay session for a single agent, at a usual path, with its own tools and places for
// codes.
func oddHost() http.HandlerFunc {
	busy := make(chan struct{}, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws" {
			http.NotFound(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		answers := map[string]string{
			"session.start": `"type":"session.started","payload":{"sessionId":"1"}`,
			"snapshot.get": `"type":"snapshot.state","payload":{"uiSpec":{"films":[]},"messageHistory":[],` +
				`"toolSchema":[{"name":"pick","parameters":{"film":{"type":"string"}}},{"name":"help"}]}`,
			"tool.call":   `"type":"tool.result","payload":{"ok":false,"why":{"code":"UNKNOWN_TOOL"}}`,
			"session.end": `"type":"session.ended","payload":{"logFile":"/var/log/1.jsonl"}`,
		}
		for {
			_, data, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var m struct {
				Type, ID string
				Payload  struct{ SessionID string }
			}
			_ = json.Unmarshal(data, &m, json.MatchCaseInsensitiveNames(true))
			text := answers[m.Type]
			if m.Type == "relay.join" {
				select {
				case busy <- struct{}{}:
					if m.Payload.SessionID == "default" {
						text = `"type":"relay.joined","payload":{}`
						defer func() { <-busy }()
						break
					}
					<-busy
				default:
				}
			}
			if text == "" {
				text = `"type":"error","payload":{"detail":{"name":"INVALID_MESSAGE"}}`
			}
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"v":"mvp-0.2","replyTo":"`+m.ID+`",`+text+`}`))
		}
	}
}

func TestProbeOfAnOddHost(t *testing.T) {
	srv := httptest.NewServer(oddHost())
	defer srv.Close()
	p, said := probetest.Profile(t, externalagent.Protocol{}, srv.URL)
	want := binding.Default()
	want.WS.Path = "/ws"
	want.Fields.ErrorCode, want.Fields.ResultCode = "/payload/detail/name", target.Pointers{"/payload/why/code"}
	want.Booking, want.Provoke.NoActiveSpec = []binding.ToolCall{}, binding.Provocation{}
	if diff := cmp.Diff(&want, binding.Of(p)); diff != "" || p.Role != "host" || len(p.Capabilities) > 0 {
		t.Errorf("%s %v - want + got\n%s\n%s", p.Role, p.Capabilities, diff, said)
	}
	for _, line := range []string{
		"WebSocket /agent/ws: HTTP 404", "WebSocket /ws: it opens, and relay.join is answered by",
		"a host is present: session.start was answered by",
		"in a relay session with a new name, session.start was answered by nothing",
		"tools of the first state: pick, help",
		"the default booking does not begin like this", "a second agent cannot join the same relay session",
		`session.ended names the log "/var/log/1.jsonl"`,
	} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said:\n%s", line, said)
		}
	}
}
