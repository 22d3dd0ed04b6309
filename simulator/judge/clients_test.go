package judge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/simulator/counterpart"
	"parley/steps/protocols"
)

// says dials a played party, sends messages, and reads until the fence: the answer to the last one.
func says(t *testing.T, p *counterpart.Play, path, fence string, all ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c, _, err := websocket.Dial(ctx, p.URL()+path, nil) //nolint:bodyclose // it has none
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	for _, text := range all {
		if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		_, got, err := c.Read(ctx)
		if err != nil {
			t.Fatalf("no %s: %v", fence, err)
		}
		if strings.Contains(string(got), fence) {
			return
		}
	}
}

// onBus is a message of a party of session-runtime.
func onBus(id, more string) string {
	if !strings.Contains(more, "payload") {
		more += `,"payload":{}`
	}
	return `{"id":"` + id + `","session_id":"s","metadata":{},"timestamp":"2026-01-01T00:00:00Z",` + more + `}`
}

// clients are programs that are clients of a played server: their correct and wrong messages.
var clients = map[string]struct {
	protocol, as, path, role, fence string
	right, wrong                    []string
	breaks, warns                   []string
}{
	"agent-select": {"agent-select", "server", "/agents/ws", "client", "agent_not_found",
		[]string{`{"type":"session_create"}`, `{"type":"switch_agent","agentId":"debugger"}`,
			`{"type":"switch_agent","agentId":"No such id!"}`, `{"type":"switch_agent","agentId":"nobody"}`},
		[]string{`{"type":"session_create"}`, `{"type":"switch_agent","agentId":7,"sessionId":true}`,
			`{"type":"switch_agent","agentId":"nobody"}`},
		[]string{"AS-077", "AS-116"}, nil},
	"session-chat": {"session-chat", "server", "/chat/ws", "frontend", "pong",
		[]string{`{"type":"chat","agent_id":"a","content":"Hello","options":{"model":"m"}}`, `{"type":"of our own"}`,
			`{"type":"interrupt","agent_id":"a"}`, `{"type":"ping"}`},
		[]string{`{"type":"chat","agent_id":7}`, `{"type":"interrupt"}`, `{"agent_id":"a","content":"Hello"}`,
			`{"type":"ping","agent_id":"a"}`, `{"type":"ping"}`},
		[]string{"SC-029", "SC-030", "SC-031", "SC-035", "SC-037"}, nil},
	"session-runtime": {"session-runtime", "orchestrator", "/bus/ws", "bus", "fenced",
		[]string{`{"parley":"setup","session_id":"s","agents":["a"],"active_agent_id":"a"}`,
			onBus("1", `"event":"USER_INPUT","sender":"frontend","target":"SYSTEM"`),
			onBus("2", `"event":"CONTROL","subtype":"INVITE_AGENT","sender":"frontend","target":"SYSTEM",`+
				`"payload":{"agent_spec":{"id":"b"}}`),
			onBus("3", `"event":"CONTROL","subtype":"ADD_AGENT_DONE","sender":"session_manager","target":"SYSTEM"`),
			onBus("4", `"event":"AGENT_OUTPUT","sender":"a","target":"BROADCAST"`),
			onBus("5", `"event":"CONTROL","subtype":"REMOVE_AGENT","sender":"frontend","target":"SYSTEM",`+
				`"payload":{"agent_id":"a"}`), `{"parley":"fence","id":"f"}`},
		[]string{`{"parley":"setup","session_id":"s","agents":["a"],"active_agent_id":"a"}`,
			onBus("1", `"event":"USER_INPUT","sender":"frontend","target":"AGENT"`),
			onBus("2", `"event":"CONTROL","subtype":"INVITE_AGENT","sender":"frontend","target":"SYSTEM"`),
			onBus("3", `"event":"CONTROL","subtype":"ADD_AGENT_DONE","sender":"session_manager","target":"FRONTEND"`),
			onBus("4", `"event":"AGENT_OUTPUT","sender":"frontend","target":"FRONTEND"`),
			onBus("5", `"event":"CONTROL","subtype":"REMOVE_AGENT","sender":"frontend","target":"SYSTEM"`),
			`{"parley":"fence","id":"f"}`},
		[]string{"RT-029", "RT-037", "RT-046", "RT-108", "RT-120", "RT-140"}, []string{"RT-041"}},
}

// TestClients: a client that is not a target of its protocol is judged by the clauses that bind it. A client that keeps
// them has no findings, and each clause is shown to hold; if a client breaks them, all are found.
func TestClients(t *testing.T) {
	for name, row := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := opens(t, row.protocol, row.as, nil)
			if p.Judge() == nil || p.Judge().Role() != row.role || p.Unjudged() != "" {
				t.Fatalf("it is judged by %+v (%s)", p.Judge(), p.Unjudged())
			}
			says(t, p, row.path, row.fence, row.right...)
			p.Judge().Check()
			passed := of(p, verdict.Passed)
			bound := slices.Concat(row.breaks, row.warns)
			lacks := slices.DeleteFunc(slices.Clone(bound), func(id string) bool { return slices.Contains(passed, id) })
			if found := p.Judge().Findings(); len(found) > 0 || len(lacks) > 0 {
				t.Errorf("found %+v; not shown to hold: %v", found, lacks)
			}
			says(t, p, row.path, row.fence, row.wrong...)
			p.Judge().Check()
			if got := of(p, verdict.Failed); !slices.Equal(got, row.breaks) {
				t.Errorf("failed %v, want %v: %+v", got, row.breaks, p.Judge().Findings())
			}
			if got := of(p, verdict.Warned); !slices.Equal(got, row.warns) {
				t.Errorf("warned %v, want %v", got, row.warns)
			}
		})
	}
}

// TestEverybody: in every protocol, the client of a played server is judged.
func TestEverybody(t *testing.T) {
	for _, kind := range protocols.All.Kinds() {
		as := map[string]string{"external-agent": "host", "session-runtime": "orchestrator"}[kind.Protocol]
		if as == "" {
			as = "server"
		}
		if p := opens(t, kind.Protocol, as, nil); p.Judge() == nil || len(p.Judge().Clauses()) == 0 {
			t.Errorf("a client of %s is not judged: %s", kind.Protocol, p.Unjudged())
		}
	}
	p := opens(t, "session-chat", "server", func(o *counterpart.Options) { o.Steps = nil })
	if p.Judge() != nil || p.Unjudged() == "" {
		t.Error("without a protocol the program is judged, or nobody says that it is not")
	}
}
