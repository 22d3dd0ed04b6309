package proof_test

import (
	"os/exec"
	"slices"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
	"parley/transport/driver/browser"
)

// foreign are targets in other languages, written only from the source document and the bindings. They share no code
// with the harness, so a shared misunderstanding cannot go unnoticed. By default a third of the scenarios is run, of
// the page a sixth, and of two targets of a protocol or a role one; at night everything is.
var foreign = []struct{ profile, tool, install string }{
	{"examples/profiles/python.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/node.yaml", "node", "apt-get install -y nodejs   (20 or later)"},
	{"examples/profiles/python-chat.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/node-chat.yaml", "node", "apt-get install -y nodejs   (20 or later)"},
	{"examples/profiles/python-host.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/python-host-page.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/python-relay.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/node-agent.yaml", "node", "apt-get install -y nodejs   (20 or later)"},
	{"examples/profiles/python-agent.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/python-runtime.yaml", "python3", "apt-get install -y python3   (3.11 or later)"},
	{"examples/profiles/node-runtime.yaml", "node", "apt-get install -y nodejs   (20 or later)"},
	{"examples/profiles/plain-page.yaml", "", ""}, // a browser: the product's own search reports what is missing
}

var second = []string{"examples/profiles/python.yaml", "examples/profiles/python-host-page.yaml",
	"examples/profiles/python-agent.yaml", "examples/profiles/node-chat.yaml", "examples/profiles/python-runtime.yaml"}

// warned lists the clauses that a target is warned of: they recommend what it does otherwise on purpose.
var warned = map[string][]string{"examples/profiles/plain-page.yaml": {"AC-029"}}

func TestForeignTargets(t *testing.T) {
	t.Parallel()
	for _, f := range foreign {
		t.Run(f.profile, func(t *testing.T) {
			if slices.Contains(second, f.profile) {
				tier.Night(t)
			}
			if f.tool == "" {
				if _, err := browser.Find(""); err != nil {
					t.Fatal(err)
				}
			} else if _, err := exec.LookPath(f.tool); err != nil {
				t.Fatalf("%s is missing; install it: %s", f.tool, f.install)
			}
			p, err := protocols.Kinds().Load(f.profile)
			if err != nil {
				t.Fatal(err)
			}
			suitetest.AwaitTurnOn(t, p.Protocol)
			launch.RaiseLimits(&p.Limits)
			o := runner.Options{Profile: p, Again: "parley run --target " + f.profile}
			if !tier.All() {
				oneIn := uint32(5)
				if f.tool == "" { // a page needs the processor
					oneIn = 9
				}
				o = suitetest.OneIn(oneIn, o)
			}
			res := suitetest.Judge(t, o)
			passed := res.Runs[0].Totals.Scenarios.ByOutcome[verdict.Passed]
			conforms := res.Verdict == verdict.Conformant ||
				!tier.All() && res.Verdict == verdict.Incomplete // clauses outside the sample are not tested
			meant := func(id string) bool { return slices.Contains(warned[f.profile], id) }
			broken := slices.DeleteFunc(suitetest.Broken(res), meant)
			if !conforms || passed < 10 || len(broken) > 0 {
				t.Errorf("%s\n%s", suitetest.Console(t, res), res.Runs[0].TargetStderr)
			}
		})
	}
}
