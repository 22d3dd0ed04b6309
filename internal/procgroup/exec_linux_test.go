package procgroup

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// TestMarkInExec: a process that runs one program after the other has its mark at all times.
func TestMarkInExec(t *testing.T) {
	cmd := exec.Command("sh", "-c", `n=${1:-400}; [ $n = 0 ] && exec cat; exec sh -c "$0" "$0" $((n-1))`)
	cmd.Args = append(cmd.Args, cmd.Args[2])
	mark := Mark(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := ""; name != "cat\n"; n++ {
		if got := markOf(cmd.Process.Pid); got != mark {
			t.Errorf("at reading %d the mark is %q, want %q", n, got, mark)
			break
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		if err != nil {
			t.Fatal(err)
		}
		name = string(b)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d readings", n)
}

// TestWhole: a process has an environment of a certain length, and a thread of the kernel has none.
func TestWhole(t *testing.T) {
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		t.Fatal(err)
	}
	if sure, _ := isWholeEnvironment(os.Getpid(), len(b)); !sure {
		t.Errorf("%d bytes do not count as the whole of it", len(b))
	}
	if sure, likely := isWholeEnvironment(os.Getpid(), len(b)-1); sure || likely {
		t.Error("less than its environment counts as the whole of it")
	}
	if sure, _ := isWholeEnvironment(2, 0); !sure { // a thread of the kernel, or nothing
		t.Error("the environment of a thread of the kernel counts as not yet there")
	}
}

// TestNoEnvironment: a process without variables has no mark.
func TestNoEnvironment(t *testing.T) {
	cmd := exec.Command("cat")
	cmd.Env = []string{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for readStatus(cmd.Process.Pid)[0] != "S" { // until it waits for its input
	}
	if _, likely := isWholeEnvironment(cmd.Process.Pid, 0); !likely {
		t.Error("its environment counts as not yet there")
	}
	if mark := markOf(cmd.Process.Pid); mark != "" {
		t.Errorf("it has the mark %q", mark)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
