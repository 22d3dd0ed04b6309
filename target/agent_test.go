//go:build unix

package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/internal/procgroup"
)

// fakeAgent returns the profile of a fake agent, in a folder of its own.
func fakeAgent(t *testing.T, mode string) *Profile {
	t.Helper()
	p := toys.New("dialling")
	p.Role, p.Dir, p.Command = "agent", t.TempDir(), fake(t, mode).Command
	return p
}

// launchAgents launches agents in a scratch folder, and checks at the end of the test that nothing is left of them.
func launchAgents(t *testing.T, p *Profile, o LaunchOptions) *agents {
	t.Helper()
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	r, err := NewLauncher(p).Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := r.Stop(context.Background()); err != nil {
				t.Errorf("stop: %v", err)
			}
		}
		if left, _ := os.ReadDir(scratch); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return r.(*agents)
}

// call calls an agent, and waits until it has written a line.
func call(t *testing.T, a *agents, session string) (*agentCall, string) {
	t.Helper()
	said, text := make(chan string, 1), ""
	c, err := a.Call(t.Context(), CallOptions{
		URL: "ws://127.0.0.1:4711/agent/ws", Session: session, Stderr: writerFunc(func(b []byte) {
			if text += string(b); strings.HasSuffix(text, "\n") {
				select {
				case said <- text:
				default:
				}
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*agentCall), <-said
}

var callRows = map[string]string{"config": "src"}

// TestCall: each called agent is a process with its own folder, and receives the address to connect to.
func TestCall(t *testing.T) {
	p := fakeAgent(t, "agent")
	if err := os.WriteFile(filepath.Join(p.Dir, "src"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Command.Copy = callRows
	p.Command.Run = append(p.Command.Run, "{url}", "{session}", "{port}", "{port2}", "{dir}")
	p.Command.Env["ALL"] = "{profile} {session} {model} {other}"
	p.Model = &Model{Hook: `echo "$PARLEY_SESSION $PARLEY_URL" > "$PARLEY_DIR/told"`}
	var all strings.Builder // the agents write to it one after the other
	a := launchAgents(t, p, LaunchOptions{ModelURL: "http://model", Stderr: &all})

	dirs, ports := map[string]bool{}, map[string]bool{}
	var calls []*agentCall
	for _, session := range []string{"s1", "s2", ""} {
		c, said := call(t, a, session)
		calls = append(calls, c)
		dirs[c.fill.dir], ports[c.fill.port2] = true, true
		if session == "" {
			session = "default"
		}
		want := strings.Join([]string{
			"ws://127.0.0.1:4711/agent/ws", session, "4711", c.fill.port2, c.fill.dir, p.Dir, session, "http://model", "{other}",
		}, " ") + "\n"
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("what it is told (-want +got):\n%s", diff)
		}
		if c.Stderr() != want || !strings.HasSuffix(a.Stderr(), want) {
			t.Errorf("its stderr is %q, that of all %q", c.Stderr(), a.Stderr())
		}
		for name, want := range map[string]string{"config": "text", "told": session + " ws://127.0.0.1:4711/agent/ws\n"} {
			if b, err := os.ReadFile(filepath.Join(c.fill.dir, name)); err != nil || string(b) != want {
				t.Errorf("%s holds %q (%v), want %q", name, b, err, want)
			}
		}
		if isClosed(c.Exited()) || c.ExitErr() != nil {
			t.Errorf("it has ended: %v", c.ExitErr())
		}
	}
	if len(dirs) != len(calls) || len(ports) != len(calls) {
		t.Errorf("%d agents in %d folders, with %d second ports", len(calls), len(dirs), len(ports))
	}

	callsEnd(t, a, calls)
	if a.Stderr() != all.String() {
		t.Errorf("handed on %q, kept %q", all.String(), a.Stderr())
	}
	if _, err := a.Call(t.Context(), CallOptions{}); !errors.Is(err, errStopped) {
		t.Errorf("a call after the stop: got %v, want %v", err, errStopped)
	}
}

// callsEnd checks that a call can end on its own, and that all end with the target.
func callsEnd(t *testing.T, a *agents, calls []*agentCall) {
	t.Helper()
	for range 2 {
		if err := calls[0].Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if procgroup.Alive(calls[0].proc.group) || exists(calls[0].fill.dir) || isClosed(calls[0].Exited()) {
		t.Error("the one that was stopped runs, has left its folder, or counts as ended by itself")
	}
	if !procgroup.Alive(calls[1].proc.group) || !exists(calls[1].fill.dir) {
		t.Error("another one has ended with it")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for i, c := range calls {
		if procgroup.Alive(c.proc.group) || exists(c.fill.dir) || isClosed(c.Exited()) {
			t.Errorf("agent %d still runs, has left its folder, or counts as ended by itself", i)
		}
	}
}

// TestCallAsEnvironment: the agent's parameters are also in its environment.
func TestCallAsEnvironment(t *testing.T) {
	p := fakeAgent(t, "")
	p.Command.Run = []string{"sh", "-c",
		`echo "$PARLEY_URL $PARLEY_SESSION $PARLEY_PORT $PARLEY_DIR $PARLEY_PROFILE_DIR" >&2; exec sleep 600`}
	c, said := call(t, launchAgents(t, p, LaunchOptions{}), "s 1")
	want := "ws://127.0.0.1:4711/agent/ws s 1 4711 " + c.fill.dir + " " + p.Dir + "\n"
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgentEnds: an agent that exits by itself says how, and this is not a failure to start.
func TestAgentEnds(t *testing.T) {
	for _, tt := range []struct{ reason, mode, how, stderr string }{
		{"it fails", "dies", "exit status 3", "cannot read its config\n"},
		{"it exits normally", "ends", "exit status 0", ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			a := launchAgents(t, fakeAgent(t, tt.mode), LaunchOptions{})
			c, err := a.Call(t.Context(), CallOptions{URL: "ws://127.0.0.1:1/"})
			if err != nil {
				t.Fatal(err)
			}
			<-c.Exited()
			if err := c.Stop(t.Context()); err != nil { // after this all of its output is there
				t.Error(err)
			}
			if c.ExitErr() == nil || c.ExitErr().Error() != tt.how || c.Stderr() != tt.stderr {
				t.Errorf("it ended by %v, with %q", c.ExitErr(), c.Stderr())
			}
		})
	}
}

// TestStopAgents: agents that ignore the request to exit are killed with their children, all within one grace period.
func TestStopAgents(t *testing.T) {
	p := fakeAgent(t, "agents")
	a := launchAgents(t, p, LaunchOptions{})
	var calls []*agentCall
	for range 3 {
		c, _ := call(t, a, "")
		calls = append(calls, c)
	}
	limit := deadline.In(3 * p.Command.Stop.Duration)
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if limit.Over() {
		t.Error("it took three graces")
	}
	for i, c := range calls {
		if procgroup.Alive(c.proc.group) {
			t.Errorf("agent %d still runs", i)
		}
	}
}

// TestStopWhileCalling: a pending call is aborted and leaves nothing behind.
func TestStopWhileCalling(t *testing.T) {
	p := fakeAgent(t, "agent")
	p.Model = &Model{Hook: `echo x > "$PARLEY_PROFILE_DIR/pipe"; sleep 600`}
	pipe := filepath.Join(p.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	a := launchAgents(t, p, LaunchOptions{ModelURL: "http://model"})
	ended := make(chan error, 1)
	go func() {
		_, err := a.Call(context.Background(), CallOptions{})
		ended <- err
	}()
	if _, err := os.ReadFile(pipe); err != nil { // the hook runs
		t.Fatal(err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var failed *HookError
	if err := <-ended; !errors.As(err, &failed) || !errors.Is(err, errStopped) {
		t.Errorf("got %v, want %v", err, errStopped)
	}
}

func TestCallGivenUp(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := launchAgents(t, fakeAgent(t, "agent"), LaunchOptions{}).Call(ctx, CallOptions{}); !errors.Is(err,
		enough) {
		t.Errorf("got %v, want the cause of the context", err)
	}
}

// TestNoAgent: mistakes in a command are reported at the launch if they are known by then.
func TestNoAgent(t *testing.T) {
	for _, tt := range []struct {
		reason   string
		change   func(*Profile)
		launched bool
		want     string
	}{
		{"no such program", func(p *Profile) { p.Command.Run = []string{"no-such-program"} }, false,
			`target "no-such-program" cannot be started: exec: "no-such-program": executable file not found in $PATH`},
		{"no such file", func(p *Profile) { p.Command.Run = []string{"./none", "{url}"} }, false,
			`target "./none {url}" cannot be started: exec: "PROFILE/none": stat PROFILE/none: no such file or directory`},
		{"a file that is no program", func(p *Profile) { p.Command.Run = []string{"./text"} }, false,
			`target "./text" cannot be started: exec: "PROFILE/text": permission denied`},
		{"no such folder", func(p *Profile) { p.Command.Dir = "sub" }, false,
			`target "` + os.Args[0] + `" cannot be started: stat PROFILE/sub: no such file or directory`},
		{"no such file to copy", func(p *Profile) { p.Command.Copy = map[string]string{"a": "none"} }, true,
			`target "` + os.Args[0] + `" is not started: command.copy: open PROFILE/none: no such file or directory`},
		{"a program in the folder of the call", func(p *Profile) { p.Command.Run = []string{"{dir}/none"} }, true,
			`target "DIR/none" cannot be started: fork/exec DIR/none: no such file or directory`},
		{"a hook that fails", func(p *Profile) { p.Model = &Model{Hook: "false"} }, true,
			`hook model: exit status 1`},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := fakeAgent(t, "agent")
			if err := os.WriteFile(filepath.Join(p.Dir, "text"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			tt.change(p)
			r, err := NewLauncher(p).Launch(t.Context(), LaunchOptions{ModelURL: "http://model"})
			if (err == nil) != tt.launched {
				t.Fatalf("launched: %v", err)
			}
			if tt.launched {
				_, err = r.(Caller).Call(t.Context(), CallOptions{})
			}
			var start *StartError
			var hook *HookError
			if !errors.As(err, &start) && !errors.As(err, &hook) {
				t.Fatalf("got %v, want a *StartError", err)
			}
			got := strings.ReplaceAll(err.Error(), p.Dir, "PROFILE")
			if start != nil && strings.HasPrefix(start.Command[0], scratch) {
				got = strings.ReplaceAll(got, filepath.Dir(start.Command[0]), "DIR")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left, _ := os.ReadDir(scratch); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAgentInItsFolder: a relative program path refers to command.dir, at the launch and at the call.
func TestAgentInItsFolder(t *testing.T) {
	p := fakeAgent(t, "")
	p.Command.Dir, p.Command.Run = "sub", []string{"bin/agent"}
	if err := os.MkdirAll(filepath.Join(p.Dir, "sub", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$PWD\" >&2\nexec sleep 600\n"
	if err := os.WriteFile(filepath.Join(p.Dir, "sub", "bin", "agent"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, said := call(t, launchAgents(t, p, LaunchOptions{}), ""); said != filepath.Join(p.Dir, "sub")+"\n" {
		t.Errorf("it runs in %q", said)
	}
}

// TestSelfDriven: an agent that connects by itself is neither started nor stopped.
func TestSelfDriven(t *testing.T) {
	p := toys.New("dialling")
	p.Role, p.Dir, toySectionOf(p).Listen = "agent", t.TempDir(), "127.0.0.1:4711"
	a := launchAgents(t, p, LaunchOptions{})
	c, err := a.Call(t.Context(), CallOptions{URL: "ws://127.0.0.1:4711/agent/ws"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Exited() != nil || c.ExitErr() != nil || c.Stderr() != "" || c.Stop(t.Context()) != nil {
		t.Errorf("exited %v (%v), stderr %q", c.Exited(), c.ExitErr(), c.Stderr())
	}
}

// TestAgentsCan: whatever cannot be done with an agent is not declared.
func TestAgentsCan(t *testing.T) {
	p := fakeAgent(t, "agent")
	p.Hooks = Hooks{AddAgent: "true", ConfigDigest: "true", Restart: "true", UserSays: "true"}
	a := launchAgents(t, p, LaunchOptions{})
	_, digest := a.ConfigBytes()
	for what, err := range map[string]error{
		"hook": a.Hook(t.Context(), HookAddAgent, CustomAgent{}), "config": digest, "restart": a.Restart(t.Context(), true),
	} {
		var missing *NotDeclaredError
		if !errors.As(err, &missing) {
			t.Errorf("%s: got %v, want a *NotDeclaredError", what, err)
		}
	}
	var r Running = a
	_, exits := r.(Exiter)
	_, speaks := r.(Speaker)
	_, logs := r.(LogKeeper)
	if exits || speaks || logs || a.BaseURL() != "" {
		t.Errorf("exits: %v, speaks: %v, keeps logs: %v, URL %q", exits, speaks, logs, a.BaseURL())
	}
	if _, calls := Running(start(t, runningProfile(t), LaunchOptions{})).(Caller); calls {
		t.Error("a server can be called")
	}
}

func TestPrivateAgents(t *testing.T) {
	for _, tt := range []struct {
		reason string
		change func(*Profile)
		want   bool
	}{
		{"a started agent", func(*Profile) {}, true},
		{"an agent that connects by itself", func(p *Profile) { p.Command, toySectionOf(p).Listen = nil, "127.0.0.1:4711" },
			false},
		{"started agents that all connect to one address", func(p *Profile) { toySectionOf(p).Listen = "127.0.0.1:4711" },
			false},
		{"a host on a port of its own", func(p *Profile) { p.Role, p.URL = "host", "http://127.0.0.1:{port}" }, true},
		{"a relay that is already running", func(p *Profile) { p.Role, p.Command, p.URL = "relay", nil, "http://x" }, false},
	} {
		p := fakeAgent(t, "agent")
		tt.change(p)
		if got := NewLauncher(p).Private(); got != tt.want {
			t.Errorf("%s: private is %v", tt.reason, got)
		}
	}
}
