package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// asks has this test print what it finds at its start, and start the command that it looks for.
const asks = "PARLEY_TEST_START"

func TestMain(m *testing.M) {
	if os.Getenv(asks) != "" {
		fmt.Print(os.Getenv("PATH"))
		if err := exec.Command("go", "main").Run(); err != nil {
			fmt.Print(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestStartsNothing checks that a start of the program starts no other program, and that its PATH is as given. The
// command that godog would start leaves a line; that it does so when it is started is shown by one start on purpose.
func TestStartsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is a shell script")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	script := "#!/bin/sh\necho \"$*\" >>'" + started + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	start := exec.Command(self)
	start.Env = append(os.Environ(), asks+"=1", "PATH="+dir)
	out, err := start.CombinedOutput()
	if err != nil || string(out) != dir {
		t.Errorf("the PATH at the start is %q, want %q; %v", out, dir, err)
	}
	if lines, err := os.ReadFile(started); strings.TrimSpace(string(lines)) != "main" {
		t.Errorf("programs that were started: %q, want only that of TestMain; %v", lines, err)
	}
}
