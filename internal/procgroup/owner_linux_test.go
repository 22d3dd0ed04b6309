package procgroup

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// daemon starts a process in its own session, and returns its id.
func daemon(t *testing.T, env ...string) int {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// runs reports whether a process runs and is not a zombie.
func runs(pid int) bool {
	fields := readStatus(pid)
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
	owner := world() + "-" + strconv.Itoa(cmd.Process.Pid) + "-" + startTime(cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return owner
}

// TestSweep: what a killed process has left behind is removed, and what belongs to others stays.
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

// TestKillMarked: a process that has left its group ends with the command that started it; others do not.
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
