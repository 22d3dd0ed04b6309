package parley_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"parley/reference-server/agentselect"
	"parley/verdict"
)

// TestTargetGoesAway: a target given by its URL that is gone in the middle of a run. What came after is not tested, and the
// run says that failures at that moment may be each other's.
func TestTargetGoesAway(t *testing.T) {
	h, err := agentselect.New(agentselect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var srv *httptest.Server
	var mu sync.Mutex
	left := 60
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		left--
		gone := left == 0
		mu.Unlock()
		if gone {
			go func() { srv.Listener.Close(); srv.CloseClientConnections() }()
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = h.Close(t.Context()); srv.Close() })
	res := judgeURL(t, srv.URL)
	run := res.Runs[0]
	told := false
	for _, n := range run.Notes {
		told = told || n.Kind == "target"
	}
	if !told || run.Totals.Scenarios.ByOutcome[verdict.NotTested] < 50 || res.Verdict == verdict.Conformant {
		t.Errorf("told %v, outcomes %v, verdict %s", told, run.Totals.Scenarios.ByOutcome, res.Verdict)
	}
	if run.Totals.Scenarios.ByOutcome[verdict.EnvError] > 0 {
		t.Errorf("outcomes %v: the target was reached", run.Totals.Scenarios.ByOutcome)
	}
}
