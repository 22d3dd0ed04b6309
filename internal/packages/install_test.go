package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/procgroup"
	"parley/internal/tier"
)

// TestInstalled packs parley for this platform, installs the packages from their files with what there is of npm and
// pip, and starts it. But at night a small program stands in for parley, which takes seconds to link and to compress.
func TestInstalled(t *testing.T) {
	tier.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("the paths are those of other systems")
	}
	dir := t.TempDir()
	t.Chdir("../..")
	program, from := filepath.Join(dir, "parley"), "./internal/packages/testdata/program"
	if tier.All() {
		from = "./cmd/parley"
	}
	works(t, exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, from), "")
	if err := run([]string{"--version", "1.0.0", "--out", dir, program}); err != nil {
		t.Fatal(err)
	}
	packages := func(pattern string) []string {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		return files
	}
	t.Run("node", func(t *testing.T) { tryLauncher(t, packages("*.tgz")) })
	t.Run("npm", func(t *testing.T) { tryNPM(t, packages("*.tgz")) })
	t.Run("pip", func(t *testing.T) { tryPip(t, packages("*.whl")[0]) })
}

// tryNPM installs the packages without a network, and runs the program as npx does.
func tryNPM(t *testing.T, files []string) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	dir := t.TempDir()
	npmIn := func(args ...string) *exec.Cmd {
		cmd := exec.Command(npm, append(args, "--offline", "--prefix", dir, "--cache", filepath.Join(dir, "cache"))...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		return cmd
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	works(t, npmIn(append([]string{"install", "--no-audit", "--no-fund"}, files...)...), "")
	works(t, npmIn("exec", "parley", "version"), "parley ")
}

// tryPip installs the wheel without an index.
func tryPip(t *testing.T, wheel string) {
	if err := exec.Command("python3", "-m", "pip", "--version").Run(); err != nil {
		t.Skip("python3 has no pip: ", err)
	}
	venv := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 has no venv: %v\n%s", err, out)
	}
	works(t, exec.Command("python3", "-m", "pip", "--python", venv, "--disable-pip-version-check", "install",
		"--no-index", "--no-deps", wheel), "")
	works(t, exec.Command(filepath.Join(venv, "bin", "parley"), "version"), "parley ")
}

// tryLauncher unpacks the packages as npm does, and starts the program by the script.
func tryLauncher(t *testing.T, files []string) {
	dir := t.TempDir()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "-1.0.0.tgz")
		for _, e := range untar(t, file) {
			at := filepath.Join(dir, "node_modules", name, e.name)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, e.content, e.mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	script := filepath.Join(dir, "node_modules", "parley", "parley.js")
	works(t, exec.Command(script, "version"), "parley ")

	var exit *exec.ExitError
	out, err := exec.Command(script, "run", "--no-such-flag").CombinedOutput()
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "--no-such-flag") {
		t.Errorf("a wrong flag: %v\n%s", err, out)
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		endsServer(t, exec.Command(script, "serve", "--listen", "127.0.0.1:0"), s)
	}

	early := `const cp = require("node:child_process"), start = cp.spawn
		cp.spawn = (...args) => { const c = start(...args); process.kill(process.pid, "SIGTERM"); return c }
		require(process.argv[1])`
	endsBoth(t, exec.Command("node", "-e", early, script, "serve", "--listen", "127.0.0.1:0"))

	on := `Object.defineProperty(process, "arch", {value: "mips"}); require(process.argv[1])`
	out, err = exec.Command("node", "-e", on, script).CombinedOutput()
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "there is no program for") {
		t.Errorf("on another processor: %v\n%s", err, out)
	}
	carrier, err := filepath.Glob(filepath.Join(dir, "node_modules", "parley-*"))
	if err != nil || len(carrier) != 1 || os.RemoveAll(carrier[0]) != nil {
		t.Fatal(carrier, err)
	}
	out, err = exec.Command(script, "version").CombinedOutput()
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "is not installed") {
		t.Errorf("without the package of the platform: %v\n%s", err, out)
	}
}

// endsServer sends a signal to the launcher of a server, and awaits that the server has ended, and not it alone: both
// have its stdout.
func endsServer(t *testing.T, cmd *exec.Cmd, s os.Signal) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	procgroup.Own(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// One that does not end is ended, so that it is a failure, and not a test without an end.
	defer time.AfterFunc(time.Minute, func() { procgroup.Kill(cmd.Process.Pid) }).Stop()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
		t.Errorf("the server says %q", lines.Text())
	}
	if err := cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: the server ended with %v\n%s", s, err, errs.String())
	}
}

// endsBoth runs a launcher that is told to end as its program starts, and checks that the program does not go on alone.
func endsBoth(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	procgroup.Own(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Second, func() { procgroup.Kill(cmd.Process.Pid) })
	_, _ = io.Copy(io.Discard, stdout) // until neither has it open
	if !limit.Stop() {
		t.Error("a signal as it starts: the program goes on without its launcher")
	}
	_ = cmd.Wait() // the signal may reach the program before it can end in its own way
}

// works runs a program, and checks what its output begins with.
func works(t *testing.T, cmd *exec.Cmd, begins string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), begins) {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
}
