//go:build unix

package target

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"parley/internal/procgroup"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fake returns the profile of a fake target, in a folder of its own.
func fake(t *testing.T, mode string) *Profile {
	t.Helper()
	p := toys.New("listening")
	p.Dir = t.TempDir()
	p.URL = "http://127.0.0.1:{port}"
	p.Command = &Command{Run: []string{os.Args[0]}, Env: map[string]string{
		"FAKE_TARGET": mode, "GORACE": "atexit_sleep_ms=0", // otherwise the race detector uses up the grace period
	}}
	p.Command.setDefaults()
	p.Command.Stop = Duration{500 * time.Millisecond}
	return p
}

// start starts a target, and checks at the end of the test that nothing is left of it.
func start(t *testing.T, p *Profile, o LaunchOptions) *Instance {
	t.Helper()
	in, err := Start(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopTwice(t, in) })
	return in
}

// stopTwice stops a target twice, and checks that neither process nor folder is left.
func stopTwice(t *testing.T, in *Instance) {
	t.Helper()
	for range 2 {
		if err := in.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if p := in.currentProcess(); p != nil && procgroup.Alive(p.group) {
		t.Errorf("the process group %d still runs", p.group)
	}
	if exists(in.fill.dir) {
		t.Errorf("the scratch folder %s is still there", in.fill.dir)
	}
}

func getBody(t *testing.T, url string) string {
	t.Helper()
	client := newProber(&Profile{})
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStart(t *testing.T) {
	for _, tt := range []struct {
		reason, mode string
		change       func(*Profile)
		listens      bool
	}{
		{"ready by its port", "serve", func(*Profile) {}, true},
		{"ready by a path that first answers 503", "serve", func(p *Profile) { p.Command.Ready.Path = "/health" }, true},
		{"ready by a line that comes in two parts and never ends", "logs",
			func(p *Profile) { p.Command.Ready.Log = `^listening on` }, false},
		{"slow to start", "slow", func(*Profile) {}, true},
		{"ignores SIGTERM", "stubborn", func(*Profile) {}, true},
		{"has a child and a grandchild, which ignore SIGTERM", "family", func(*Profile) {}, true},
		{"prints 10 MB before it listens", "loud", func(*Profile) {}, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			p := fake(t, tt.mode)
			tt.change(p)
			in := start(t, p, LaunchOptions{})
			if tt.listens {
				if pid := getBody(t, in.BaseURL()+"/pid"); pid != strconv.Itoa(in.currentProcess().group) {
					t.Errorf("process %s answers, and not %d", pid, in.currentProcess().group)
				}
			}
			if in.ExitErr() != nil || isClosed(in.Exited()) {
				t.Errorf("it has ended: %v", in.ExitErr())
			}
			stopTwice(t, in)
			if tt.mode == "loud" { // complete once it has been stopped
				if out := in.Stderr(); len(out) != keptOutput || !strings.HasSuffix(out, "x\nthe last line\n") {
					t.Errorf("kept %d bytes of stderr that end in %q", len(out), out[max(0, len(out)-40):])
				}
			}
			if isClosed(in.Exited()) {
				t.Error("being stopped counts as an end of its own")
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	soon := Duration{200 * time.Millisecond}
	for _, tt := range []struct {
		reason, mode string
		change       func(*Profile)
		want         []string
	}{
		{"dies at once", "dies", func(*Profile) {},
			[]string{"ended before it was ready: exit status 3", "stderr:\ncannot read its config"}},
		{"exits normally, but too early", "ends", func(*Profile) {},
			[]string{"ended before it was ready: exit status 0"}},
		{"never listens", "never", func(p *Profile) { p.Command.Ready.Within = soon },
			[]string{"was not ready within 200ms on port", "({port}, {url})", "connection refused"}},
		{"never listens, though told the port", "never",
			func(p *Profile) { p.Command.Ready.Within, p.Command.Env["PORT"] = soon, "{port}" },
			[]string{"was not ready within 200ms: target http://127.0.0.1:", "connection refused"}},
		{"never answers", "never", func(p *Profile) { p.Command.Ready = Ready{Path: "/health", Within: soon} },
			[]string{"was not ready within 200ms", "connection refused"}},
		{"answers nothing but 503", "serve", func(p *Profile) {
			p.Command.Ready = Ready{Path: "/health",
				Within: Duration{time.Millisecond}}
		},
			[]string{"was not ready within 1ms"}},
		{"no such program", "", func(p *Profile) { p.Command.Run = []string{"no-such-program"} },
			[]string{`"no-such-program" cannot be started`, "executable file not found"}},
		{"no such folder", "serve", func(p *Profile) { p.Command.Dir = "none" },
			[]string{"cannot be started", "none: no such file or directory"}},
		{"no such file to copy", "serve", func(p *Profile) { p.Command.Copy = map[string]string{"a": "none"} },
			[]string{"is not started: command.copy", "none: no such file or directory"}},
		{"a folder to copy", "serve", func(p *Profile) { p.Command.Copy = map[string]string{"a": "."} },
			[]string{"is not started: command.copy", "is not a file"}},
		{"its port is already in use", "serve", func(p *Profile) { p.URL = "http://" + taken.Addr().String() },
			[]string{"is not started: another process already listens at http://127.0.0.1:"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := fake(t, tt.mode)
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			tt.change(p)
			in, err := Start(t.Context(), p, LaunchOptions{})
			var start *StartError
			if !errors.As(err, &start) || in != nil {
				t.Fatalf("got %v, %v, want a *StartError", in, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got\n%v\nwhich does not say\n%s", err, want)
				}
			}
			if left, _ := os.ReadDir(scratch); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestStartTellsWhatWasSaid: the error contains the target's output up to the time limit. If a busy machine produces
// none within the limit, the test retries with a longer one.
func TestStartTellsWhatWasSaid(t *testing.T) {
	for within := 200 * time.Millisecond; within < time.Minute; within *= 3 {
		p := fake(t, "logs")
		p.Command.Ready = Ready{Log: "^ready", Within: Duration{within}}
		in, err := Start(t.Context(), p, LaunchOptions{})
		var start *StartError
		if !errors.As(err, &start) || in != nil {
			t.Fatalf("got %v, %v, want a *StartError", in, err)
		}
		for _, want := range []string{"was not ready within " + within.String(), `no line matched "^ready"`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got\n%v\nwhich does not say\n%s", err, want)
			}
		}
		if strings.Contains(err.Error(), "stdout:\nbooting") {
			return
		}
	}
	t.Error("within a minute the target has said nothing")
}

func TestStartGivenUp(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := fake(t, "logs")
	p.Command.Ready.Log = "never said"
	_, err := Start(ctx, p, LaunchOptions{Stderr: writerFunc(func(b []byte) { cancel(enough) })})
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the context", err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestPortClash(t *testing.T) {
	in := start(t, fake(t, "clash"), LaunchOptions{})
	if getBody(t, in.BaseURL()+"/pid") == "" {
		t.Error("the second try does not answer")
	}
}

// TestEnvironment: placeholders, files and the address of the model stub reach the process.
func TestEnvironment(t *testing.T) {
	p := fake(t, "serve")
	p.URL += "/base"
	if err := os.WriteFile(filepath.Join(p.Dir, "src"), []byte("text"), 0o750); err != nil {
		t.Fatal(err)
	}
	p.Command.Copy = map[string]string{"sub/dst": "src"}
	p.Command.Env["ALL"] = "{port} {port2} {url} {dir} {profile} {model} {other}"
	p.Model = &Model{Env: map[string]string{"MODEL": "{model}/v1"}, Hook: `echo "$PARLEY_MODEL_URL" > "$PARLEY_DIR/model"`}
	in := start(t, p, LaunchOptions{ModelURL: "http://model"})

	root := "http://127.0.0.1:" + in.fill.port
	if in.BaseURL() != root+"/base" {
		t.Errorf("base URL %s", in.BaseURL())
	}
	dir := getBody(t, root+"/env?PARLEY_DIR")
	for name, want := range map[string]string{
		"ALL": strings.Join([]string{in.fill.port, in.fill.port2, root + "/base", dir, p.Dir, "http://model",
			"{other}"}, " "),
		"MODEL": "http://model/v1", "PARLEY_MODEL_URL": "http://model", "PARLEY_URL": root + "/base",
		"PARLEY_PORT2": in.fill.port2,
	} {
		if got := getBody(t, root+"/env?"+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"sub/dst": "text", "model": "http://model\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q (%v), want %q", name, b, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "sub/dst")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the copy has lost its mode: %v %v", info.Mode(), err)
	}
}

// TestCrash: a target that exits by itself says how, and can be restarted.
func TestCrash(t *testing.T) {
	in := start(t, fake(t, "family"), LaunchOptions{})
	first := in.currentProcess()
	client := newProber(&Profile{})
	_, err := client.Get(in.BaseURL() + "/exit")
	if err == nil {
		t.Fatal("it answers its own end")
	}
	<-in.Exited()
	if in.ExitErr() == nil || in.ExitErr().Error() != "exit status 7" {
		t.Errorf("it ended by %v", in.ExitErr())
	}
	<-first.gone
	if procgroup.Alive(first.group) {
		t.Error("its children still run")
	}
	if !strings.Contains(in.Stderr(), "out of cheese") {
		t.Errorf("its last words are %q", in.Stderr())
	}
	if err := in.Restart(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if in.ExitErr() != nil || isClosed(in.Exited()) {
		t.Errorf("after the restart it has ended: %v", in.ExitErr())
	}
}

// TestEscape: Stop does not wait for a child that has left the group and holds the output open.
func TestEscape(t *testing.T) {
	p := fake(t, "escape")
	in := start(t, p, LaunchOptions{})
	pid := numberIn(t, filepath.Join(p.Dir, "escaped"))
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	stopTwice(t, in)
}

// numberIn returns the number in a file.
func numberIn(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStopEndsAll: a pending hook and restart are aborted; once the context has ended, there is no grace.
func TestStopEndsAll(t *testing.T) {
	p := fake(t, "stubborn")
	p.Command.Stop = Duration{time.Hour}
	p.Hooks.AddAgent = `echo x > "$PARLEY_PROFILE_DIR/pipe"; sleep 600`
	pipe := filepath.Join(p.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	in := start(t, p, LaunchOptions{})
	ended := make(chan error, 1)
	go func() { ended <- in.Hook(context.Background(), HookAddAgent, CustomAgent{}) }()
	if _, err := os.ReadFile(pipe); err != nil { // the hook runs
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := in.Stop(ctx); err != nil {
		t.Error(err)
	}
	var failed *HookError
	if err := <-ended; !errors.As(err, &failed) || !errors.Is(err, errStopped) {
		t.Errorf("the hook: got %v, want %v", err, errStopped)
	}
}

func TestOutputIsHandedOn(t *testing.T) {
	said := make(chan string, 100)
	p := fake(t, "logs")
	p.Command.Ready.Log = "listening"
	start(t, p, LaunchOptions{Stderr: writerFunc(func(b []byte) { said <- string(b) })})
	if got := <-said; !strings.HasPrefix(got, "booting\n") {
		t.Errorf("handed on %q", got)
	}
}

func TestTargetsSideBySide(t *testing.T) {
	p := fake(t, "serve")
	l := NewLauncher(p)
	if !l.Private() {
		t.Fatal("a command on a port of its own is not private")
	}
	urls := map[string]bool{}
	for range 4 {
		r, err := l.Launch(t.Context(), LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stopTwice(t, r.(*Instance)) })
		urls[r.BaseURL()] = true
	}
	if len(urls) != 4 {
		t.Errorf("four targets at %d URLs", len(urls))
	}
}

func TestPrivate(t *testing.T) {
	for _, tt := range []struct {
		reason string
		change func(*Profile)
		want   bool
	}{
		{"a command on a port of its own", func(*Profile) {}, true},
		{"no command", func(p *Profile) { p.Command, p.URL = nil, "http://x" }, false},
		{"a fixed port", func(p *Profile) { p.URL = "http://127.0.0.1:8080" }, false},
		{"a configuration of its own", func(p *Profile) { p.Agents.File = "{dir}/a" }, true},
		{"a shared configuration", func(p *Profile) { p.Agents.File = "a" }, false},
		{"another protocol: a command on a port of its own", func(p *Profile) { piping(p) }, true},
		{"another protocol: a fixed port",
			func(p *Profile) { piping(p); p.URL = "http://127.0.0.1:8080" }, false},
		{"over stdio alone", func(p *Profile) { piping(p); p.Drivers, p.URL = []string{Stdio}, "" }, true},
		{"over stdio and ws", func(p *Profile) { piping(p); p.Drivers = []string{WS, Stdio} }, true},
		{"over stdio and ws at a fixed port", func(p *Profile) {
			piping(p)
			p.Drivers, p.URL = []string{Stdio, WS}, "http://127.0.0.1:8080"
		}, false},
		{"another protocol: no scenario changes a configuration",
			func(p *Profile) { piping(p); p.Agents.File = "a" }, true},
	} {
		p := fake(t, "serve")
		tt.change(p)
		if got := NewLauncher(p).Private(); got != tt.want {
			t.Errorf("%s: private is %v", tt.reason, got)
		}
	}
}
