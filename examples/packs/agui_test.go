package packs_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/steps"
	"parley/steps/pack"
)

var update = flag.Bool("update", false, "write the measured tables of the READMEs anew")

// TestAGUIServer: a server made in Node with the official encoder conforms, and each of its faults is blamed on its
// clause. What the official client says of the same sequences stands in README.md, which is measured here.
func TestAGUIServer(t *testing.T) {
	tier.Night(t)
	dir := installed(t, "ag-ui")
	s := readSequences(t)
	if exit, text, broken := judge(t, "ag-ui", start(t, dir, "", "server.mjs").URL); exit != verdict.ExitConformant {
		t.Errorf("exit %d, %s: %q", exit, text, broken)
	}
	blamed := make([][]string, len(s.Faults))
	t.Run("faults", func(t *testing.T) {
		for i, f := range s.Faults {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				url := start(t, dir, f.Name, "server.mjs").URL
				_, text, broken := judge(t, "ag-ui", url)
				if blamed[i] = broken; !slices.Equal(broken, []string{f.Clause}) {
					t.Errorf("%s: broken are %q, want %s", text, broken, f.Clause)
				}
				if f.Wire == "" || f.Wire == "open" { // a proxy does not know when a stream should have ended
					return
				}
				if broken, partly := judgeProxied(t, "ag-ui", url); !slices.Equal(broken, []string{f.Clause}) {
					t.Errorf("behind a proxy: broken are %q, want %s %s", broken, f.Clause, partly)
				}
			})
		}
	})
	out, err := node(dir, "compare.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	compareMeasured(t, filepath.Join("ag-ui", "README.md"), tableOf(t, s, blamed, out))
}

// installed returns a copy of a folder with what its package.json names.
func installed(t *testing.T, folder string) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed, so that nothing of it can be judged: install Node 20 or later")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), npm, "install", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm install fails, so that nothing of it can be judged: %v: %s", err, out)
	}
	return dir
}

func node(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("node", args...)
	cmd.Dir = dir
	return cmd
}

// server is a program that prints its URL.
type server struct{ URL string }

// start starts a server in a folder with a fault, until the end of the test.
func start(t *testing.T, dir, fault string, args ...string) server {
	t.Helper()
	cmd := node(dir, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PORT=0", "FAULT="+fault), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := lines.Text(); strings.HasPrefix(url, "http://") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return server{url}
		}
	}
	t.Fatalf("the server does not say where it listens: %v", lines.Err())
	return server{}
}

// said is what the official client says of a sequence.
type said struct{ Name, Order, Form string }

// tableOf returns the measured part of README.md.
func tableOf(t *testing.T, s sequences, blamed [][]string, out []byte) string {
	t.Helper()
	p, err := pack.Load("ag-ui")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := steps.LedgerOf(p)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]said{}
	for line := range strings.Lines(string(out)) {
		var one said
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		of[one.Name] = one
	}
	var b strings.Builder
	order, form, silent := 0, 0, 0
	b.WriteString("| broken sequence | Parley | `verifyEvents` | the schemas | where they differ, by the document |\n" +
		"|---|---|---|---|---|\n")
	for i, f := range s.Faults {
		one, known := of[f.Name]
		if !known {
			t.Errorf("compare.mjs says nothing of %q", f.Name)
		}
		why := ""
		if one.Order == "" {
			row, _ := ledger.Row(f.Clause)
			switch why = "“" + row.Source + "”"; {
			case row.Level == verdict.May:
				why = "neither is wrong (MAY): " + why
			case row.Ruling != "" || f.Reading:
				why = "open, Parley reads " + why + " so"
			default:
				why = "Parley is right: " + why
			}
		}
		switch {
		case one.Order != "":
			order++
		case one.Form != "":
			form++
		default:
			silent++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.Name, strings.Join(blamed[i], " "), quoted(one.Order),
			quoted(one.Form), why)
	}
	fmt.Fprintf(&b, "\nOf %d broken sequences Parley blames each on its clause. `verifyEvents` stops %d, the schemas %d "+
		"more, and neither says anything of %d.\n\nOf the right sequences the schemas refuse:", len(s.Faults), order, form,
		silent)
	for _, name := range slices.Sorted(maps.Keys(s.Plays)) {
		if one := of[name]; one.Order+one.Form != "" {
			fmt.Fprintf(&b, "\n- %q: %s", name, quoted(one.Order+one.Form))
		}
	}
	return b.String() + "\n"
}

// quoted is a text in a cell of a table; a dash if it is empty.
func quoted(text string) string {
	if text == "" {
		return "–"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// compareMeasured compares what a document says between two marks with what was measured.
func compareMeasured(t *testing.T, name, is string) {
	t.Helper()
	const begins, ends = "<!-- measured -->\n", "<!-- until here -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begins)
	was, after, ended := strings.Cut(rest, ends)
	switch {
	case !begun || !ended:
		t.Errorf("%s has no marks %q and %q", name, begins, ends)
	case was == is:
	case *update && !t.Failed():
		if err := os.WriteFile(name, []byte(before+begins+is+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date (PARLEY_TESTS=all go test ./examples/packs -update); measured is:\n%s", name, is)
	}
}
