package runner

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
	"parley/steps/protocols"
	"parley/target"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// found returns the results of a run of one protocol.
func found(protocol string, v verdict.Verdict, exit int) *reports.Results {
	return &reports.Results{Schema: reports.SchemaID, Suite: reports.Suite{Version: "1"}, Verdict: v, Exit: exit, Seed: 7,
		Started: noon, Duration: 10, Runs: []reports.Run{{Protocol: protocol, Verdict: v}}}
}

// TestMergedVerdict checks verdict and exit code: exit codes have the precedence 4, 3, 1, 5, 0, and an interrupt
// precedes all. The order of two runs does not matter.
func TestMergedVerdict(t *testing.T) {
	const fine, bad, partly = verdict.Conformant, verdict.NonConformant, verdict.Incomplete
	type one struct {
		v    verdict.Verdict
		exit int
	}
	for _, tt := range []struct {
		reason     string
		a, b, want one
	}{
		{"both conform", one{fine, 0}, one{fine, 0}, one{fine, 0}},
		{"one fails", one{fine, 0}, one{bad, 1}, one{bad, 1}},
		{"one is incomplete", one{fine, 0}, one{partly, 5}, one{partly, 5}},
		{"a failure precedes incompleteness", one{partly, 5}, one{bad, 1}, one{bad, 1}},
		{"incomplete runs are allowed", one{fine, 0}, one{partly, 0}, one{partly, 0}},
		{"incomplete runs are allowed, and one fails", one{partly, 0}, one{bad, 1}, one{bad, 1}},
		{"an unreachable target precedes a failure, and the verdict keeps the failure", one{bad, 1}, one{partly, 3},
			one{bad, 3}},
		{"an unreachable target precedes incompleteness", one{partly, 5}, one{partly, 3}, one{partly, 3}},
		{"a harness failure precedes an unreachable target", one{partly, 3}, one{partly, 4}, one{partly, 4}},
		{"a harness failure precedes a failure", one{bad, 1}, one{partly, 4}, one{bad, 4}},
		{"an interrupt precedes all", one{bad, 4}, one{partly, 130}, one{bad, 130}},
		{"a conformant run, and one that never began", one{fine, 0}, one{partly, 130}, one{partly, 130}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			for _, pair := range [][2]one{{tt.a, tt.b}, {tt.b, tt.a}} {
				got := Merge(found("a", pair[0].v, pair[0].exit), found("b", pair[1].v, pair[1].exit))
				if (one{got.Verdict, got.Exit}) != tt.want {
					t.Errorf("%v: %s, exit %d, want %v", pair, got.Verdict, got.Exit, tt.want)
				}
			}
		})
	}
}

func TestMergeKeepsEverything(t *testing.T) {
	a, b, c := found("a", verdict.Conformant, 0), found("b", verdict.Incomplete, 5), found("c", verdict.Conformant, 0)
	a.Selection, b.Selection, c.Selection = "@X-001", "@X-001; drivers ws: b is certified over sse", "@X-001"
	b.Started, b.Duration, b.Partial = noon.Add(10*time.Millisecond), 20.25, true
	c.Started, c.Duration = noon.Add(31*time.Millisecond), 1
	got := Merge(a, b, c)
	want := &reports.Results{Schema: reports.SchemaID, Suite: reports.Suite{Version: "1"}, Verdict: verdict.Incomplete,
		Exit: 5, Partial: true,
		Selection: "@X-001; drivers ws: b is certified over sse", Seed: 7, Started: noon, Duration: 32,
		Runs: []reports.Run{{Protocol: "a", Verdict: verdict.Conformant}, {Protocol: "b", Verdict: verdict.Incomplete},
			{Protocol: "c", Verdict: verdict.Conformant}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if len(a.Runs) != 1 || a.Verdict != verdict.Conformant {
		t.Error("what was merged has changed")
	}
}

func TestMergeOfOneAndNone(t *testing.T) {
	alone := found("a", verdict.NonConformant, 1)
	alone.Duration, alone.Selection = 123.457, "a; b"
	if diff := cmp.Diff(alone, Merge(alone)); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	if got := Merge(); got != nil {
		t.Errorf("nothing makes %+v", got)
	}
}

// nobody is a launcher that must not be called.
type nobody struct{ t *testing.T }

func (nobody) Private() bool { return false }

func (n nobody) Launch(context.Context, target.LaunchOptions) (target.Running, error) {
	n.t.Error("a target is launched after the end of the run")
	return nil, context.Canceled
}

// TestRunAllAfterItsEnd: every scenario that never began is in the results as not tested.
func TestRunAllAfterItsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var runs []Options
	for _, protocol := range protocols.All.Names() {
		p, err := protocols.Kinds().ForURL(protocol, "http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, Options{Protocols: protocols.All, Profile: p, Launcher: nobody{t}})
	}
	total, err := Count(runs...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := RunAll(ctx, runs...)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Partial || res.Exit != verdict.ExitInterrupted || res.Verdict != verdict.Incomplete ||
		len(res.Runs) != len(runs) {
		t.Errorf("partial %v, exit %d, %s, %d runs", res.Partial, res.Exit, res.Verdict, len(res.Runs))
	}
	for _, run := range res.Runs {
		total -= len(run.Scenarios)
		for _, sc := range run.Scenarios {
			if sc.Outcome != verdict.NotTested || sc.Reason != "the run ended before it" {
				t.Fatalf("%s is %s: %s", sc.ID, sc.Outcome, sc.Reason)
			}
		}
	}
	if total != 0 {
		t.Errorf("%d more scenarios were counted than are in the results", total)
	}
}

func TestRunAllRefuses(t *testing.T) {
	p := protocols.Kinds().New("agent-select")
	good, bad := Options{Protocols: protocols.All, Profile: p, Launcher: nobody{t}},
		Options{Protocols: protocols.All, Profile: p, Launcher: nobody{t}, Tags: "@AS-999"}
	if _, err := Count(good, bad); err == nil {
		t.Error("a selection of nothing is counted")
	}
	if _, err := RunAll(t.Context(), bad); err == nil {
		t.Error("a selection of nothing is run")
	}
}
