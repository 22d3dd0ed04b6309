package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/tier"
)

const to = "example.com/you/tool"

// TestRename: what names the module is renamed, and nothing else.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]struct{ was, is string }{
		"go.mod": {"module parley\n\ngo 1.26.0\n", "module example.com/you/tool\n\ngo 1.26.0\n"},
		"examples/x/go.mod": {"module x\n\nrequire (\n\tparley v0.0.0\n\tparley.dev/x v1.0.0\n)\n\nreplace parley => ../..\n",
			"module x\n\nrequire (\n\texample.com/you/tool v0.0.0\n\tparley.dev/x v1.0.0\n)\n\n" +
				"replace example.com/you/tool => ../..\n"},
		"steps/a.go": {"package steps\n\nimport (\n\t\"fmt\"\n\n\t\"parley\"\n\tx \"parley/steps\"\n)\n\n" +
			"var a, b, c = \"parley\", \"parley/steps\", \"parley/1\" // parley\n",
			"package steps\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/you/tool\"\n\tx \"example.com/you/tool/steps\"\n)\n\n" +
				"var a, b, c = \"parley\", \"example.com/you/tool/steps\", \"parley/1\" // parley\n"},
		"Makefile": {"\tgrep -e parley -e parley/target -e '^parley/test/'; bin/parley\n",
			"\tgrep -e example.com/you/tool -e example.com/you/tool/target -e '^example.com/you/tool/test/'; bin/parley\n"},
		"docs/a.md": {"Run `parley run`; `replace parley => ../..`:\n\timport \"parley\"\n",
			"Run `parley run`; `replace example.com/you/tool => ../..`:\n\timport \"example.com/you/tool\"\n"},
		"bin/b.go": {"package b\n\nimport _ \"parley\"\n", "package b\n\nimport _ \"parley\"\n"},
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text.was), 0o644); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if is, err := os.ReadFile(at); err != nil || string(is) != text.is {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, is, text.is)
			}
		}()
	}
	for _, bad := range []string{"", "no dots in/it", "example.com/a b", "example.com/you/tool/v2"} {
		if n, err := renameModule(dir, bad); err == nil || n > 0 {
			t.Errorf("%q is taken: %d files", bad, n)
		}
	}
	if n, err := renameModule(dir, to); err != nil || n != 5 {
		t.Errorf("%d files, %v", n, err)
	}
}

// TestEveryRename renames a copy of this module, and builds all of it with its tests, and the modules of the examples.
func TestEveryRename(t *testing.T) {
	tier.Night(t)
	dir := t.TempDir()
	root := filepath.Join("..", "..")
	const copied = `cd "$1" && git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$2"`
	if out, err := exec.Command("sh", "-c", copied, "sh", root, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n, err := renameModule(dir, to); err != nil || n < 100 {
		t.Fatalf("%d files, %v", n, err)
	}
	for _, args := range []string{". build ./...", ". vet . ./internal/style ./internal/cli",
		"examples/go-module vet ./...", "examples/own-protocol vet ./..."} {
		words := strings.Fields(args)
		c := exec.CommandContext(t.Context(), "go", words[1:]...)
		c.Dir = filepath.Join(dir, words[0])
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", args, err, out)
		}
	}
	left, err := exec.Command("grep", "-rlE", "--include=*.go", `^\s*(import )?([a-z]+ )?"parley(/[^"]*)?"$`, dir).Output()
	if err == nil {
		t.Errorf("files that import the old path:\n%s", left)
	}
}
