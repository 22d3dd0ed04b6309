package stress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// store stands for the data of a target, which all its instances share. It notices whoever uses the target during a
// reset.
type store struct {
	fails func(n int) bool // whether the nth reset fails, counted from 1

	mu       sync.Mutex
	users    int           // requests that are being served
	idle     chan struct{} // closed when there are none; nil: nobody waits
	resets   int
	during   bool // a reset runs
	overlaps []string
}

// reset waits until the requests of the scenario before it have ended: a server notices late that a client has gone.
func (s *store) reset(ctx context.Context) error {
	s.mu.Lock()
	s.resets++
	n := s.resets
	if s.during {
		s.overlaps = append(s.overlaps, "another reset")
	}
	s.during = true
	for s.users > 0 && ctx.Err() == nil {
		idle := make(chan struct{})
		s.idle = idle
		s.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	if s.users > 0 {
		s.overlaps = append(s.overlaps, fmt.Sprintf("%d requests that do not end", s.users))
	}
	s.during = false
	s.mu.Unlock()
	if s.fails != nil && s.fails(n) {
		return &target.HookError{Name: target.HookReset, Err: errors.New("exit status 7"), Output: "the table\nis locked\n"}
	}
	return nil
}

// used is a server that tells the store of its requests.
type used struct {
	launch.Handler
	s *store
}

func (u used) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.s.mu.Lock()
	u.s.users++
	if u.s.during {
		u.s.overlaps = append(u.s.overlaps, r.Method+" "+r.URL.Path)
	}
	u.s.mu.Unlock()
	defer func() {
		u.s.mu.Lock()
		defer u.s.mu.Unlock()
		if u.s.users--; u.s.users == 0 && u.s.idle != nil {
			close(u.s.idle)
			u.s.idle = nil
		}
	}()
	u.Handler.ServeHTTP(w, r)
}

// resetting launches targets whose data can be reset.
type resetting struct {
	target.Launcher
	s *store
}

func (l resetting) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	in, err := l.Launcher.Launch(ctx, o)
	return &resettable{in, l.s}, err
}

type resettable struct {
	target.Running
	s *store
}

func (r *resettable) Reset(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return r.s.reset(limited)
}

// judgeReset judges the bundled server, with many scenarios in parallel were it not for the hook.
func judgeReset(t *testing.T, s *store, drivers ...string) *reports.Results {
	t.Helper()
	return suitetest.Judge(t, resettingOptions(s, drivers...))
}

func resettingOptions(s *store, drivers ...string) runner.Options {
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile.Clone()
	p.Drivers = drivers
	p.Hooks.Reset = "by resettable"
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		h, err := agentselect.New(o)
		return used{h, s}, err
	})
	return runner.Options{Protocols: protocols.All, Profile: p, Launcher: resetting{l, s}, Brain: brain,
		Tags: "@3.2 or @exclusive", Concurrency: 16}
}

// count returns how many scenarios of a run had an outcome.
func count(res *reports.Results, outcomes ...verdict.Outcome) (n int) {
	for _, sc := range res.Runs[0].Scenarios {
		if slices.Contains(outcomes, sc.Outcome) {
			n++
		}
	}
	return n
}

// TestResetAlone: a reset comes before each scenario, and no scenario overlaps one, whatever its driver and whether or
// not it has its own instance.
func TestResetAlone(t *testing.T) {
	suitetest.AwaitTurn(t)
	s := &store{}
	res := judgeReset(t, s, target.SSE, target.WS)
	if len(s.overlaps) > 0 {
		t.Errorf("during a reset there were: %s", strings.Join(s.overlaps, ", "))
	}
	if n := len(res.Runs[0].Scenarios); s.resets != n || n < 20 || count(res, verdict.Passed) != n {
		t.Errorf("%d resets before %d scenarios\n%s", s.resets, n, suitetest.Console(t, res))
	}
}

// TestResetOverlaps: the store notices a request during a reset.
func TestResetOverlaps(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s := &store{}
	slow := used{handlerFunc(func(http.ResponseWriter, *http.Request) { begun <- struct{}{}; <-end }), s}
	var wg sync.WaitGroup
	request := func() {
		slow.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/events", nil))
	}
	wg.Go(request)
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { _ = s.reset(ctx) })
	for waits := false; !waits; {
		s.mu.Lock()
		waits = s.idle != nil
		s.mu.Unlock()
	}
	wg.Go(request)
	<-begun
	cancel()
	for over := false; !over; {
		s.mu.Lock()
		over = !s.during
		s.mu.Unlock()
	}
	close(end)
	wg.Wait()
	if got := strings.Join(s.overlaps, ", "); got != "GET /events, 2 requests that do not end" {
		t.Errorf("it notices %s", got)
	}
}

type handlerFunc func(http.ResponseWriter, *http.Request)

func (f handlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) { f(w, r) }
func (handlerFunc) Close(context.Context) error                        { return nil }

// TestResetFails: a scenario without fresh data is not tested, and the next one is judged again.
func TestResetFails(t *testing.T) {
	suitetest.AwaitTurn(t)
	s := &store{fails: func(n int) bool { return n > 3 && n%2 == 0 }} // preflight takes three
	res := judgeReset(t, s, target.SSE)
	const want = "hooks.reset failed, so that this scenario had no fresh data: exit status 7: the table is locked"
	n := 0
	for _, sc := range res.Runs[0].Scenarios {
		switch {
		case sc.Outcome == verdict.NotTested && sc.Reason == want:
			n++
		case sc.Outcome != verdict.Passed:
			t.Errorf("%s: %s, %s", sc.ID, sc.Outcome, sc.Reason)
		}
	}
	if all := len(res.Runs[0].Scenarios); n != all/2-1 || s.resets != all || len(s.overlaps) > 0 {
		t.Errorf("%d resets before %d scenarios, of which %d are not tested; overlaps: %v", s.resets, all, n, s.overlaps)
	}
}

// TestResetBroken: a hook that fails again and again is not run for each scenario, and the target is not judged.
func TestResetBroken(t *testing.T) {
	suitetest.AwaitTurn(t)
	for _, tt := range []struct {
		from   int // the first reset that fails
		resets int
		reason string
	}{
		{1, 1, "preflight: connecting was not tested (AS-3.1-01"},
		{4, 6, "hooks.reset failed 3 times in a row, and was not run again: exit status 7: the table is locked"},
	} {
		s := &store{fails: func(n int) bool { return n >= tt.from }}
		res := judgeReset(t, s, target.SSE)
		if s.resets != tt.resets || count(res, verdict.Passed) != tt.from-1 ||
			count(res, verdict.Passed, verdict.NotTested) != len(res.Runs[0].Scenarios) || res.Exit != verdict.ExitIncomplete {
			t.Errorf("from reset %d on: %d resets, exit %d\n%s", tt.from, s.resets, res.Exit, suitetest.Console(t, res))
		}
		if !slices.ContainsFunc(res.Runs[0].Scenarios, func(sc reports.Scenario) bool {
			return strings.HasPrefix(sc.Reason, tt.reason)
		}) {
			t.Errorf("from reset %d on: no scenario says %q\n%s", tt.from, tt.reason, suitetest.Console(t, res))
		}
	}
}

// TestResetGuests: the same holds for scenarios in a suite of the user's own, however many of them run at once.
func TestResetGuests(t *testing.T) {
	suitetest.AwaitTurn(t)
	s := &store{}
	o := resettingOptions(s, target.SSE)
	g, err := runner.OpenGuest(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var text strings.Builder
	fmt.Fprintln(&text, "Feature: mine")
	const scenarios = 24
	for n := range scenarios {
		tag := ""
		if n%8 == 7 {
			tag = "@exclusive"
		}
		fmt.Fprintf(&text, "  %s\n  Scenario: %d\n    Given client A has switched to \"debugger\"\n", tag, n)
	}
	exit := godog.TestSuite{ScenarioInitializer: g.Initialize, Options: &godog.Options{Format: "progress",
		Output: io.Discard, Strict: true, Concurrency: 8,
		FeatureContents: []godog.Feature{{Name: "mine.feature", Contents: []byte(text.String())}}}}.Run()
	if exit != 0 || s.resets != scenarios || len(s.overlaps) > 0 {
		t.Errorf("exit %d, %d resets before %d scenarios; overlaps: %v", exit, s.resets, scenarios, s.overlaps)
	}
}
