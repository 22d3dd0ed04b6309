package cli

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/clidoc"
)

var update = flag.Bool("update", false, "write docs/cli.md")

const regenerate = "`go run ./internal/generate cli`"

const referenceHead = `# Command reference

Every command with its flags, generated from the program (` + regenerate + `).
` + "`parley help COMMAND` and the man pages (`parley man --out share/man/man1`)" + ` say more of each.
[Command line](command-line.md) groups them, and has the exit codes.
`

// TestReference: docs/cli.md is what the program says about itself.
func TestReference(t *testing.T) {
	const file = "../../docs/cli.md"
	is := clidoc.Page(rootCommand(&streams{Out: io.Discard, Err: io.Discard}), referenceHead)
	if n := strings.Count(is, "\n## "); n < 25 {
		t.Fatalf("the page has only %d commands", n)
	}
	if *update {
		if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if is != string(was) {
		t.Errorf("%s is out of date: go run ./internal/generate cli", file)
	}
}

// TestReferencePicture: the picture of a model in docs/models.md is what explain --model --svg draws.
func TestReferencePicture(t *testing.T) {
	const file = "../../docs/images/session-runtime-model.svg"
	var is bytes.Buffer
	c := rootCommand(&streams{Out: &is, Err: io.Discard})
	c.SetArgs([]string{"explain", "session-runtime", "--model", "--svg"})
	if err := c.Execute(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, is.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, is.Bytes()) {
		t.Errorf("%s is out of date: go run ./internal/generate cli", file)
	}
}

// TestReferencePages: the Homebrew cask has the man page of every command, as it knows no patterns.
func TestReferencePages(t *testing.T) {
	const key = "\n    manpages: # go run ./internal/generate cli\n"
	before, was, found := strings.Cut(packaging(t, ".goreleaser.yaml", nil), key)
	if !found {
		t.Fatalf(".goreleaser.yaml does not end with a list behind %q", key)
	}
	var is strings.Builder
	for _, c := range clidoc.Commands(rootCommand(&streams{Out: io.Discard, Err: io.Discard})) {
		is.WriteString("      - bin/man/" + clidoc.ManName(c) + "\n")
	}
	if *update {
		if err := os.WriteFile("../../.goreleaser.yaml", []byte(before+key+is.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is.String() != was {
		t.Errorf(".goreleaser.yaml is out of date: go test ./internal/cli -run TestReference -update")
	}
}

// TestManPages: there is a page for each command; where groff is, it has nothing to complain about.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var errs bytes.Buffer
	s := &streams{Out: io.Discard, Err: &errs}
	if exit := runParley([]string{"man"}, s); exit != 2 || !strings.Contains(errs.String(), "--out is missing") {
		t.Errorf("without --out: exit %d, %s", exit, errs.String())
	}
	if exit := runParley([]string{"man", "--out", dir}, s); exit != 0 {
		t.Fatalf("exit %d: %s", exit, errs.String())
	}
	for _, c := range clidoc.Commands(rootCommand(s)) {
		file := filepath.Join(dir, clidoc.ManName(c))
		page, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, f := range clidoc.Flags(c) {
			if !strings.Contains(string(page), strings.ReplaceAll("--"+f.Name, "-", `\-`)) {
				t.Errorf("%s lacks --%s", clidoc.ManName(c), f.Name)
			}
		}
		groff, err := exec.LookPath("groff")
		if err != nil {
			continue
		}
		out, err := exec.Command(groff, "-man", "-Tutf8", "-wall", "-z", file).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	}
}
