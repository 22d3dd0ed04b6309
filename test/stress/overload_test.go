package stress_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// small is a correct server with little capacity: beyond a few streams at once, each message is delayed or refused.
type small struct {
	launch.Handler
	room    int32
	full    func(w http.ResponseWriter, r *http.Request, streams int32) (done bool)
	lost    string // drops messages with this text at any load
	wrong   string // replaces the right text when at capacity
	streams atomic.Int32
}

func (s *small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.streams.Add(1)
		defer s.streams.Add(-1)
		s.Handler.ServeHTTP(&busy{w, s}, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.lost != "" && strings.Contains(string(body), s.lost) {
		return
	}
	if n := s.streams.Load(); n > s.room && s.full(w, r, n) {
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.Handler.ServeHTTP(w, r)
}

// busy is an event stream on which a small server sends the wrong text when at capacity.
type busy struct {
	http.ResponseWriter
	s *small
}

func (b *busy) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *busy) Flush() { _ = http.NewResponseController(b.ResponseWriter).Flush() }

func (b *busy) Write(said []byte) (int, error) {
	text := said
	if b.s.wrong != "" && b.s.streams.Load() > b.s.room {
		text = bytes.ReplaceAll(said, []byte(right), []byte(b.s.wrong))
	}
	_, err := b.ResponseWriter.Write(text)
	return len(said), err
}

const right = `"name":`

const generalist = `"agentId":"general"`

// slows delays each message in proportion to the number of streams.
func slows(_ http.ResponseWriter, r *http.Request, streams int32) bool {
	select {
	case <-time.After(time.Duration(streams) * 100 * time.Millisecond): // the delay under test
	case <-r.Context().Done():
	}
	return false
}

// stands delays each message for longer than any client waits.
func stands(w http.ResponseWriter, r *http.Request, _ int32) bool { return slows(w, r, 30) }

func refuses(w http.ResponseWriter, _ *http.Request, _ int32) bool {
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

func judgeSmall(t *testing.T, s *small) *reports.Results {
	t.Helper()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.HTTP.Duration = time.Second, 4*time.Second
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		h, err := agentselect.New(o)
		one := &small{Handler: h, room: s.room, full: s.full, lost: s.lost, wrong: s.wrong}
		return one, err
	})
	res := suitetest.Judge(t,
		runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "not @exclusive and (@AS-042 or @AS-050 or @AS-080)",
			AllowIncomplete: true})
	return res
}

// TestOverload checks that a correct server that is slow or full under concurrent scenarios is judged by its behaviour
// in scenarios that run alone, and that a note tells its author so. A message that it omits at any load fails it, and
// so does wrong output, even if it occurs only under load.
func TestOverload(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		small  *small
		exit   int
		told   bool
	}{
		{"slow at many", &small{room: 4, full: slows}, verdict.ExitConformant, true},
		{"full at many", &small{room: 12, full: refuses}, verdict.ExitConformant, true},
		{"slow at many, and never switches to the generalist", &small{room: 4, full: slows, lost: generalist},
			verdict.ExitNonConformant, false},
		{"slow at many, and then wrong in what it says", &small{room: 3, full: stands, wrong: `"name":7,"stranger":`},
			verdict.ExitNonConformant, false},
		{"never switches to the generalist", &small{room: 1000, lost: generalist}, verdict.ExitNonConformant, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			res := judgeSmall(t, row.small)
			if res.Exit != row.exit {
				t.Errorf("exit %d, want %d\n%s", res.Exit, row.exit, suitetest.Console(t, res))
			}
			if row.small.wrong != "" && !strings.Contains(suitetest.Console(t, res), "stranger") {
				t.Errorf("what is wrong is not told\n%s", suitetest.Console(t, res))
			}
			told := false
			for _, n := range res.Runs[0].Notes {
				told = told || strings.Contains(n.Text, "overloaded by 32 scenarios at once") &&
					strings.Contains(n.Text, "--concurrency 4")
			}
			if row.told && !told {
				t.Errorf("the overload is not told: %+v", res.Runs[0].Notes)
			}
		})
	}
}
