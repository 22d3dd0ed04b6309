package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley/internal/probetest"
	"parley/steps/sessionruntime"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// TestProbeOfAnOddOrchestrator probes an orchestrator whose messages have other member names than the default
// binding.
func TestProbeOfAnOddOrchestrator(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node is missing; install it: apt-get install -y nodejs   (20 or later)")
	}
	known, err := target.Kinds{binding.Kind()}.Load("../../../examples/profiles/node-runtime.yaml")
	if err != nil {
		t.Fatal(err)
	}
	running, err := target.NewLauncher(known).Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Stop(context.Background()) }()
	p, said := probetest.Profile(t, sessionruntime.Protocol{}, running.BaseURL())
	want, got := binding.Of(known), binding.Of(p)
	for _, o := range []*binding.Binding{want, got} { // fields that cannot be seen, or have several places
		f := &o.Fields
		f.AgentID, f.TxID, f.Mention, f.TargetAgent, o.Subtypes = nil, nil, nil, f.TargetAgent[:1], nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- its profile + found\n%s\n%s", diff, said)
	}
	if strings.Contains(said, "no member of a message was recognised") {
		t.Error(said)
	}
}

// TestProbeOfADumbOrchestrator probes an orchestrator that says nothing after set-up, and one that answers every
// fence identically.
func TestProbeOfADumbOrchestrator(t *testing.T) {
	for _, tt := range []struct {
		name, answers string
		says          []string
	}{
		{"nothing more", "", []string{
			"a fence was not answered within",
			"an input was not routed to the active agent: see fields, events and targets; nothing was published",
		}},
		{"one fence", `{"parley":"fenced","id":"1"}`, []string{
			`a fence was answered by {"id":"1","parley":"fenced"}, which names another fence`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { dumb(w, r, tt.answers) }))
			defer srv.Close()
			p, said := probetest.Profile(t, sessionruntime.Protocol{}, srv.URL)
			if binding.Of(p).WS.Path != "/v1/bus" || binding.Of(p).Fence {
				t.Errorf("%+v", binding.Of(p))
			}
			for _, line := range tt.says {
				if !strings.Contains(said, line) {
					t.Errorf("%q is not said:\n%s", line, said)
				}
			}
		})
	}
}

// dumb answers set-up, and everything else with the same frame.
func dumb(w http.ResponseWriter, r *http.Request, answer string) {
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
