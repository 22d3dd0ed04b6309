package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
)

// packaging returns a file that says how Parley is packaged, decoded if it is YAML.
func packaging(t *testing.T, file string, into any) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := yaml.Unmarshal(b, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return string(b)
}

// calls finds calls of parley in a script: its name, or a path that ends in it, and its arguments up to the end of the
// line.
var (
	calls  = regexp.MustCompile(`(?m)(?:^|[\s/"&;])parley"? ((?:run|init|doctor|completion|report)\b[^\n]*)`)
	flagIn = regexp.MustCompile(`(?:^|[\s("])--([a-z][a-z-]*)`)
)

// unknownCalls counts the calls of parley in a script, and lists the commands and flags that parley does not have.
func unknownCalls(t *testing.T, script string) (found int, unknown []string) {
	t.Helper()
	found = len(calls.FindAllString(script, -1))
	root := rootCommand(&streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	root.InitDefaultCompletionCmd()
	for _, m := range calls.FindAllStringSubmatch(script, -1) {
		name := strings.Fields(m[1])[0]
		c, _, err := root.Find([]string{name})
		if err != nil || c == root {
			unknown = append(unknown, name)
		}
	}
	run, _, _ := root.Find([]string{"run"})
	for _, m := range flagIn.FindAllStringSubmatch(script, -1) {
		if run.Flags().Lookup(m[1]) == nil {
			unknown = append(unknown, "--"+m[1])
		}
	}
	return found, unknown
}

// action is what a test needs of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, Run string
	Env     map[string]string
}

// command returns the step of an action that judges, as a runner starts it, with parley in the folder bin.
func (a action) command(bin string, inputs map[string]string) (*exec.Cmd, error) {
	i := slices.IndexFunc(a.Runs.Steps, func(s step) bool { return s.ID == "run" })
	cmd := exec.Command("bash", "-eo", "pipefail", "-c", a.Runs.Steps[i].Run)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + bin}
	for name := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			return nil, fmt.Errorf("action.yml has no input %s", name)
		}
	}
	for variable, value := range a.Runs.Steps[i].Env {
		name := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
		given, ok := inputs[name]
		if !ok {
			given = a.Inputs[name].Default
		}
		cmd.Env = append(cmd.Env, variable+"="+given)
	}
	return cmd, nil
}

// TestPackagedCalls: the action, and the template for GitLab, use commands and flags that there are.
func TestPackagedCalls(t *testing.T) {
	var action action
	packaging(t, "action.yml", &action)
	var script string
	for _, s := range action.Runs.Steps {
		if strings.Contains(s.Run, "${{ inputs.") {
			t.Errorf("an input becomes part of a script:\n%s", s.Run)
		}
		if s.ID == "run" {
			script = s.Run
			for name, value := range s.Env {
				input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
				if _, ok := action.Inputs[input]; !ok || !strings.Contains(script, "$"+name) {
					t.Errorf("%s: %s is no input, or is not used", name, value)
				}
			}
		}
	}
	if action.Runs.Using != "composite" || script == "" {
		t.Fatal("the action has no script")
	}
	var template map[string]struct{ Script []string }
	packaging(t, ".gitlab/parley.gitlab-ci.yml", &template)
	for name, script := range map[string]string{
		"action.yml": script, "gitlab": strings.Join(template[".parley"].Script, "\n"),
	} {
		if found, unknown := unknownCalls(t, script); found == 0 || len(unknown) > 0 {
			t.Errorf("%s: %d calls of parley; unknown: %q", name, found, unknown)
		}
		for _, m := range regexp.MustCompile(`--format ([a-z,]+)`).FindAllStringSubmatch(script, -1) {
			if _, err := parseFormats(m[1]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, unknown := unknownCalls(t, "parley run --tragets x"); !slices.Contains(unknown, "--tragets") {
		t.Error("a wrong flag is not noticed")
	}
}

// TestActionScript runs the script of the action with a program that prints its arguments in the place of parley. The
// script action.txtar of TestScript runs it with parley.
func TestActionScript(t *testing.T) {
	var action action
	packaging(t, "action.yml", &action)
	for _, tt := range []struct {
		name   string
		inputs map[string]string
		code   int
		says   string
	}{
		{"a profile", map[string]string{"profile": "my server.yaml"}, 5,
			"<run><--target><my server.yaml><--out><parley-results><--format><console,json,junit,html,markdown,github," +
				"badge,shields>."},
		{"a URL", map[string]string{"target": "http://localhost:3000"}, 5, "<--target><http://localhost:3000>"},
		{"a server with a baseline but without hooks", map[string]string{"profile": "p.yaml", "baseline": "known.yaml",
			"allow-incomplete": "true", "driver": "sse ws", "target-version": "1 2"}, 5,
			"<--baseline><known.yaml><--driver><sse ws><--target-version><1 2><--allow-incomplete>."},
		{"a value is no flag", map[string]string{"target": "ws://x", "role": "--strict",
			"header": "A: $(id)\n\nB: 'b'\n"}, 5,
			"<--role><--strict><--header><A: $(id)><--header><B: 'b'>."},
		{"neither", nil, 2, "::error::give either target or profile"},
		{"both", map[string]string{"target": "http://localhost:3000", "profile": "p.yaml"}, 2,
			"::error::give either target or profile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fake := "#!/bin/sh\nprintf '<%s>' \"$@\"\necho .\nexit 5\n"
			if err := os.WriteFile(filepath.Join(dir, "parley"), []byte(fake), 0o755); err != nil {
				t.Fatal(err)
			}
			output := filepath.Join(dir, "output")
			cmd, err := action.command(dir, tt.inputs)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, "GITHUB_OUTPUT="+output)
			out, err := cmd.CombinedOutput()
			if code(err) != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit %d, want %d: %s", code(err), tt.code, out)
			}
			if b, _ := os.ReadFile(output); tt.code == 5 && string(b) != "code=5\n" {
				t.Errorf("the outputs are %q", b)
			}
		})
	}
}

// TestActionInputs: the example sets inputs that there are, and the documents name each of them.
func TestActionInputs(t *testing.T) {
	var action action
	packaging(t, "action.yml", &action)
	var example struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	packaging(t, "examples/ci/github.yml", &example)
	used := 0
	for _, s := range example.Jobs["relay"].Steps {
		if s.Uses != "./parley" {
			continue
		}
		for name := range s.With {
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("action.yml has no input %s", name)
			}
			used++
		}
	}
	if used < 4 {
		t.Errorf("the relay is judged with %d inputs", used)
	}
	for _, doc := range []string{"docs/install.md", "docs/install.zh.md"} {
		text := packaging(t, doc, nil)
		for name := range action.Inputs {
			if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, " "+name+": ") {
				t.Errorf("%s does not name the input %s", doc, name)
			}
		}
	}
}

// judgeByAction runs the script of action.yml, from the folder that tests are in: `action CODE INPUT=VALUE…`.
func judgeByAction(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: action CODE INPUT=VALUE…")
	}
	text, err := os.ReadFile(filepath.Join(ts.Getenv("ROOT"), "action.yml"))
	ts.Check(err)
	var a action
	ts.Check(yaml.Unmarshal(text, &a))
	inputs := map[string]string{}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		inputs[name] = strings.ReplaceAll(value, `\n`, "\n")
	}
	cmd, err := a.command(ts.Getenv("BIN"), inputs)
	ts.Check(err)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(cmd.Env, "HOME="+ts.Getenv("HOME"), "TOKEN="+ts.Getenv("TOKEN"), "GITHUB_OUTPUT="+ts.MkAbs("output"))
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if got := code(cmd.Run()); strconv.Itoa(got) != args[0] {
		ts.Fatalf("with %q it ended with exit code %d, want %s", args[1:], got, args[0])
	}
}
