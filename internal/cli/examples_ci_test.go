package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"parley/internal/tier"
)

// TestExamplesCI runs the tests in examples/ci of each language that is installed. Parley is on the PATH of a test.
func TestExamplesCI(t *testing.T) {
	tier.Long(t)
	for _, c := range []struct {
		language string
		command  []string
		shows    []string
	}{
		{"python", []string{"python3", "-m", "unittest", "-v"}, []string{"Ran 4 tests", "OK"}},
		{"node", []string{"node", "--test", "--test-timeout=120000", "--test-reporter=tap"},
			[]string{"# fail 0", "AS-042", "AS-080", "a refused switch keeps the agent"}},
		{"java", []string{"java", "ParleyTest.java"}, []string{"2 tests passed"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(c.command[0])
			if err != nil && c.language != "java" {
				t.Fatal(err)
			}
			if err != nil {
				t.Skip(c.command[0] + " is not installed")
			}
			run := exec.CommandContext(t.Context(), program, c.command[1:]...)
			run.Dir = filepath.Join("..", "..", "examples", "ci", c.language)
			run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			out, err := run.CombinedOutput()
			for _, want := range c.shows {
				if err != nil || !strings.Contains(string(out), want) {
					t.Fatalf("%v, and %q is expected in\n%s", err, want, out)
				}
			}
		})
	}
}

// TestWorkflows: the jobs in examples/ci are YAML, and the commands of Parley in them exist, with their flags.
func TestWorkflows(t *testing.T) {
	for _, name := range []string{"github.yml", "gitlab.yml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(name, err)
		}
		found := 0
		for _, line := range texts(doc) {
			if strings.HasPrefix(line, "parley/bin/parley ") {
				found++
				parses(t, name, strings.Join(strings.Fields(line), " "))
			}
		}
		if found != 2 {
			t.Errorf("%s has %d commands of Parley", name, found)
		}
	}
}

// texts returns the strings of a document.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	case map[string]any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	}
	return all
}
