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

func TestParametersForm(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "none",
		`{"type":"object","properties":{"a":{"type":"string"}}}`: "JSON Schema",
		`{"properties":{}}`: "JSON Schema",
		`{"type":"object"}`: "JSON Schema",
		`{"type":{"type":"string"},"a":{"type":"number","optional":true}}`: "a flat map",
		`{}`:             "a flat map",
		`{"a":"string"}`: "neither a JSON Schema nor a flat map",
		`["a"]`:          "neither a JSON Schema nor a flat map",
	} {
		if got := parametersForm(decoded(t, text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestBookingDraft holds that whatever a target says, the draft is a profile that says what was found out.
func TestBookingDraft(t *testing.T) {
	nasty := []string{"a\nurl: http://evil\x00\u2028"}
	seen := map[string][]string{"path": nasty, "role": nasty, "session": nasty, "two": nasty, "fields": nasty, "booking": nasty,
		"logs": nasty, "unseen": nasty, "agent": nasty, "reconnect": nasty}
	for name, change := range map[string]func(*target.Profile){
		"a usual host": func(*target.Profile) {},
		"an odd host": func(p *target.Profile) {
			e := &p.ExternalAgent
			e.WS.Path, e.Session = "/a b\"/#ws", "s-{nonce}"
			e.Fields.ErrorCode, e.Fields.ResultCode = "/payload/null", target.Pointers{"/a~1b/c", "/code"}
			e.Booking, e.Provoke = nil, target.Provocations{}
			p.Capabilities = []string{target.RelaySessions, target.TwoAgents}
		},
		"a relay": func(p *target.Profile) { p.Role, p.ExternalAgent.HostRole = "relay", "front: end" },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := target.ForURLOf("external-agent", "http://127.0.0.1:3000/base")
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = []string{}
			change(p)
			text := bookingDraft(p, seen)
			got, err := target.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(got.ExternalAgent.Booking) == 0 {
				got.ExternalAgent.Booking = nil
			}
			if diff := cmp.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
			for _, key := range []string{"#command:", "#headers:", "#hooks:"} {
				if !strings.Contains(text, "\n"+key) {
					t.Errorf("no hint about %s", key)
				}
			}
		})
	}
	for name, change := range map[string]func(*target.Profile){
		"an agent that is started":    func(p *target.Profile) { p.Command = &target.Command{Run: []string{"./my agent", "{url}", "a\"b: c"}} },
		"one that connects by itself": func(p *target.Profile) { p.ExternalAgent.Agent.Listen = "127.0.0.1:8080" },
	} {
		t.Run(name, func(t *testing.T) {
			p := target.DefaultFor("external-agent")
			p.Name, p.Role, p.Capabilities = "my: agent", "agent", []string{target.Reconnect}
			change(p)
			text := agentDraft(p, "/a/b/out.yaml", "/a/c", seen)
			got, err := target.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if c := got.Command; c != nil {
				if c.Dir != "../c" || p.Command == nil {
					t.Errorf("a command in %q", c.Dir)
				}
				p.Command.Dir, p.Command.Ready, p.Command.Stop = c.Dir, c.Ready, c.Stop
			}
			if diff := cmp.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
		})
	}
}

// oddBooking is a host in one relay session alone, where one agent alone may be, at a usual path, with tools and codes of its own.
func oddBooking() http.HandlerFunc {
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

func TestInitOfAnOddHost(t *testing.T) {
	srv := httptest.NewServer(oddBooking())
	defer srv.Close()
	var said strings.Builder
	path := filepath.Join(t.TempDir(), "odd.yaml")
	o := initOptions{protocol: "external-agent", out: path}
	if err := initialise(context.Background(), []string{srv.URL}, o, &streams{Out: &said, Err: &said}); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	p, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := target.DefaultExternalAgent()
	want.WS.Path = "/ws"
	want.Fields.ErrorCode, want.Fields.ResultCode = "/payload/detail/name", target.Pointers{"/payload/why/code"}
	want.Booking, want.Provoke = []target.ToolCall{}, target.Provocations{}
	if diff := cmp.Diff(want, p.ExternalAgent); diff != "" || p.Role != "host" || len(p.Capabilities) > 0 {
		text, _ := os.ReadFile(path)
		t.Errorf("%s %v - want + got\n%s\n%s\n%s", p.Role, p.Capabilities, diff, text, said.String())
	}
	for _, line := range []string{
		"WebSocket /agent/ws: HTTP 404", "WebSocket /ws: it opens, and relay.join is answered by",
		"a host is there: session.start was answered by", "in a relay session of a new name session.start was answered by nothing",
		"tools of the first state: pick, help", "parameters of 1 tool: a flat map", "parameters of 1 tool: none",
		"the default booking does not begin like that", "a second agent cannot join the same relay session",
		`session.ended names the log "/var/log/1.jsonl"`,
	} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("%q is not said:\n%s", line, said.String())
		}
	}
}
