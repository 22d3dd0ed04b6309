package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley/target"
)

// TestOverhear reads what is published about an input with the token #1-x, in the session s, where the agent a is active.
func TestOverhear(t *testing.T) {
	std := target.DefaultSessionRuntime
	for _, tt := range []struct {
		reason    string
		published []string
		want      func(*target.SessionRuntime) // nil: it was not routed
		unseen    string
	}{
		{"the default binding", []string{
			`{"id":"1","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"AGENT","target_id":"a","payload":"#1-x","timestamp":"now","metadata":{"trace_id":"r","turn_id":"t"}}`,
			`{"id":"2","session_id":"s","event":"EVENT","subtype":"TURN_ACCEPTED","sender":"session","target":"FRONTEND","payload":{"target_agent":"a","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
		}, func(*target.SessionRuntime) {}, ""},
		{"told first, as a CONTROL, ids in the payload, an odd name", []string{
			`{"id":"2","session_id":"s","event":"CONTROL","subtype":"QUEUED","sender":"runtime","target":"FRONTEND","payload":{"target_agent":"a","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
			`{"id":"1","session_id":"s","event":"USER_INPUT","sender":"frontend","target":"AGENT","target_id":"a","payload":{"text":"#1-x","trace_id":"r","turn_id":"t"},"timestamp":"now","metadata":{}}`,
		}, func(s *target.SessionRuntime) {
			s.Senders.Session = "runtime"
			s.Subtypes["TURN_ACCEPTED"] = target.Names{"QUEUED"}
		}, ""},
		{"other names everywhere, in camel case", []string{
			`{"msgId":"1","sid":"s","kind":"user.input","src":"frontend","to":"agents","toId":"a","data":"#1-x","ts":1,"meta":{"traceId":"r","turnId":"t"}}`,
			`{"msgId":"2","sid":"s","kind":"event","action":"turn.accepted","src":"core","to":"ui","data":{"targetAgent":"a"},"ts":1,"meta":{"traceId":"r","turnId":"t"}}`,
		}, func(s *target.SessionRuntime) {
			f := &s.Fields
			*f = target.RuntimeFields{
				ID: "/msgId", Session: "/sid", Event: "/kind", Subtype: target.Pointers{"/action"}, Sender: "/src", Target: "/to", TargetID: "/toId",
				Payload: "/data", Timestamp: "/ts", Metadata: "/meta", TraceID: target.Pointers{"/meta/traceId"}, TurnID: target.Pointers{"/meta/turnId"},
				TxID: target.Pointers{"/meta/txId", "/data/txId"}, IsChunk: "/meta/stream/isChunk", Seq: "/meta/stream/seq", Final: "/meta/stream/final",
				TargetAgent: target.Pointers{"/data/targetAgent"}, AgentID: target.Pointers{"/data/agentId", "/data/agent/agentId", "/data/agent/id",
					"/data/agentSpec/agentId", "/data/agentSpec/id", "/meta/agentId"},
				Code: target.Pointers{"/data/code"}, From: target.Pointers{"/data/from"}, To: target.Pointers{"/data/to"},
				Reason: target.Pointers{"/data/reason"}, Trigger: target.Pointers{"/data/trigger"},
				Mention: target.Pointers{"/meta/mentionedAgentId", "/meta/targetAgentId"},
			}
			s.Senders.Session = "core"
			s.Events = map[string]target.Names{"USER_INPUT": {"user.input"}, "EVENT": {"event"}}
			s.Subtypes["TURN_ACCEPTED"] = target.Names{"turn.accepted"}
			s.Targets = map[string]target.Names{"AGENT": {"agents"}, "FRONTEND": {"ui"}}
		}, ""},
		{"beside a note for the log, and the frontend is told nothing", []string{
			`{"session_id":"s","event":"EVENT","target":"LOGGER","payload":{"got":"#1-x"},"metadata":{}}`,
			`{"session_id":"s","event":"USER_INPUT","target":"AGENT","target_id":"a","payload":"#1-x"}`,
		}, func(s *target.SessionRuntime) { s.Targets = map[string]target.Names{"FRONTEND": {"LOGGER"}} },
			"metadata sender timestamp id turn-id trace-id subtype target-agent"},
		{"not routed", []string{`{"session_id":"s","event":"ERROR","target":"FRONTEND","payload":"#1-x"}`}, nil, ""},
		{"nothing", nil, nil, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			h, ok := overhear(messages(t, tt.published...), "s", "a", "#1-x")
			if ok != (tt.want != nil) {
				t.Fatalf("routed: %v", ok)
			}
			if !ok {
				return
			}
			want := std()
			tt.want(&want)
			if diff := cmp.Diff(want, h.wire); diff != "" {
				t.Errorf("wire: - want + got\n%s", diff)
			}
			if unseen := strings.Join(h.unseen, " "); unseen != tt.unseen {
				t.Errorf("unseen: %q, want %q", unseen, tt.unseen)
			}
		})
	}
}

// TestBusDraft holds that whatever an orchestrator says, the draft is a profile that says what was found out.
func TestBusDraft(t *testing.T) {
	nasty := []string{"a\nurl: http://evil\x00\u2028"}
	seen := map[string][]string{"path": nasty, "fence": nasty, "limits": nasty, "fields": nasty, "events": nasty, "subtypes": nasty,
		"targets": nasty, "unseen": nasty}
	for name, change := range map[string]func(*target.Profile){
		"a usual one": func(*target.Profile) {},
		"an odd one": func(p *target.Profile) {
			s := &p.SessionRuntime
			s.WS.Path, s.Fence = "/a b\"/#ws", false
			s.Senders.Session = "run: time\n"
			s.Fields.Event, s.Fields.TurnID = "/a~1b/c", target.Pointers{"/null", "/x"}
			s.Events = map[string]target.Names{"USER_INPUT": {"- in\n", "*"}}
			s.Subtypes["TURN_ACCEPTED"], s.Subtypes["CANCELED"] = target.Names{"#"}, target.Names{"stopped: yes"}
			s.Targets = map[string]target.Names{"FRONTEND": {"null"}}
		},
		"one over stdio": func(p *target.Profile) {
			p.URL, p.Drivers = "", []string{target.Stdio}
			p.Command = &target.Command{Run: []string{"./my orchestrator", "a\"b: c"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := target.ForURLOf("session-runtime", "http://127.0.0.1:3000/base")
			if err != nil {
				t.Fatal(err)
			}
			change(p)
			text := busDraft(p, "/x/draft.yaml", "/x/y", seen)
			got, err := target.Parse([]byte(text), "draft.yaml", nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if p.Command != nil {
				p.Command.Dir, p.Command.Stop, p.Command.Ready = "y", got.Command.Stop, got.Command.Ready
			} else if !strings.Contains(text, "\n#headers:") {
				t.Errorf("no hint about #headers:\n%s", text)
			}
			if diff := cmp.Diff(p, got); diff != "" {
				t.Errorf("- found + read\n%s\n%s", diff, text)
			}
		})
	}
}

// TestInitOfAnOddBus probes an orchestrator in another language, whose messages have other members than the default binding.
func TestInitOfAnOddBus(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node is missing; install it: apt-get install -y nodejs   (20 or later)")
	}
	known, err := target.Load("../../profiles/node-runtime.yaml")
	if err != nil {
		t.Fatal(err)
	}
	running, err := target.NewLauncher(known).Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Stop(context.Background()) }()
	p, said := initialised(t, running.BaseURL())
	want, got := known.SessionRuntime, p.SessionRuntime
	for _, o := range []*target.SessionRuntime{&want, &got} { // what cannot be seen, or has more places than one
		f := &o.Fields
		f.AgentID, f.TxID, f.Mention, f.TargetAgent, o.Subtypes = nil, nil, nil, f.TargetAgent[:1], nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- its profile + found\n%s\n%s", diff, said)
	}
	if strings.Contains(said, "no member was recognised") {
		t.Error(said)
	}
}

// TestInitOfADumbBus: one that is set up and says nothing more, and one that answers each fence by the same.
func TestInitOfADumbBus(t *testing.T) {
	for _, tt := range []struct {
		name, answers string
		says          []string
	}{
		{"nothing more", "", []string{"a fence was not answered within", "an input was not routed to the active agent: see fields, events and targets; nothing was published"}},
		{"one fence", `{"parley":"fenced","id":"1"}`, []string{`a fence was answered by {"id":"1","parley":"fenced"}, which names another one`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dumbBus(w, r, tt.answers) }))
			defer srv.Close()
			p, said := initialised(t, srv.URL)
			if p.SessionRuntime.WS.Path != "/v1/bus" || p.SessionRuntime.Fence {
				t.Errorf("%+v", p.SessionRuntime)
			}
			for _, line := range tt.says {
				if !strings.Contains(said, line) {
					t.Errorf("%q is not said:\n%s", line, said)
				}
			}
		})
	}
}

// dumbBus is ready, and answers whatever else by the same frame.
func dumbBus(w http.ResponseWriter, r *http.Request, answer string) {
	if r.URL.Path != "/v1/bus" {
		http.NotFound(w, r)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		text := answer
		if strings.Contains(string(data), `"setup"`) {
			text = `{"parley":"ready"}`
		}
		if text != "" && conn.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
			return
		}
	}
}

// initialised is the profile that parley init writes of a URL, and what it says.
func initialised(t *testing.T, url string) (*target.Profile, string) {
	t.Helper()
	var said strings.Builder
	path := filepath.Join(t.TempDir(), "bus.yaml")
	o := initOptions{protocol: "session-runtime", out: path}
	if err := initialise(t.Context(), []string{url}, o, &streams{Out: &said, Err: &said}); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	p, err := target.Load(path)
	if err != nil {
		text, _ := os.ReadFile(path)
		t.Fatalf("%v\n%s", err, text)
	}
	return p, said.String()
}
