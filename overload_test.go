package parley_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/model"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// small is a server that is right, and has little room: beyond a few streams at once each message costs time, or is refused.
type small struct {
	bundled.Handler
	room    int32
	full    func(w http.ResponseWriter, r *http.Request, streams int32) (done bool)
	lost    string // messages with this text are lost, at any load
	streams atomic.Int32
}

func (s *small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.streams.Add(1)
		defer s.streams.Add(-1)
		s.Handler.ServeHTTP(w, r)
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

// slows has each message wait the longer, the more there are.
func slows(_ http.ResponseWriter, r *http.Request, streams int32) bool {
	select {
	case <-time.After(time.Duration(streams) * 100 * time.Millisecond): // the delay is the fault
	case <-r.Context().Done():
	}
	return false
}

func refuses(w http.ResponseWriter, _ *http.Request, _ int32) bool {
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

func judgeSmall(t *testing.T, s *small) *reports.Results {
	t.Helper()
	brain := model.New()
	p := bundled.For("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	p.Limits.Event.Duration, p.Limits.HTTP.Duration = time.Second, 4*time.Second
	l := &bundled.Launcher{Brain: brain, Make: func(o agentselect.Options) (bundled.Handler, error) {
		h, err := agentselect.New(o)
		one := &small{Handler: h, room: s.room, full: s.full, lost: s.lost}
		return one, err
	}}
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "not @exclusive and (@AS-042 or @AS-050 or @AS-080)", AllowIncomplete: true, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestOverload: a server that is right, and slow or full while many scenarios run at once, is judged by what it does alone, and its
// author is told so. What it leaves out at any load fails it.
func TestOverload(t *testing.T) {
	for _, row := range []struct {
		reason string
		small  *small
		exit   int
		told   bool
	}{
		{"slow at many", &small{room: 4, full: slows}, verdict.ExitConformant, true},
		{"full at many", &small{room: 12, full: refuses}, verdict.ExitConformant, true},
		{"slow at many, and never switches to the generalist", &small{room: 4, full: slows, lost: `"agentId":"general"`}, verdict.ExitNonConformant, false},
		{"never switches to the generalist", &small{room: 1000, lost: `"agentId":"general"`}, verdict.ExitNonConformant, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			res := judgeSmall(t, row.small)
			if res.Exit != row.exit {
				t.Errorf("exit %d, want %d\n%s", res.Exit, row.exit, console(t, res))
			}
			told := false
			for _, n := range res.Runs[0].Notes {
				told = told || strings.Contains(n.Text, "overloaded by 32 scenarios at once") && strings.Contains(n.Text, "--concurrency 4")
			}
			if row.told && !told {
				t.Errorf("the overload is not told: %+v", res.Runs[0].Notes)
			}
		})
	}
}
