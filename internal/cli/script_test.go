package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/internal/certtest"
	"parley/internal/tier"
	"parley/reference-server/agentselect"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/steps/protocols"
	"parley/transport/driver/browser"
)

func TestMain(m *testing.M) {
	parts := Parts{Protocols: protocols.All, Targets: bundled.All}
	parts.Targets.Child()
	suite, bundle = parts.Protocols, parts.Targets
	testscript.Main(m, map[string]func(){
		"parley":             func() { Main(parts) },
		"h2spec":             h2spec,
		"connectconformance": connectconformance,
		"referenceserver":    func() {},
		"stubborn":           stubborn,
	})
}

// TestScript runs the sessions in testdata/script. Besides testscript's own commands they have:
//
//	exits CODE PROGRAM ARG…        the program ends with this exit code
//	interrupt LINES CODE PROGRAM…  it is interrupted when a line of its stderr matches, once for each of the
//	                               expressions in LINES, which blanks separate; then it ends with this exit code
//	serve NAME ARG…                parley serve runs in the background until the end; $NAME is its URL
//	unserve NAME FILE              that server is interrupted, ends with 0, and its stderr is in FILE
//	valid FILE                     FILE is a results.json
//	kills FILE PROTOCOL ROLE       made kill matrices are in FILE
//	action CODE INPUT=VALUE…       the script of action.yml runs with these inputs, and ends with this exit code; \n in a
//	                               value is a new line
//	certificates DIR               DIR has the files of certtest.Make
//
// The programs h2spec and connectconformance stand for the tools of these names.
//
// $ROOT is the root of the module; $BIN is the folder that has parley and nothing else, which as the PATH is a machine
// without a browser. The condition [browser] reports whether there is one, and [night] whether everything is tested,
// and not only what `make test` has time for (package tier).
func TestScript(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "interrupt": interrupt, "freeze": freeze, "serve": serveCmd, "unserve": unserve, "valid": valid,
			"kills": killsCmd, "certificates": certificates,
			"action": judgeByAction,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "browser":
				_, err := browser.Find("")
				return err == nil, nil
			case "night":
				return tier.All(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Values[servers{}] = map[string]*background{}
			env.Setenv("ROOT", root)
			env.Setenv("BIN", filepath.Dir(program))
			return nil
		},
	})
}

// code is the exit code that a program ended with.
func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	if got := code(ts.Exec(args[1], args[2:]...)); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%q ended with exit code %d, want %s", args[1:], got, args[0])
	}
}

// command prepares a program to run like in the script.
func command(ts *testscript.TestScript, program string, args ...string) *exec.Cmd {
	path, err := exec.LookPath(program)
	ts.Check(err)
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WORK"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt EXPRESSIONS CODE PROGRAM ARG…")
	}
	cmd := command(ts, args[2], args[3:]...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()

	var log bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(stderr, &log))
	for _, expr := range bytes.Fields([]byte(args[0])) {
		re := regexp.MustCompile(string(expr))
		for found := false; !found; {
			if !lines.Scan() {
				ts.Fatalf("no line of stderr matched %s:\n%s", expr, log.String())
			}
			found = re.Match(lines.Bytes())
		}
		ts.Check(cmd.Process.Signal(os.Interrupt))
	}
	for lines.Scan() {
	}
	got := code(cmd.Wait())
	_, _ = ts.Stdout().Write(stdout.Bytes())
	_, _ = ts.Stderr().Write(log.Bytes())
	if strconv.Itoa(got) != args[1] {
		ts.Fatalf("%q ended with exit code %d, want %s", args[2:], got, args[1])
	}
}

// freeze runs a program. As soon as a line of the server's log matches, it stops the program and a server for a
// while, like a throttled container.
func freeze(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: freeze SERVER EXPRESSION DURATION PROGRAM ARG…")
	}
	server := ts.Value(servers{}).(map[string]*background)[args[0]]
	told := server.stderr.await(regexp.MustCompile(args[1]))
	still, err := time.ParseDuration(args[2])
	ts.Check(err)
	cmd := command(ts, args[3], args[4:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-told:
	case err := <-ended:
		ts.Fatalf("%q ended before the log of the server matched %s: %v\n%s", args[3:], args[1], err, stderr.String())
	}
	both := func(s os.Signal) {
		ts.Check(server.cmd.Process.Signal(s))
		_ = cmd.Process.Signal(s) // it may have ended
	}
	both(syscall.SIGSTOP)
	time.Sleep(still) // the freeze itself, not a wait for anything
	both(syscall.SIGCONT)
	err = <-ended
	_, _ = ts.Stdout().Write(stdout.Bytes())
	_, _ = ts.Stderr().Write(stderr.Bytes())
	if err != nil {
		ts.Fatalf("%q: %v", args[3:], err)
	}
}

// serverLog is what a server writes to its log.
type serverLog struct {
	mu     sync.Mutex
	all    bytes.Buffer
	expect *regexp.Regexp
	told   chan struct{} // closed when expect matches what was written since
}

// await returns a channel that is closed once later output matches.
func (w *serverLog) await(expr *regexp.Regexp) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expect, w.told = expr, make(chan struct{})
	return w.told
}

// Write implements io.Writer. p consists of whole lines.
func (w *serverLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expect != nil && w.expect.Match(p) {
		close(w.told)
		w.expect = nil
	}
	return w.all.Write(p)
}

func (w *serverLog) Bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.all.Bytes())
}

// servers is the key of a script's background servers.
type servers struct{}

// background is a running parley serve.
type background struct {
	cmd    *exec.Cmd
	stderr serverLog
	ended  bool
}

func (b *background) stop(ts *testscript.TestScript) {
	if b.ended {
		return
	}
	b.ended = true
	ts.Check(b.cmd.Process.Signal(os.Interrupt))
	if got := code(b.cmd.Wait()); got != 0 {
		ts.Fatalf("the server ended with exit code %d:\n%s", got, b.stderr.Bytes())
	}
}

func serveCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME ARG…")
	}
	b := &background{cmd: command(ts, "parley", append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)...)}
	b.cmd.Stderr = &b.stderr
	stdout, err := b.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(b.cmd.Start())
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = b.cmd.Wait()
		ts.Fatalf("the server told no URL: %v\n%s", err, b.stderr.Bytes())
	}
	ts.Setenv(args[0], url[:len(url)-1])
	ts.Value(servers{}).(map[string]*background)[args[0]] = b
	ts.Defer(func() { b.stop(ts) })
}

func unserve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unserve NAME FILE")
	}
	b := ts.Value(servers{}).(map[string]*background)[args[0]]
	b.stop(ts)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.stderr.Bytes(), 0o644))
}

func certificates(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: certificates DIR")
	}
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o755))
	_, err := certtest.Make(ts.MkAbs(args[0]))
	ts.Check(err)
}

func valid(ts *testscript.TestScript, neg bool, args []string) {
	err := reports.Validate([]byte(ts.ReadFile(args[0])))
	if neg == (err == nil) {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// stubborn is a target that ignores SIGTERM.
func stubborn() {
	signal.Ignore(syscall.SIGTERM)
	handler, err := agentselect.New(agentselect.Options{})
	if err != nil {
		panic(err)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+os.Getenv("PARLEY_PORT"))
	if err != nil {
		panic(err)
	}
	_ = http.Serve(l, handler)
}
