package odd_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// preached is a proxy between a server and its model. As some programs do, it turns the system prompt into a user
// message at the start of the conversation, and adds a reminder after the user's message or tool results.
func preached(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in map[string]any
	if json.Unmarshal(body, &in) == nil {
		if all, ok := in["messages"].([]any); ok {
			for _, m := range all {
				if m := m.(map[string]any); m["role"] == "system" {
					m["role"] = "user"
				}
			}
			in["messages"] = append(all, map[string]any{"role": "user", "content": "<reminder>Be brief.</reminder>"})
			body, _ = json.Marshal(in)
		}
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimPrefix(r.URL.Path, "/"),
		bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header = r.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	buf := make([]byte, 4096)
	for {
		n, err := answer.Body.Read(buf)
		if n > 0 {
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
		}
		if err != nil {
			return
		}
	}
}

// TestPromptAsUserMessage checks that an agent's prompt is recognised in a user message, and that a message after the
// user's own does not hide a directive.
func TestPromptAsUserMessage(t *testing.T) {
	suitetest.AwaitTurn(t)
	between := httptest.NewServer(http.HandlerFunc(preached))
	t.Cleanup(between.Close)
	p, err := protocols.Kinds().Load("examples/profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	launch.RaiseLimits(&p.Limits)
	p.Drivers = []string{target.SSE}
	p.Model.Env["OPENAI_BASE_URL"] = between.URL + "/{model}/v1"
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "@model"})
	for _, sc := range res.Runs[0].Scenarios {
		ends := strings.HasSuffix(sc.Reason, "so the target has ended it, and the switch found the session idle")
		if sc.Outcome != verdict.Passed && !ends { // a turn may end with its connection
			t.Errorf("%s %q: %s: %s", sc.ID, sc.Name, sc.Outcome, sc.Reason)
		}
	}
	if t.Failed() {
		t.Log(suitetest.Console(t, res))
	}
}
