package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/reports"
)

// smallDisk mounts a disk with room for little more than what put puts there, and returns its folder.
func smallDisk(t *testing.T, put map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	for name, body := range put {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fill, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // to the last page
		_, err = fill.Write(make([]byte, 4096))
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// content returns the files of a folder with their content, apart from what fills the disk.
func content(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "fill" {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %x\n", rel, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// conforming writes the results of a whole run, in which a clause passed.
func conforming(t *testing.T) []byte {
	t.Helper()
	r := &reports.Results{Verdict: verdict.Conformant, Options: &reports.Options{}, Started: time.Now(),
		Runs: []reports.Run{{Protocol: "agent-select", Role: "server", Verdict: verdict.Conformant,
			Clauses: []reports.Clause{{ID: "AS-001", Level: verdict.Must, Text: "says hello", Outcome: verdict.Passed}},
			Totals:  reports.Totals{Clauses: reports.Count{Total: 1, ByOutcome: map[verdict.Outcome]int{verdict.Passed: 1}}}}}}
	var b bytes.Buffer
	if err := reports.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCommandsOnAFullDisk: each command that writes files says in one line that the disk is full, exits with 4, and
// leaves what was there, and nothing else. With room each succeeds.
func TestCommandsOnAFullDisk(t *testing.T) {
	put := map[string][]byte{"results.json": conforming(t),
		"base.yaml":    []byte("expected:\n  # why\n  - clause: AS-001\n    reason: issue 7\n"),
		"changes.html": []byte("an earlier page"),
		// a part of what is appended fits
		"summary.md": bytes.Repeat([]byte("x"), 4000)}
	full, roomy := smallDisk(t, put), t.TempDir()
	for name, body := range put {
		if err := os.WriteFile(filepath.Join(roomy, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := content(t, full)
	for _, command := range []string{
		"report results.json --format html --out reports",
		"report results.json --format markdown",
		"report --matrix results.json --format html --out matrix",
		"diff results.json results.json --format html --output changes.html",
		"baseline update base.yaml --from results.json",
		"keygen --output a.key",
		"site .",
	} {
		name := strings.Join(strings.Fields(command)[:2], " ")
		if code, errs := runIn(t, full, command); code != verdict.ExitHarness || strings.Count(errs, "\n") != 1 ||
			!strings.Contains(errs, "no space left on device") {
			t.Errorf("%s: exit %d, %q", name, code, errs)
		}
		if after := content(t, full); after != before {
			t.Errorf("%s left\n%s\nof\n%s", name, after, before)
		}
		if code, errs := runIn(t, roomy, command); code != 0 {
			t.Errorf("%s, with room: exit %d, %s", name, code, errs)
		}
	}
}

// runIn runs a command in a folder.
func runIn(t *testing.T, dir, command string) (code int, errs string) {
	t.Helper()
	t.Chdir(dir)
	t.Setenv(summaryFile, filepath.Join(dir, "summary.md"))
	var out, errors bytes.Buffer
	code = runParley(strings.Fields(command), &streams{In: strings.NewReader(""), Out: &out, Err: &errors})
	return code, errors.String()
}
