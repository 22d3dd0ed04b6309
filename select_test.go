package parley_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/model"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
	"parley/reference-server/mutants"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// ofClause is what the scenarios of a name say of a clause, over each driver.
func ofClause(res *reports.Results, name, clause string) (out []verdict.Outcome) {
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Name != name {
			continue
		}
		for _, c := range sc.Clauses {
			if c.ID == clause {
				out = append(out, c.Outcome)
			}
		}
	}
	return out
}

// TestWhatIsNeverGivenProvesNothing: that the custom agent's prompt is missing from a turn counts only where it has reached the
// model in another.
func TestWhatIsNeverGivenProvesNothing(t *testing.T) {
	const name = "the model gets the old prompt and tools after switching back"
	res := judgeVariant(t, "@AS-047", nil)
	if got := ofClause(res, name, "AS-047"); len(got) == 0 || slices.Contains(got, verdict.NotTested) || slices.Contains(got, verdict.Failed) {
		t.Errorf("the bundled server: AS-047 is %v\n%s", got, console(t, res))
	}
	res = judgeVariant(t, "@AS-047", func(o agentselect.Options) (bundled.Handler, error) {
		return mutants.Handler("no-prompt-for-custom", o)
	})
	if got := ofClause(res, name, "AS-047"); len(got) == 0 || slices.Contains(got, verdict.Passed) {
		t.Errorf("a server that gives no agent of the user its prompt: AS-047 is %v, and the prompt was never there to be taken away", got)
	}
}

// TestRefusalThatMovesTheAgent: a refused switch that changes the agent breaks AS-053 alone, though fences are refused switches too,
// and what they have changed looks as if another session had interfered.
func TestRefusalThatMovesTheAgent(t *testing.T) {
	for _, fault := range []string{"failed-switch-debugs", "failed-switch-resets"} {
		t.Run(fault, func(t *testing.T) {
			res := judgeVariant(t, "", func(o agentselect.Options) (bundled.Handler, error) { return mutants.Handler(fault, o) })
			var failed []string
			for _, c := range res.Runs[0].Clauses {
				if c.Outcome == verdict.Failed {
					failed = append(failed, c.ID)
				}
			}
			if !slices.Equal(failed, []string{"AS-053"}) {
				t.Errorf("it fails %v, want AS-053 alone\n%s", failed, console(t, res))
			}
		})
	}
}

// judgeVariant judges a bundled server that was changed, over SSE, by the scenarios of some tags.
func judgeVariant(t *testing.T, tags string, make func(o agentselect.Options) (bundled.Handler, error)) *reports.Results {
	t.Helper()
	brain := model.New()
	p := bundled.For("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Brain: brain, Again: "parley run", Tags: tags,
		Launcher: &bundled.Launcher{Brain: brain, Make: make}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// hidden keeps the sessions of other connections from whoever names them.
type hidden struct{ agentselect.Correct }

func (hidden) Target(m agentselect.Manager, c agentselect.ConnInfo, raw any, present bool) string {
	session := agentselect.Correct{}.Target(m, c, raw, present)
	if m.Owner(session) != c.ID {
		return ""
	}
	return session
}

// TestSwitchesOfOthers: a switch of another connection's session is announced there, whether or not the asker hears it as well, or it
// is refused.
func TestSwitchesOfOthers(t *testing.T) {
	const name = "a switch of another's session is announced where that session lives"
	rows := []struct {
		reason string
		make   func(o *agentselect.Options)
		note   string
	}{
		{"the asker hears of it too", func(o *agentselect.Options) {
			asker := ""
			o.Inbound = func(_ agentselect.Manager, from agentselect.ConnInfo, msg agentselect.Message) []agentselect.Message {
				asker = from.ID
				return []agentselect.Message{msg}
			}
			o.Outbound = func(_ agentselect.Manager, to agentselect.ConnInfo, ev agentselect.Event, send func(string, agentselect.Event)) {
				if ev.Type == vocab.AgentSwitchedEvent && asker != to.ID {
					send(asker, ev) // and first
				}
				send(to.ID, ev)
			}
		}, ""},
		{"it is refused", func(o *agentselect.Options) { o.Policy = hidden{} }, "a switch of another connection's session is refused"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			res := judgeVariant(t, "@AS-095", func(o agentselect.Options) (bundled.Handler, error) {
				r.make(&o)
				return agentselect.New(o)
			})
			if got := ofClause(res, name, "AS-095"); !slices.Equal(got, []verdict.Outcome{verdict.Passed}) {
				t.Errorf("AS-095 is %v\n%s", got, console(t, res))
			}
			for _, sc := range res.Runs[0].Scenarios {
				if sc.Name == name && !strings.Contains(strings.Join(sc.Notes, "; "), r.note) {
					t.Errorf("the notes are %q, want one with %q", sc.Notes, r.note)
				}
			}
		})
	}
}

// TestChatRunsElsewhere: a conversation that runs in another session than it named is told as that, wherever it is waited for.
func TestChatRunsElsewhere(t *testing.T) {
	res := judgeVariant(t, "@AS-006 or @AS-019 or @AS-047", func(o agentselect.Options) (bundled.Handler, error) { return mutants.Handler("chats-run-elsewhere", o) })
	told := 0
	for _, sc := range res.Runs[0].Scenarios {
		if strings.Contains(sc.Reason, "nothing of the kind") {
			t.Errorf("%q: %s", sc.Name, sc.Reason)
		}
		if strings.Contains(sc.Reason, "complete came for session ") && strings.Contains(sc.Reason, ", the chat named ") {
			told++
		}
	}
	if told < 3 {
		t.Errorf("%d scenarios tell it\n%s", told, console(t, res))
	}
}

// preached stands between a server and its model: the system prompt becomes a message of the user's role at the head of the
// conversation, and a reminder follows what the user said, or the tools. Both are what some programs do.
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
	out, err := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimPrefix(r.URL.Path, "/"), bytes.NewReader(body))
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

// TestPromptAsUserMessage: an agent's prompt that reaches the model in a message of the user's role is its prompt, and a message
// behind the user's own hides no directive.
func TestPromptAsUserMessage(t *testing.T) {
	between := httptest.NewServer(http.HandlerFunc(preached))
	t.Cleanup(between.Close)
	p, err := target.Load("profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bundled.Unhurry(&p.Limits)
	p.Drivers = []string{target.SSE}
	p.Model.Env["OPENAI_BASE_URL"] = between.URL + "/{model}/v1"
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Again: "parley run", Tags: "@model"})
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Outcome != verdict.Passed {
			t.Errorf("%s %q: %s: %s", sc.ID, sc.Name, sc.Outcome, sc.Reason)
		}
	}
	if t.Failed() {
		t.Log(console(t, res))
	}
}
