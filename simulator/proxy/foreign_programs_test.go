package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/features/verdict"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps/protocols"
	"parley/target"
)

// page is a client in Python that uses no code of Parley.
const page = `
import sys
sys.path.insert(0, "../../examples/fake-server")
from client import Client
c = Client(sys.argv[1])
print(c.switch("debugger"))
print(c.switch("nobody"))
c.close()
`

// TestForeignClient: a correct client in another language is judged, without findings; one that tries to create an
// agent breaks the clause about that.
func TestForeignClient(t *testing.T) {
	for _, one := range []struct {
		name    string
		creates bool
		outcome verdict.Outcome
	}{{"as the document has it", false, verdict.Passed}, {"it makes an agent", true, verdict.Failed}} {
		t.Run(one.name, func(t *testing.T) {
			s := openProxy(t, options(t, "agent-client", bundle(t, "agent-select", "server", "")), "")
			out, err := exec.CommandContext(boundedContext(t), "python3", "-c", page, s.URL()).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "\n") {
				t.Fatalf("%v\n%s", err, out)
			}
			if one.creates {
				res, err := unpooledClient(t).Post(s.URL()+"/agents", "application/json", strings.NewReader(`{"id":"mine"}`))
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
			}
			awaitEvent(t, s.ends, "C1")
			res := s.close()
			got := outcomes(res, "client")
			if !slices.Contains(got[one.outcome], "AC-015") || !one.creates && len(got[verdict.Failed]) > 0 {
				t.Errorf("passed %v, failed %v", got[verdict.Passed], got[verdict.Failed])
			}
			for _, id := range []string{"AC-008", "AC-045", "AC-051", "AC-053"} {
				if !slices.Contains(got[verdict.Passed], id) {
					t.Errorf("%s is not among those that passed: %v", id, got[verdict.Passed])
				}
			}
			if !s.hasLine("C1", "agent_switched") || !s.hasLine("POST /message", "switch_agent") {
				t.Errorf("transcript: %q", s.lines)
			}
		})
	}
}

// TestTwoPages: with a second page at the same time, the sender of a request is unknown, and such requests are not
// judged.
func TestTwoPages(t *testing.T) {
	s := openProxy(t, options(t, "agent-client", bundle(t, "agent-select", "server", "")), "")
	for n := range 2 {
		req, err := http.NewRequestWithContext(boundedContext(t), http.MethodGet, s.URL()+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		res, err := unpooledClient(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		awaitEvent(t, s.opens, fmt.Sprintf("C%d", n+1))
	}
	res, err := unpooledClient(t).Post(s.URL()+"/agents", "application/json", strings.NewReader(`{"id":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := outcomes(s.close(), "client"); len(got[verdict.Failed])+len(got[verdict.Passed]) > 0 {
		t.Errorf("passed %v, failed %v", got[verdict.Passed], got[verdict.Failed])
	}
}

// inPipe names the file to which this program, run in front of a command, writes its judgements.
const inPipe = "PARLEY_TEST_PIPE"

// piped holds the judgements on a command.
type piped struct{ Passed, Broken []string }

// standBefore runs a command between stdin and stdout, as parley proxy does.
func standBefore(out string) int {
	p, err := protocols.All.Find("session-runtime")
	if err != nil {
		panic(err)
	}
	roles, err := proxy.RolesOf(p, nil)
	if err != nil {
		panic(err)
	}
	var got piped
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	profile := p.Kind().New()
	profile.Protocol = "session-runtime"
	code, err := proxy.Pipe(ctx, proxy.Options{Protocol: p, Profile: profile, Roles: roles,
		Ended: func(e proxy.Ended) {
			for _, j := range e.Judged {
				if j.Outcome == verdict.Passed {
					got.Passed = append(got.Passed, j.Clause)
				}
			}
			for _, f := range e.Failures {
				got.Broken = append(got.Broken, f.Clause+": "+f.Observed)
			}
		}}, proxy.PipeOptions{Command: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	line, _ := json.Marshal(got)
	f, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
	return code
}

// renames is a filter that renames a member of every message.
const renames = `
import sys
for line in iter(sys.stdin.readline, ""):
    print(line.replace("\"turn_id\"", "\"turnId\""), end="", flush=True)
`

// TestForeignCommand: the suite judges an orchestrator in Python, on stdin and stdout behind the proxy, as it does
// without the proxy, and the proxy finds nothing. An orchestrator whose messages name no turn is found.
func TestForeignCommand(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name, script string
		conforms     bool
	}{
		{"as the document has it", "exec python3 ../adapters/python/adapter.py", true},
		{"without turns", "python3 ../adapters/python/adapter.py | python3 -c '" + renames + "'", false},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			p, err := protocols.Kinds().Load("../../examples/profiles/python-runtime.yaml")
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "judged")
			p.Command.Run = []string{self, "sh", "-c", one.script}
			p.Command.Env = map[string]string{inPipe: out}
			p.Command.Stop = target.Duration{Duration: within}
			res, err := runner.Run(boundedContext(t), runner.Options{Protocols: protocols.All, Profile: p, Again: "parley run",
				Tags: "@RT-001 or @RT-002 or @RT-020 or @RT-050", Concurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			if one.conforms && res.Exit == verdict.ExitNonConformant {
				t.Errorf("the suite finds faults: exit %d", res.Exit)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var got piped
			for line := range bytes.Lines(text) {
				var one piped
				if err := json.Unmarshal(line, &one); err != nil {
					t.Fatal(err)
				}
				got.Passed, got.Broken = append(got.Passed, one.Passed...), append(got.Broken, one.Broken...)
			}
			if one.conforms != (len(got.Broken) == 0) || one.conforms && len(got.Passed) == 0 {
				t.Errorf("passed %v, broken %v", got.Passed, got.Broken)
			}
		})
	}
}
