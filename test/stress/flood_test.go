package stress_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
	"parley/transport/transcript"
)

// flooding is a correct server whose streams contain much noise.
type flooding struct {
	launch.Handler
	noise string // after the first event of each stream
}

func (f *flooding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w = &noisy{w, f.noise}
	}
	f.Handler.ServeHTTP(w, r)
}

// noisy is an event stream with noise after its first event.
type noisy struct {
	http.ResponseWriter
	noise string
}

func (n *noisy) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noisy) Flush() { _ = http.NewResponseController(n.ResponseWriter).Flush() }

func (n *noisy) Write(said []byte) (int, error) {
	wrote, err := n.ResponseWriter.Write(said)
	if err == nil && n.noise != "" && bytes.HasSuffix(said, []byte("\n\n")) {
		_, err = io.WriteString(n.ResponseWriter, n.noise)
		n.noise = ""
	}
	return wrote, err
}

// TestFlood checks that a correct server passes despite a flood of comments, and that no clause fails after a flood of
// events that exceeds a transcript: later messages are not tested, and the results say so.
func TestFlood(t *testing.T) {
	t.Parallel()
	const many = transcript.MaxRecords + 10_000
	for _, row := range []struct {
		reason, noise string
		exit          int
		said          []string // one of them
	}{
		{"comments", strings.Repeat(": noise\n", many), verdict.ExitConformant, []string{"of many comments or pings"}},
		{"events", strings.Repeat("event: noise\ndata: {}\n\n", many), verdict.ExitIncomplete,
			[]string{"more than a transcript holds", "still sending when the time was up"}}, // if reading takes long
	} {
		t.Run(row.reason, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			brain := llm.New()
			p := suitetest.BundledTarget("agent-select", "").Profile
			p.Drivers = []string{target.SSE}
			if row.exit == verdict.ExitIncomplete {
				suitetest.ShortenLimits(&p.Limits)
			}
			l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
				h, err := agentselect.New(o)
				return &flooding{Handler: h, noise: row.noise}, err
			})
			res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "@AS-042",
				AllowIncomplete: row.exit == verdict.ExitConformant})
			if res.Exit != row.exit {
				t.Errorf("exit %d, want %d", res.Exit, row.exit)
			}
			said := false
			for _, sc := range res.Runs[0].Scenarios {
				if sc.Outcome == verdict.Failed {
					t.Errorf("%s failed", sc.ID)
				}
				notes := strings.Join(append(sc.Notes, sc.Reason), "\n")
				said = said || slices.ContainsFunc(row.said, func(s string) bool { return strings.Contains(notes, s) })
			}
			if !said {
				t.Errorf("nothing says %q\n%s", row.said, suitetest.Console(t, res))
			}
		})
	}
}
