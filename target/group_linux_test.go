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
