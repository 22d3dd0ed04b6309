package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"parley/internal/cli"
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
	if module() > "text/template" {
		t.Skip("in a module of this name parley/internal/startup cannot come first: see there")
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

// module returns the path of this module, with a slash behind it.
func module() string {
	return strings.TrimSuffix(reflect.TypeFor[cli.Parts]().PkgPath(), "internal/cli")
}

// atInit is how many bytes a package of this module may take to be initialized. Tables of expressions and of faults
// take up to 200,000; to parse a catalogue, a ledger or the features of a protocol takes millions.
const atInit = 300_000

// TestReadsNothing checks that no package parses anything before main begins.
func TestReadsNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := exec.Command(self)
	start.Env = append(os.Environ(), asks+"=1", "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	start.Stderr = &trace
	if err := start.Run(); err != nil {
		t.Error(err)
	}
	line := regexp.MustCompile(`(?m)^init (` + regexp.QuoteMeta(module()) + `\S+) @.*, (\d+) bytes, \d+ allocs$`)
	lines := line.FindAllStringSubmatch(trace.String(), -1)
	if len(lines) < 20 {
		t.Fatalf("%d packages are traced:\n%s", len(lines), &trace)
	}
	for _, m := range lines {
		if n, err := strconv.Atoi(m[2]); err != nil || n > atInit {
			t.Errorf("%s takes %s bytes to be initialized, at most %d are expected: what does it read?", m[1], m[2], atInit)
		}
	}
}
