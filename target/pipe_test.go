//go:build unix

package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/deadline"
	"parley/internal/procgroup"
)

// speaking returns the profile of a fake target that is reached by its stdin and stdout; the drivers default to
// stdio.
func speaking(t *testing.T, mode string, drivers ...string) *Profile {
	t.Helper()
	p := toys.New("piping")
	p.Dir, p.Drivers, p.Command = t.TempDir(), []string{Stdio}, fake(t, mode).Command
	if len(drivers) > 0 {
		p.Drivers, p.URL = drivers, "http://127.0.0.1:{port}"
	}
	return p
}

// launchPiper launches a target in a scratch folder, and checks at the end of the test that nothing is left of it.
func launchPiper(t *testing.T, p *Profile, o LaunchOptions) Running {
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
	return r
}

// speaker is a piped process, read line by line.
type speaker struct {
	*testing.T
	*pipedProcess
	lines *bufio.Reader
}

func pipeOf(t *testing.T, r Running) speaker {
	t.Helper()
	c, err := r.(Piper).Pipe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return speaker{t, c.(*pipedProcess), bufio.NewReader(c.Stdout())}
}

func (s speaker) says() string {
	s.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.Fatalf("%q, and then %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (s speaker) tell(line string) {
	s.Helper()
	if _, err := io.WriteString(s.Stdin(), line+"\n"); err != nil {
		s.Fatal(err)
	}
}

var pipeRows = []struct {
	reason  string
	drivers []string
}{
	{"over stdio alone", nil},
	{"next to one that listens", []string{WS, Stdio}},
}

// TestPipe: each requested process has its own folder and its own input, whether or not another one listens.
func TestPipe(t *testing.T) {
	for _, tt := range pipeRows {
		t.Run(tt.reason, func(t *testing.T) {
			p := speaking(t, "speaks", tt.drivers...)
			if err := os.WriteFile(filepath.Join(p.Dir, "src"), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			p.Command.Copy = map[string]string{"config": "src"}
			p.Command.Run = append(p.Command.Run, "{dir}", "{port}", "{port2}")
			p.Command.Env["ALL"] = "{profile} {model}"
			p.Model = &Model{Hook: `echo "$PARLEY_DRIVER" >> "$PARLEY_PROFILE_DIR/drivers"`}
			r := launchPiper(t, p, LaunchOptions{ModelURL: "http://model"})
			url, drivers := r.BaseURL(), ""
			if (url != "") != (tt.drivers != nil) {
				t.Errorf("it listens at %q", url)
			}
			if url != "" {
				drivers = "ws\n"
				if got := getBody(t, url+"/env?PARLEY_DRIVER"); got != WS {
					t.Errorf("the one that listens has the driver %q", got)
				}
			}
			a, b := pipeOf(t, r), pipeOf(t, r)
			for _, s := range []speaker{a, b} {
				want := strings.Join([]string{s.fill.dir, url[strings.LastIndexByte(url, ':')+1:], s.fill.port2, p.Dir,
					"http://model", url}, " ")
				if diff := cmp.Diff(want, s.says()); diff != "" {
					t.Errorf("what it is told (-want +got):\n%s", diff)
				}
				if b, err := os.ReadFile(filepath.Join(s.fill.dir, "config")); err != nil || string(b) != "text" {
					t.Errorf("its file holds %q (%v)", b, err)
				}
			}
			if told, err := os.ReadFile(filepath.Join(p.Dir, "drivers")); err != nil ||
				string(told) != drivers+"stdio\nstdio\n" {
				t.Errorf("the drivers are %q (%v)", told, err)
			}
			if a.fill.dir == b.fill.dir || url != "" && a.fill.dir == getBody(t, url+"/env?PARLEY_DIR") {
				t.Error("two processes share a folder")
			}
			if a.fill.port2 == b.fill.port2 || url != "" && a.fill.port2 == getBody(t, url+"/env?PARLEY_PORT2") {
				t.Error("two processes share a second port")
			}
			a.tell("to a")
			b.tell("to b")
			if got := []string{a.says(), b.says()}; !cmp.Equal(got, []string{"to a", "to b"}) {
				t.Errorf("they say %q", got)
			}
			pipesEnd(t, r, a, b)
		})
	}
}

// pipesEnd checks that a process can end on its own, and that all end with the target.
func pipesEnd(t *testing.T, r Running, a, b speaker) {
	t.Helper()
	for range 2 {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if procgroup.Alive(a.proc.group) || exists(a.fill.dir) || !isClosed(a.Exited()) || a.ExitErr() == nil {
		t.Error("the one that was stopped runs, has left its folder, or does not count as ended")
	}
	if b.tell("still there"); b.says() != "still there" || b.ExitErr() != nil || isClosed(b.Exited()) {
		t.Errorf("the other one has ended with it: %v", b.ExitErr())
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if procgroup.Alive(b.proc.group) || exists(b.fill.dir) {
		t.Error("the other one still runs, or has left its folder")
	}
	if _, err := r.(Piper).Pipe(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("a process after the stop: got %v, want %v", err, errStopped)
	}
}

// TestPipedEnds: when a process exits by itself, no output is lost, and it says how.
func TestPipedEnds(t *testing.T) {
	var all strings.Builder
	r := launchPiper(t, speaking(t, "speaks"), LaunchOptions{Stderr: &all})
	s := pipeOf(t, r)
	s.says()
	s.tell("first")
	s.tell("end")
	if said, err := io.ReadAll(s.lines); err != nil || string(said) != "first\nlast words" {
		t.Errorf("it says %q (%v)", said, err)
	}
	<-s.Exited()
	if s.ExitErr() == nil || s.ExitErr().Error() != "exit status 7" {
		t.Errorf("it ended by %v", s.ExitErr())
	}
	if _, err := io.WriteString(s.Stdin(), "x\n"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write to it: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	const words = "panic: out of cheese\n"
	if s.Stderr() != words || r.Stderr() != words || all.String() != words {
		t.Errorf("stderr is %q, that of all %q, handed on %q", s.Stderr(), r.Stderr(), all.String())
	}

	done := pipeOf(t, r)
	done.says()
	if err := done.Stdin().Close(); err != nil {
		t.Error(err)
	}
	<-done.Exited()
	if done.ExitErr() == nil || done.ExitErr().Error() != "exit status 0" {
		t.Errorf("at the end of its stdin it ended by %v", done.ExitErr())
	}
}

// TestStopPiped: processes that ignore the request to exit are killed with their children, all within one grace
// period; once the context has ended, there is no grace.
func TestStopPiped(t *testing.T) {
	const grace = 5 * time.Second // killing takes time on a busy machine
	p := speaking(t, "agents")
	p.Command.Stop = Duration{grace}
	ups := make(chan string, 100)
	r := launchPiper(t, p, LaunchOptions{Stderr: writerFunc(func(b []byte) { ups <- string(b) })})
	up := func() speaker {
		s := pipeOf(t, r)
		<-ups // its child is running by now
		return s
	}
	first := up()
	first.profile = speaking(t, "agents")
	first.profile.Command.Stop = Duration{time.Hour}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Stop(impatient); err != nil {
		t.Error(err)
	}
	all := []speaker{up(), up(), up()}
	limit := deadline.In(3 * grace)
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if limit.Over() {
		t.Error("it took three graces")
	}
	for i, s := range append(all, first) {
		if procgroup.Alive(s.proc.group) || s.ExitErr() == nil {
			t.Errorf("process %d still runs", i)
		}
	}
}

// TestStopEndsReadAndWrite: Stop unblocks reads and writes of a process that does neither.
func TestStopEndsReadAndWrite(t *testing.T) {
	r := launchPiper(t, speaking(t, "agents"), LaunchOptions{})
	s := pipeOf(t, r)
	ended := make(chan error, 2)
	go func() {
		_, err := s.Stdin().Write(make([]byte, 1<<20))
		ended <- err
	}()
	go func() {
		_, err := io.Copy(io.Discard, s.Stdout())
		ended <- err
	}()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
	<-ended
}

// TestFloodStops: a process whose output is not read can be stopped.
func TestFloodStops(t *testing.T) {
	r := launchPiper(t, speaking(t, "floods"), LaunchOptions{})
	s := pipeOf(t, r)
	s.says()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSpeechHeldByOthers: a child that has left the group, has cleared its environment and holds stdout keeps it open
// until the process is stopped.
func TestSpeechHeldByOthers(t *testing.T) {
	p := speaking(t, "escape")
	p.Command.Env["PARLEY_PORT"] = "none" // so that it cannot listen and exits
	r := launchPiper(t, p, LaunchOptions{})
	s := pipeOf(t, r)
	<-s.Exited()
	pid := numberIn(t, filepath.Join(p.Dir, "escaped"))
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, s.Stdout())
		ended <- err
	}()
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the read ended by %v", err)
	}
}

// TestStopWhilePiping: a pending start is aborted and leaves nothing behind.
func TestStopWhilePiping(t *testing.T) {
	p := speaking(t, "speaks")
	p.Model = &Model{Hook: `echo x > "$PARLEY_PROFILE_DIR/pipe"; sleep 600`}
	pipe := filepath.Join(p.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	r := launchPiper(t, p, LaunchOptions{ModelURL: "http://model"})
	ended := make(chan error, 1)
	go func() {
		_, err := r.(Piper).Pipe(context.Background())
		ended <- err
	}()
	if _, err := os.ReadFile(pipe); err != nil { // the hook runs
		t.Fatal(err)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errStopped) {
		t.Errorf("got %v, want %v", err, errStopped)
	}
}

// TestNoProcess: mistakes in a command are reported at the launch if they are known by then.
func TestNoProcess(t *testing.T) {
	enough := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	for _, tt := range []struct {
		reason   string
		ctx      context.Context
		change   func(*Profile)
		launched bool
		want     string
	}{
		{"no such program", t.Context(), func(p *Profile) { p.Command.Run = []string{"no-such-program"} }, false,
			`target "no-such-program" cannot be started: exec: "no-such-program": executable file not found in $PATH`},
		{"no such folder", t.Context(), func(p *Profile) { p.Command.Dir = "sub" }, false,
			`target "` + os.Args[0] + `" cannot be started: stat PROFILE/sub: no such file or directory`},
		{"no such file to copy", t.Context(), func(p *Profile) { p.Command.Copy = map[string]string{"a": "none"} }, true,
			`target "` + os.Args[0] + `" is not started: command.copy: open PROFILE/none: no such file or directory`},
		{"a folder that only the process has", t.Context(), func(p *Profile) { p.Command.Dir = "{dir}/none" }, true,
			`target "` + os.Args[0] + `" cannot be started: stat DIR/none: no such file or directory`},
		{"a hook that fails", t.Context(), func(p *Profile) { p.Model = &Model{Hook: "false"} }, true,
			`hook model: exit status 1`},
		{"given up", over, func(*Profile) {}, true, `start a process: enough`},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := speaking(t, "speaks")
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			tt.change(p)
			r, err := NewLauncher(p).Launch(t.Context(), LaunchOptions{ModelURL: "http://model"})
			if (err == nil) != tt.launched {
				t.Fatalf("launched: %v", err)
			}
			if tt.launched {
				var s Piped
				if s, err = r.(Piper).Pipe(tt.ctx); s != nil || err == nil {
					t.Fatalf("got %v, %v", s, err)
				}
			}
			got := strings.ReplaceAll(err.Error(), p.Dir, "PROFILE")
			if at := strings.Index(got, scratch); at >= 0 {
				got = got[:at] + "DIR" + got[strings.LastIndex(got, "/none"):]
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

// TestPipesCan: whatever cannot be done with a target over stdio is not declared, nor is Pipe without the driver.
func TestPipesCan(t *testing.T) {
	p := speaking(t, "speaks")
	p.Hooks = Hooks{AddAgent: "true", ConfigDigest: "true", Restart: "true"}
	r := launchPiper(t, p, LaunchOptions{})
	_, digest := r.ConfigBytes()
	_, mute := start(t, fake(t, "serve"), LaunchOptions{}).Pipe(t.Context())
	_, nobody := (&Instance{setup: setup{profile: &Profile{Drivers: []string{Stdio}}}}).Pipe(t.Context())
	for what, err := range map[string]error{
		"hook": r.Hook(t.Context(), HookAddAgent, CustomAgent{}), "config": digest, "restart": r.Restart(t.Context(), true),
		"pipe": mute, "pipe without a command": nobody,
	} {
		var missing *NotDeclaredError
		if !errors.As(err, &missing) {
			t.Errorf("%s: got %v, want a *NotDeclaredError", what, err)
		}
	}
	_, exits := r.(Exiter)
	_, calls := r.(Caller)
	_, speaks := r.(Speaker)
	if exits || calls || speaks || r.BaseURL() != "" || r.Stderr() != "" {
		t.Errorf("exits: %v, is called: %v, speaks: %v, URL %q, stderr %q", exits, calls, speaks, r.BaseURL(), r.Stderr())
	}
}

// TestDriverIsTold: PARLEY_DRIVER is only set if there is another way to reach the process.
func TestDriverIsTold(t *testing.T) {
	t.Setenv("PARLEY_DRIVER", "of the harness")
	in := start(t, fake(t, "serve"), LaunchOptions{})
	if got := getBody(t, in.BaseURL()+"/env?PARLEY_DRIVER"); got != "of the harness" {
		t.Errorf("agent-select: %q", got)
	}
	in = start(t, speaking(t, "serve", WS), LaunchOptions{})
	if got := getBody(t, in.BaseURL()+"/env?PARLEY_DRIVER"); got != WS {
		t.Errorf("session-runtime: %q", got)
	}
}

// TestStarter: starters of one target are equal, and start processes of it.
func TestStarter(t *testing.T) {
	p := speaking(t, "speaks")
	other, r := launchPiper(t, p, LaunchOptions{}), launchPiper(t, p, LaunchOptions{})
	if Starter(r) != Starter(r) || Starter(r) == Starter(other) {
		t.Error("starters are not equal as their targets are")
	}
	c, err := Starter(r).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c.Stdout()).ReadString('\n'); line == "" {
		t.Errorf("it says nothing: %v", err)
	}
	p.Command.Copy = map[string]string{"a": "none"}
	var failed *StartError
	if c, err := Starter(r).Start(t.Context()); c != nil || !errors.As(err, &failed) {
		t.Errorf("got %v, %v, want a *StartError", c, err)
	}
	agent := toys.New("dialling")
	agent.Role, agent.Dir, toySectionOf(agent).Listen = "agent", t.TempDir(), "127.0.0.1:4711"
	if s := Starter(launchAgents(t, agent, LaunchOptions{})); s != nil {
		t.Errorf("an agent speaks: %v", s)
	}
}
