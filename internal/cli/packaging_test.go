package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"parley/internal/tier"
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

// TestPackagedCalls: the action, and the template for GitLab, use commands and flags that there are.
func TestPackagedCalls(t *testing.T) {
	var action struct {
		Inputs map[string]any
		Runs   struct {
			Using string
			Steps []struct {
				ID, Run string
				Env     map[string]string
			}
		}
	}
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

// TestActionScript runs the script of the action with a program that prints its arguments in the place of parley.
func TestActionScript(t *testing.T) {
	var action struct {
		Runs struct{ Steps []struct{ ID, Run string } }
	}
	packaging(t, "action.yml", &action)
	i := slices.IndexFunc(action.Runs.Steps, func(s struct{ ID, Run string }) bool { return s.ID == "run" })
	for _, tt := range []struct {
		name, target, profile, baseline string
		code                            int
		says                            string
	}{
		{"a profile", "", "my server.yaml", "known.yaml", 5, "<run><--target><my server.yaml><--out><out>"},
		{"a URL", "http://localhost:3000", "", "", 5, "<--target><http://localhost:3000>"},
		{"a server with a baseline but without hooks", "", "p.yaml", "known.yaml", 5,
			"<--baseline><known.yaml><--allow-incomplete><--driver><sse ws><--target-version><1 2>"},
		{"neither", "", "", "", 2, "::error::give either target or profile"},
		{"both", "http://localhost:3000", "p.yaml", "", 2, "::error::give either target or profile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fake := "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 5\n"
			if err := os.WriteFile(filepath.Join(dir, "parley"), []byte(fake), 0o755); err != nil {
				t.Fatal(err)
			}
			output := filepath.Join(dir, "output")
			cmd := exec.Command("bash", "-eo", "pipefail", "-c", action.Runs.Steps[i].Run)
			cmd.Env = append(os.Environ(), "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+output, "TARGET="+tt.target,
				"PROFILE="+tt.profile, "BASELINE="+tt.baseline, "PROTOCOL=", "TAGS=", "OUT=out",
				"ALLOW_INCOMPLETE=", "DRIVER=", "TARGET_VERSION=")
			if strings.Contains(tt.says, "--allow-incomplete") {
				cmd.Env = append(cmd.Env, "ALLOW_INCOMPLETE=true", "DRIVER=sse ws", "TARGET_VERSION=1 2")
			}
			out, err := cmd.CombinedOutput()
			if code(err) != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit %d, want %d: %s", code(err), tt.code, out)
			}
			if has := strings.Contains(string(out), "<--baseline><known.yaml>"); has != (tt.baseline != "") {
				t.Errorf("a baseline: %v", has)
			}
			if b, _ := os.ReadFile(output); tt.code == 5 && string(b) != "code=5\n" {
				t.Errorf("the outputs are %q", b)
			}
		})
	}
}

// release is what a test needs of .goreleaser.yaml.
type release struct {
	Builds []struct {
		Main           string
		Env            []string
		Goos, Goarch   []string
		Flags, Ldflags []string
	}
	Archives []struct{ Files []string }
	Nfpms    []struct {
		Contents []struct{ Src, Dst string }
	}
}

// TestReleaseFiles: what a release and the images take from the tree is there, or made by their own commands.
func TestReleaseFiles(t *testing.T) {
	var r release
	text := packaging(t, ".goreleaser.yaml", &r)
	var files []string
	for _, b := range r.Builds {
		if files = append(files, b.Main); !slices.Contains(b.Env, "CGO_ENABLED=0") {
			t.Errorf("%s is not static", b.Main)
		}
	}
	if !slices.Equal(files, []string{"./cmd/parley", "./cmd/parley-load"}) {
		t.Fatalf("the programs of the release are %q", files)
	}
	for _, a := range r.Archives {
		files = append(files, a.Files...)
	}
	for _, p := range r.Nfpms {
		for _, c := range p.Contents {
			files = append(files, c.Src)
		}
	}
	for _, f := range files {
		if strings.HasPrefix(f, "bin/completions/") && strings.Contains(text, "completion $s > bin/completions/parley.$s") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", f)); err != nil {
			t.Error(err)
		}
	}
	stages := regexp.MustCompile(`(?ms)^FROM \S+ AS (plain|pages)$(.*?)^ENTRYPOINT`).
		FindAllStringSubmatch(packaging(t, "Dockerfile", nil), -1)
	if len(stages) != 2 || stages[1][1] != "plain" {
		t.Fatalf("the images are %q; the last one is built without --target", stages)
	}
	for _, s := range stages {
		if !strings.Contains(s[2], "\nUSER 65532:65532\n") {
			t.Errorf("the image %s runs as root", s[1])
		}
	}
}

// TestCrossCompiles builds every program of a release.
func TestCrossCompiles(t *testing.T) {
	tier.Night(t)
	var r release
	packaging(t, ".goreleaser.yaml", &r)
	for _, system := range r.Builds[0].Goos {
		for _, machine := range r.Builds[0].Goarch {
			t.Run(system+"-"+machine, func(t *testing.T) {
				args := append([]string{"build", "-o", t.TempDir()}, r.Builds[0].Flags...)
				args = append(args, "-ldflags", strings.Join(r.Builds[0].Ldflags, " "))
				for _, b := range r.Builds {
					args = append(args, b.Main)
				}
				cmd := exec.Command("go", args...)
				cmd.Dir = filepath.Join("..", "..")
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
