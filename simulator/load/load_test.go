package load

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/steps"
	"parley/steps/protocols"
	"parley/target"
)

// options are those of a short load of a bundled server within this process.
func options(protocol, driver string) Options {
	sub := bundled.All.For(protocols.Kinds(), protocol, "")
	return Options{Protocols: protocols.All, Profile: sub.Profile, Launcher: sub.Launcher, Brain: sub.Brain,
		Driver: driver, Sessions: 6, Duration: 200 * time.Millisecond, Rate: 300}
}

// TestRun: each protocol over each of its drivers, without a violation; all acts are measured.
func TestRun(t *testing.T) {
	for protocol, drivers := range map[string][]string{"agent-select": {target.SSE, target.WS},
		"session-chat": {target.WS}, "session-runtime": {target.WS}} {
		for _, driver := range drivers {
			t.Run(protocol+" "+driver, func(t *testing.T) {
				o := options(protocol, driver)
				o.Shape = Step
				res, err := Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				l := res.Load
				if res.Exit != verdict.ExitConformant || l.Opened != 6 || l.All.Count != 36 || l.All.Failed > 0 ||
					l.Violations > 0 || l.Lives < 6 || len(l.Steps) != steppings || l.Memory.Session < 0 {
					t.Errorf("exit %d: %+v", res.Exit, *l)
				}
				if passed := res.Runs[0].Totals.Clauses.ByOutcome[verdict.Passed]; passed < 20 {
					t.Errorf("%d clauses passed", passed)
				}
			})
		}
	}
}

// TestThresholds: a threshold that is exceeded fails the load, and one that is kept does not.
func TestThresholds(t *testing.T) {
	f := &reports.Load{All: reports.LoadAct{P50: 1, P99: 20, P999: 30, Failed: 2}, Unfinished: 1,
		Acts: []reports.LoadAct{{Count: 59}}}
	for _, row := range []struct {
		reason string
		t      Thresholds
		broken string
	}{
		{"errors are not allowed by default", Thresholds{}, "errors"},
		{"as many as allowed", Thresholds{Errors: 3}, ""},
		{"more than the share", Thresholds{Errors: 4, Percent: true}, "errors %"},
		{"less than the share", Thresholds{Errors: 6, Percent: true}, ""},
		{"p99", Thresholds{Errors: 9, P50: time.Second, P99: 19 * time.Millisecond}, "p99"},
		{"p99 kept", Thresholds{Errors: 9, P99: 20 * time.Millisecond}, ""},
		{"p99.9", Thresholds{Errors: 9, P999: time.Millisecond}, "p99.9"},
	} {
		var broken []string
		for _, one := range row.t.checkFigures(f) {
			if !one.OK {
				broken = append(broken, one.Name)
			}
		}
		if got := strings.Join(broken, " "); got != row.broken {
			t.Errorf("%s: exceeded %q, want %q", row.reason, got, row.broken)
		}
	}
	o := options("session-chat", target.WS)
	o.Thresholds.P50 = time.Nanosecond
	res, err := Run(t.Context(), o)
	if err != nil || res.Exit != verdict.ExitNonConformant || res.Verdict != verdict.Incomplete {
		t.Errorf("exit %v: %v", res, err)
	}
}

// TestRefused: loads that cannot be carried out are refused with the reason.
func TestRefused(t *testing.T) {
	for reason, row := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"no sessions":       {func(o *Options) { o.Sessions = 0 }, "--sessions: a load needs at least one session, not 0"},
		"no time":           {func(o *Options) { o.Duration = 0 }, "--duration"},
		"an unknown shape":  {func(o *Options) { o.Shape = "wave" }, "--shape wave"},
		"too many sessions": {func(o *Options) { o.Sessions = unlimited }, "files open, which is enough for"},
		"a driver without a load": {func(o *Options) { o.Driver = target.Stdio },
			"--driver stdio"},
	} {
		o := options("session-runtime", target.WS)
		row.change(&o)
		_, err := Run(t.Context(), o)
		var usage *runner.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want a usage error with %q", reason, err, row.want)
		}
	}
	for base, ok := range map[string]bool{"http://127.0.0.1:1": true, "http://[::1]:1": true, "http://localhost:1": true,
		"http://192.0.2.1:1": false} {
		if err := rejectRemote(t.Context(), base, nil); (err == nil) != ok {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// TestFilesPerSession: the connections of a session count, twice if both ends are here, and what a bundled target has
// open for it, such as a log, but nothing that a target of somebody else may have.
func TestFilesPerSession(t *testing.T) {
	for _, row := range []struct {
		plan            steps.Load
		bundled, within bool
		want            int
	}{
		{steps.Load{}, false, false, 1},
		{steps.Load{}, true, true, 2},
		{steps.Load{Paired: true}, true, false, 2},
		{steps.Load{Paired: true}, true, true, 4},
		{hostPlan(t), true, false, 2},
		{hostPlan(t), true, true, 3},
		{hostPlan(t), false, false, 1},
	} {
		if got := filesPerSession(row.plan, row.bundled, row.within); got != row.want {
			t.Errorf("paired %v, %d files, bundled %v, within %v: %d, want %d", row.plan.Paired, row.plan.Files, row.bundled,
				row.within, got, row.want)
		}
	}
}

// hostPlan is the load of a host of external-agent, which has a log open for each session.
func hostPlan(t *testing.T) steps.Load {
	o := options("external-agent", target.WS)
	p, err := o.Protocols.Find("external-agent")
	if err != nil {
		t.Fatal(err)
	}
	return p.(steps.Loadable).Load(&steps.Env{Profile: o.Profile, Role: "host"}, "http://127.0.0.1:1")
}

// TestUnreachable: without any session there are no results.
func TestUnreachable(t *testing.T) {
	o := options("session-chat", target.WS)
	o.Profile.URL, o.Profile.Bundled = "http://127.0.0.1:1", false
	o.Launcher = target.NewLauncher(o.Profile)
	_, err := Run(t.Context(), o)
	var unreachable *steps.UnreachableError
	var absent *target.UnreachableError
	if !errors.As(err, &unreachable) && !errors.As(err, &absent) {
		t.Errorf("%v", err)
	}
}
