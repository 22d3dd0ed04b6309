package mutants

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/features"
	"parley/features/verdict"
	proto "parley/protocol/agentclient"
	"parley/reference-server/agentclient"
	"parley/runner/tags"
)

func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(`\A[a-z0-9]+(-[a-z0-9]+)*\z`)
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range every() {
		if seen[m.ID] || !name.MatchString(m.ID) {
			t.Errorf("id %q twice, or not in kebab case", m.ID)
		}
		seen[m.ID] = true
		if m.Why == "" || len(m.Clauses) == 0 || m.Control == "" {
			t.Errorf("%s lacks why, clauses or control", m.ID)
		}
		if _, err := tags.Parse(m.Control); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if !slices.IsSorted(m.Clauses) || len(slices.Compact(slices.Clone(m.Clauses))) != len(m.Clauses) {
			t.Errorf("%s: clauses %v not in order, or twice", m.ID, m.Clauses)
		}
		for _, id := range m.Clauses {
			if row, ok := ledger.Row(id); !ok || !row.Tested() || !row.Level.Binding() && row.Level != verdict.Should {
				t.Errorf("%s: %s is no clause that is tested, and a MUST, a SHOULD or a CONFLICT", m.ID, id)
			}
		}
	}
}

// Every tested binding clause has a mutant, possibly a surviving one.
func TestEveryClauseHasAMutant(t *testing.T) {
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{}
	for _, m := range every() {
		for _, id := range m.Clauses {
			broken[id] = true
		}
	}
	for _, row := range ledger.Rows() {
		if row.Tested() && row.Level.Binding() && !row.Cross && !broken[row.ID] {
			t.Errorf("no mutant breaks %s", row.ID)
		}
	}
}

func TestPatchesApply(t *testing.T) {
	for _, m := range every() {
		if len(m.Patches) == 0 {
			t.Errorf("%s changes nothing", m.ID)
		}
		for _, p := range m.Patches {
			body, ok := agentclient.Files()[p.File]
			if !ok {
				t.Errorf("%s: there is no file %s", m.ID, p.File)
				continue
			}
			changed, err := p.apply(bytes.Clone(body))
			if err != nil || bytes.Equal(changed, body) {
				t.Errorf("%s: %s: %q changes nothing (%v)", m.ID, p.File, p.Old, err)
			}
		}
	}
}

func TestPatchLeavesOtherFilesAlone(t *testing.T) {
	for _, m := range every() {
		touched := map[string]bool{}
		for _, p := range m.Patches {
			touched[p.File] = true
		}
		for name, body := range agentclient.Files() {
			if changed := m.Patch(name, bytes.Clone(body)); bytes.Equal(changed, body) == touched[name] {
				t.Errorf("%s: %s changed: %v", m.ID, name, !touched[name])
			}
		}
	}
}

func TestPatchThatDoesNotFit(t *testing.T) {
	for _, old := range []string{"nothing", "a"} {
		t.Run(old, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			Mutant{Patches: []Patch{{"x.js", old, "b"}}}.Patch("x.js", []byte("a a"))
		})
	}
}

// checkAll is a Node script that parses modules without running them: each argument is a file.
const checkAll = `
const { readFileSync } = require("fs"), { SourceTextModule } = require("vm");
for (const file of process.argv.slice(1)) {
  try {
    new SourceTextModule(readFileSync(file, "utf8"), { identifier: file });
  } catch (error) {
    console.log(file + ": " + error);
    process.exitCode = 1;
  }
}`

// A page that does not parse is not the intended faulty page.
func TestPatchedModulesParse(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("Node.js reads the modules; install it: %v", err)
	}
	dir := t.TempDir()
	args := []string{"--no-warnings", "--experimental-vm-modules", "-e", checkAll, "--"}
	files := agentclient.Files()
	for _, m := range every() {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			changed := m.Patch(name, bytes.Clone(files[name]))
			if filepath.Ext(name) != ".js" || bytes.Equal(changed, files[name]) {
				continue
			}
			file := filepath.Join(dir, m.ID+"-"+name)
			if err := os.WriteFile(file, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
	}
	if out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, strings.ReplaceAll(string(out), dir+string(filepath.Separator), ""))
	}
}
