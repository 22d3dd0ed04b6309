//go:build unix

package proof_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/steps/protocols"
	"parley/target"
	"parley/test/suitetest"
)

// drivenAgents are agents in Python that act when a hook asks them to, and what is said of them.
var drivenAgents = []struct {
	reason   string
	from, to string // a change in agent.py
	hook     string // %s stands for the hook of the profile; "": as it is
	person   bool   // presses Enter whenever the hook asks
	broken   string
	says     string
	exit     int
}{
	{reason: "a control socket", exit: verdict.ExitConformant},
	{reason: "a person who is asked", hook: `echo "$PARLEY_ACT" > terminal; read -r _ && %s`, person: true,
		exit: verdict.ExitConformant},
	{reason: "a fault", from: `"params": params, "reason": "I have been asked to go on."`, to: `"params": params`,
		broken: "EA-035", says: "payload.reason is missing", exit: verdict.ExitNonConformant},
	{reason: "a hook that fails", hook: "echo no socket >&2; exit 3",
		says: "the agent could not be asked for connect: hook call: exit status 3", exit: verdict.ExitIncomplete},
	{reason: "a hook that fails later", hook: `test "$PARLEY_ACT" = connect && %s`,
		says: "the agent could not be asked for tool.call: hook call: exit status 1", exit: verdict.ExitIncomplete},
	{reason: "a hook that hangs", hook: `exec sleep 600`,
		says: "the agent could not be asked for connect: hook call: took longer than 5s", exit: verdict.ExitIncomplete},
	{reason: "nobody is there to ask", hook: `read -r _ && %s`,
		says: "the agent could not be asked for connect: hook call: exit status 1", exit: verdict.ExitIncomplete},
}

// TestDrivenAgent judges agents that act when a hook asks them to.
func TestDrivenAgent(t *testing.T) {
	t.Parallel()
	for i, r := range drivenAgents {
		t.Run(r.reason, func(t *testing.T) {
			if i > 0 {
				tier.Night(t)
			}
			suitetest.AwaitTurn(t)
			suitetest.RequireProgram(t, "python3")
			p := drivenWith(t, r.from, r.to)
			launch.RaiseLimits(&p.Limits)
			if r.hook != "" {
				p.Hooks.Call = strings.ReplaceAll(r.hook, "%s", p.Hooks.Call)
			}
			if strings.Contains(r.says, "took longer") {
				p.Limits.Hook.Duration = 5 * time.Second
			}
			o := runner.Options{Profile: p, Tags: "@EA-035 or @EA-036 or @EA-037", AllowIncomplete: r.says == "",
				Concurrency: 2}
			if r.person {
				var leaves func()
				o.Person, leaves = personAt(t, filepath.Join(p.Dir, "terminal"))
				defer leaves()
				o.Concurrency = 1 // any hook that runs may get the line
			}
			res := suitetest.Judge(t, o)
			console := suitetest.Console(t, res)
			said, broken := strings.Join(strings.Fields(console), " "), strings.Join(suitetest.Broken(res), " ")
			if res.Exit != r.exit || broken != r.broken || !strings.Contains(said, r.says) {
				t.Errorf("exit %d, broken %q, want %d, %q and %q:\n%s", res.Exit, broken, r.exit, r.broken, r.says, console)
			}
			if passed := res.Runs[0].Totals.Scenarios.ByOutcome[verdict.Passed]; r.says == "" && passed != 6 {
				t.Errorf("%d of 6 scenarios passed:\n%s", passed, console)
			}
		})
	}
}

// personAt is a person who presses Enter for each line that a terminal shows, which is a pipe with a name.
func personAt(t *testing.T, terminal string) (lines *target.Lines, leaves func()) {
	t.Helper()
	if err := syscall.Mkfifo(terminal, 0o600); err != nil {
		t.Fatal(err)
	}
	shown, err := os.OpenFile(terminal, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	typed, person := io.Pipe()
	var work sync.WaitGroup
	work.Go(func() {
		for in := bufio.NewScanner(shown); in.Scan(); {
			if _, err := fmt.Fprintln(person); err != nil {
				return
			}
		}
	})
	return target.NewLines(typed), func() { _ = person.Close(); _ = shown.Close(); work.Wait() }
}

// drivenWith returns the profile of a copy of the agent with a change.
func drivenWith(t *testing.T, from, to string) *target.Profile {
	t.Helper()
	dir := t.TempDir()
	const example, profile = "examples/agents/python-control", "examples/profiles/python-agent.yaml"
	err := os.CopyFS(filepath.Join(dir, example), os.DirFS(example))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filepath.Dir(profile)), 0o700)
	}
	for _, name := range []string{example + "/agent.py", profile} {
		var data []byte
		if err == nil {
			data, err = os.ReadFile(name)
		}
		if from != "" && name != profile {
			if strings.Count(string(data), from) != 1 {
				t.Fatalf("%s does not have once: %s", name, from)
			}
			data = []byte(strings.Replace(string(data), from, to, 1))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := protocols.Kinds().Load(filepath.Join(dir, profile))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
