package stress_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// lingering is a server whose turns continue for a while after an abort.
type lingering struct {
	launch.Handler
	swallows bool // it drops the refusals of busy sessions
}

// lingers is longer than a client takes to send its next message.
const lingers = 300 * time.Millisecond

func (l *lingering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if l.swallows {
			w = &swallower{w}
		}
		l.Handler.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(`"abort"`)) {
		l.Handler.ServeHTTP(w, again)
		return
	}
	time.AfterFunc(lingers, func() { l.Handler.ServeHTTP(httptest.NewRecorder(), again) })
	_, _ = io.WriteString(w, `{"success":true}`)
}

// swallower is an event stream without refusals.
type swallower struct{ http.ResponseWriter }

func (s *swallower) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *swallower) Flush() { _ = http.NewResponseController(s.ResponseWriter).Flush() }

func (s *swallower) Write(said []byte) (int, error) {
	if bytes.Contains(said, []byte("agent_busy")) {
		return len(said), nil
	}
	return s.ResponseWriter.Write(said)
}

// TestLingering checks that a turn may take a moment to end after its abort. If the refusal of a switch in that
// moment is missing, AS-064 is broken, and the switch after the end of the turn is judged separately.
func TestLingering(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		swallows bool
		want     []string
	}{
		{"a turn ends late", false, nil},
		{"it refuses nothing meanwhile", true, []string{"AS-064"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			brain := llm.New()
			p := suitetest.BundledTarget("agent-select", "").Profile
			p.Drivers = []string{target.SSE}
			if row.swallows {
				p.Limits.Event.Duration = 3 * time.Second
			}
			l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
				h, err := agentselect.New(o)
				return &lingering{Handler: h, swallows: row.swallows}, err
			})
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l,
				Brain: brain, Tags: "@AS-069", AllowIncomplete: true})
			if got := suitetest.Broken(res); !slices.Equal(got, row.want) {
				t.Errorf("broken %v, want %v\n%s", got, row.want, suitetest.Console(t, res))
			}
			for _, c := range res.Runs[0].Clauses {
				if c.ID == "AS-069" && c.Outcome != verdict.Passed {
					t.Errorf("AS-069 is %s: %s", c.Outcome, c.Reason)
				}
			}
		})
	}
}
