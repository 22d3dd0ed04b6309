package procgroup

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// daemon starts a process in a session of its own through a shell that ends, and returns its id.
func daemon(t *testing.T, env ...string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo $!")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	})
	return pid
}

// runs reports whether a process runs, zombies apart.
func runs(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// ends waits until a process that was killed is gone.
func ends(t *testing.T, pid int) {
	t.Helper()
	pace, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer pace.Stop()
	for runs(pid) {
		select {
		case <-pace.C:
		case <-late:
			t.Fatal("it still runs")
		}
	}
}

// killed returns the Owner of a process that was killed.
func killed(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", "echo; exec sleep 300")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	owner := world() + "-" + strconv.Itoa(cmd.Process.Pid) + "-" + started(cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return owner
}

// TestSweep: what a killed process has left is gone, and what belongs to others stays.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dead := killed(t)
	elsewhere := "00000000" + dead[8:]
	ours, err := Folder("target")
	if err != nil {
		t.Fatal(err)
	}
	keep := []string{filepath.Base(ours), "parley-target-" + elsewhere + "-1", "parley-target-17", "parley-results",
		"other-" + dead + "-1"}
	for _, name := range append(keep[1:], "parley-browser-"+dead+"-1", "parley-target-"+dead+"-2") {
		if err := os.MkdirAll(filepath.Join(tmp, name, "inside"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left, running, foreign := daemon(t, Variable+"="+dead+"-1"), daemon(t, Variable+"="+Owner()+"-0"),
		daemon(t, Variable+"="+elsewhere+"-1")
	Sweep()
	ends(t, left)
	if !runs(running) || !runs(foreign) {
		t.Error("processes of others were ended")
	}
	found, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(keep) {
		t.Errorf("left are %v, want %v", found, keep)
	}
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(tmp, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestKillMarked: a process that has left its group ends with what started it, and another one does not.
func TestKillMarked(t *testing.T) {
	one, two := exec.Command("true"), exec.Command("true")
	mark, other := Mark(one), Mark(two)
	first, second := daemon(t, Variable+"="+mark), daemon(t, Variable+"="+other)
	KillMarked(mark)
	ends(t, first)
	if !runs(second) {
		t.Error("the process of another command was ended")
	}
}
