package target

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"parley/internal/procgroup"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestHarnessKilled: when the harness is killed, its target dies too.
func TestHarnessKilled(t *testing.T) {
	harness := exec.Command(os.Args[0])
	harness.Env = append(os.Environ(), "FAKE_TARGET=harness", "TMPDIR="+t.TempDir())
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !procgroup.Alive(group) {
		t.Fatalf("target %q: %v", line, err)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	awaitGroup(ctx, group)
	if procgroup.Alive(group) {
		procgroup.Kill(group)
		t.Error("the target outlives its harness")
	}
}

// TestLeftGroup: a child that has left the group of the target ends with it.
func TestLeftGroup(t *testing.T) {
	out := &output{}
	const leaves = "import os; os.setsid(); print(os.getpid(), flush=True); " +
		"os.dup2(os.open(os.devnull, os.O_WRONLY), 1); os.execvp('sleep', ['sleep', '300'])"
	p, err := startProcess(exec.Command("sh", "-c", `python3 -c "`+leaves+`" & exec sleep 300`), nil, out)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(p.stdin, p.speech)
	line, err := bufio.NewReader(p.speech).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || !procgroup.Alive(child) { // it leads a group of its own
		t.Fatalf("child %q: %v", line, err)
	}
	if err := p.stopGroup(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	awaitGroup(ctx, child)
	if procgroup.Alive(child) {
		procgroup.Kill(child)
		t.Error("the child outlives the target")
	}
}
