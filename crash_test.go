package parley_test

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/runner"
	"parley/target"
	"parley/verdict"
)

// TestCrashingTarget: a process that dies of one message is started again, and only the scenarios that kill it are
// blamed, though many others were running at that moment.
func TestCrashingTarget(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is missing; install it: apt-get install -y python3")
	}
	p, err := target.Load("profiles/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Drivers = []string{target.SSE}
	p.Command.Run = []string{"python3", "-c", crashOnNumbers, "--port", "{port}", "--agents", "{dir}/main-agents.toml"}
	res, err := runner.Run(context.Background(), runner.Options{Profile: p, Tags: "not @exclusive and not @model", Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != verdict.ExitNonConformant {
		t.Errorf("exit %d, want %d", res.Exit, verdict.ExitNonConformant)
	}
	var failed []string
	for _, sc := range res.Runs[0].Scenarios {
		switch {
		case sc.Outcome == verdict.Failed:
			failed = append(failed, sc.Name)
			if !strings.Contains(strings.Join(sc.Notes, "\n"), "the target's process ended during this scenario") {
				t.Errorf("%s %q does not tell that the process ended: %q", sc.ID, sc.Name, sc.Notes)
			}
		case sc.Outcome != verdict.Passed && sc.Outcome != verdict.NotApplicable:
			t.Errorf("%s %q is %s: %s", sc.ID, sc.Name, sc.Outcome, sc.Reason)
		}
	}
	slices.Sort(failed)
	if want := []string{"no string: fraction", "no string: large number", "no string: number", "no string: zero"}; !slices.Equal(failed, want) {
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
exec(compile(open("agent_select.py", encoding="utf-8").read(), "agent_select.py", "exec"), {"__name__": "__main__", "__file__": "agent_select.py"})
`
