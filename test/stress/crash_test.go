package stress_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"parley/features/verdict"
	"parley/reference-server/agentselect"
	"parley/reports"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// TestCrashingTarget checks that a process that crashes on a message is restarted, and that only the scenarios that
// crash it are blamed, although many others were running.
func TestCrashingTarget(t *testing.T) {
	suitetest.AwaitTurn(t)
	suitetest.RequireProgram(t, "python3")
	p, err := protocols.Kinds().Load("examples/profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers = []string{target.SSE}
	p.Command.Run = []string{"python3", "-c", crashOnNumbers, "--port", "{port}", "--agents", "{dir}/main-agents.toml"}
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "not @exclusive and not @model"})
	if res.Exit != verdict.ExitNonConformant {
		t.Errorf("exit %d, want %d", res.Exit, verdict.ExitNonConformant)
	}
	var failed []string
	for _, sc := range res.Runs[0].Scenarios {
		switch {
		case sc.Outcome == verdict.Failed:
			failed = append(failed, sc.Name)
			if !strings.Contains(strings.Join(sc.Notes, "\n"), "the target's process ended during this scenario") {
				t.Errorf("%s %q does not report that the process ended: %q", sc.ID, sc.Name, sc.Notes)
			}
		case sc.Outcome != verdict.Passed && sc.Outcome != verdict.NotApplicable:
			t.Errorf("%s %q is %s: %s", sc.ID, sc.Name, sc.Outcome, sc.Reason)
		}
	}
	slices.Sort(failed)
	var want []string
	for _, number := range []string{"fraction", "large number", "number", "zero"} {
		want = append(want, "an agentId that is not a string is refused: "+number)
	}
	if !slices.Equal(failed, want) {
		t.Errorf("blamed %q, want %q", failed, want)
	}
}

// crashOnNumbers runs the Python example with a fault: a number as agent id ends the process.
const crashOnNumbers = `
import json, os, sys
sys.path.insert(0, ".")
loads = json.loads
def deadly(text, *a, **k):
    v = loads(text, *a, **k)
    if isinstance(v, dict) and isinstance(v.get("agentId"), (int, float)) and not isinstance(v.get("agentId"), bool):
        os._exit(3)
    return v
json.loads = deadly
sys.argv[0] = "agent_select.py"
exec(compile(open("agent_select.py", encoding="utf-8").read(), "agent_select.py", "exec"),
     {"__name__": "__main__", "__file__": "agent_select.py"})
`

// TestCrashUnderLoad checks that a process that crashes with many concurrent clients, but with no single scenario, is
// not conformant. The scenarios running at the crash keep their outcomes.
func TestCrashUnderLoad(t *testing.T) {
	suitetest.AwaitTurn(t)
	suitetest.RequireProgram(t, "python3")
	p, err := protocols.Kinds().Load("examples/profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers = []string{target.SSE}
	once := filepath.Join(t.TempDir(), "once")
	p.Command.Run = []string{"python3", "-c", strings.ReplaceAll(crashAtMany, "ONCE", strconv.Quote(once)), "--port",
		"{port}", "--agents", "{dir}/main-agents.toml"}
	res := suitetest.Judge(t, runner.Options{Profile: p, Tags: "not @exclusive and not @model", AllowIncomplete: true})
	if _, err := os.Stat(once); err != nil {
		t.Fatalf("it was not brought to its end: %v\n%s", err, suitetest.Console(t, res))
	}
	if res.Exit != verdict.ExitNonConformant {
		t.Errorf("exit %d, want %d\n%s", res.Exit, verdict.ExitNonConformant, suitetest.Console(t, res))
	}
	failed := 0
	for _, sc := range res.Runs[0].Scenarios {
		if sc.Outcome == verdict.Failed &&
			strings.Contains(strings.Join(sc.Notes, "\n"), "the target's process ended during this scenario") {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no scenario reports that the process ended")
	}
}

// crashAtMany runs the Python example with a fault: its process ends once while serving many clients.
const crashAtMany = `
import json, os, sys
sys.path.insert(0, ".")
loads, got = json.loads, [0]
def deadly(text, *a, **k):
    got[0] += 1
    if got[0] > 150 and not os.path.exists(ONCE):
        open(ONCE, "w").close()
        os._exit(3)
    return loads(text, *a, **k)
json.loads = deadly
sys.argv[0] = "agent_select.py"
exec(compile(open("agent_select.py", encoding="utf-8").read(), "agent_select.py", "exec"),
     {"__name__": "__main__", "__file__": "agent_select.py"})
`

// TestCrashKeepsWhatWasWrong checks that a wrong event before a crash fails the scenario that received it, although
// that scenario would receive nothing wrong if it ran alone.
func TestCrashKeepsWhatWasWrong(t *testing.T) {
	suitetest.AwaitTurn(t)
	suitetest.RequireProgram(t, "python3")
	p, err := protocols.Kinds().Load("examples/profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers = []string{target.SSE}
	p.Command.Run = []string{"python3", "-c", crashLoudly, "--port", "{port}", "--agents", "{dir}/main-agents.toml"}
	res := suitetest.Judge(t, runner.Options{Profile: p,
		Tags: "not @exclusive and not @model and (@AS-077 or @AS-053)"})
	wrong := 0
	for _, sc := range res.Runs[0].Scenarios {
		beside := strings.Contains(strings.Join(sc.Notes, "\n"), "found while it ran in parallel")
		for _, f := range sc.Failures {
			if strings.Contains(f.Observed, "stranger") && f.At != "" && beside {
				wrong++
			}
		}
	}
	if wrong == 0 {
		t.Errorf("nothing tells of what was wrong\n%s", suitetest.Console(t, res))
	}
}

// crashLoudly runs the Python example with a fault: a number as agent id sends something wrong to all clients and
// then ends the process, once some more messages have come, which get no answer: their senders miss it. If none come,
// it ends after a second.
const crashLoudly = `
import asyncio, gc, json, os, sys
sys.path.insert(0, ".")
loads, ends, unanswered = json.loads, [], [0]
async def end():
    for _ in range(100):
        await asyncio.sleep(0.01)
        if unanswered[0] > 2:
            break
    os._exit(3)
def deadly(text, *a, **k):
    v = loads(text, *a, **k)
    if ends:
        unanswered[0] += 1
        raise asyncio.CancelledError()
    if isinstance(v, dict) and isinstance(v.get("agentId"), (int, float)) and not isinstance(v.get("agentId"), bool):
        for c in gc.get_objects():
            if type(c).__name__ == "Connection":
                c.send("agent_list", {"stranger": 7})
        ends.append(asyncio.get_running_loop().create_task(end()))
        raise asyncio.CancelledError()
    return v
json.loads = deadly
sys.argv[0] = "agent_select.py"
source = open("agent_select.py", encoding="utf-8").read()
exec(compile(source, "agent_select.py", "exec"),
     {"__name__": "__main__", "__file__": "agent_select.py"})
`

// TestTargetGoesAway stops a target given by its URL in the middle of a run. Later scenarios are not tested, and the
// run notes that failures at that moment may be related.
func TestTargetGoesAway(t *testing.T) {
	suitetest.AwaitTurn(t)
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
	res := suitetest.JudgeURL(t, srv.URL)
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

// TestInterrupted checks that an interrupted run keeps its findings, and that no clause passes that it did not reach.
func TestInterrupted(t *testing.T) {
	suitetest.AwaitTurn(t)
	ctx, cancel := context.WithCancel(context.Background())
	o := suitetest.Bundled("agent-select", "")
	o.Observer = &stopAfter{n: 20, stop: cancel}
	res, err := runner.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitInterrupted || !res.Partial || res.Verdict == verdict.Conformant {
		t.Errorf("exit %d, partial %v, verdict %s", res.Exit, res.Partial, res.Verdict)
	}
	if errors.Is(ctx.Err(), nil) {
		t.Error("the run was not interrupted")
	}
	total := res.Runs[0].Totals.Scenarios
	if total.ByOutcome[verdict.NotTested] == 0 || total.ByOutcome[verdict.Failed] > 0 {
		t.Errorf("outcomes %v: interrupted scenarios are neither passed nor failed\n%s", total.ByOutcome,
			suitetest.Console(t, res))
	}
}

type stopAfter struct {
	mu   sync.Mutex
	n    int
	stop func()
}

func (s *stopAfter) Planned(int) {}

func (s *stopAfter) ScenarioDone(reports.Scenario) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 {
		s.stop()
	}
}
